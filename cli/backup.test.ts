import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, globSync, mkdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { createCompanies } from '../server/features/companies/service.ts';
import { controlPlaneOn, openDatabase } from '../server/platform/database.ts';
import { prepareKeys } from '../server/platform/key-ring.ts';
import { rememberMasterSecret } from '../server/platform/master-secret.ts';
import { readMigrations } from '../server/platform/migration-files.ts';
import { migrate } from '../server/platform/migrations.ts';
import { Secret } from '../server/platform/secret.ts';
import { freePorts } from '../tests/chaos/chaos.ts';
import { svc } from '../tests/support/command.ts';
import { seededRandom } from '../tests/support/seeded-random.ts';

/** The dumps come from a PostgreSQL of the machine, because pg_dump refuses a server that is newer than itself. */

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'svc-backups-'));
const masterSecret = 'a master secret of this test, long enough';
const settings = { SVC_MASTER_SECRET: masterSecret, SVC_DATA_DIR: join(folder, 'data') };
const bin = globSync('/usr/lib/postgresql/*/bin').toSorted((one, other) =>
  other.localeCompare(one, 'en', { numeric: true }),
)[0];
let dump: string | undefined;
let server: { url: string; stop(): Promise<void> } | undefined;

/** The server refuses to run as root. */
function owner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

async function startServer(programs: string): Promise<NonNullable<typeof server>> {
  const data = join(folder, 'server');
  mkdirSync(data, { mode: 0o700 });
  execFileSync('chmod', ['711', folder]);
  const account = owner();
  if (account.uid !== undefined && account.gid !== undefined) chownSync(data, account.uid, account.gid);
  const [port = 0] = await freePorts(seededRandom(process.pid + 7), 1);
  await run(join(programs, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'svc', '--no-sync'], { cwd: '/', ...account });
  const child = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), '-k', data, '-F'], {
    cwd: '/',
    stdio: 'ignore',
    ...account,
  });
  const url = `postgres://svc@127.0.0.1:${port}/postgres`;
  for (let left = 200; left > 0; left -= 1) {
    const client = new pg.Client({ connectionString: url });
    const connected = await client.connect().then(
      () => true,
      () => false,
    );
    if (connected) {
      await client.end();
      break;
    }
    await sleep(50);
  }
  return {
    url,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGQUIT');
      await exited;
    },
  };
}

before(async () => {
  if (!bin) return;
  server = await startServer(bin);
  await migrate(server.url);
  const db = openDatabase({
    connectionString: server.url,
    poolSize: 1,
    applicationName: 'test',
    onError: () => undefined,
  });
  await prepareKeys(controlPlaneOn(db), { current: new Secret(Buffer.from(masterSecret)), previous: undefined });
  await createCompanies({ name: 'a', db }, Date.now(), 'Tea House');
  await db.close();
  dump = join(folder, 'svc.dump');
  await run(join(bin, 'pg_dump'), ['--format=custom', `--file=${dump}`, server.url]);
});

after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const needsDump = (t: TestContext): string => {
  if (!dump) t.skip('no PostgreSQL server is installed on this machine');
  return dump ?? '';
};

describe('backup verify', () => {
  it('restores a backup, checks it, and leaves nothing behind', async (t) => {
    const file = needsDump(t);
    if (!file) return;
    const scratch = join(folder, 'scratch');
    mkdirSync(scratch, { mode: 0o711 });
    const { code, stdout, stderr } = await svc({ ...settings, TMPDIR: scratch }, 'backup', 'verify', file);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^svc\.dump: made \d{4}-\S+Z, 0 minutes ago, from PostgreSQL \d+/);
    assert.match(stdout, /2 companies, 0 customers/);
    assert.match(stdout, /as this version needs it/);
    assert.match(stdout, /Master secret: it belongs to the backup/);
    assert.match(stdout, /No problems found/);
    assert.deepEqual(globSync('svc-backup-*', { cwd: scratch }), []);
  });

  it('says that the backup of a further shard cannot tell whether the secrets are right', async (t) => {
    if (!needsDump(t) || !server || !bin) return;
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('CREATE DATABASE further');
    await client.end();
    const further = new URL(server.url);
    further.pathname = '/further';
    await migrate(further.href);
    const file = join(folder, 'further.dump');
    await run(join(bin, 'pg_dump'), ['--format=custom', `--file=${file}`, further.href]);
    const { stdout: SVC_VAULT_KEYS } = await svc({ SVC_DATA_DIR: join(folder, 'none') }, 'vault', 'keys');
    const { code, stdout, stderr } = await svc({ ...settings, SVC_VAULT_KEYS }, 'backup', 'verify', file);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Master secret: not checked: only the backup of the first shard/);
    assert.match(stdout, /Vault keys: not checked: only the backup of the first shard/);
  });

  it('migrates the copy of an older backup, and reports secrets that do not belong to it', async (t) => {
    if (!needsDump(t) || !server || !bin) return;
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('CREATE DATABASE older');
    await client.end();
    const older = new URL(server.url);
    older.pathname = '/older';
    await migrate(
      older.href,
      (await readMigrations()).filter(({ promise }) => promise === undefined),
    );
    const db = openDatabase({
      connectionString: older.href,
      poolSize: 1,
      applicationName: 'test',
      onError: () => undefined,
    });
    await rememberMasterSecret(db, new Secret(Buffer.from(masterSecret)));
    await db.close();
    const file = join(folder, 'older.dump');
    await run(join(bin, 'pg_dump'), ['--format=custom', `--file=${file}`, older.href]);
    const wrong = { ...settings, SVC_MASTER_SECRET: 'another master secret of this test' };
    const { code, stdout } = await svc(wrong, 'backup', 'verify', file, '--json');
    assert.equal(code, 1);
    const { healthy, schema, findings } = JSON.parse(stdout) as {
      healthy: boolean;
      schema: string;
      findings: string[];
    };
    assert.deepEqual([healthy, findings], [false, ['the secret in the settings does not belong to the backup']]);
    assert.match(schema, /older than this version; the copy was migrated to/);
  });

  it('names what is wrong with a file that is not a whole backup', async (t) => {
    const verify = async (file: string): Promise<string> => {
      const { code, stderr } = await svc(settings, 'backup', 'verify', file);
      assert.equal(code, 1);
      return stderr;
    };
    const plain = join(folder, 'plain.sql');
    await writeFile(plain, '--\n-- PostgreSQL database dump\n--\n');
    const empty = join(folder, 'empty.dump');
    await writeFile(empty, '');
    const other = join(folder, 'other.dump');
    await writeFile(other, 'hello');
    assert.match(await verify(join(folder, 'nothing')), /There is no file/);
    assert.match(await verify(plain), /plain SQL.*pg_dump --format=custom/);
    assert.match(await verify(empty), /is empty/);
    assert.match(await verify(other), /is not a backup of PostgreSQL/);
    const file = needsDump(t);
    if (!file) return;
    const cut = join(folder, 'cut.dump');
    await writeFile(cut, await readFile(file));
    await truncate(cut, 3_000);
    assert.match(await verify(cut), /damaged or incomplete/);
    const future = Buffer.from(await readFile(file));
    future.writeUInt8(99, 6);
    const newer = join(folder, 'newer.dump');
    await writeFile(newer, future);
    assert.match(await verify(newer), /newer pg_dump.*Install newer/);
  });
});
