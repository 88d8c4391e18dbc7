import { join } from 'node:path';
import type { Config } from '../config.ts';
import { fileKeyStore, fixedKeyStore, type KeyStore } from './key-store.ts';

/** The keys from SVC_VAULT_KEYS, or from a file in the data folder that the first start makes. */
export async function openKeyStore(config: Config): Promise<KeyStore> {
  if (config.SVC_VAULT_KEYS) return fixedKeyStore(config.SVC_VAULT_KEYS);
  return fileKeyStore(join(config.dataDir, 'vault.keys'), { create: true });
}
