import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { newPerson } from '../tests/support/dashboard.ts';
import { cloneDatabase } from '../tests/support/database.ts';
import { freePort } from '../tests/support/listen.ts';
import { callAt, startTestService } from '../tests/support/service.ts';
import { loadConfig } from './config.ts';
import { ensureDemo } from './demo.ts';
import { silentLog } from '../tests/support/silent-log.ts';
import { Secret } from './platform/secret.ts';
import { originalKeys } from './platform/service-keys.ts';
import { startService } from './service.ts';
import { nextKeys } from './vault/key-store.ts';

test('the login of the demo company works, also where its data is from before there was a dashboard', async () => {
  const service = await startTestService();
  try {
    const { db, control, shards, clock, config, baseUrl } = service;
    const dependencies = {
      shards,
      controlUrl: service.database.apiUrl,
      clock,
      baseUrl,
      dataDir: config.dataDir,
      keys: originalKeys(new Secret(Buffer.alloc(32, 9))),
      isEmpty: true,
    };
    const signIn = async ({ email, password }: { email: string; password: string }): Promise<string[]> => {
      const reply = await newPerson(service).call('POST', '/dashboard/session', { body: { email, password } });
      assert.equal(reply.status, 200, reply.text);
      return reply.body.companies.map(({ mode }: { mode: string }) => mode);
    };
    const demo = await ensureDemo(dependencies);
    assert.deepEqual(await signIn(demo), ['live', 'sandbox']);
    await control.query('DELETE FROM users');
    await db.query('DELETE FROM team_members');
    const again = await ensureDemo(dependencies);
    assert.deepEqual(again, demo);
    assert.deepEqual(await signIn(again), ['live', 'sandbox']);
  } finally {
    await service.stop();
  }
});

async function countCompanies(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query('SELECT count(*)::integer AS count FROM companies');
  await client.end();
  return rows[0].count;
}

test('processes that start at the same time share one demo company', async () => {
  const database = await cloneDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
  const secret = {
    SVC_MASTER_SECRET: 'the master secret of the tests of the demo',
    SVC_VAULT_KEYS: nextKeys(undefined),
  };
  const start = (dataDir: string) => {
    const own = { PORT: '0', SVC_DEMO: 'empty', SVC_DATA_DIR: join(folder, dataDir), SVC_MAX_EVENT_LOOP_DELAY_MS: '0' };
    return startService(loadConfig({ ...database.settings, ...own, ...secret }), silentLog, assert.fail);
  };
  // Two on one machine, and one on another.
  const starts = await Promise.allSettled(['one', 'one', 'other'].map(start));
  const services = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  try {
    for (const one of starts) assert.equal(one.status, 'fulfilled', one.status === 'rejected' ? one.reason : '');
    const products = services.map(async ({ baseUrl, demo }) => {
      const { status, body, text } = await callAt(baseUrl, demo?.secret_key ?? '', 'GET', '/v1/products', {});
      assert.equal(status, 200, text);
      return body.data.map(({ id }: { id: string }) => id).join();
    });
    assert.equal(new Set(await Promise.all(products)).size, 1);
    const urls = [database, ...database.others].map(({ connectionString }) => connectionString);
    const counts = await Promise.all(urls.map(countCompanies));
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      2,
    );
    assert.equal(services[0]?.demo?.secret_key, services[1]?.demo?.secret_key);
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});

test('demo.json is written before /readyz answers', async () => {
  const database = await cloneDatabase(1);
  const folder = await mkdtemp(join(tmpdir(), 'svc-demo-'));
  const port = await freePort();
  const config = loadConfig({
    DATABASE_URL: database.connectionString,
    SVC_MASTER_SECRET: 'the master secret of the tests of the demo',
    SVC_DATA_DIR: folder,
    SVC_DEMO: 'empty',
    PORT: String(port),
  });
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  const watching = (async () => {
    while (!(await isReady())) await sleep(1);
    return existsSync(join(folder, 'demo.json'));
  })();
  const started = await startService(config, silentLog, () => undefined);
  try {
    assert.equal(await watching, true);
  } finally {
    await started.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});
