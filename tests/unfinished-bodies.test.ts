import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { limits } from '../server/limits.ts';
import { connectAcquirer } from './support/connect.ts';
import { type MeasuredServer, startMeasured } from './support/measured-service.ts';
import { isLongRun } from './support/random.ts';
import { startTestService } from './support/service.ts';

/**
 * Anyone can begin a request and not finish it. On every route of every server this costs little memory, and the client
 * gets a response or loses its connection within 10 seconds.
 */

const service = await startTestService();
const merchant = await service.createMerchant();
const publishable = await service.createKey(merchant.sandbox, { kind: 'publishable' });
const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
const acquirer = { url: 'http://127.0.0.1:9', secret: 'secret', ...timing };
const connection = await connectAcquirer(service, merchant.live.id, acquirer);
const measured = await startMeasured(service);
const open = new Set<Socket>();
after(async () => {
  for (const socket of open) socket.destroy();
  await measured.stop();
  await service.stop();
});

const perRoute = 500;
const atOnce = 50;
const growthMax = 32 * 1024 * 1024;
const secondsMax = 10;
/** Each address stays far below its own limits, so that only those of all strangers together apply. */
const perAddress = 5;
/** How often memory is measured, which takes as long as a hundred requests. */
const routesPerMeasure = 6;

/**
 * `unread`: the response does not wait for the body. `read`: the body is read before the caller is known; `bytes` of it
 * are allowed.
 */
