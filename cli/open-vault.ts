import { type Config, ConfigurationError } from '../server/config.ts';
import { ApiError } from '../server/errors.ts';
import { systemClock } from '../server/platform/clock.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { explainDatabase } from '../server/platform/database-error.ts';
import { remoteVault } from '../server/vault/client.ts';
import { findKeyStore, hasKeys } from '../server/vault/open-key-store.ts';
import { localVault, type Vault } from '../server/vault/vault.ts';
import { CommandError } from './command-error.ts';
import { type Connected, withDatabase, withPool } from './connect.ts';

/** The vault as the settings have it: a process of its own, or the keys and the tables, opened here. */
export async function withVault<Result>(
  { db, config }: Connected,
  work: (vault: Vault) => Promise<Result>,
): Promise<Result> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN } = config;
  if (SVC_VAULT_URL && SVC_VAULT_TOKEN) {
    return work(remoteVault(SVC_VAULT_URL, SVC_VAULT_TOKEN)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
      throw new CommandError('The vault at SVC_VAULT_URL does not answer, or not to this SVC_VAULT_TOKEN.');
    });
  }
  return withVaultTables({ db, config }, async (vaultDb) =>
    work(localVault(vaultDb, await findKeyStore(config, vaultDb), systemClock)),
  );
}

/** The tables of the vault, with its own login where there is one. */
export async function withVaultTables<Result>(
  { db, config }: Pick<Connected, 'db' | 'config'>,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  return (own ? withPool(own, work) : work(db)).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
}

/** What is wrong with the keys of the vault; undefined when nothing is, or when they are elsewhere. */
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

/** For what is done to the vault itself: with its own login, where it has one, and nothing more. */
export async function withVaultDatabase<Result>(
  config: Config,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> {
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  if (own) return withPool(own, (db) => work(db).catch(explainDatabase('SVC_VAULT_DATABASE_URL')));
  return withDatabase(({ db }) => work(db));
}
