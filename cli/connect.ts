import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, loadConfig } from '../server/config.ts';
import { type DatabasePool, isUnavailable, openDatabase } from '../server/platform/database.ts';
import { startEmbeddedPostgres } from '../server/platform/embedded-postgres/embedded-postgres.ts';
import { acquireSingleInstanceLock } from '../server/platform/embedded-postgres/instance-lock.ts';
import { loadMasterSecret } from '../server/platform/master-secret.ts';
import { migrate, migrationsLeft } from '../server/platform/migrations.ts';
import { deriveKey } from '../server/platform/secret.ts';
import { CommandError } from './command-error.ts';

export interface Connected {
  readonly db: DatabasePool;
  readonly pepper: Buffer;
  readonly config: Config;
}

/**
 * Works beside a running service, and without one: an embedded database that is not up is started for the command. What only
 * reads takes the schema as it is.
 */
export async function withDatabase<Result>(
  work: (connected: Connected) => Promise<Result>,
  schema: 'newest' | 'as it is' = 'newest',
): Promise<Result> {
  const config = loadConfig(process.env);
  const url = config.DATABASE_URL?.reveal();
  if (url) return connect(url, work);
  if (!existsSync(join(config.dataDir, 'postgres'))) {
    throw new CommandError(`There is no data in ${config.dataDir} yet. Run npm start first, or set DATABASE_URL.`);
  }
  const postgres = await startEmbeddedPostgres({ dataDirectory: join(config.dataDir, 'postgres') });
  // Whoever holds the lock answers for the server: a running service does, and keeps it.
  const lock = await acquireSingleInstanceLock(postgres.connectionString);
  try {
    return await connect(postgres.connectionString, work);
  } finally {
    if (lock) {
      await lock.release();
      await postgres.stop();
    }
  }

  async function connect(connectionString: string, use: typeof work): Promise<Result> {
    await reaching(() => (schema === 'newest' ? migrate(connectionString) : expectNewest(connectionString)));
    const masterSecret = await loadMasterSecret(config);
    const db = openDatabase({
      connectionString,
      poolSize: 1,
      applicationName: 'svc command',
      onError: () => undefined,
    });
    try {
      return await use({ db, pepper: deriveKey(masterSecret, 'api-keys'), config });
    } finally {
      await db.close();
    }
  }
}

async function expectNewest(connectionString: string): Promise<void> {
  const left = await migrationsLeft(connectionString);
  if (left.length === 0) return;
  throw new CommandError(
    `The database is older than this program (it lacks ${left.join(', ')}). Start the service first, which brings it up to date.`,
  );
}

/** Such as a wrong password (28…) or name of the database (3D…). */
const refusals = /^(28|3D)/;

async function reaching(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!isUnavailable(error) && !refusals.test(code) && code !== 'EAI_AGAIN') throw error;
    throw new CommandError(`The database cannot be reached: ${message || code}.`);
  }
}
