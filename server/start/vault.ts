import type { Config } from '../config.ts';
import { systemClock } from '../platform/clock.ts';
import { Secret } from '../platform/secret.ts';
import { remoteVault } from '../vault/client.ts';
import { openKeyStore } from '../vault/open-key-store.ts';
import { buildVaultServer } from '../vault/server.ts';
import { localVault, type Vault } from '../vault/vault.ts';
import { listenOrExplain } from './listen.ts';
import type { Resources } from './resources.ts';

/**
 * Opens the vault in this process, and serves it to other processes if there is a token; or connects to
 * SVC_VAULT_URL.
 */
export async function openVault(config: Config, databaseUrl: string, resources: Resources): Promise<Vault> {
  const { SVC_VAULT_URL, SVC_VAULT_TOKEN, SVC_VAULT_TOKEN_PREVIOUS } = config;
  if (!config.SVC_ROLES.includes('vault')) {
    const vault = remoteVault(SVC_VAULT_URL ?? '', SVC_VAULT_TOKEN ?? new Secret(''));
    resources.onStop(async () => vault.close?.());
    return vault;
  }
  const db = resources.openPool(databaseUrl, 'svc vault');
  const vault = localVault(db, await openKeyStore(config, db), systemClock);
  if (SVC_VAULT_TOKEN) {
    const server = buildVaultServer(vault, [
      SVC_VAULT_TOKEN,
      ...(SVC_VAULT_TOKEN_PREVIOUS ? [SVC_VAULT_TOKEN_PREVIOUS] : []),
    ]);
    resources.onStop(() => server.close());
    await listenOrExplain(server, config.HOST, config.SVC_VAULT_PORT, 'SVC_VAULT_PORT');
  }
  return vault;
}
