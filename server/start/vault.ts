import type { Config } from '../config.ts';
import { readGauges } from '../observation/gauges.ts';
import { systemClock } from '../platform/clock.ts';
import { type Components, PlainProblem } from '../platform/components.ts';
import type { Logger } from '../platform/log.ts';
import { createMetrics } from '../platform/metrics.ts';
import { refuseOldPostgres } from '../platform/postgres-version.ts';
import { Secret } from '../platform/secret.ts';
import { sparsely } from '../platform/sparsely.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';
import { observedVault } from '../vault/observed.ts';
import { leaveOutOfCoreDumps } from '../vault/no-core-dump.ts';
import { openKeyStore } from '../vault/open-key-store.ts';
import { buildVaultServer } from '../vault/server.ts';
import type { DeclineLimits } from '../vault/decline-limits.ts';
import { localVault, type Vault } from '../vault/vault.ts';
import { controlPlaneOn } from '../platform/database.ts';
import { openDirectory } from '../shards/directory.ts';
import { openShards } from '../shards/shards.ts';
import { alwaysUsed, openShardUse } from '../shards/use.ts';
import { shardedVault } from '../vault/sharded.ts';
import type { DatabaseUrls } from './database.ts';
import { listenOrExplain } from './listen.ts';
import type { Resources } from './resources.ts';
import { whileSlow } from './slow-database.ts';
import { watchDatabases } from './watch-parts.ts';

/** Often enough that calls to a vault that hangs soon go to another one. */
const watchMs = 2_000;

/**
 * Opens the vault in this process, and serves it to other processes if there is a token; or connects to
 * SVC_VAULT_URL.
 */
export async function openVault(
  config: Config,
  databases: readonly Pick<DatabaseUrls, 'name' | 'vaultUrl'>[],
  resources: Resources,
  telemetry: Telemetry,
): Promise<Vault> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN, SVC_VAULT_TOKEN_PREVIOUS, SVC_ROLES: roles } = config;
  if (!roles.includes('vault')) {
    // Loaded only if the vault is another process.
    const { remoteVault } = await import('../vault/client.ts');
    const vault = remoteVault(SVC_VAULT_URL, SVC_VAULT_TOKEN ?? new Secret(''), reportRefusal(resources.log));
    resources.onStop(async () => vault.close?.());
    watchVault(vault, resources.components);
    return observedVault(vault);
  }
  leaveOutOfCoreDumps();
  const vault = await vaultOn(config, databases, resources);
  watchVault(vault, resources.components);
  if (SVC_VAULT_TOKEN) {
    const { pools, components } = resources;
    const metrics = createMetrics(['vault'], () => readGauges({ roles, pools, components }));
    const credentials = [SVC_VAULT_TOKEN, ...(SVC_VAULT_TOKEN_PREVIOUS ? [SVC_VAULT_TOKEN_PREVIOUS] : [])];
    const onRefused = reportCaller(resources.log);
    const server = buildVaultServer(vault, credentials, { metrics, tracing: telemetry, onRefused });
    telemetry.exportMetrics(metrics);
    resources.onStop(() => server.close());
    await listenOrExplain(server, config.HOST, config.SVC_VAULT_PORT, 'SVC_VAULT_PORT');
  }
  return observedVault(vault);
}

async function vaultOn(
  config: Config,
  databases: readonly Pick<DatabaseUrls, 'name' | 'vaultUrl'>[],
  resources: Resources,
): Promise<Vault> {
  const [first, ...others] = databases.map(({ name, vaultUrl }) => ({
    name,
    db: resources.openPool(vaultUrl, 'vault', { shard: name }),
  }));
  if (!first) throw new Error('a vault needs a database');
  // The other roles watch it themselves.
  const use = others.length > 0 ? openShardUse(async () => true) : alwaysUsed;
  resources.onStop(async () => use.stop());
  if (config.SVC_ROLES.every((role) => role === 'vault')) watchDatabases(resources.components, [first, ...others], use);
  for (const { name, db } of others) use.watch(name, { begin: db.resume, end: db.rest });
  await whileSlow(resources.log, () => refuseOldPostgres((text) => first.db.query(text)));
  const keys = await whileSlow(resources.log, () => openKeyStore(config, first.db));
  const origins = originsOf(config);
  const parts = [first, ...others].map(({ name, db }) => ({
    name,
    db,
    vault: localVault(db, keys, systemClock, origins, declineLimitsOf(config)),
  }));
  for (const { vault } of parts) resources.onStop(async () => vault.close?.());
  const [only] = parts;
  if (only && parts.length === 1) return only.vault;
  const control = controlPlaneOn(first.db);
  const shards = openShards(control, parts, openDirectory(control), { onUse: use.note });
  return shardedVault(
    async (companyId) => (await shards.find(companyId)).vault,
    () => parts.filter(({ name }, index) => index === 0 || use.isUsed(name)).map(({ vault }) => vault),
  );
}

/** A URL with a path stands for its origin. */
export const originsOf = ({ SVC_PROCESSOR_ORIGINS: urls }: Pick<Config, 'SVC_PROCESSOR_ORIGINS'>): string[] =>
  urls.map((url) => new URL(url).origin);

/** After how many declines a card is not sent. */
export const declineLimitsOf = (config: Config): DeclineLimits => ({
  visa: config.SVC_DECLINES_VISA,
  mastercardDaily: config.SVC_DECLINES_MASTERCARD_DAILY,
  mastercardOfAmount: config.SVC_DECLINES_MASTERCARD_AMOUNT,
});

export function watchVault(vault: Vault, components: Components): void {
  const check = async (): Promise<void> => {
    const { problem, processorProblem } = await vault.health();
    components.note('processor', processorProblem === undefined ? undefined : new Error(processorProblem));
    if (problem !== undefined) throw new PlainProblem(problem);
  };
  components.watch('vault', check, watchMs);
}

/** At the side of the API and the worker. A vault that refuses is named, because another one may accept the token. */
const reportRefusal = (log: Logger): ((baseUrl: string) => void) =>
  sparsely((baseUrl, count) =>
    log.error(
      { vault: new URL(baseUrl).host, count },
      'the vault refuses our token: SVC_VAULT_TOKEN is not the token of the vault',
    ),
  );

/** At the side of the vault. */
const reportCaller = (log: Logger): ((address: string) => void) =>
  sparsely((address, count) =>
    log.warn(
      { address, count },
      'refused a caller whose token is neither SVC_VAULT_TOKEN nor SVC_VAULT_TOKEN_PREVIOUS',
    ),
  );
