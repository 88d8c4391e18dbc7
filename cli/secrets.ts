import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, loadConfig } from '../server/config.ts';
import type { ControlQueryable } from '../server/platform/database.ts';
import { prepareKeys, readKeys } from '../server/platform/key-ring.ts';
import {
  activateKeys,
  beginRotation,
  findReaders,
  finishRotation,
  type Reader,
  readersOfOldKeys,
  readersOfOtherSecrets,
  readersWithoutKeys,
  rotationState,
} from '../server/platform/key-rotation.ts';
import { loadMasterSecrets, type MasterSecrets, secretFileOf } from '../server/platform/master-secret.ts';
import { Secret } from '../server/platform/secret.ts';
import type { Shards } from '../server/shards/shards.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withShards } from './connect.ts';
import type { Flags } from './options.ts';
import { countOldValues, sealAgain, sealingPurposes } from './sealed-values.ts';

/** `secrets rotate` and `secrets status`: the master secret and the keys that it protects. */
export async function secretsCommand([action]: readonly string[], flags: Flags): Promise<string> {
  if (action !== 'rotate' && action !== 'status') throw new UsageError('Use secrets rotate or secrets status.');
  const config = loadConfig(process.env);
  return withShards(config, (shards) =>
    action === 'rotate' ? rotate(shards, config, flags) : status(shards, config, flags),
  );
}

const note = (text: string): void => void process.stderr.write(`${text}\n`);

async function rotate(shards: Shards, config: Config, flags: Flags): Promise<string> {
  const { control: db } = shards;
  // The connection of the command holds the lock until it ends.
  const [lock] = await db.query<{ taken: boolean }>('SELECT pg_try_advisory_lock(7241865325823966) AS taken');
  if (!lock?.taken) throw new CommandError('Another `svc secrets rotate` is running. Wait until it ends.');
  const secrets = await nextSecrets(config);
  await prepareKeys(db, secrets);
  await refuseOtherSecrets(db, secrets);
  const { resumed } = await beginRotation(db, secrets);
  note(resumed ? 'Continuing the rotation that was interrupted.' : 'New keys created.');
  await waitFor('know the new keys', () => readersWithoutKeys(db));
  await activateKeys(db);
  await waitFor('use the new keys', () => readersOfOldKeys(db));
  note('Every process uses the new keys.');
  const keys = await readKeys(db, secrets);
  const unreadable = await sealAgain(shards, keys, (name, count) => note(`Encrypted again: ${count} ${name}.`));
  if (unreadable.length > 0) {
    throw new CommandError(
      `${unreadable.length} values cannot be decrypted with any key. The rotation is not finished; the old keys stay.\n` +
        unreadable.slice(0, 5).join('\n'),
    );
  }
  await refuseOtherSecrets(db, secrets);
  await finishRotation(db, secrets, sealingPurposes);
  if (!config.SVC_MASTER_SECRET && secrets.previous) await writeSecrets(config, [secrets.current]);
  if (flags.json) return `${JSON.stringify({ rotated: true, resumed })}\n`;
  const settings = config.SVC_MASTER_SECRET_PREVIOUS ? ' Remove SVC_MASTER_SECRET_PREVIOUS from the settings.' : '';
  return (
    `Done: all keys are new, and nothing is encrypted with the old ones.${settings} Back up the master secret.\n` +
    'The vault keys are separate: `svc vault rotate`.\n'
  );
}

/** The embedded database has its secret in a file, so the command creates the new one. */
async function nextSecrets(config: Config): Promise<MasterSecrets> {
  const secrets = await loadMasterSecrets(config);
  if (config.SVC_MASTER_SECRET || config.DATABASE_URL || secrets.previous) return secrets;
  const current = new Secret(Buffer.from(randomBytes(32).toString('base64url')));
  await writeSecrets(config, [current, secrets.current]);
  return { current, previous: secrets.current };
}

async function writeSecrets(config: Config, secrets: readonly Secret<Buffer>[]): Promise<void> {
  const file = secretFileOf(config);
  const text = secrets.map((secret) => secret.reveal().toString()).join('\n');
  await writeFile(`${file}.new`, text, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

const namesOf = (readers: readonly Reader[]): string => readers.map(({ name }) => `  ${name}`).join('\n');

async function refuseOtherSecrets(db: ControlQueryable, secrets: MasterSecrets): Promise<void> {
  const others = await readersOfOtherSecrets(db, secrets);
  if (others.length === 0) return;
  throw new CommandError(
    `These processes still use another master secret (roles, host, process ID):\n${namesOf(others)}\n` +
      'Restart them with the new SVC_MASTER_SECRET and the old one as SVC_MASTER_SECRET_PREVIOUS (the embedded ' +
      'database: just restart the service), then run this command again.',
  );
}

const patienceMs = 60_000;
const askEveryMs = 200;

async function waitFor(what: string, missing: () => Promise<Reader[]>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const readers = await missing();
    if (readers.length === 0) return;
    if (performance.now() > deadlineMs) {
      throw new CommandError(
        `These processes do not ${what} after ${patienceMs / 1000} s (roles, host, process ID):\n${namesOf(readers)}\n` +
          'The service works. Restart them, then run this command again: it continues.',
      );
    }
    await sleep(askEveryMs);
  }
}

async function status(shards: Shards, config: Config, flags: Flags): Promise<string> {
  const { control: db } = shards;
  const secrets = await loadMasterSecrets(config);
  await prepareKeys(db, secrets);
  const state = await rotationState(db);
  const readers = await findReaders(db);
  const others = await readersOfOtherSecrets(db, secrets);
  const old = await countOldValues(shards);
  if (flags.json) {
    return `${JSON.stringify({
      rotated_at: state.rotatedAt,
      under_way: state.underWay,
      previous_secret_in_use: state.masters > 1,
      processes: readers.map(({ name }) => ({ name, current: !others.some((other) => other.name === name) })),
      encrypted_with_old_keys: Object.fromEntries(old.map(({ name, count }) => [name, count])),
      retired_keys: state.retired,
    })}\n`;
  }
  const left = old.reduce((sum, { count }) => sum + count, 0);
  const lines = [
    `Keys: ${state.rotatedAt ? `rotated ${state.rotatedAt.toISOString()}` : 'not rotated yet'}.`,
    ...(state.underWay ? ['A rotation is under way or was interrupted. `svc secrets rotate` continues it.'] : []),
    `Master secret: ${state.masters > 1 ? 'the previous one still decrypts the keys' : 'only the current one decrypts the keys'}.`,
    `Processes: ${readers.length}, of which ${others.length} use another master secret.`,
    ...readers.map(({ name }) => `  ${name}${others.some((other) => other.name === name) ? ' (another secret)' : ''}`),
    `Encrypted with earlier keys: ${left === 0 ? 'nothing' : old.map(({ name, count }) => `${count} ${name}`).join(', ')}.`,
    `Retired keys that are still accepted: ${[...new Set(state.retired.map(({ purpose }) => purpose))].join(', ') || 'none'}.`,
  ];
  return `${lines.join('\n')}\n`;
}
