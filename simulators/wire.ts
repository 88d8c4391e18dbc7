import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { breakAnswer, isAnswerFault } from './broken-answers.ts';

/** How a simulated processor reads requests and sends, repeats or withholds answers. */

const bodyBytesMax = 64 * 1024;

/** Returns undefined if the body is too long or incomplete. */
export async function readBody(request: IncomingMessage, bytesMax = bodyBytesMax): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch {
    return undefined;
  }
}

/**
 * Returns undefined if the body is too long, incomplete or not JSON. It gives no reason, because an error would quote
 * the request.
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const body = await readBody(request);
  try {
    return body && JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Returns the parts of a path; empty if they cannot be decoded. */
export function pathParts(url = '/'): string[] {
  try {
    return url.replace(/\?.*$/, '').split('/').slice(1).map(decodeURIComponent);
  } catch {
    return [];
  }
}

export const queryOf = (url = '/'): URLSearchParams => new URL(url, 'http://simulator').searchParams;

export function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: OutgoingHttpHeaders = {},
): void {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
  response.end(text);
}

/** Sends the answer, the same answer again, and bytes that are not an answer. */
export function answerTwice(response: ServerResponse, body: object): void {
  const { socket } = response;
  const text = JSON.stringify(body);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
  response.on('finish', () => socket?.write(`${head}${text}\0not HTTP`));
  answer(response, 200, body);
}

/**
 * Loses the answer as the fault says, before or after the request was executed. Returns whether it did; otherwise the answer may be
 * broken when it is sent.
 */
export function loseAnswer(
  fault: string | undefined,
  when: 'before' | 'after',
  response: ServerResponse,
  fail: () => void,
): boolean {
  if (!fault?.endsWith(`_${when}`)) return false;
  const what = fault.slice(0, -when.length - 1);
  if (isAnswerFault(what)) {
    breakAnswer(response, what);
    if (when === 'before') response.end('OK');
    return when === 'before';
  }
  if (what === 'timeout') return true;
  if (what === 'error') fail();
  else if (what === 'reset') response.req.socket.resetAndDestroy();
  else return false;
  return true;
}

/** The same for an answer to a lookup. */
export function loseLookup(fault: string | undefined, response: ServerResponse, fail: () => void): boolean {
  return loseAnswer(fault?.replace(/^lookup_(.*)$/, '$1_after'), 'after', response, fail);
}
