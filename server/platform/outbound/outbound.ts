import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import { Agent, buildConnector, request } from 'undici';
import type { AddressCheck } from './addresses.ts';

/**
 * Requests to addresses that others chose. The address that is really connected to is checked, so neither a name that
 * changes its mind nor a literal in disguise leads inside. Redirects are not followed; answers are read up to a bound.
 */

export interface OutboundRequest {
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
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly isAllowed: AddressCheck;
  /** Extra certificate authorities, as PEM. */
  readonly certificates?: readonly string[];
  readonly resolve?: typeof resolveAll;
  /** For the name, the connection and its encryption together. */
  readonly connectTimeoutMs?: number;
}

class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';
}

function resolveAll(hostname: string, done: (error: Error | null, addresses: LookupAddress[]) => void): void {
  dnsLookup(hostname, { all: true }, (error, addresses) => done(error, addresses ?? []));
}

const idleConnectionMs = 10_000;
const connectionsPerOrigin = 100;

export function createOutbound({
  isAllowed,
  certificates,
  resolve = resolveAll,
  connectTimeoutMs = 10_000,
}: OutboundOptions): Outbound {
  const refused = (): AddressRefused => new AddressRefused('the address is not a public one');

  const lookup = (
    hostname: string,
    options: { all?: boolean },
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    resolve(hostname, (error, addresses) => {
      const allowed = addresses.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (error || !first) done(error ?? refused(), []);
      else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
  const connect = buildConnector({
    timeout: connectTimeoutMs,
    lookup,
    // Made once: with authorities of our own, Node would read all of them again for each connection.
    ...(certificates && { secureContext: createSecureContext({ ca: [...certificates] }) }),
  } as buildConnector.BuildOptions);

  const agent = new Agent({
    connections: connectionsPerOrigin,
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

  return {
    async post({ url, headers, body, timeoutMs, answerBytesMax }) {
      try {
        const answer = await request(url, {
          dispatcher: agent,
          method: 'POST',
          headers,
          body,
          signal: AbortSignal.timeout(timeoutMs),
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        });
        const text = await readUpTo(answer.body, answerBytesMax);
        const retryAfter = answer.headers['retry-after'];
        return {
          answered: true,
          status: answer.statusCode,
          body: text,
          retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
        };
      } catch (error) {
        return { answered: false, error: describe(error) };
      }
    },
    close: () => agent.destroy(),
  };
}

/** What is longer is cut off there, and the connection with it: nobody can make us read for ever. */
async function readUpTo(body: AsyncIterable<Buffer> & { destroy(): unknown }, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8').replaceAll('\0', '\u{fffd}');
}

const messages: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED: 'the address is not a public one',
  ENOTFOUND: 'the name does not resolve',
  EAI_AGAIN: 'the name does not resolve',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: 'the connection took too long',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'no answer in time',
  UND_ERR_ABORTED: 'no answer in time',
};

/** For the merchant to read: what went wrong, without stacks or addresses inside. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'the request failed';
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return messages.UND_ERR_ABORTED ?? '';
  const code = 'code' in error ? String(error.code) : '';
  if (messages[code]) return messages[code];
  return /CERT|SSL|TLS|ALTNAME|SELF_SIGNED|UNABLE_TO/.test(code)
    ? `the certificate or the TLS connection is not acceptable (${code})`
    : `the request failed${code ? ` (${code})` : ''}`;
}
