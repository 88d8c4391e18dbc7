import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createApiKey, reserveApiKey } from '../server/features/api-keys/service.ts';
import { createCompanies } from '../server/features/companies/service.ts';
import { controlPlaneOn, type DatabasePool, openDatabase } from '../server/platform/database.ts';
import { firstShard } from '../server/shards/shards.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../server/platform/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../server/platform/migrations.ts';
import { nextKeys } from '../server/vault/key-store.ts';
import { Secret } from '../server/platform/secret.ts';
import { originalKeys } from '../server/platform/service-keys.ts';
import { readyUrl } from '../tests/support/ready.ts';

/** A durable PostgreSQL as in production, a company with a key, and the measured server processes. */

export interface ServerProcess {
  readonly name: string;
  readonly baseUrl: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface Environment {
  readonly sql: pg.Client;
  readonly connectionString: string;
  readonly masterSecret: Secret<Buffer>;
  readonly postgresPid: number;
  readonly companyId: string;
  readonly key: string;
  /** A further company, with a key for each kind. */
  createCompany(name: string): Promise<CompanyAccess>;
  startService(name: string, options?: ServiceOptions): Promise<ServerProcess>;
  startBareServer(): Promise<ServerProcess>;
  startRefusingServer(): Promise<ServerProcess>;
  stop(): Promise<void>;
}

export interface CompanyAccess {
  readonly companyId: string;
  readonly key: string;
  readonly publishableKey: string;
}

export interface ServiceOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Root of the repository whose service is started. Default: this one. */
  readonly root?: string;
  /** Folder for a CPU profile, which is written when the service stops. */
  readonly profileInto?: string;
}

const thisRoot = resolve(import.meta.dirname, '..');
const poolSize = '10';
const startTimeoutMs = 60_000;

const withoutRateLimits = {
  SVC_RATE_LIMIT_GLOBAL: 'off',
  SVC_RATE_LIMIT_READ: 'off',
  SVC_RATE_LIMIT_WRITE: 'off',
  SVC_RATE_LIMIT_CAPTURE: 'off',
};

export const defaultRateLimits = {
  SVC_RATE_LIMIT_GLOBAL: '',
  SVC_RATE_LIMIT_READ: '',
  SVC_RATE_LIMIT_WRITE: '',
  SVC_RATE_LIMIT_CAPTURE: '',
};

/** A setting that is empty here is not given to the service. */
const given = (settings: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''));

export async function startEnvironment(): Promise<Environment> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const postgres = await startEmbeddedPostgres({ dataDirectory: join(folder, 'postgres') });
  const discard = async (): Promise<void> => {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return await prepare(folder, postgres, discard);
  } catch (error) {
    await discard();
    throw error;
  }
}

async function prepare(folder: string, postgres: EmbeddedPostgres, discard: () => Promise<void>): Promise<Environment> {
  await migrate(postgres.connectionString);
  const masterSecret = randomBytes(32).toString('base64url');
  // Two services that are compared on one database share its cards.
  const vaultKeys = nextKeys(undefined);
  const sql = new pg.Client({ connectionString: postgres.connectionString });
  await sql.connect();
  const company = await createCompany(postgres.connectionString, masterSecret, 'Benchmark');
  const running = new Set<ServerProcess>();

  async function start(name: string, root: string, args: readonly string[], settings: Record<string, string>) {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const server = await startServer(name, root, args, join(dataDir, 'output.log'), {
      DATABASE_URL: postgres.connectionString,
      SVC_DATABASE_POOL: poolSize,
      SVC_MASTER_SECRET: masterSecret,
      SVC_VAULT_KEYS: vaultKeys,
      SVC_DATA_DIR: dataDir,
      SVC_LOG_LEVEL: 'info',
      HOST: '127.0.0.1',
      PORT: '0',
      ...settings,
    });
    running.add(server);
    return { ...server, stop: () => server.stop().then(() => void running.delete(server)) };
  }

  return {
    ...company,
    sql,
    connectionString: postgres.connectionString,
    masterSecret: new Secret(Buffer.from(masterSecret)),
    postgresPid: postgres.pid,
    createCompany: (name) => createCompany(postgres.connectionString, masterSecret, name),
    async startService(name, { settings, root, profileInto } = {}) {
      if (profileInto) await mkdir(profileInto, { recursive: true });
      const profiling = profileInto ? ['--cpu-prof', `--cpu-prof-dir=${profileInto}`] : [];
      const args = [...profiling, ...(await startArguments(root ?? thisRoot))];
      return start(name, root ?? thisRoot, args, given({ ...withoutRateLimits, ...settings }));
    },
    startBareServer: () => start('bare', thisRoot, ['bench/bare-server.ts'], {}),
    startRefusingServer: () => start('refusing', thisRoot, ['bench/refusing-server.ts'], {}),
    async stop() {
      for (const server of running) await server.stop();
      await sql.end();
      await discard();
    },
  };
}

/** The Node flags of `npm start`, which are part of the measurement. */
async function startArguments(root: string): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.split(' ').slice(1);
}

async function createCompany(connectionString: string, masterSecret: string, name: string): Promise<CompanyAccess> {
  const db: DatabasePool = openDatabase({
    connectionString,
    poolSize: 1,
    applicationName: 'bench',
    onError: () => undefined,
  });
  const { sandbox } = await createCompanies({ name: firstShard, db }, Date.now(), name);
  const pepper = originalKeys(new Secret(Buffer.from(masterSecret)))['api-keys'];
  const keyOf = async (kind: 'secret' | 'publishable'): Promise<string> =>
    (
      await createApiKey(db, await reserveApiKey(controlPlaneOn(db), pepper, sandbox, Date.now(), kind), Date.now(), {
        name: 'bench',
      })
    ).text.reveal();
  const access = { companyId: sandbox.id, key: await keyOf('secret'), publishableKey: await keyOf('publishable') };
  await db.close();
  return access;
}

async function startServer(
  name: string,
  root: string,
  args: readonly string[],
  outputFile: string,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const output = openSync(outputFile, 'a');
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...settings },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const baseUrl = await addressOf(child, outputFile, name);
  return { name, baseUrl, pid: child.pid ?? 0, stop: () => stopProcess(child) };
}

/** Both servers print their URL. Their log lines go to the same file, like stdout in production. */
async function addressOf(child: ChildProcess, outputFile: string, name: string): Promise<string> {
  const deadlineMs = Date.now() + startTimeoutMs;
  while (child.exitCode === null && Date.now() < deadlineMs) {
    const url = readyUrl(await readFile(outputFile, 'utf8'));
    if (url !== undefined) return url;
    await sleep(50);
  }
  child.kill();
  throw new Error(`${name} did not start:\n${await readFile(outputFile, 'utf8')}`);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
