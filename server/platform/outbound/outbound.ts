import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Agent, buildConnector as connector, Dispatcher } from 'undici';
import type { AddressCheck } from './addresses.ts';
import { createHosts, type Host } from './hosts.ts';
import { createResolve, type Resolve } from './resolve.ts';

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
  /** Returns the limits of the host of a URL. A sender of many requests acquires a permit for each. */
  hostOf(url: string): Host;
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

const idleConnectionMs = 10_000;

export function createOutbound(options: OutboundOptions): Outbound {
  const resolve = options.resolve ?? createResolve();
  const hosts = createHosts();
  let opening: Promise<Agent> | undefined;
  let agent: Agent | undefined;
  let isClosed = false;
  return {
    post(request) {
      if (isClosed) return Promise.resolve({ answered: false, error: 'the service is stopping' });
      if (agent) return exchange(agent, request);
      opening ??= openAgent(options, resolve);
      return opening.then((opened) => {
        agent = opened;
        return exchange(opened, request);
      });
    },
    resolve,
    hostOf: (url) => hosts(originOf(url)),
    async close() {
      isClosed = true;
      await (await opening)?.destroy();
    },
  };
}

/** Loaded on first use: it is a quarter of the code that a start would read, and many processes send nothing for a while. */
async function openAgent(
  { isAllowed, certificates, connectTimeoutMs = 10_000 }: OutboundOptions,
  resolve: Resolve,
): Promise<Agent> {
  const { Agent, buildConnector } = await import('undici');
  const refused = (): AddressRefused => new AddressRefused('the address is not public');

  const lookup = (
    hostname: string,
    options: { all?: boolean },
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses.filter(({ address }) => isAllowed(address));
        const [first] = allowed;
        if (!first) done(refused(), []);
        else if (options.all) done(null, allowed);
        else done(null, first.address, first.family);
      },
      (error: Error) => done(error, []),
    );
  };
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    lookup,
    // Created once: with custom authorities, Node would parse all of them again for each connection.
    ...(certificates && { secureContext: createSecureContext({ ca: [...certificates] }) }),
  } as connector.BuildOptions);

  return new Agent({
    // The number of connections has no limit here: a request would use up its time while it waits for one.
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: idleConnectionMs,
    connect(options, callback) {
      // A literal address is never looked up.
      const host = options.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) && !isAllowed(host)) return callback(refused(), null);
      return connect(options, (...[error, socket]: Parameters<typeof callback>) => {
        if (error || !socket) return callback(error ?? refused(), null);
        if (isAllowed(socket.remoteAddress ?? '')) return callback(null, socket);
        socket.destroy();
        return callback(refused(), null);
      });
    },
  });
}

interface Target {
  readonly origin: string;
  readonly path: string;
}

/** The URLs of the last requests, which are often the same. */
const targets = new Map<string, Target>();
const targetsMax = 1_000;

function targetOf(url: string): Target {
  const known = targets.get(url);
  if (known) return known;
  const { origin, pathname, search } = new URL(url);
  const target = { origin, path: pathname + search };
  if (targets.size >= targetsMax) targets.clear();
  targets.set(url, target);
  return target;
}

/** Empty if there is none: the endpoint of a delivery may be deleted. */
function originOf(url: string): string {
  return targets.get(url)?.origin ?? (URL.canParse(url) ? targetOf(url).origin : '');
}

/** The error of a request that was not answered in time. */
export const noAnswer = 'no response in time';
const tooLate = new Error(noAnswer);
const longEnough = new Error('the rest of the response is not read');

/**
 * One timer covers the whole exchange, from making a connection to the last byte. An answer that exceeds the
 * limit is cut off and its connection closed, so that a server cannot keep us reading.
 */
function exchange(agent: Agent, request: OutboundRequest): Promise<OutboundResult> {
  const { headers, body, timeoutMs, answerBytesMax } = request;
  const { origin, path } = targetOf(request.url);
  const { promise, resolve } = Promise.withResolvers<OutboundResult>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let status = 0;
  let retryAfter: string | undefined;
  let started: Dispatcher.DispatchController | undefined;
  let late = false;

  const timer = setTimeout(() => {
    late = true;
    resolve({ answered: false, error: noAnswer });
    started?.abort(tooLate);
  }, timeoutMs);
  function end(result: OutboundResult): void {
    clearTimeout(timer);
    resolve(result);
  }
  function endWithAnswer(): void {
    const text = Buffer.concat(chunks).subarray(0, answerBytesMax).toString('utf8').replaceAll('\0', '\u{fffd}');
    end({ answered: true, status, body: text, retryAfter });
  }

  const limitedHere = { headersTimeout: 0, bodyTimeout: 0 };
  agent.dispatch(
    { origin, path, method: 'POST', headers, body, ...limitedHere },
    {
      onRequestStart(controller) {
        started = controller;
        if (late) controller.abort(tooLate);
      },
      onResponseStart(_, code, answerHeaders) {
        status = code;
        const value = answerHeaders['retry-after'];
        retryAfter = typeof value === 'string' ? value : undefined;
      },
      onResponseData(controller, chunk) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes <= answerBytesMax) return;
        endWithAnswer();
        controller.abort(longEnough);
      },
      onResponseEnd() {
        clearTimeout(timer);
        // undici reuses the connection after the current events. A next request before that would open another one.
        queueMicrotask(() => setImmediate(endWithAnswer));
      },
      onResponseError: (_, error) => end({ answered: false, error: describe(error) }),
    },
  );
  return promise;
}

const messages: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'the address is not public',
  ENOTFOUND: 'the host name does not resolve',
  EAI_AGAIN: 'the host name does not resolve',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'the connection took too long',
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
