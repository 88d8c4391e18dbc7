import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { loadConfig } from '../../server/config.ts';
import { startService } from '../../server/service.ts';
import { nextKeys } from '../../server/vault/key-store.ts';
import { cloneDatabase } from './database.ts';
import { listen } from './listen.ts';
import { silentLog } from './silent-log.ts';

/** Settings that an operator gets wrong, each with what the service says about it. */

export interface Misconfiguration {
  readonly settings: Readonly<Record<string, string>>;
  /** Part of the one line that the service prints. */
  readonly says: string;
  /** 78 if only other settings help, 1 if the same settings may work later. */
  readonly code: 78 | 1;
}

/** What the rows of the table name. */
export interface Surroundings {
  /** Has the files `empty`, `short`, `text` and `large.svg`. */
  readonly folder: string;
  readonly masterSecret: string;
  /** A database of the service, and the data folder with its vault keys. */
  readonly databaseUrl: string;
  readonly dataDir: string;
  /** A server that says it is PostgreSQL 14. */
  readonly oldUrl: string;
  readonly oldVaultUrl: string;
  readonly occupiedPort: number;
}

type Row = readonly [settings: Readonly<Record<string, string>>, says: string, code?: 78 | 1];

const token = 'a token of a vault, which is long enough';
const shard = 'postgres://svc@127.0.0.1:1/svc';
/** No message may contain it. */
export const password = 'hunter2hunter2';
const s3 = { S3_BUCKET: 'b', S3_ACCESS_KEY_ID: 'k', S3_SECRET_ACCESS_KEY: 's' };

