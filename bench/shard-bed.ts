import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { readCommandLine } from '../scripts/command-line.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../server/platform/embedded-postgres/embedded-postgres.ts';
import { inParallel } from '../server/platform/in-parallel.ts';
import { readMigrations } from '../server/platform/migration-files.ts';
import { migrate } from '../server/platform/migrations.ts';
import { Secret } from '../server/platform/secret.ts';
import { originalKeys } from '../server/platform/service-keys.ts';
import { firstShard } from '../server/shards/shards.ts';
import { nextKeys } from '../server/vault/key-store.ts';
import { type SeededCompany, type SeededShard, seedShard } from './shard-data.ts';

/**
 * `node bench/shard-bed.ts`: many shards as databases of a few PostgreSQL servers of this machine, with companies and orders. It
 * prints the settings for the service and for `svc` commands, and runs until Ctrl-C. What it created is kept in
 * `.svc/shard-bed`, and used again as long as the schema and the amounts are the same.
 */

export interface BedSize {
  readonly shards: number;
  readonly servers: number;
  readonly companies: number;
  readonly orders: number;
}

export const fullBed: BedSize = { shards: 200, servers: 4, companies: 20_000, orders: 1_000_000 };

export interface ShardBed {
  /** DATABASE_URL, SVC_SHARDS, SVC_MASTER_SECRET, SVC_VAULT_KEYS and SVC_DATA_DIR. */
  readonly settings: Readonly<Record<string, string>>;
  /** The URL of each shard by its name; the first one has the control plane. */
  readonly shards: ReadonlyMap<string, string>;
  /** The sandbox companies, each with a secret key. */
  readonly companies: readonly SeededCompany[];
  /** The processes of the servers. */
  readonly postgresPids: readonly number[];
  stop(): Promise<void>;
}

export interface BedOptions extends BedSize {
  readonly folder?: string;
  /** Creates it again, for example because companies have moved. */
  readonly fresh?: boolean;
  note(text: string): void;
}

/** Few connections are the point of the measurements. */
const serverSettings = {
  max_connections: '300',
  shared_buffers: '512MB',
  wal_level: 'logical',
  max_wal_senders: '50',
  max_replication_slots: '50',
  max_logical_replication_workers: '50',
  max_worker_processes: '60',
};
/** While it is filled; afterwards a server is as safe as in production, which `svc doctor` checks. */
const fillingSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '4GB' };
const atOnce = 4;

const bedFolder = resolve(process.env.SVC_DATA_DIR ?? '.svc', 'shard-bed');

/** `a`, then `s002` and so on, in turn on the servers. */
const shardNames = ({ shards }: BedSize): string[] =>
  Array.from({ length: shards }, (_, index) => (index === 0 ? firstShard : `s${String(index + 1).padStart(3, '0')}`));

interface Kept {
  readonly stamp: string;
  readonly secret: string;
  readonly vaultKeys: string;
  readonly companies: readonly SeededCompany[];
}

/** Raised when the seeded rows change. */
const dataVersion = 3;

async function stampOf({ shards, servers, companies, orders }: BedSize): Promise<string> {
  const migrations = (await readMigrations()).map(({ name, sha256 }) => `${name} ${sha256}`).join();
  return `${dataVersion} ${shards} ${servers} ${companies} ${orders} ${createHash('sha256').update(migrations).digest('hex')}`;
}

export async function startShardBed(options: BedOptions): Promise<ShardBed> {
  const { folder = bedFolder, fresh = false, note } = options;
  const file = join(folder, 'bed.json');
  const stamp = await stampOf(options);
  const read = async (): Promise<Kept> => JSON.parse(await readFile(file, 'utf8'));
  let kept = await read().catch(() => undefined);
  if (fresh || kept?.stamp !== stamp) {
    kept = await create(options, folder, stamp);
    await writeFile(file, JSON.stringify(kept), { mode: 0o600 });
  } else note(`used again: ${folder}`);
  const servers = await startServers(options, folder, serverSettings);
  return bedOn(options, folder, servers, kept);
}

function bedOn(size: BedSize, folder: string, servers: readonly EmbeddedPostgres[], kept: Kept): ShardBed {
  const shards = urlsOf(size, servers);
  const others = [...shards].slice(1);
  return {
    settings: {
      DATABASE_URL: shards.get(firstShard) ?? '',
      SVC_SHARDS: others.map(([name, url]) => `${name}=${url}`).join(' '),
      SVC_MASTER_SECRET: kept.secret,
      SVC_VAULT_KEYS: kept.vaultKeys,
      SVC_DATA_DIR: join(folder, 'data'),
    },
    shards,
    companies: kept.companies,
    postgresPids: servers.map(({ pid }) => pid),
    async stop() {
      for (const server of servers) await (server.adopted ? server.leave() : server.stop());
    },
  };
}

