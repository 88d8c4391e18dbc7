import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadConfig, variables } from '../server/config.ts';
import { startService } from '../server/service.ts';
import { explain } from '../server/start/explain.ts';
import { svc } from './support/command.ts';
import { misconfigurations, password, prepareSurroundings } from './support/misconfigurations.ts';
import { silentLog } from './support/silent-log.ts';

/** Every mistake of the table, in this process. `tests/deployments/misconfigurations.test.ts` starts a process for each. */

const surroundings = await prepareSurroundings();
after(() => surroundings.remove());
const nothingYet = join(surroundings.folder, 'new');

async function refusal(settings: Record<string, string>): Promise<ReturnType<typeof explain>> {
  try {
    const config = loadConfig({ SVC_DATA_DIR: nothingYet, PORT: '0', ...settings });
    await (await startService(config, silentLog, assert.fail)).stop();
  } catch (error) {
    return explain(error as Error);
  }
  return assert.fail(`it started with ${JSON.stringify(settings)}`);
}

const patienceMs = 3_000;
const rows = misconfigurations(surroundings);

describe('a misconfigured service', () => {
  it('has a table of at least 80 mistakes, with every setting that restricts its values', () => {
    assert.ok(rows.length >= 80, `${rows.length}`);
    const named = new Set(rows.flatMap(({ settings }) => Object.keys(settings)));
    const anyText = ['SVC_BRAND_NAME', 'S3_REGION', 'SVC_BACKUP_PATH'];
    const missing = variables.filter((name) => !named.has(name) && !name.endsWith('_FILE') && !anyText.includes(name));
    assert.deepEqual(missing, []);
  });

  for (const { settings, says, code } of rows) {
    it(`says in one line: ${says.replaceAll(surroundings.folder, '').slice(0, 70)}`, async () => {
      const startedAtMs = performance.now();
      const { message, exitCode } = await refusal({ ...settings });
      const elapsedMs = performance.now() - startedAtMs;
      assert.ok(message.includes(says), message);
      assert.ok(!message.includes('\n') && !message.includes(password), message);
      assert.equal(exitCode, code, message);
      assert.ok(elapsedMs < patienceMs, `${elapsedMs} ms`);
      for (const made of ['postgres', 'master.secret', 'vault.keys'])
        assert.ok(!existsSync(join(nothingYet, made)), `${made} is created: ${message}`);
    });
  }

  it('refuses every variable that is set but empty', async () => {
    const untouched = join(surroundings.folder, 'untouched');
    for (const name of variables) {
      for (const value of ['', ' \n']) {
        const { message, exitCode } = await refusal({ SVC_DATA_DIR: untouched, [name]: value });
        assert.deepEqual([message, exitCode], [`${name} is set but empty. Give it a value, or remove it.`, 78]);
      }
    }
    assert.ok(!existsSync(untouched));
  });

  it('names all mistakes at once, each in a line', async () => {
    const { message } = await refusal({ PORT: 'x', DATABASE_URL: '', SVC_ROLES: 'y' });
    assert.deepEqual(
      message.split('\n').map((line) => line.split(' ')[0]),
      ['PORT', 'SVC_ROLES', 'DATABASE_URL'],
    );
  });
});

describe('the svc command', () => {
  const own = { DATABASE_URL: surroundings.oldUrl, SVC_MASTER_SECRET: surroundings.masterSecret };

  for (const command of ['migrate', 'doctor', 'status']) {
    it(`refuses a PostgreSQL that is too old in one line: ${command}`, async () => {
      const { code, stderr } = await svc(own, command);
      assert.equal(stderr, 'The server of DATABASE_URL is PostgreSQL 14.23; use 15 or newer.\n');
      assert.equal(code, 78);
    });
  }

  it('exits with 78 for wrong settings', async () => {
    const { code, stderr } = await svc({ ...own, DATABASE_URL: '' }, 'doctor');
    assert.deepEqual([code, stderr], [78, 'DATABASE_URL is set but empty. Give it a value, or remove it.\n']);
  });
});