/** One setting, with values that it does not accept. */
const values: Record<string, readonly [says: string, ...values: string[]]> = {
  PORT: ['PORT must be a whole number from 0 to 65535', 'http', '-1', '65536', '80.5'],
  HOST: [
    'HOST must be an IP address or a host name',
    '999.1.1.1',
    '[::1]',
    'http://pay',
    'a b',
    '127.0.0.1:80',
    '1.2.3',
  ],
  SVC_BASE_URL: ['SVC_BASE_URL must be a URL', 'pay.example.com', 'ftp://pay.example.com'],
  SVC_ROLES: ['SVC_ROLES must be a comma-separated list of api, worker, vault', 'api,cook', 'api worker', 'api,'],
  SVC_DEMO: ['SVC_DEMO must be 1, empty or 0', 'maybe'],
  DATABASE_URL: ['DATABASE_URL must be a URL', 'not a database', 'mysql://db/svc', '127.0.0.1:5432'],
  SVC_SHARDS: ['SVC_SHARDS must be names and PostgreSQL URLs', 'b', `B=${shard}`, 'b=mysql://db'],
  SVC_READ_URL: ['SVC_READ_URL must be a URL', 'http://standby'],
  SVC_READ_SHARDS: ['SVC_READ_SHARDS must be names', 'b;c'],
  SVC_POOL_URL: ['SVC_POOL_URL must be a URL', 'http://pooler'],
  SVC_POOL_SHARDS: ['SVC_POOL_SHARDS must be names', 'b;c'],
  SVC_READ_WAIT_MS: ['SVC_READ_WAIT_MS must be a whole number', '0'],
  SVC_VAULT_SHARDS: ['SVC_VAULT_SHARDS must be names', 'x'],
  SVC_VAULT_DATABASE_URL: ['SVC_VAULT_DATABASE_URL must be a URL', 'vault'],
  SVC_VAULT_KEYS: ['SVC_VAULT_KEYS does not contain valid vault keys', '{', '{}', 'secret'],
  SVC_VAULT_URL: ['SVC_VAULT_URL must be a comma-separated list of http or https URLs', 'vault:8081', 'ftp://vault'],
  SVC_VAULT_TOKEN: ['SVC_VAULT_TOKEN must have at least 32 characters', 'short'],
  SVC_VAULT_PORT: ['SVC_VAULT_PORT must be a whole number', 'x'],
  SVC_HEALTH_PORT: ['SVC_HEALTH_PORT must be a whole number', '70000'],
  SVC_DATABASE_POOL: ['SVC_DATABASE_POOL must be a whole number', '0', '501'],
  SVC_DATABASE_CONNECTIONS: ['SVC_DATABASE_CONNECTIONS must be a whole number', '19', 'many'],
  SVC_REDIS_SENTINELS: ['SVC_REDIS_SENTINELS must be a comma-separated list of hosts', '10.0.0.1', 'redis:0'],
  SVC_DATABASE_TIMEOUT_MS: ['SVC_DATABASE_TIMEOUT_MS must be a whole number', '10'],
  SVC_TRUST_PROXY: ['SVC_TRUST_PROXY must be a comma-separated list of IP addresses', 'everybody', '10.0.0.0/33'],
  SVC_WEBHOOK_ALLOW: ['SVC_WEBHOOK_ALLOW must be a comma-separated list of IP addresses', 'localhost'],
  SVC_WEBHOOK_CA: ['SVC_WEBHOOK_CA: the file', '/nope.pem', '/', 'FOLDER/text'],
  SMTP_URL: ['SMTP_URL must be a URL', 'http://mail', 'mail.example.com'],
  SVC_SECURITY_CONTACT: ['SVC_SECURITY_CONTACT must be an email address or an https URL', 'security', 'http://a'],
  SVC_BRAND_LOGO: ['SVC_BRAND_LOGO: the file', '/nope.svg', '/', 'FOLDER/text', 'FOLDER/large.svg'],
  SVC_SIGN_UP: ['SVC_SIGN_UP must be one of on, off', 'yes'],
  SVC_ACQUIRERS: ['SVC_ACQUIRERS must be a comma-separated list', 'acquirer'],
  SVC_PROCESSOR_ORIGINS: ['SVC_PROCESSOR_ORIGINS must be a comma-separated list', 'stripe'],
  SVC_RECEIPT_FONT: ['SVC_RECEIPT_FONT: the file', '/nope.ttf'],
  SVC_MAIL_FROM: ['SVC_MAIL_FROM must be an email address', 'not-an-address', 'a@b, c@d', 'Shop <>', 'Shop a@b'],
  SVC_LOG_LEVEL: ['SVC_LOG_LEVEL must be one of', 'loud', 'INFO'],
  SVC_REQUEST_LOG: ['SVC_REQUEST_LOG must be one of', 'yes'],
  SVC_RATE_LIMIT_GLOBAL: ['SVC_RATE_LIMIT_GLOBAL must be count/seconds', 'fast', '0/10'],
  SVC_RATE_LIMIT_READ: ['SVC_RATE_LIMIT_READ must be count/seconds', '100'],
  SVC_RATE_LIMIT_WRITE: ['SVC_RATE_LIMIT_WRITE must be count/seconds', '5/0'],
  SVC_RATE_LIMIT_PAGES: ['SVC_RATE_LIMIT_PAGES must be count/seconds', 'many'],
  SVC_RATE_LIMIT_COUPON_VALIDATION: ['SVC_RATE_LIMIT_COUPON_VALIDATION must be', '-1/10'],
  SVC_RATE_LIMIT_CAPTURE: ['SVC_RATE_LIMIT_CAPTURE must be', '1/1s'],
  SVC_DECLINES_VISA: ['SVC_DECLINES_VISA must be', '20', 'many'],
  SVC_DECLINES_MASTERCARD_DAILY: ['SVC_DECLINES_MASTERCARD_DAILY must be', '10', '0'],
  SVC_DECLINES_MASTERCARD_AMOUNT: ['SVC_DECLINES_MASTERCARD_AMOUNT must be', '35', 'none'],
  SVC_RATE_LIMIT_REFUSED_CARDS: ['SVC_RATE_LIMIT_REFUSED_CARDS must be', 'none'],
  SVC_RATE_LIMIT_STORE: ['SVC_RATE_LIMIT_STORE must be one of memory, postgres, redis', 'disk'],
  REDIS_URL: ['REDIS_URL must be a URL', 'nowhere', 'http://redis'],
  S3_ENDPOINT: ['S3_ENDPOINT must be a URL', 'nowhere'],
  S3_PUBLIC_ENDPOINT: ['S3_PUBLIC_ENDPOINT must be a URL', 's3://bucket'],
  SVC_MAX_EVENT_LOOP_DELAY_MS: ['SVC_MAX_EVENT_LOOP_DELAY_MS must be a whole number', '-1'],
  SVC_AGENT_APPROVALS_PER_DAY: ['SVC_AGENT_APPROVALS_PER_DAY must be', 'many'],
  SVC_AUDIT_DAYS: ['SVC_AUDIT_DAYS must be 0, or a whole number of days from 365', '30'],
  SVC_AUDIT_KEY_DAYS: ['SVC_AUDIT_KEY_DAYS must be 0, or', '5'],
  SVC_MAIL_DAYS: ['SVC_MAIL_DAYS must be 0, or', 'x'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['OTEL_EXPORTER_OTLP_ENDPOINT must be the URL of a collector', 'otel', 'otel:4318'],
  SVC_SHUTDOWN_SECONDS: ['SVC_SHUTDOWN_SECONDS must be a whole number', '-1', '10s'],
};

/** Settings that do not fit together. */
const together: readonly Row[] = [
  [{ SVC_ROLES: 'api' }, 'SVC_ROLES without vault needs SVC_VAULT_URL and SVC_VAULT_TOKEN'],
  [{ SVC_ROLES: 'worker', SVC_VAULT_URL: 'http://vault' }, 'needs SVC_VAULT_URL and SVC_VAULT_TOKEN'],
  [{ SVC_ROLES: 'vault' }, 'SVC_ROLES=vault needs SVC_VAULT_TOKEN'],
  [{ SVC_MASTER_SECRET: 'short' }, 'SVC_MASTER_SECRET must have at least 32 characters'],
  [{ SVC_MASTER_SECRET_PREVIOUS: token }, 'SVC_MASTER_SECRET_PREVIOUS needs SVC_MASTER_SECRET'],
  [
    { SVC_MASTER_SECRET: token, SVC_MASTER_SECRET_PREVIOUS: 'short' },
    'SVC_MASTER_SECRET_PREVIOUS must have at least 32 characters',
  ],
  [
    { SVC_VAULT_TOKEN: token, SVC_VAULT_TOKEN_PREVIOUS: 'short' },
    'SVC_VAULT_TOKEN_PREVIOUS must have at least 32 characters',
  ],
  [{ SVC_VAULT_TOKEN_PREVIOUS: token }, 'SVC_VAULT_TOKEN_PREVIOUS needs SVC_VAULT_TOKEN'],
  [{ SVC_SHARDS: `a=${shard}` }, 'SVC_SHARDS must not name the shard "a"'],
  [{ SVC_SHARDS: `b=${shard} b=${shard}` }, 'SVC_SHARDS names the shard "b" twice'],
  [{ SVC_SHARDS: `b=${shard}` }, 'SVC_SHARDS needs DATABASE_URL'],
  [{ SVC_READ_URL: shard }, 'SVC_READ_URL needs DATABASE_URL'],
  [{ DATABASE_URL: shard, SVC_READ_SHARDS: `b=${shard}` }, 'SVC_READ_SHARDS names b, which SVC_SHARDS lacks'],
  [{ SVC_POOL_URL: shard }, 'SVC_POOL_URL needs DATABASE_URL'],
  [{ DATABASE_URL: shard, SVC_POOL_SHARDS: `b=${shard}` }, 'SVC_POOL_SHARDS names b, which SVC_SHARDS lacks'],
  [
    { DATABASE_URL: shard, SVC_SHARDS: `b=${shard}`, SVC_VAULT_SHARDS: `c=${shard}` },
    'SVC_VAULT_SHARDS lacks b, which SVC_SHARDS has',
  ],
  [{ SVC_VAULT_DATABASE_URL: shard }, 'SVC_VAULT_DATABASE_URL needs DATABASE_URL'],
  [{ SVC_RATE_LIMIT_STORE: 'redis' }, 'SVC_RATE_LIMIT_STORE=redis needs REDIS_URL'],
  [{ S3_ENDPOINT: 'http://s3' }, 'S3_ENDPOINT needs S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY'],
  [{ ...s3 }, 'S3_BUCKET needs S3_ENDPOINT'],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf',
  ],
];

