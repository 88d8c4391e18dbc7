import { appendFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { arrangedAccount } from '../../simulators/adyen/state.ts';
import { openSimulator } from '../../simulators/simulators.ts';
import type { KindName } from '../../server/vault/processors/kind.ts';
import { adyenAccount } from './kinds.ts';

/** A simulated processor, which also writes each fault of a request to a file. A kill loses none of these notes. */

const { values } = parseArgs({
  options: {
    kind: { type: 'string' },
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
const kind = text('kind') as KindName;

const firstMatch =
  (...names: readonly (readonly [RegExp, string])[]) =>
  (route: string): string | undefined =>
    names.find(([form]) => form.test(route))?.[1];

/** What a request is, for the table of faults; undefined if it gets none. */
const requestNames: Readonly<Record<KindName, (route: string) => string | undefined>> = {
  acquirer: firstMatch([/^GET \/operations\//, 'lookup'], [/^POST \/(charges|refunds|voids)/, 'operation']),
  stripe: firstMatch(
    [/^GET \/v1\//, 'lookup'],
    [/^POST \/v1\/(refunds|.*\/confirm)/, 'operation'],
    [/^POST \/v1\/.*\/cancel/, 'cancellation'],
    [/^POST \/v1\//, 'preparation'],
  ),
  nmi: firstMatch([/^POST \/api\/query/, 'lookup'], [/^POST \/api\/transact/, 'operation']),
  adyen: firstMatch(
    [/^POST .*\/payments$/, 'authorization'],
    [/^POST .*\/cancels$/, 'cancellation'],
    [/^POST \/checkout\//, 'operation'],
  ),
};

const server = await openSimulator(kind, {
  journalFile: text('journal'),
  secret: text('secret'),
  settleAfterMs: Number(text('settle-after-ms')),
  requestLifeMs: Number(text('request-life-ms')),
  hmacKey: adyenAccount.hmacKey.reveal(),
  merchantAccount: adyenAccount.merchantAccount,
  account: { ...arrangedAccount },
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
  const what = requestNames[kind](`${method} ${url}`);
  if (what === undefined) return;
  const startedAtMs = performance.now();
  watchSocket(socket);
  response.on('finish', () => {
    const { bytesWritten } = socket;
    const { statusCode } = response;
    if (statusCode >= 500) note(`${what}: 5xx`);
    if (statusCode === 409 || statusCode === 429) note(`${what}: ${statusCode}`);
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
