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
  drop(): Promise<void>;
}

/** The password of the roles on the test server. */
export const rolePassword = 'of-the-tests';

function as(url: URL, role: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = rolePassword;
  return other.href;
}

/** Creates a migrated database, cloned from the template in about 30 ms. */
export const cloneDatabase = (): Promise<TestDatabase> => createDatabase('TEMPLATE svc_template STRATEGY FILE_COPY');

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
    drop: () => asAdmin(`DROP DATABASE ${name} WITH (FORCE)`),
  };
}
