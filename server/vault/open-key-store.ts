import type { Mode } from '../company.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import type { Queryable } from '../platform/database.ts';
import { compareSecrets, forgetSecrets, type Keys, rememberSecrets } from '../platform/secret-checks.ts';
import { fileKeyStore, fixedKeyStore, type KeyStore } from './key-store.ts';
import { hasCards, hasCardsOfKey, hasConnections } from './queries.ts';

const table = 'vault.secret_checks';
const modes: readonly Mode[] = ['sandbox', 'live'];
const fileOf = (config: Config): string => join(config.dataDir, 'vault.keys');
const sourceOf = (config: Config): string => (config.SVC_VAULT_KEYS ? 'SVC_VAULT_KEYS' : fileOf(config));

/** For the vault itself: a vault that has no keys and no cards yet makes its keys. */
export async function openKeyStore(config: Config, db: Queryable): Promise<KeyStore> {
  const isNew = !(await hasCards(db));
  const { absent: known } = await compareSecrets(db, table, new Map());
  if (isNew && known.length > 0 && !hasKeys(config)) throw new ConfigurationError(madeElsewhere(config));
  const store = config.SVC_VAULT_KEYS
    ? fixedKeyStore(config.SVC_VAULT_KEYS)
    : await fileKeyStore(fileOf(config), { create: isNew });
  await checkKeys(config, db, store);
  await rememberKeys(db, store);
  // Another vault may have begun at the same moment, with keys of its own.
  await checkKeys(config, db, store);
  return store;
}

const madeElsewhere = (config: Config): string =>
  `There are no keys of the vault in ${config.dataDir}, and an earlier start has made them elsewhere. Put its vault.keys ` +
  'here, or use its SVC_DATA_DIR. If they are lost, no card is lost with them, since none was stored yet: ' +
  '`npm run svc -- vault reset` lets the next start make new ones.';

/** Whether this process has the keys, right or wrong. */
export const hasKeys = (config: Config): boolean => Boolean(config.SVC_VAULT_KEYS) || existsSync(fileOf(config));

/** For commands: they use the keys that are there, and never make any. */
export async function findKeyStore(config: Config, db: Queryable): Promise<KeyStore> {
  if (!hasKeys(config)) {
    throw new ConfigurationError(
      `The keys of the vault are not in ${config.dataDir}. Give the settings of the vault: its SVC_DATA_DIR or ` +
        'SVC_VAULT_KEYS; or, if it is a process of its own, SVC_VAULT_URL and SVC_VAULT_TOKEN.',
    );
  }
  const store = config.SVC_VAULT_KEYS
    ? fixedKeyStore(config.SVC_VAULT_KEYS)
    : await fileKeyStore(fileOf(config), { create: false });
  await checkKeys(config, db, store);
  return store;
}

/** Others that open this database are told which keys are the right ones. */
export async function rememberKeys(db: Queryable, store: KeyStore): Promise<void> {
  await rememberSecrets(db, table, await keysOf(store));
}

/** Lets a vault without cards begin anew; says whether it could. */
export async function forgetKeys(db: Queryable): Promise<boolean> {
  if ((await hasCards(db)) || (await hasConnections(db))) return false;
  await forgetSecrets(db, table);
  return true;
}

async function checkKeys(config: Config, db: Queryable, store: KeyStore): Promise<void> {
  const { different, absent } = await compareSecrets(db, table, await keysOf(store));
  if (different.length > 0) {
    throw new ConfigurationError(
      `${sourceOf(config)} holds other keys than the cards of this database are sealed with. Every vault of a ` +
        'database needs the same keys: put those of the first one here, or those of the backup.',
    );
  }
  for (const name of absent) {
    const [mode = '', version] = name.split(' ');
    if (!(await hasCardsOfKey(db, mode as Mode, Number(version)))) continue;
    throw new ConfigurationError(
      `${sourceOf(config)} lacks key ${version} of the ${mode} cards, and there are cards that only it opens. ` +
        'It was made before the last rotation: take a newer copy.',
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