const startServers = (
  { servers }: BedSize,
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<EmbeddedPostgres[]> =>
  inParallel([...Array(servers).keys()], servers, (index) =>
    startEmbeddedPostgres({ dataDirectory: join(folder, `server-${index + 1}`), settings: { ...settings } }),
  );

function urlsOf(size: BedSize, servers: readonly EmbeddedPostgres[]): Map<string, string> {
  return new Map(
    shardNames(size).map((name, index) => {
      const server = servers[index % servers.length];
      if (!server) throw new Error('there is no server');
      return [name, databaseOf(server.connectionString, `svc_${name}`)];
    }),
  );
}

function databaseOf(connectionString: string, database: string): string {
  const url = new URL(connectionString);
  url.pathname = `/${database}`;
  return url.href;
}

async function withClient<Result>(
  connectionString: string,
  work: (sql: pg.Client) => Promise<Result>,
): Promise<Result> {
  const sql = new pg.Client({ connectionString });
  await sql.connect();
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

const template = 'svc_template';

async function create(options: BedOptions, folder: string, stamp: string): Promise<Kept> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'data'), { recursive: true, mode: 0o711 });
  const secret = randomBytes(32).toString('base64url');
  const servers = await startServers(options, folder, { ...serverSettings, ...fillingSettings });
  try {
    await inParallel(servers, servers.length, async ({ connectionString }) => {
      await withClient(connectionString, (sql) => sql.query(`CREATE DATABASE ${template}`));
      await migrate(databaseOf(connectionString, template));
    });
    const seeded = await fill(options, servers, secret);
    await withClient(urlsOf(options, servers).get(firstShard) ?? '', (sql) => writeDirectory(sql, seeded));
    const companies = [...seeded.values()].flatMap(({ sandboxes }) => sandboxes);
    return { stamp, secret, vaultKeys: nextKeys(undefined), companies };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function fill(
  options: BedOptions,
  servers: readonly EmbeddedPostgres[],
  secret: string,
): Promise<Map<string, SeededShard>> {
  const pepper = originalKeys(new Secret(Buffer.from(secret)))['api-keys'];
  const urls = urlsOf(options, servers);
  const amounts = {
    // Both companies of an account are on one shard.
    companies: 2 * Math.max(1, Math.round(options.companies / options.shards / 2)),
    ordersOfCompany: Math.round(options.orders / options.companies),
  };
  const seeded = new Map<string, SeededShard>();
  await inParallel([...urls], atOnce, async ([name, url]) => {
    await withClient(databaseOf(url, 'postgres'), (sql) =>
      sql.query(`CREATE DATABASE svc_${name} TEMPLATE ${template}`),
    );
    seeded.set(name, await withClient(url, (sql) => seedShard(sql, name, pepper, amounts)));
    if (seeded.size % 20 === 0) options.note(`${seeded.size} shards of ${urls.size} are filled`);
  });
  return seeded;
}

/** The rows of the control plane: where each company is, and whose key is whose. */
async function writeDirectory(sql: pg.Client, seeded: ReadonlyMap<string, SeededShard>): Promise<void> {
  const places = [...seeded]
    .filter(([name]) => name !== firstShard)
    .flatMap(([shard, { companyIds }]) => companyIds.map((company_id) => ({ company_id, shard })));
  const lookups = [...seeded.values()].flatMap((one) => one.lookups);
  await sql.query(
    `INSERT INTO company_shards (company_id, shard)
     SELECT company_id, shard FROM json_to_recordset($1::json) AS p (company_id uuid, shard text)`,
    [JSON.stringify(places)],
  );
  await sql.query(
    `INSERT INTO api_key_lookups (lookup_id, company_id, api_key_id)
     SELECT lookup_id, company_id, api_key_id FROM json_to_recordset($1::json) AS l (lookup_id text, company_id uuid, api_key_id uuid)`,
    [JSON.stringify(lookups)],
  );
  await sql.query('VACUUM ANALYZE');
}

async function main(): Promise<void> {
  const { values } = readCommandLine({
    name: 'node bench/shard-bed.ts',
    summary: 'Runs many shards as databases of a few PostgreSQL servers, with companies and orders, until Ctrl-C.',
    options: {
      shards: { type: 'number', default: fullBed.shards, describe: 'How many databases.' },
      servers: { type: 'number', default: fullBed.servers, describe: 'How many PostgreSQL servers they are on.' },
      companies: { type: 'number', default: fullBed.companies, describe: 'On all shards together.' },
      orders: { type: 'number', default: fullBed.orders, describe: 'Of all companies together.' },
      folder: { type: 'text', default: bedFolder, describe: 'Where it is kept.' },
      fresh: { type: 'flag', describe: 'Creates it again.' },
      'prepare-only': { type: 'flag', describe: 'Stops the servers when everything is created.' },
    },
  });
  const bed = await startShardBed({ ...values, note: (text) => void process.stderr.write(`${text}\n`) });
  if (values['prepare-only']) return bed.stop();
  const file = join(values.folder, 'settings.sh');
  const exports = Object.entries(bed.settings).map(([name, value]) => `export ${name}='${value}'\n`);
  await writeFile(file, exports.join(''), { mode: 0o600 });
  const [example] = bed.companies;
  process.stdout.write(
    `${bed.shards.size} shards on ${values.servers} servers, with ${values.companies} companies and ${values.orders} orders.\n\n  . ${file}\n\n` +
      `sets DATABASE_URL, SVC_SHARDS, SVC_MASTER_SECRET, SVC_VAULT_KEYS and SVC_DATA_DIR. A key of a company on the shard ${example?.shard}:\n` +
      `${example?.key}\nAll keys: ${join(values.folder, 'bed.json')}. Ctrl-C stops the servers.\n`,
  );
  const forever = setInterval(() => undefined, 60_000);
  const stop = (): void => {
    clearInterval(forever);
    void bed.stop();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
}

if (import.meta.main) await main();
