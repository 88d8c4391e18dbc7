import { isIP, type LookupFunction } from 'node:net';
import type { AddressCheck } from './addresses.ts';
import type { Exchange } from './connection.ts';
import { type Connections, createConnections } from './connections.ts';
import { createResolve, type Resolve } from './resolve.ts';
import type { Origin } from './sockets.ts';

/**
 * Requests to addresses that users choose. The check applies to the address of the actual connection, so neither a
 * name whose address changes nor an unusual notation of an address reaches the internal network. Redirects are not
 * followed; answers are read up to a limit.
 */

interface OutboundRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
}

export type OutboundResult =
  | { readonly answered: true; readonly status: number; readonly body: string; readonly retryAfter: string | undefined }
  | { readonly answered: false; readonly error: string };

export interface Outbound {
  post(request: OutboundRequest): Promise<OutboundResult>;
  /** Returns the current addresses of a name. */
  readonly resolve: Resolve;
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly isAllowed: AddressCheck;
  /** Extra certificate authorities, as PEM. */
  readonly certificates?: readonly string[];
  readonly resolve?: Resolve;
  /** Covers name lookup, connection and TLS handshake together. */
  readonly connectTimeoutMs?: number;
}

class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

class Stopping extends Error {
  readonly code = 'STOPPING';
}

interface Target {
  readonly origin: Origin;
  /** The beginning of a request to this URL. */
  readonly start: string;
}

const targetsMax = 1_000;

export function createOutbound(options: OutboundOptions): Outbound {
  const { isAllowed, certificates, connectTimeoutMs = 10_000 } = options;
  const resolve = options.resolve ?? createResolve();
  /** The URLs of the last requests, which are often the same. */
  const targets = new Map<string, Target>();
  const connections = createConnections({
    check: (address) => {
      if (!isAllowed(address)) throw new AddressRefused();
    },
    lookup: checkedLookup(resolve, isAllowed),
    certificates,
    connectTimeoutMs,
  });
  let isClosed = false;

  function targetOf(url: string): Target {
    const known = targets.get(url);
    if (known) return known;
    const target = parseTarget(url);
    if (targets.size >= targetsMax) targets.clear();
    targets.set(url, target);
    return target;
  }

  return {
    post(request) {
      if (isClosed) return Promise.resolve(failedBy(new Stopping()));
      const { origin, start } = targetOf(request.url);
      // A literal address is never looked up.
      if (isIP(origin.hostname) && !isAllowed(origin.hostname)) {
        return Promise.resolve(failedBy(new AddressRefused()));
      }
      return exchangeOn(connections, origin, requestOf(start, request), request);
    },
    resolve,
    async close() {
      isClosed = true;
      connections.close(new Stopping());
    },
  };
}

function parseTarget(url: string): Target {
  const { protocol, host, hostname, port, pathname, search } = new URL(url);
  if (protocol !== 'https:') throw new Error('requests are sent over https only');
  const name = hostname.replace(/^\[|\]$/g, '');
  return {
    origin: { key: host, hostname: name, port: Number(port || 443), serverName: isIP(name) ? '' : name },
    start: `POST ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n`,
  };
}

function checkedLookup(resolve: Resolve, isAllowed: AddressCheck): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isAllowed(address));
        const [first] = allowed;
        if (!first) done(new AddressRefused(), []);
        else if (options.all) done(null, allowed);
        else done(null, first.address, first.family);
      },
      (error: Error) => done(error, []),
    );
  };
}

const notInHeaders = /[^\t\x20-\x7e]/;

/** In one text, because a write of several parts costs more. */
function requestOf(start: string, { headers, body }: OutboundRequest): Exchange['request'] {
  let text = start;
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (notInHeaders.test(value)) throw new Error(`the header ${name} has characters that are not allowed`);
    text += `${name}: ${value}\r\n`;
  }
  const bytes = Buffer.byteLength(body);
  // Of ASCII, the bytes are the same, and Node need not measure it again.
  const encoding = bytes === body.length ? 'latin1' : 'utf8';
  return { text: `${text}Content-Length: ${bytes}\r\n\r\n${body}`, encoding };
}

/** The error of a request that was not answered in time. */
export const noAnswer = 'no response in time';

/**
 * One timer covers the whole exchange, from waiting for a connection to the last byte. An answer that exceeds the
 * limit is cut off and its connection closed, so that a server cannot keep us reading.
 */
function exchangeOn(
  connections: Connections,
  origin: Origin,
  request: Exchange['request'],
  { timeoutMs, answerBytesMax }: OutboundRequest,
): Promise<OutboundResult> {
  const { promise, resolve } = Promise.withResolvers<OutboundResult>();
  const timer = setTimeout(() => {
    end({ answered: false, error: noAnswer });
    exchange.cancel?.();
  }, timeoutMs);
  function end(result: OutboundResult): void {
    exchange.isOver = true;
    clearTimeout(timer);
    resolve(result);
  }
  const exchange: Exchange = {
    request,
    answerBytesMax,
    isOver: false,
    cancel: undefined,
    answered: ({ status, body, retryAfter }) => end({ answered: true, status, body, retryAfter }),
    failed: (error) => end(failedBy(error)),
  };
  connections.send(origin, exchange);
  return promise;
}

const failedBy = (error: Error): OutboundResult => ({ answered: false, error: describe(error) });

const messages: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'the address is not public',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name does not resolve',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  CLOSED: 'the connection was closed',
  CONNECT_TIMEOUT: 'the connection took too long',
  ETIMEDOUT: 'the connection took too long',
  INVALID_ANSWER: 'the response is not valid HTTP',
  STOPPING: 'the service is stopping',
};

/** Describes the failure for the merchant, without stacks or internal addresses. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  const code = 'code' in error ? String(error.code) : '';
  if (messages[code]) return messages[code];
  return /CERT|SSL|TLS|ALTNAME|SELF_SIGNED|UNABLE_TO/.test(code)
    ? `the certificate or the TLS connection is invalid (${code})`
    : `the request failed${code ? ` (${code})` : ''}`;
}
