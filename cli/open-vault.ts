import type { Config } from '../server/config.ts';
import { ApiError } from '../server/errors.ts';
import { systemClock } from '../server/platform/clock.ts';
import { ConfigurationError } from '../server/platform/configuration-error.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { explainDatabase } from '../server/platform/database-error.ts';
import { remoteVault } from '../server/vault/client.ts';
import { findKeyStore, hasKeys } from '../server/vault/open-key-store.ts';
import { originsOf } from '../server/start/vault.ts';
import { shardedVault } from '../server/vault/sharded.ts';
import { localVault, type Vault } from '../server/vault/vault.ts';
import { firstShard, type ShardDatabase } from '../server/shards/shards.ts';
import { CommandError } from './command-error.ts';
import { type Connected, withDatabase, withPools } from './connect.ts';

/** Opens the vault according to the settings: a separate process, or the keys and tables in this process. */
export async function withVault<Result>(
  { shards, config }: Pick<Connected, 'shards' | 'config'>,
  work: (vault: Vault) => Promise<Result>,
): Promise<Result> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN } = config;
  if (SVC_VAULT_URL.length > 0 && SVC_VAULT_TOKEN) {
    return work(remoteVault(SVC_VAULT_URL, SVC_VAULT_TOKEN)).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error;
      throw new CommandError('The vault at SVC_VAULT_URL does not respond, or it rejects this SVC_VAULT_TOKEN.');
    });
  }
  return withAllVaultTables({ shards, config }, async (all) => {
    const keys = await findKeyStore(config, all[0].db);
    const vaults = all.map(({ name, db }) => ({ name, vault: localVault(db, keys, systemClock, originsOf(config)) }));
    const [first] = vaults;
    if (first && vaults.length === 1) return work(first.vault);
    const vaultOf = async (companyId: string): Promise<Vault> => {
      const { name } = await shards.find(companyId);
      return (vaults.find((one) => one.name === name) as (typeof vaults)[number]).vault;
    };
    // One shard shows whether the keys and the tables can be used. Whether the others respond is checked elsewhere.
    return work(shardedVault(vaultOf, () => (first ? [first.vault] : [])));
  });
}

type OpenTables = readonly [ShardDatabase, ...ShardDatabase[]];

/** Opens the tables of the vault on every shard, with its own login if there is one. */
async function withAllVaultTables<Result>(
  { shards, config }: Pick<Connected, 'shards' | 'config'>,
  work: (all: OpenTables) => Promise<Result>,
): Promise<Result> {
  const own = config.SVC_VAULT_DATABASE_URL?.reveal();
  if (!own) return work(shards.all).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
  const urlOf = (name: string): string =>
    (name === firstShard ? own : (config.SVC_VAULT_SHARDS.get(name) ?? config.SVC_SHARDS.get(name))?.reveal()) ?? own;
  const databases = shards.all.map(({ name }) => ({ name, url: urlOf(name) }));
  return withPools(databases, work).catch(explainDatabase('SVC_VAULT_DATABASE_URL'));
}

/** Opens the tables of the vault on one shard. */
export const withVaultTables = <Result>(
  connected: Pick<Connected, 'shards' | 'config'>,
  shard: string,
  work: (db: DatabasePool) => Promise<Result>,
): Promise<Result> =>
  withAllVaultTables(connected, (all) => work((all.find(({ name }) => name === shard) ?? all[0]).db));

/** The problem with the vault keys; undefined if there is none, or if the keys are not available here. */
export async function wrongKeys(connected: Connected): Promise<string | undefined> {
  if (!hasKeys(connected.config)) return undefined;
  try {
    await withVaultTables(connected, firstShard, (vaultDb) => findKeyStore(connected.config, vaultDb));
    return undefined;
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
}

/** For commands that change the vault. Uses the login of the vault if there is one. */
export async function withVaultDatabase<Result>(
  config: Config,
  work: (all: OpenTables) => Promise<Result>,
): Promise<Result> {
  const { SVC_VAULT_DATABASE_URL: own, SVC_VAULT_SHARDS, SVC_SHARDS } = config;
  if (!own) return withDatabase((connected) => withAllVaultTables(connected, work));
  const others = SVC_VAULT_SHARDS.size > 0 ? SVC_VAULT_SHARDS : SVC_SHARDS;
  const databases = [...others].map(([name, url]) => ({ name, url: url.reveal() }));
  return withPools([{ name: firstShard, url: own.reveal() }, ...databases], (all) =>
    work(all).catch(explainDatabase('SVC_VAULT_DATABASE_URL')),
  );
}
