import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { type FreezingProxy, startFreezingProxy } from './support/freezing-proxy.ts';
import { readyUrl } from './support/ready.ts';
import { programPath } from './support/programs.ts';

/**
 * The whole service as a process whose network to the database stops carrying packets, with short time-outs. The drill
 * `npm run drill blackhole` plays the same with the usual ones, under load.
 */

const program = programPath('main');
const statementTimeoutMs = 2_000;
/** What is under way is given up after 2.4 s; the rest is for connecting again, on a busy machine. */
const recoveryMs = 6_000;

let folder: string;
let database: TestDatabase;
let proxy: FreezingProxy;
let running: { child: ChildProcess; output: () => string };
let baseUrl: string;
let key: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-dead-'));
  database = await cloneDatabase(1);
  proxy = await startFreezingProxy(database.connectionString);
  await start();
});

after(async () => {
  running.child.kill('SIGKILL');
  await proxy.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program], {
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      PORT: '0',
      SVC_DATA_DIR: folder,
      SVC_DEMO: 'empty',
      SVC_LOG_LEVEL: 'warn',
      SVC_MASTER_SECRET: 'a master secret of this test, long enough',
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_DATABASE_TIMEOUT_MS: String(statementTimeoutMs),
      DATABASE_URL: proxy.through(database.connectionString),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  running = { child, output: () => output };
  baseUrl = await until(() => readyUrl(output), 30_000);
  key = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8')).secret_key;
}

async function until<Value>(
  condition: () => Value | undefined | false | Promise<Value | undefined | false>,
  patienceMs: number,
): Promise<Value> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(
      performance.now() < deadlineMs,
      `not within ${patienceMs} ms: ${condition.toString()}\n${running.output()}`,
    );
    await sleep(25);
  }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

async function createCustomer(): Promise<Response> {
  const body = {
    email: `${randomUUID()}@example.com`,
    first_name: 'Ada',
    last_name: 'L',
    phone: `+1555${Date.now() % 1e7}`,
  };
  return fetch(`${baseUrl}/v1/customers`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': randomUUID(),
    },
    body: JSON.stringify(body),
  });
}

describe('a database behind a network that carries nothing any more', () => {
  it('makes the service unready, and it recovers by itself once there is a way again', async () => {
    assert.equal((await createCustomer()).status, 201);
    assert.equal(await statusOf(`${baseUrl}/readyz`), 200);

    proxy.freeze();
    proxy.accept(false);
    // Each pool is asked: one that still had an answer a moment ago says nothing of the others.
    await until(async () => {
      const answer = await fetch(`${baseUrl}/readyz`);
      const pools = ['"requests"', '"money"', '"webhooks"'];
      const text = answer.status === 503 ? ((await answer.json()) as { message: string }).message : '';
      return text.startsWith('Not ready: the database does not respond,') && pools.every((pool) => text.includes(pool));
    }, 6_000);
    assert.equal(await statusOf(`${baseUrl}/healthz`), 200);
    const refused = await createCustomer();
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1']);

    proxy.accept(true);
    await until(async () => (await createCustomer()).status === 201, recoveryMs);
    await until(async () => (await statusOf(`${baseUrl}/readyz`)) === 200, recoveryMs);
    assert.equal(running.child.exitCode, null);
  });

  it('leaves no listener behind: a key revoked afterwards is refused at once', async () => {
    proxy.freeze();
    await until(async () => (await createCustomer()).status === 201, recoveryMs);
    // Within the five seconds that a key is believed without asking, only the listener can know.
    await until(() => proxy.working() >= 8, recoveryMs);
    await sleep(500);
    assert.equal((await createCustomer()).status, 201);
    await revokeEverything();
    await until(async () => (await createCustomer()).status === 401, 1_000);
  });

  it('does not keep the service from ending in time, with exit code 0', async () => {
    proxy.freeze();
    proxy.accept(false);
    const waiting = Array.from({ length: 12 }, () => createCustomer().catch(() => undefined));
    await sleep(200);
    const startedMs = performance.now();
    running.child.kill('SIGTERM');
    const [code] = await once(running.child, 'exit');
    const elapsedMs = performance.now() - startedMs;
    await Promise.all(waiting);
    assert.equal(code, 0, running.output());
    assert.ok(elapsedMs < 10_000, `${elapsedMs} ms`);
  });
});

async function revokeEverything(): Promise<void> {
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  await client.query('UPDATE api_keys SET revoked_at = now()');
  await client.end();
}
