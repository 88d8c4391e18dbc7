import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import type { Queryable } from '../platform/database.ts';
import { compareSecrets, forgetSecrets, type Keys, rememberSecrets } from '../platform/secret-checks.ts';
import { fileKeyStore, fixedKeyStore, type KeyMode, type KeyStore } from './key-store.ts';
import { hasConnections } from './connection-queries.ts';
import { hasCards, hasCardsOfKey } from './queries.ts';

const table = 'vault.secret_checks';
const modes: readonly KeyMode[] = ['sandbox', 'live'];
const fileOf = (config: Config): string => join(config.dataDir, 'vault.keys');
const sourceOf = (config: Config): string => (config.SVC_VAULT_KEYS ? 'SVC_VAULT_KEYS' : fileOf(config));

/** Whether a shard has what only the current keys decrypt. */
export const needsKeys = async (db: Queryable): Promise<boolean> => (await hasCards(db)) || hasConnections(db);

/** For the vault itself: a vault without keys and cards creates its keys. */
export async function openKeyStore(config: Config, db: Queryable): Promise<KeyStore> {
  const isNew = !(await hasCards(db));
  const { absent: known } = await compareSecrets(db, table, new Map());
  if (isNew && known.length > 0 && !hasKeys(config)) throw new ConfigurationError(keysInAnotherPlace(config));
  const store = config.SVC_VAULT_KEYS
    ? fixedKeyStore(config.SVC_VAULT_KEYS)
    : await fileKeyStore(fileOf(config), { create: isNew });
  await checkKeys(config, db, store);
  await rememberKeys(db, store);
  // Another vault may have started at the same moment with different keys.
  await checkKeys(config, db, store);
  return store;
}

const keysInAnotherPlace = (config: Config): string =>
  `${config.dataDir} has no vault keys, but an earlier start has created them in another place. Copy that vault.keys ` +
  'here, or use that SVC_DATA_DIR. If the keys are lost: no card has been stored yet, so ' +
  '`svc vault reset` lets the next start create new keys.';

/** Whether this process has keys, correct or not. */
export const hasKeys = (config: Config): boolean => Boolean(config.SVC_VAULT_KEYS) || existsSync(fileOf(config));

/** For commands: they use existing keys and never create any. */
export async function findKeyStore(config: Config, db: Queryable): Promise<KeyStore> {
  if (!hasKeys(config)) {
    throw new ConfigurationError(
      `The vault keys are not in ${config.dataDir}. Use the settings of the vault: its SVC_DATA_DIR or ` +
        'SVC_VAULT_KEYS, or for a separate vault SVC_VAULT_URL and SVC_VAULT_TOKEN.',
    );
  }
  const store = config.SVC_VAULT_KEYS
    ? fixedKeyStore(config.SVC_VAULT_KEYS)
    : await fileKeyStore(fileOf(config), { create: false });
  await checkKeys(config, db, store);
  return store;
}

/** Records the correct keys for other processes that open this database. */
export async function rememberKeys(db: Queryable, store: KeyStore): Promise<void> {
  await rememberSecrets(db, table, await keysOf(store));
}

/** Whether the database can tell its keys from others. Only the first shard stores their fingerprints. */
export const knowsKeys = async (db: Queryable): Promise<boolean> =>
  (await compareSecrets(db, table, new Map())).known > 0;

/** Lets a vault without cards start over with new keys. Returns whether it could. */
export async function forgetKeys(db: Queryable): Promise<boolean> {
  if ((await hasCards(db)) || (await hasConnections(db))) return false;
  await forgetSecrets(db, table);
  return true;
}

async function checkKeys(config: Config, db: Queryable, store: KeyStore): Promise<void> {
  const { different, absent } = await compareSecrets(db, table, await keysOf(store));
  if (different.length > 0) {
    throw new ConfigurationError(
      `${sourceOf(config)} does not contain the keys that encrypt the cards of this database. Every vault of a ` +
        'database needs the same keys. Use the keys of the first vault or of a backup.',
    );
  }
  for (const name of absent) {
    const [mode = '', version] = name.split(' ');
    if (!(await hasCardsOfKey(db, mode as KeyMode, Number(version)))) continue;
    throw new ConfigurationError(
      `${sourceOf(config)} does not contain key ${version} of the ${mode} cards, but there are cards that only this key can decrypt. ` +
        'It is older than the last rotation. Use a newer copy.',
    );
  }
}

async function keysOf(store: KeyStore): Promise<Keys> {
  const keys = new Map<string, Buffer>();
  for (const mode of modes) {
    const ring = await store.ring(mode);
    keys.set(`${mode} fingerprint`, ring.fingerprintKey.reveal());
    for (const [version, key] of ring.keys) keys.set(`${mode} ${version}`, key.reveal());
  }
  return keys;
}
