import { join } from 'node:path';
import type { Config } from '../config.ts';
import { controlPlaneOn, openDatabase } from '../platform/database.ts';
import { explainDatabase } from '../platform/database-error.ts';
import { openRoles } from '../platform/database-roles.ts';
import { claimEmbeddedPostgres } from '../platform/embedded-postgres/claim.ts';
import { readKeys } from '../platform/key-ring.ts';
import type { MasterSecrets } from '../platform/master-secret.ts';
import { isStandby, migrate } from '../platform/migrations.ts';
import { type Pooler, poolerAt, refusePooler } from '../platform/pooler.ts';
import type { Secret } from '../platform/secret.ts';
import { firstShard } from '../shards/shards.ts';
import { StartError } from './listen.ts';
import type { Resources } from './resources.ts';
import { whileSlow } from './slow-database.ts';

/** The URLs of a database, for API and worker and for the vault. */
export interface DatabaseUrls {
  readonly name: string;
  readonly apiUrl: string;
  readonly vaultUrl: string;
  /** A pooler in transaction mode, for the statements of API and worker. */
  readonly pooler?: Pooler | undefined;
  /** A standby for reads, if there is one. */
  readonly readUrl?: string | undefined;
}

/**
 * Uses the databases of the settings, or starts the embedded one. The first shard comes first, and is migrated. The
 * others are migrated when they are opened, because one that is away must not keep the process from starting.
 */
export async function prepareDatabases(
  config: Config,
  secrets: MasterSecrets,
  onFatal: (error: Error) => void,
  resources: Resources,
): Promise<DatabaseUrls[]> {
  const ownerUrl = config.DATABASE_URL?.reveal() ?? (await embeddedDatabase(config, onFatal, resources));
  if (config.DATABASE_URL)
    await whileSlow(resources.log, () => refusePooler(ownerUrl, 'DATABASE_URL', 'SVC_POOL_URL')).catch(
      explainDatabase('DATABASE_URL'),
    );
  await whileSlow(resources.log, () => migrate(ownerUrl)).catch(explainDatabase('DATABASE_URL'));
  if (config.DATABASE_URL && (await isStandby(ownerUrl)))
    throw new StartError(
      'The server of DATABASE_URL is a standby, which only reads. Set DATABASE_URL to its primary, or promote it.',
    );
  await checkSecrets(ownerUrl, secrets, resources);
  if (!config.DATABASE_URL) return [{ name: firstShard, ...(await openRoles(ownerUrl, secrets.current)) }];
  const first = {
    name: firstShard,
    apiUrl: ownerUrl,
    vaultUrl: config.SVC_VAULT_DATABASE_URL?.reveal() ?? ownerUrl,
    pooler: poolerOf(config.SVC_POOL_URL),
    readUrl: config.SVC_READ_URL?.reveal(),
  };
  await whileSlow(resources.log, async () => first.pooler?.examine()).catch(explainDatabase('SVC_POOL_URL'));
  const others = [...config.SVC_SHARDS].map(([name, url]) => {
    const apiUrl = url.reveal();
    return {
      name,
      apiUrl,
      vaultUrl: config.SVC_VAULT_SHARDS.get(name)?.reveal() ?? apiUrl,
      pooler: poolerOf(config.SVC_POOL_SHARDS.get(name)),
      readUrl: config.SVC_READ_SHARDS.get(name)?.reveal(),
    };
  });
  return [first, ...others];
}

const poolerOf = (url: Secret<string> | undefined): Pooler | undefined => url && poolerAt(url.reveal());

/** A wrong master secret is named before missing vault keys: with another one, it may be the wrong database. */
async function checkSecrets(
  connectionString: string,
  secrets: MasterSecrets,
  resources: Pick<Resources, 'log'>,
): Promise<void> {
  const db = openDatabase({ connectionString, poolSize: 1, applicationName: 'svc start', onError: () => undefined });
  try {
    await whileSlow(resources.log, () => readKeys(controlPlaneOn(db), secrets));
  } finally {
    await db.close();
  }
}

/** The databases of a process that has only the role vault. */
export function vaultDatabases(config: Config): Pick<DatabaseUrls, 'name' | 'vaultUrl'>[] {
  const { SVC_VAULT_DATABASE_URL: url, SVC_VAULT_SHARDS, SVC_SHARDS } = config;
  const others = SVC_VAULT_SHARDS.size > 0 ? SVC_VAULT_SHARDS : SVC_SHARDS;
  return [
    { name: firstShard, vaultUrl: url?.reveal() ?? '' },
    ...[...others].map(([name, other]) => ({ name, vaultUrl: other.reveal() })),
  ];
}

async function embeddedDatabase(
  config: Config,
  onFatal: (error: Error) => void,
  resources: Resources,
): Promise<string> {
  const postgres = await claimEmbeddedPostgres({
    dataDirectory: join(config.dataDir, 'postgres'),
    onUnexpectedExit: (code) => onFatal(new Error(`The embedded PostgreSQL exited unexpectedly (code ${code}).`)),
    onLockLost: onFatal,
  });
  if (!postgres.isOurs)
    throw new StartError(
      `Another process already uses the data folder ${config.dataDir}. Stop it, or set another SVC_DATA_DIR.`,
    );
  resources.onStop(() => postgres.stop());
  return postgres.connectionString;
}