interface Row {
  readonly server: string;
  readonly route: RegExp;
  readonly body: 'unread' | 'read';
  readonly bytes?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const bearer = (secret: string): Record<string, string> => ({ Authorization: `Bearer ${secret}` });

/** The first row that matches a route counts. */
const rows: readonly Row[] = [
  { server: 'api', route: /^(GET|HEAD|OPTIONS) /, body: 'unread' },
  { server: 'api', route: /^POST \/processors\/:connection\/notices$/, body: 'read', bytes: limits.noticeBytes },
  { server: 'api', route: /^POST \/(v1\/card_tokens|capture)$/, body: 'read', headers: bearer(publishable) },
  { server: 'api', route: /^POST \/mcp$/, body: 'read' },
  {
    server: 'api',
    route: /^POST \/((cancel|checkout|confirm|customer|pay|withdraw)\/:token|unsubscribe\/:company)(\/|$)/,
    body: 'read',
  },
  {
    server: 'api',
    route: /^POST \/dashboard\/(sign_up|session(\/once)?|password_resets(\/complete)?|invitations\/:token\/accept)$/,
    body: 'read',
  },
  { server: 'api', route: /^(POST|PUT|PATCH|DELETE) \/(v1|dashboard)\//, body: 'unread' },
  { server: 'vault', route: /^(GET|HEAD) /, body: 'unread' },
  { server: 'vault', route: /^POST /, body: 'unread' },
  { server: 'worker', route: /^(GET|HEAD) /, body: 'unread' },
];

interface Target {
  readonly server: MeasuredServer;
  readonly name: string;
  readonly row: Row;
}

const targets = measured.servers.flatMap((server) =>
  server.routes.map((name) => {
    const row = rows.find((one) => one.server === server.name && one.route.test(name));
    assert.ok(row, `${name} of ${server.name} needs a row: does it read the body before the caller is known?`);
    return { server, name, row };
  }),
);

let connections = 0;

function nextAddress(): string {
  connections += 1;
  const address = Math.floor(connections / perAddress);
  return `10.${address >> 16}.${(address >> 8) & 255}.${address & 255}`;
}

interface Over {
  readonly atMs: number;
  /** Undefined if the connection ended without a response. */
  readonly status: number | undefined;
}

const spaces = Buffer.alloc(Math.max(limits.noticeBytes, limits.publicBodyBytes), ' ');

/** Sends all but the last byte of a body. */
function begin({ server, name, row }: Target, address = nextAddress()): Promise<Over> {
  const [method, path = ''] = name.split(' ');
  const bytes = row.bytes ?? limits.publicBodyBytes;
  const headers = {
    Host: 'localhost',
    Origin: 'http://localhost',
    'Content-Type': 'application/json',
    'Content-Length': bytes,
    'X-Forwarded-For': address,
    ...row.headers,
  };
  const url = path.replace(':connection', connection).replace(/:\w+/g, randomUUID()).replace('*', 'x');
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  const { promise, resolve } = Promise.withResolvers<Over>();
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  open.add(socket);
  const end = (answer?: Buffer): void => {
    open.delete(socket);
    socket.destroy();
    resolve({ atMs: performance.now(), status: answer && Number(answer.toString('latin1', 9, 12)) });
  };
  socket
    .once('data', end)
    .once('close', () => end())
    .once('error', () => end());
  socket.write(`${method} ${url} HTTP/1.1\r\n${lines.join('')}\r\n`);
  if (row.body === 'read') socket.write(spaces.subarray(0, bytes - 1));
  return promise;
}

/** Begins many requests and waits until they have arrived. Then `slow` resolves with what takes too long from then on. */
async function beginMany(target: Target): Promise<{ readonly slow: Promise<string[]> }> {
  const begun = Array.from({ length: perRoute }, () => begin(target));
  await measured.arrived(perRoute);
  const arrivedAtMs = performance.now();
  const slow = Promise.all(begun).then((all) => {
    const seconds = (Math.max(...all.map(({ atMs }) => atMs)) - arrivedAtMs) / 1000;
    return seconds > secondsMax ? [`${target.name}: ${seconds.toFixed(1)} s`] : [];
  });
  return { slow };
}

async function assertGrowth(before: number): Promise<void> {
  const growth = (await measured.bytes()) - before;
  assert.ok(growth <= growthMax, `${Math.round(growth / 1024 / 1024)} MB more`);
}

const isRead = ({ row }: Target): boolean => row.body === 'read';
const unread = targets.filter((target) => !isRead(target));

test('the response to a caller who is not known does not wait for the body', async () => {
  const waited: string[] = [];
  for (let at = 0; at < unread.length; at += atOnce) {
    const some = unread.slice(at, at + atOnce);
    const all = await Promise.all(some.map((target) => begin(target)));
    // What the service answers if it gives up a body.
    waited.push(
      ...some.filter((_, index) => [undefined, 408, 503].includes(all[index]?.status)).map(({ name }) => name),
    );
  }
  assert.deepEqual(waited, []);
  await measured.arrived(unread.length);
});

test('bodies that are not read cost little memory, however many there are', async () => {
  const before = await measured.bytes();
  for (const target of isLongRun ? unread : firstOfEachKind()) {
    const { slow } = await beginMany(target);
    await assertGrowth(before);
    assert.deepEqual(await slow, []);
  }
});

/** One route for each row whose requests have a body. */
function firstOfEachKind(): Target[] {
  const kinds = rows.filter(({ body, route }) => body === 'unread' && route.test('POST /v1/orders'));
  return kinds.map((row) => unread.find((one) => one.row === row) as Target);
}

test('bodies of unknown callers cost little memory, and are answered or cut within 10 seconds', async () => {
  const reading = targets.filter(isRead);
  assert.ok(reading.length > 10);
  const before = await measured.bytes();
  const all: Promise<string[]>[] = [];
  for (const [index, target] of reading.entries()) {
    const { slow } = await beginMany(target);
    all.push(slow);
    if (index % routesPerMeasure === 0 || index === reading.length - 1) await assertGrowth(before);
  }
  assert.deepEqual((await Promise.all(all)).flat(), []);
});

test('one address cannot take the places of others', async () => {
  const signIn = targets.find(({ name }) => name === 'POST /dashboard/session') as Target;
  const other = begin(signIn, '192.0.2.1');
  await measured.arrived(1);
  // Each counts with its bytes and its connection.
  const fitting = Math.floor(limits.strangers.bytesOfAddress / (2 * limits.publicBodyBytes));
  const crowd = Array.from({ length: fitting + 20 }, () => begin(signIn, '192.0.2.2'));
  // The oldest ones make room for the latest.
  for (const { status } of await Promise.all(crowd.slice(0, 20))) assert.equal(status, 429);
  for (const { status } of await Promise.all([other, ...crowd.slice(20)])) assert.equal(status, 408);
});
