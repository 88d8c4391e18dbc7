import { randomBytes } from 'node:crypto';
import pg from 'pg';

function serverUrl(): string {
  const url = process.env.SVC_TEST_DATABASE_URL;
  if (!url) throw new Error('Run the tests with npm test, which starts their PostgreSQL.');
  return url;
}

async function asAdmin(statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: serverUrl() });
  await admin.connect();
  try {
    await admin.query(statement);
  } finally {
    await admin.end();
  }
}

export interface TestDatabase {
  /** The connection of the owner. */
  readonly connectionString: string;
  readonly apiUrl: string;
  readonly vaultUrl: string;
  /** The further shards, of which there are some with SVC_TEST_SHARDS. New companies are on the last one. */
  readonly others: readonly OtherShard[];
  /** The settings of a process that uses it as the owner. */
  readonly settings: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

interface OtherShard extends Pick<TestDatabase, 'connectionString' | 'apiUrl' | 'vaultUrl'> {
  readonly name: string;
}

/** How many shards the service of a test has. */
const testShards = Number(process.env.SVC_TEST_SHARDS || 1);

const shardNames = ['b', 'c', 'd'];

/** The password of the roles on the test server. */
export const rolePassword = 'of-the-tests';

function as(url: URL, role: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = rolePassword;
  return other.href;
}

/** Creates a migrated database, cloned from the template in about 30 ms, and as many shards as the tests run with. */
export async function cloneDatabase(count = testShards): Promise<TestDatabase> {
  const clone = (): Promise<TestDatabase> => createDatabase('TEMPLATE svc_template STRATEGY FILE_COPY');
  const [first, ...others] = await Promise.all(Array.from({ length: count }, clone));
  if (!first) throw new Error('a service needs a shard');
  if (others.length > 0) await drain(first.connectionString);
  const named = others.map((other, index) => ({ ...other, name: shardNames[index] ?? '' }));
  const further = named.map(({ name, connectionString }) => `${name}=${connectionString}`).join(' ');
  return {
    ...first,
    others: named,
    settings: { ...first.settings, ...(further && { SVC_SHARDS: further }) },
    async drop() {
      await Promise.all([first, ...others].map((one) => one.drop()));
    },
  };
}

/** New companies are placed on another shard, so that a statement that forgets where its company is finds nothing. */
async function drain(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`INSERT INTO draining_shards (shard) VALUES ('a')`);
  await client.end();
}

/** Creates an empty database, as an operator does. */
export const emptyDatabase = (): Promise<TestDatabase> => createDatabase('');

/** Copies a database without connections, which equals restoring a backup of this moment. */
export const copyDatabase = ({ connectionString }: TestDatabase): Promise<TestDatabase> =>
  createDatabase(`TEMPLATE ${new URL(connectionString).pathname.slice(1)} STRATEGY FILE_COPY`);

async function createDatabase(how: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(`CREATE DATABASE ${name} ${how}`);
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return {
    connectionString: url.href,
    apiUrl: as(url, 'svc_api'),
    vaultUrl: as(url, 'svc_vault'),
    others: [],
    settings: { DATABASE_URL: url.href },
    drop: () => asAdmin(`DROP DATABASE ${name} WITH (FORCE)`),
  };
}
