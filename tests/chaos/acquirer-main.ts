import { appendFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { systemClock } from '../../server/platform/clock.ts';
import { Secret } from '../../server/platform/secret.ts';
import { openSimulator } from '../../server/vault/processors/acquirer/simulator.ts';

/** The acquirer simulator, which also writes each fault of a request to a file. A kill loses none of these notes. */

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    journal: { type: 'string' },
    notes: { type: 'string' },
    secret: { type: 'string' },
    'settle-after-ms': { type: 'string' },
    'request-life-ms': { type: 'string' },
    'timeout-ms': { type: 'string' },
  },
});
const text = (name: keyof typeof values): string => values[name] ?? '';
const timeoutMs = Number(text('timeout-ms'));

const server = await openSimulator({
  journalFile: text('journal'),
  secret: new Secret(text('secret')),
  clock: systemClock,
  settleAfterMs: Number(text('settle-after-ms')),
  requestLifeMs: Number(text('request-life-ms')),
});

const note = (fault: string): void => appendFileSync(text('notes'), `${fault}\n`);
const reset = new WeakSet<Socket>();
const closedByCaller = new WeakSet<Socket>();
const watched = new WeakSet<Socket>();

function watchSocket(socket: Socket): void {
  if (watched.has(socket)) return;
  watched.add(socket);
  socket.on('end', () => closedByCaller.add(socket));
  socket.on('error', () => closedByCaller.add(socket));
  const resetAndDestroy = socket.resetAndDestroy.bind(socket);
  socket.resetAndDestroy = () => {
    reset.add(socket);
    return resetAndDestroy();
  };
}

/** The traffic shows which fault a request got, except whether the operation was executed before it. */
function watch(request: IncomingMessage, response: ServerResponse): void {
  const { socket, method = '', url = '' } = request;
  const isLookup = method === 'GET' && url.startsWith('/operations/');
  if (!isLookup && !/^POST \/(charges|refunds|voids)/.test(`${method} ${url}`)) return;
  const what = isLookup ? 'lookup' : 'operation';
  const startedAtMs = performance.now();
  watchSocket(socket);
  response.on('finish', () => {
    const { bytesWritten } = socket;
    if (response.statusCode >= 500) note(`${what}: 5xx`);
    setImmediate(() => {
      if (socket.bytesWritten > bytesWritten) note(`${what}: answered twice, and garbage`);
    });
  });
  response.on('close', () => {
    if (response.writableFinished) return;
    if (reset.has(socket)) note(`${what}: connection reset`);
    else if (!closedByCaller.has(socket)) note(`${what}: connection closed, taken later`);
    // An earlier end means that the caller died.
    else if (performance.now() - startedAtMs > timeoutMs * 0.9) note(`${what}: no answer`);
  });
}

server.prependListener('request', watch);
server.listen(Number(text('port')), '127.0.0.1');
