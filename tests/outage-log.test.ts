import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../server/config.ts';
import { openComponents, PlainProblem } from '../server/platform/components.ts';
import { StorageError } from '../server/platform/files/storage-error.ts';
import { createLog } from '../server/platform/log.ts';
import { type Service, startService } from '../server/service.ts';
import { quietDuringOutages } from '../server/start/outage-log.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { type Gate, gateTo } from './support/database-gate.ts';
import { freePort } from './support/listen.ts';
import { silentLog } from './support/silent-log.ts';
import { eventually } from './support/webhooks.ts';

/** What the log has of an outage: a line when it begins, one each minute, and one when it ends. */

interface Line {
  readonly severity: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const lines: Line[] = [];
const read = (line: string): void => {
  const { severity_text, body, attributes = {} } = JSON.parse(line) as Record<string, any>;
  lines.push({ severity: severity_text, body, attributes });
};
const log = createLog('info', { write: read });
const startQuietly = (settings: Record<string, string>): Promise<Service> =>
  startService(loadConfig(settings), silentLog, assert.fail);

async function readinessAt(port: string) {
  const reply = await fetch(`http://127.0.0.1:${port}/readyz`);
  const body = (await reply.json()) as Record<string, unknown>;
  const retryAfter = reply.headers.get('retry-after');
  return { status: reply.status, fields: Object.keys(body), message: body['message'] as string, retryAfter };
}

const problems = (): Line[] => lines.filter(({ severity }) => severity !== 'INFO');

describe('a database that is away', { concurrency: false }, () => {
  let database: TestDatabase;
  let folder: string;
  let gate: Gate;
  let service: Service;
  let worker: Service;
  let vault: Service;
  let ports: string[];
  const vaultLines: string[] = [];

  before(async () => {
    database = await cloneDatabase(1);
    folder = await mkdtemp(join(tmpdir(), 'svc-outage-'));
    gate = await gateTo(database.connectionString);
    const settings = {
      SVC_DATA_DIR: folder,
      DATABASE_URL: gate.connectionString,
      SVC_MASTER_SECRET: 'a master secret of this test, long enough',
      SVC_DEMO: 'empty',
      PORT: '0',
    };
    service = await startService(loadConfig(settings), log, assert.fail);
    ports = [String(await freePort()), String(await freePort())];
    const [SVC_HEALTH_PORT = '', SVC_VAULT_PORT = ''] = ports;
    const SVC_VAULT_TOKEN = 'a token of this test, long enough';
    const SVC_VAULT_DATABASE_URL = gate.through(database.vaultUrl);
    const SVC_VAULT_URL = `http://127.0.0.1:${SVC_VAULT_PORT}`;
    const alone = { SVC_DATA_DIR: join(folder, 'vault'), SVC_VAULT_DATABASE_URL, SVC_VAULT_TOKEN, SVC_VAULT_PORT };
    const keys = await readFile(join(folder, 'vault.keys'), 'utf8');
    const ofVault = { ...alone, SVC_ROLES: 'vault', SVC_VAULT_KEYS: keys.trim() };
    vault = await startService(
      loadConfig(ofVault),
      createLog('warn', { write: (line) => vaultLines.push(line) }),
      assert.fail,
    );
    const remote = { SVC_VAULT_URL, SVC_VAULT_TOKEN, SVC_HEALTH_PORT, SVC_DEMO: '0', SVC_ROLES: 'worker' };
    worker = await startQuietly({ ...settings, ...remote, SVC_DATA_DIR: join(folder, 'worker') });
  });
  after(async () => {
    await Promise.all([service.stop(), worker.stop()]);
    await vault.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('is logged once although every job and request fails, and once when it is back, with their number', async () => {
    await eventually('all jobs run', async () => (await fetch(`${service.baseUrl}/readyz`)).status === 200);
    lines.length = 0;
    await gate.shut();
    const isUnavailable = (): boolean => lines.some(({ body }) => body === 'unavailable: database');
    await eventually('it is noticed', async () => isUnavailable());
    const { secret_key } = JSON.parse(await readFile(join(folder, 'demo.json'), 'utf8')) as { secret_key: string };
    const headers = { authorization: `Bearer ${secret_key}` };
    const customers = (): Promise<Response> => fetch(`${service.baseUrl}/v1/customers`, { headers });
    for (let count = 0; count < 20; count += 1) assert.equal((await customers()).status, 503);
    // Ten jobs run each second.
    const failures = async (): Promise<number> => {
      const found = (await (await fetch(`${service.baseUrl}/metrics`)).text()).matchAll(
        /^svc_job_failures_total.* (\d+)$/gm,
      );
      return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    await eventually('jobs have failed', async () => (await failures()) > 20);
    const [readyOfWorker, readyOfVault] = await eventually('both say that they are not ready', async () => {
      const replies = await Promise.all(ports.map(readinessAt));
      return replies.every(({ status }) => status === 503) ? replies : undefined;
    });
    assert.match(readyOfWorker?.message ?? '', /^Not ready: the database does not respond, /);
    assert.equal(readyOfVault?.message, 'Not ready: the vault cannot use its database.');
    for (const reply of [readyOfWorker, readyOfVault]) {
      assert.deepEqual(reply?.fields, ['status', 'message', 'components']);
      assert.equal(reply.retryAfter, '1');
    }
    await gate.open();
    for (const port of ports) await eventually('it is ready', async () => (await readinessAt(port)).status === 200);
    const again = await eventually('it is back', async () =>
      lines.find(({ body }) => body === 'available again: database'),
    );
    assert.ok((again.attributes['svc.failures'] as number) > 20, JSON.stringify(again));
    // The vault of this process has a pool of its own on the same server, and may have noticed it too.
    const messages = problems().map(({ body }) => body);
    assert.deepEqual(
      messages.filter((msg) => msg !== 'unavailable: vault'),
      ['unavailable: database'],
    );
    assert.ok(messages.length <= 2, JSON.stringify(problems()));
    assert.doesNotMatch(JSON.stringify([...lines, ...vaultLines]), /stacktrace/);
    assert.match(vaultLines.join(''), /unavailable: database/);
  });

  it('is no error and no warning if it ends while the service stops', async () => {
    lines.length = 0;
    const stopping = service.stop();
    await gate.shut();
    await stopping;
    assert.deepEqual(problems(), []);
  });
});

describe('the log of a part', () => {
  it('has a line when it goes away, one each minute, and one when it is back', () => {
    lines.length = 0;
    let nowMs = 0;
    const components = openComponents(log, () => nowMs);
    for (; nowMs <= 150_000; nowMs += 2_000) components.note('vault', new PlainProblem('the vault does not respond'));
    components.note('vault', undefined);
    components.note('vault', undefined);
    assert.deepEqual(
      lines.map(({ severity, body, attributes }) => [severity, body, attributes['svc.seconds']]),
      [
        ['ERROR', 'unavailable: vault', undefined],
        ['ERROR', 'still unavailable: vault', 60],
        ['ERROR', 'still unavailable: vault', 120],
        ['INFO', 'available again: vault', 152],
      ],
    );
  });

  it('has an error of a part that is up as it is, and the same errors together', async () => {
    lines.length = 0;
    const components = openComponents(log);
    components.watch('object_store', async () => undefined, 60_000);
    const own = createLog('info', { write: read });
    quietDuringOutages(own, components);
    own.warn({ err: new Error('of nothing') }, 'another problem');
    for (let count = 0; count < 5; count += 1)
      own.child({}).error({ err: new StorageError('refused') }, 'upload failed');
    await eventually('it is logged', async () => lines.length > 1);
    components.stop();
    assert.deepEqual(
      lines.map(({ severity, body, attributes }) => [
        severity,
        body,
        attributes['svc.count'],
        attributes['exception.message'],
      ]),
      [
        ['WARN', 'another problem', undefined, 'of nothing'],
        ['ERROR', 'upload failed', 5, 'refused'],
      ],
    );
  });
});
