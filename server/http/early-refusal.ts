import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody } from '../errors.ts';
import { limits } from '../limits.ts';
import { newRequestId } from '../platform/ids.ts';
import type { Logger } from '../platform/log.ts';
import { counter } from '../platform/metrics.ts';
import type { Admissions } from './admissions.ts';
import { latestVersion, supportedVersion } from './versions/versions.ts';
import { overloaded, type Work } from './work.ts';

/**
 * Rejects a request for which there is no room before any work is done for it. During an overload most requests are
 * rejected, and their cost reduces what is left for the others: this check costs a fraction of routing,
 * authentication and hooks.
 */
export interface EarlyRefusal {
  /** Returns whether the request was answered. */
  refuse(request: IncomingMessage, response: ServerResponse): boolean;
  /** Remembers the flow of a verified key, by the hash of the key, while requests wait. */
  remember(authorization: string, work: Pick<Work, 'flow' | 'shard'>): void;
}

const countRefused = counter('svc_http_requests_refused_total');

const keysMax = 10_000;

const logEveryMs = 10_000;

/** Counts rejected requests. The log reports the number from time to time, instead of one line each. */
export function countRefusals(log: Logger): () => void {
  let count = 0;
  return () => {
    countRefused({});
    count += 1;
    if (count > 1) return;
    log.warn('the service is overloaded and rejects requests with 503');
    setTimeout(() => {
      if (count > 1)
        log.warn({ count, seconds: logEveryMs / 1000 }, 'requests were rejected with 503 because of overload');
      count = 0;
    }, logEveryMs).unref();
  };
}

export function createEarlyRefusal(admissions: Admissions, onRefused: () => void, baseUrl: string): EarlyRefusal {
  const flows = new Map<string, Pick<Work, 'flow' | 'shard'>>();
  return {
    remember(authorization, { flow, shard }) {
      if (admissions.of(shard).stats().waiting === 0) return;
      if (flows.size >= keysMax) flows.clear();
      flows.set(hash('sha256', authorization), { flow, shard });
    },
    refuse({ headers }, response) {
      if (admissions.stats().waiting === 0) return false;
      if (headers.authorization === undefined || !isSmall(headers)) return false;
      const known = flows.get(hash('sha256', headers.authorization));
      if (!known || !admissions.of(known.shard).isFull(known.flow)) return false;
      onRefused();
      const requestId = newRequestId();
      const body = JSON.stringify(errorBody(overloaded, requestId, baseUrl));
      response.writeHead(overloaded.status, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': body.length,
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        'SVC-Request-Id': requestId,
        'SVC-Version': supportedVersion(headers['svc-version']) ?? latestVersion,
        ...overloaded.headers,
      });
      response.end(body);
      return true;
    },
  };
}

/** Node reads the rest of a small body itself. */
function isSmall(headers: IncomingMessage['headers']): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= limits.publicBodyBytes;
}
