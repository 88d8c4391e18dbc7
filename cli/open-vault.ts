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
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN, SVC_VAULT_DATABASE_URL } = config;
  if (SVC_VAULT_URL && SVC_VAULT_TOKEN) {
    return work(remoteVault(SVC_VAULT_URL, SVC_VAULT_TOKEN)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
      throw new CommandError('The vault at SVC_VAULT_URL does not answer, or not to this SVC_VAULT_TOKEN.');
    });
  }
  const open = async (vaultDb: DatabasePool): Promise<Result> =>
    work(localVault(vaultDb, await findKeyStore(config, vaultDb), systemClock));
  return SVC_VAULT_DATABASE_URL ? withPool(SVC_VAULT_DATABASE_URL.reveal(), open) : open(db);
}

/** What is wrong with the keys of the vault; undefined when nothing is, or when they are elsewhere. */
export async function wrongKeys({ db, config }: Connected): Promise<string | undefined> {
  if (!hasKeys(config)) return undefined;
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  const check = (vaultDb: DatabasePool): Promise<string | undefined> =>
    findKeyStore(config, vaultDb).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof ConfigurationError) return error.message;
        throw error;
      },
    );
  return own ? withPool(own, check) : check(db);
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
