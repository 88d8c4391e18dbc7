import * as http from 'node:http';
import * as https from 'node:https';
import { traceHeaders } from '../../platform/spans.ts';
import { type Exchanged, noteExchange } from './recording.ts';

/**
 * Sends one request to a processor, and reports whether a failed one may have arrived. It never repeats a request and
 * never follows a redirect.
 */

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  /** The processor's clock when the request was sent, or slightly earlier, from the Date header. */
  readonly askedAtMs: number | undefined;
}

/** There was no answer. */
export interface Silence {
  readonly mayHaveArrived: boolean;
  readonly reason: string;
}

/** What a request without an answer proves. */
export function silentOutcome({ mayHaveArrived, reason }: Silence) {
  return { outcome: mayHaveArrived ? 'unknown' : 'not_sent', reason } as const;
}

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The parts of the path below the URL of the exchange. They are encoded here. */
  readonly path: readonly string[];
  readonly query?: URLSearchParams;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: { readonly type: string; readonly content: string | Buffer };
  readonly bytesMax?: number;
}

export type Exchange = (request: ExchangeRequest) => Promise<Answer | Silence>;

export interface ExchangeOptions {
  readonly url: string;
  readonly timeoutMs: number;
  /** The headers of every request, credentials among them. */
  readonly headers: () => Readonly<Record<string, string>>;
}

const answerBytesMax = 64 * 1024;
/**
 * Shorter than any server keeps an idle connection: a request on a connection that closes at the same moment is in
 * doubt.
 */
const idleConnectionMs = 4_000;

export function openExchange({ url, timeoutMs, headers: commonHeaders }: ExchangeOptions): Exchange {
  const base = new URL(url);
  const isSecure = base.protocol === 'https:';
  const agent = isSecure
    ? new https.Agent({ keepAlive: true, timeout: idleConnectionMs, rejectUnauthorized: true })
    : new http.Agent({ keepAlive: true, timeout: idleConnectionMs });

  function open({ method, path, query, headers, body }: ExchangeRequest): http.ClientRequest {
    const pathname = [base.pathname.replace(/\/+$/, ''), ...path.map(encodeURIComponent)].join('/');
    return (isSecure ? https : http).request(new URL(query ? `${pathname}?${query.toString()}` : pathname, base), {
      method,
      agent,
      headers: {
        ...commonHeaders(),
        ...traceHeaders(),
        ...(body && { 'content-type': body.type, 'content-length': Buffer.byteLength(body.content) }),
        ...headers,
      },
    });
  }

  return async (wanted) => {
    try {
      const request = open(wanted);
      const answer = receive(request, { isSecure, timeoutMs, bytesMax: wanted.bytesMax ?? answerBytesMax });
      request.end(wanted.body?.content);
      const found = await answer;
      noteExchange(() => exchangedOf(wanted, found));
      return found;
    } catch (error) {
      return { mayHaveArrived: false, reason: `the request could not be sent: ${errorCode(error)}` };
    }
  };
}

function exchangedOf({ method, path, query, body }: ExchangeRequest, found: Answer | Silence): Exchanged {
  const isAnswer = 'status' in found;
  return {
    method,
    path,
    query: query?.toString() ?? '',
    body: body?.content.toString() ?? '',
    answer: isAnswer
      ? { status: found.status, type: found.headers['content-type'] ?? 'text/plain', text: found.text }
      : null,
  };
}

/** The parsed body; undefined if it is not JSON. */
export function jsonOf({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Reception {
  readonly isSecure: boolean;
  readonly timeoutMs: number;
  readonly bytesMax: number;
}

function receive(request: http.ClientRequest, { isSecure, timeoutMs, bytesMax }: Reception): Promise<Answer | Silence> {
  const startedAtMs = performance.now();
  return new Promise((resolve) => {
    let mayHaveArrived = false;
    let answered: http.IncomingMessage | undefined;
    const end = (result: Answer | Silence): void => {
      clearTimeout(deadline);
      resolve(result);
    };
    const giveUp = (reason: string): void => {
      end({ mayHaveArrived, reason });
      request.destroy();
    };
    const deadline = setTimeout(() => giveUp(`no response within ${timeoutMs} ms`), timeoutMs);

    request.on('socket', (socket) => {
      // On a new connection nothing is sent before it is established. On a reused one, the request is sent at once.
      if (!socket.connecting) mayHaveArrived = true;
      else socket.once(isSecure ? 'secureConnect' : 'connect', () => (mayHaveArrived = true));
    });
    request.on('error', (error) => {
      // Bytes after a complete answer break the connection, not the answer.
      if (!answered?.complete) giveUp(`the connection failed: ${errorCode(error)}`);
    });
    request.on('response', (response) => {
      answered = response;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > bytesMax) giveUp(`the response is longer than ${bytesMax} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', (error) => giveUp(`the response is incomplete: ${errorCode(error)}`));
      response.on('end', () =>
        end({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
          // The processor looked up the operation between our request and the date of its answer, so the earlier time
          // counts.
          askedAtMs: dateOf(response.headers.date, performance.now() - startedAtMs),
        }),
      );
    });
  });
}

function dateOf(header: string | undefined, elapsedMs: number): number | undefined {
  const ms = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? undefined : Math.floor(ms - elapsedMs);
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failed';
