import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A receiver in a separate process. It responds with 200 immediately and records when each event arrived. */

export type ReceiverQuestion = { readonly reset: true } | { readonly waitFor: number };
export type ReceiverAnswer =
  | { readonly port: number }
  | { readonly reset: true }
  | { readonly arrived: Readonly<Record<string, number>>; readonly count: number; readonly lastAtMs: number };

const certificates = new URL('../tests/support/certificates/', import.meta.url);
const tls = {
  key: readFileSync(new URL('receiver.key', certificates)),
  cert: readFileSync(new URL('receiver.pem', certificates)),
};

let arrived: Record<string, number> = {};
let count = 0;
let lastAtMs = 0;
let waitingFor = Number.POSITIVE_INFINITY;

function tell(answer: ReceiverAnswer): void {
  process.send?.(answer);
}

function report(): void {
  if (count < waitingFor) return;
  waitingFor = Number.POSITIVE_INFINITY;
  tell({ arrived, count, lastAtMs });
}

const server = createServer(tls, (request, response) => {
  request.resume();
  request.on('end', () => {
    lastAtMs = Date.now();
    count += 1;
    arrived[String(request.headers['svc-event-id'])] ??= lastAtMs;
    response.writeHead(200, { 'content-length': '2' }).end('ok');
    report();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }));

process.on('message', (question: ReceiverQuestion) => {
  if ('reset' in question) {
    arrived = {};
    count = 0;
    tell({ reset: true });
  } else {
    waitingFor = question.waitFor;
    report();
  }
});