/** Secrets in files. */
const inFiles: readonly Row[] = [
  [{ DATABASE_URL: shard, DATABASE_URL_FILE: 'FOLDER/text' }, 'DATABASE_URL and DATABASE_URL_FILE are both set'],
  [{ DATABASE_URL_FILE: '/nope' }, 'DATABASE_URL_FILE: the file /nope cannot be read (ENOENT)'],
  [{ DATABASE_URL_FILE: 'FOLDER/empty' }, 'DATABASE_URL_FILE: the file FOLDER/empty is empty'],
  [{ DATABASE_URL_FILE: 'FOLDER/text' }, 'DATABASE_URL must be a URL'],
  [{ SVC_MASTER_SECRET_FILE: '/' }, 'SVC_MASTER_SECRET_FILE: the file / cannot be read (EISDIR)'],
  [{ SVC_MASTER_SECRET_FILE: 'FOLDER/short' }, 'SVC_MASTER_SECRET must have at least 32 characters'],
  [{ SVC_MASTER_SECRET_FILE: 'FOLDER/large.svg' }, 'SVC_MASTER_SECRET_FILE: the file FOLDER/large.svg is too large'],
  [{ SVC_VAULT_KEYS_FILE: 'FOLDER/text' }, 'SVC_VAULT_KEYS does not contain valid vault keys'],
  [
    { OTEL_EXPORTER_OTLP_HEADERS_FILE: '/nope' },
    'OTEL_EXPORTER_OTLP_HEADERS_FILE: the file /nope cannot be read (ENOENT)',
  ],
  [{ SVC_SHARDS_FILE: 'FOLDER/text' }, 'SVC_SHARDS must be names and PostgreSQL URLs'],
];

