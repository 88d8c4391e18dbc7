import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Queryable } from '../platform/database.ts';
import { fileKeyStore, fixedKeyStore, type KeyStore } from './key-store.ts';
import { hasCards } from './queries.ts';

/** The keys from SVC_VAULT_KEYS, or from a file in the data folder that is made while there is no card yet. */
export async function openKeyStore(config: Config, db: Queryable): Promise<KeyStore> {
  if (config.SVC_VAULT_KEYS) return fixedKeyStore(config.SVC_VAULT_KEYS);
  return fileKeyStore(join(config.dataDir, 'vault.keys'), { create: !(await hasCards(db)) });
}
