import type { ServerResponse } from 'node:http';
import { type AnswerFault, answerFaults } from './faults.ts';

/** Answers of a processor that is overloaded or under repair, or of a load balancer or a firewall in front of it. */

/** Longer than tests wait. */
const slowMs = 1_500;

const page =
  '<!DOCTYPE html><html><head><title>Maintenance</title></head><body><h1>We will be back soon</h1></body></html>';

/** What is sent instead of the answer, as it was about to be sent. */
const breaks: Readonly<Record<AnswerFault, (response: ServerResponse, send: (text: string) => void) => Sender>> = {
  slow: (_response, send) => (text) => setTimeout(() => send(text), slowMs),
  maintenance_503: (response, send) => () => {
    response.statusCode = 503;
    response.setHeader('content-type', 'text/html');
    response.setHeader('retry-after', '3600');
    send(page);
  },
  maintenance_200: (response, send) => () => {
    response.statusCode = 200;
    response.setHeader('content-type', 'text/html');
    send(page);
  },
  cut_headers:
    ({ socket }) =>
    () =>
      socket?.end('HTTP/1.1 200 OK\r\ncontent-typ'),
  cut_body: (response) => (text) => {
    const head = `HTTP/1.1 ${response.statusCode} OK\r\ncontent-length: ${Buffer.byteLength(text)}`;
    response.socket?.end(`${head}\r\n\r\n${text.slice(0, Math.floor(text.length / 2))}`);
  },
  other_type: (response, send) => (text) => {
    response.setHeader('content-type', 'image/png');
    send(text);
  },
};
type Sender = (text: string) => void;

export const isAnswerFault = (text: string): text is AnswerFault => (answerFaults as readonly string[]).includes(text);

/** Breaks the answer that is sent next. */
export function breakAnswer(response: ServerResponse, fault: AnswerFault): void {
  const { end, writeHead } = response;
  const send = breaks[fault](response, (text) => {
    Object.assign(response, { end, writeHead });
    response.setHeader('content-length', Buffer.byteLength(text));
    response.end(text);
  });
  // Headers are sent with the body, so that the fault can change them.
  response.writeHead = (status: number, headers?: unknown) => {
    response.statusCode = status;
    for (const [name, value] of Object.entries((headers ?? {}) as Record<string, string>)) {
      response.setHeader(name, value);
    }
    return response;
  };
  response.end = (text?: unknown) => {
    send(typeof text === 'string' ? text : '');
    return response;
  };
}