/** What the machine does not have, which it may have later. */
const ofMachine: readonly Row[] = [
  [{ HOST: '203.0.113.7' }, 'Cannot listen on HOST 203.0.113.7 (EADDRNOTAVAIL)', 1],
  [{ SVC_DATA_DIR: 'FOLDER/text' }, 'The folder in SVC_DATA_DIR cannot be used', 1],
  [{ SVC_DATA_DIR: 'FOLDER/text/below' }, 'The folder in SVC_DATA_DIR cannot be used', 1],
  ...(process.platform === 'linux'
    ? ([[{ SVC_DATA_DIR: '/proc/nope' }, 'The folder in SVC_DATA_DIR cannot be used', 1]] as const)
    : []),
];

function ofDatabases(surroundings: Surroundings): Row[] {
  const { masterSecret, databaseUrl, dataDir, oldUrl, oldVaultUrl, occupiedPort } = surroundings;
  const own = { DATABASE_URL: databaseUrl, SVC_MASTER_SECRET: masterSecret };
  const whole = { ...own, SVC_DATA_DIR: dataDir };
  const at = (change: (url: URL) => void): Record<string, string> => {
    const url = new URL(databaseUrl);
    change(url);
    return { ...own, DATABASE_URL: url.href };
  };
  const vault = { SVC_ROLES: 'vault', SVC_VAULT_TOKEN: token, SVC_VAULT_PORT: '0' };
  const closed = `postgres://svc:${password}@127.0.0.1:1/svc`;
  return [
    [{ DATABASE_URL: databaseUrl }, 'SVC_MASTER_SECRET is not set. It is required with DATABASE_URL'],
    [{ ...own, DATABASE_URL: closed }, 'The database of DATABASE_URL cannot be used: connect ECONNREFUSED', 1],
    [at((url) => (url.password = 'wrong')), 'DATABASE_URL cannot be used: password authentication failed', 1],
    [at((url) => (url.username = 'stranger')), 'DATABASE_URL cannot be used: password authentication failed', 1],
    [at((url) => (url.pathname = '/there_is_none')), 'DATABASE_URL cannot be used: database "there_is_none"', 1],
    [at((url) => (url.search = '?sslmode=require')), 'DATABASE_URL cannot be used: The server does not support SSL', 1],
    [{ ...own, DATABASE_URL: oldUrl }, 'The server of DATABASE_URL is PostgreSQL 14.23; use 15 or newer'],
    [{ ...whole, SVC_SHARDS: `b=${oldUrl}` }, 'The server of SVC_SHARDS, shard "b", is PostgreSQL 14.23'],
    [{ ...vault, SVC_VAULT_DATABASE_URL: oldVaultUrl }, 'The server of SVC_VAULT_DATABASE_URL is PostgreSQL 14.23'],
    [{ ...vault, SVC_VAULT_DATABASE_URL: closed }, 'SVC_VAULT_DATABASE_URL cannot be used: connect ECONNREFUSED', 1],
    [{ ...own, SVC_MASTER_SECRET: token }, 'The master secret (SVC_MASTER_SECRET, or master.secret in SVC_DATA_DIR)'],
    [own, 'has no vault keys, but an earlier start has created them in another place'],
    [
      { ...own, SVC_VAULT_KEYS: nextKeys(undefined) },
      'SVC_VAULT_KEYS does not contain the keys that encrypt the cards',
    ],
    [{ ...whole, PORT: String(occupiedPort) }, `PORT ${occupiedPort} (EADDRINUSE)`, 1],
  ];
}

