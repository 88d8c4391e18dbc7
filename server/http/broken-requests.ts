import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, errorBody } from '../errors.ts';
import { newRequestId } from '../platform/ids.ts';
import { responseOn } from '../platform/stranger-connections.ts';
import { latestVersion, supportedVersion } from './versions/versions.ts';

/** Answers in our own format what Node itself would reject: requests that are not valid HTTP, or late. */

/** A name or an address, with an optional port (RFC 3986). */
const hostForm = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;

/**
 * Proxies route by the Host header: with two of them, or none, a proxy and this server may disagree about the host.
 */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  let hosts = 0;
  let host = '';
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    hosts += 1;
    host = rawHeaders[index + 1] ?? '';
  }
  if (hosts > 1) return new ApiError('invalid_request', 'Send exactly one Host header.');
  if (host === '') return httpVersion === '1.1' ? new ApiError('invalid_request', 'Send a Host header.') : undefined;
  return hostForm.test(host) ? undefined : new ApiError('invalid_request', 'The Host header is malformed.');
}

export function refuseExpectation({ headers }: IncomingMessage, response: ServerResponse, baseUrl: string): void {
  const requestId = newRequestId();
  const error = new ApiError('invalid_request', 'The Expect header must be 100-continue.');
  const body = JSON.stringify(errorBody(error, requestId, baseUrl));
  response.writeHead(417, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'SVC-Request-Id': requestId,
    'SVC-Version': supportedVersion(headers['svc-version']) ?? latestVersion,
    Connection: 'close',
  });
  response.end(body);
}

/** Answers requests that are not valid HTTP: the parser passes only the socket. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket, baseUrl: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  // A browser may open a connection before it needs one.
  if (socket.bytesRead === 0) return void socket.destroy();
  const running = responseOn(socket);
  if (running?.req.complete) {
    // Invalid bytes after a request that is still being served: it gets its response, and then the connection closes.
    running.shouldKeepAlive = false;
    running.once('close', () => socket.destroy());
    return;
  }
  if (running?.headersSent) return void socket.destroy();
  const requestId = newRequestId();
  const [status, reason, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431', 'Request Header Fields Too Large', 'The request line and headers are larger than 16 KiB.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408', 'Request Timeout', 'The request took too long to arrive.']
        : ['400', 'Bad Request', 'The request is not valid HTTP.'];
  const body = JSON.stringify(errorBody(new ApiError('invalid_request', message), requestId, baseUrl));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `SVC-Request-Id: ${requestId}\r\nSVC-Version: ${latestVersion}\r\nConnection: close\r\n\r\n${body}`,
  );
}
