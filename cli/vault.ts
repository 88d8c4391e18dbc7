import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, settings } from '../server/config.ts';
import { fileVariableOf, givenText } from '../server/setting-values.ts';
import { nextKeys } from '../server/vault/key-store.ts';
import { findKeyStore, forgetKeys, needsKeys, rememberKeys } from '../server/vault/open-key-store.ts';
import { rewrapSavedCards } from '../server/vault/saved-cards.ts';
import { rewrapConnections } from '../server/vault/processors/connections.ts';
import type { ShardDatabase } from '../server/shards/shards.ts';
import { rotate } from '../server/vault/rotate.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withVaultDatabase } from './open-vault.ts';
import type { Flags } from './options.ts';

// A call that got its key just before the rotation may still be storing its card.
const runningCallsMs = 1_000;

/** `vault rotate` works while the service runs, `vault keys` only prints, `vault reset` is for a vault without cards. */
export async function vaultCommand([action]: readonly string[], flags: Flags): Promise<string> {
  if (action === 'keys') return `${nextKeys(givenText(process.env, 'SVC_VAULT_KEYS', settings.SVC_VAULT_KEYS))}\n`;
  const config = loadConfig(settingsOfVault(process.env));
  if (action === 'reset') {
    if (await withVaultDatabase(config, forgetEverywhere))
      return 'Done. The next start of the vault creates new keys.\n';
    throw new CommandError(
      'The vault has cards or connected processors that only the current keys can decrypt. Nothing was changed.',
    );
  }
  if (action !== 'rotate') throw new UsageError('Use vault keys, vault rotate or vault reset.');
  return withVaultDatabase(config, async (all) => {
    const [first] = all;
    const keys = await findKeyStore(config, first.db);
    if (!config.SVC_VAULT_KEYS) {
      await keys.addKeys();
      await sleep(runningCallsMs);
    }
    await rememberKeys(first.db, keys);
    const progress = (count: number): void => void process.stderr.write(`${count} cards re-encrypted\n`);
    const counts = { sandbox: 0, live: 0 };
    for (const { db } of all) {
      for (const mode of ['sandbox', 'live'] as const) counts[mode] += await rotate(db, keys, mode, progress);
      await rewrapConnections(db, keys);
      await rewrapSavedCards(db, keys);
    }
    if (flags.json) return `${JSON.stringify(counts)}\n`;
    return `Done: ${counts.sandbox} sandbox and ${counts.live} live cards now use the newest key. Back up the keys.\n`;
  });
}

/** The file with the settings of a separate vault does not name its role, which its systemd unit adds. */
function settingsOfVault(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isSet = (name: string): boolean => name in env || fileVariableOf(name) in env;
  const isSeparate = isSet('SVC_VAULT_DATABASE_URL') && !isSet('DATABASE_URL');
  return isSeparate ? { SVC_ROLES: 'vault', ...env } : env;
}

/** Only if no shard has a card or a connection. */
async function forgetEverywhere(all: readonly ShardDatabase[]): Promise<boolean> {
  const [first, ...others] = all;
  for (const { db } of others) if (await needsKeys(db)) return false;
  return first !== undefined && forgetKeys(first.db);
}