export function misconfigurations(surroundings: Surroundings): Misconfiguration[] {
  const alone = Object.entries(values).flatMap(([name, [says, ...wrong]]) =>
    wrong.map((value): Row => [{ [name]: value }, says]),
  );
  const placed = (text: string): string => text.replace('FOLDER', surroundings.folder);
  return [...alone, ...together, ...inFiles, ...ofMachine, ...ofDatabases(surroundings)].map(
    ([settings, says, code = 78]) => ({
      settings: Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, placed(value)])),
      says: placed(says),
      code,
    }),
  );
}

/** Creates what the table names. A start of the service fills its database and its data folder. */
export async function prepareSurroundings(): Promise<Surroundings & { remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-misconfigured-'));
  for (const [name, text] of Object.entries({
    empty: ' \n',
    short: 'short\n',
    text: 'some text\n',
    'large.svg': `<svg>${' '.repeat(100_000)}</svg>`,
  }))
    await writeFile(join(folder, name), text);
  const [database, old] = await Promise.all([cloneDatabase(1), cloneDatabase(1)]);
  const masterSecret = 'a master secret of this test, long enough';
  const dataDir = join(folder, 'used');
  const settings = { DATABASE_URL: database.connectionString, SVC_MASTER_SECRET: masterSecret, SVC_DATA_DIR: dataDir };
  const service = await startService(loadConfig({ ...settings, PORT: '0' }), silentLog, assert.fail);
  await Promise.all([service.stop(), claimToBeOld(old.connectionString)]);
  const occupant = createServer();
  const occupied = new URL(await listen(occupant));
  return {
    folder,
    masterSecret,
    databaseUrl: database.connectionString,
    dataDir,
    oldUrl: old.connectionString,
    oldVaultUrl: old.vaultUrl,
    occupiedPort: Number(occupied.port),
    async remove() {
      occupant.close();
      await Promise.all([database.drop(), old.drop(), rm(folder, { recursive: true, force: true })]);
    },
  };
}

/** A function of the database is found before that of PostgreSQL, so its sessions read another version. */
async function claimToBeOld(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`
    CREATE FUNCTION public.current_setting(name text) RETURNS text LANGUAGE sql AS $$
      SELECT CASE name WHEN 'server_version_num' THEN '140023' WHEN 'server_version' THEN '14.23'
        ELSE pg_catalog.current_setting(name) END $$;
    GRANT EXECUTE ON FUNCTION public.current_setting(text) TO public`);
  await client.query(
    `ALTER DATABASE ${new URL(connectionString).pathname.slice(1)} SET search_path = public, pg_catalog`,
  );
  await client.end();
}
