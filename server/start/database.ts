import { join } from 'node:path';
import type { Config } from '../config.ts';
import { explainDatabase } from '../platform/database-error.ts';
import { openRoles } from '../platform/database-roles.ts';
import { startEmbeddedPostgres } from '../platform/embedded-postgres/embedded-postgres.ts';
import { acquireSingleInstanceLock } from '../platform/embedded-postgres/instance-lock.ts';
import { migrate } from '../platform/migrations.ts';
import type { Secret } from '../platform/secret.ts';
import { StartError } from './listen.ts';
import type { Resources } from './resources.ts';

/** The URLs of the migrated database, for API and worker and for the vault. */
export interface DatabaseUrls {
  readonly apiUrl: string;
  readonly vaultUrl: string;
}

/** Uses the database of the settings, or starts the embedded one. */
export async function prepareDatabase(
  config: Config,
  masterSecret: Secret<Buffer>,
  onFatal: (error: Error) => void,
  resources: Resources,
): Promise<DatabaseUrls> {
  const ownerUrl = config.DATABASE_URL?.reveal() ?? (await embeddedDatabase(config, onFatal, resources));
  await migrate(ownerUrl).catch(explainDatabase('DATABASE_URL'));
  if (!config.DATABASE_URL) return openRoles(ownerUrl, masterSecret);
  return { apiUrl: ownerUrl, vaultUrl: config.SVC_VAULT_DATABASE_URL?.reveal() ?? ownerUrl };
}

async function embeddedDatabase(
  config: Config,
  onFatal: (error: Error) => void,
  resources: Resources,
): Promise<string> {
  const postgres = await startEmbeddedPostgres({
    dataDirectory: join(config.dataDir, 'postgres'),
    onUnexpectedExit: (code) => onFatal(new Error(`The embedded PostgreSQL exited unexpectedly (code ${code}).`)),
  });
  const lock = await acquireSingleInstanceLock(postgres.connectionString, onFatal);
  if (!lock)
    throw new StartError(
      `Another process already uses the data folder ${config.dataDir}. Stop it, or set another SVC_DATA_DIR.`,
    );
  resources.onStop(() => postgres.stop());
  resources.onStop(() => lock.release());
  return postgres.connectionString;
}
