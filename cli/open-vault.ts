import type { Config } from '../server/config.ts';
import { ApiError } from '../server/errors.ts';
import { systemClock } from '../server/platform/clock.ts';
import { ConfigurationError } from '../server/platform/configuration-error.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { explainDatabase } from '../server/platform/database-error.ts';
import { remoteVault } from '../server/vault/client.ts';
import { findKeyStore, hasKeys } from '../server/vault/open-key-store.ts';
import { originsOf } from '../server/start/vault.ts';
import { localVault, type Vault } from '../server/vault/vault.ts';
import { CommandError } from './command-error.ts';
import { type Connected, withDatabase, withPool } from './connect.ts';

/** Opens the vault according to the settings: a separate process, or the keys and tables in this process. */
export async function withVault<Result>(
  { db, config }: Connected,
  work: (vault: Vault) => Promise<Result>,
): Promise<Result> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN } = config;
  if (SVC_VAULT_URL.length > 0 && SVC_VAULT_TOKEN) {
    return work(remoteVault(SVC_VAULT_URL, SVC_VAULT_TOKEN)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
      throw new CommandError('The vault at SVC_VAULT_URL does not respond, or it rejects this SVC_VAULT_TOKEN.');
    });
  }
  return withVaultTables({ db, config }, async (vaultDb) =>
    work(localVault(vaultDb, await findKeyStore(config, vaultDb), systemClock, originsOf(config))),
  );
}

/** Opens the tables of the vault, with its own login if there is one. */
export async function withVaultTables<Result>(
  { db, config }: Pick<Connected, 'db' | 'config'>,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  return (own ? withPool(own, work) : work(db)).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
}

/** The problem with the vault keys; undefined if there is none, or if the keys are not available here. */
export async function wrongKeys(connected: Connected): Promise<string | undefined> {
  if (!hasKeys(connected.config)) return undefined;
  try {
    await withVaultTables(connected, (vaultDb) => findKeyStore(connected.config, vaultDb));
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

/** For commands that change the vault. Uses the login of the vault if there is one. */
export async function withVaultDatabase<Result>(
  config: Config,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  if (own) return withPool(own, (db) => work(db).catch(explainDatabase('SVC_VAULT_DATABASE_URL')));
  return withDatabase(({ db }) => work(db));
}
