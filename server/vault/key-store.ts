import { connects, type Mode } from '../company.ts';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { checkOf } from '../platform/schema-check.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import { errorCode } from '../platform/error-code.ts';
import { Secret } from '../platform/secret.ts';
import { writeOnce } from '../platform/write-once.ts';
import type { KeyRing } from './keys.ts';

/** The source of the vault's keys: a file of mode 0600, or a setting with the same content. */

const keyBytes = 32;
const key = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' });
const ringSchema = Type.Object({
  current: Type.Integer({ minimum: 1 }),
  keys: Type.Record(Type.String({ pattern: '^[1-9]\\d*$' }), key),
  fingerprint: key,
});
const fileSchema = Type.Object({ sandbox: ringSchema, live: ringSchema });
type KeyFile = Static<typeof fileSchema>;
const validFile = checkOf(fileSchema);

const newKey = (): string => randomBytes(keyBytes).toString('base64url');
const newRing = (): KeyFile['live'] => ({ current: 1, keys: { '1': newKey() }, fingerprint: newKey() });

/** Whose keys encrypt: what is sent to processors, of a rehearsal too, has those of live companies. */
export type KeyMode = 'sandbox' | 'live';
export const keyModeOf = (mode: Mode): KeyMode => (connects(mode) ? 'live' : 'sandbox');

export interface KeyStore {
  /** Returns the newest key ring; with `version`, a ring that contains this version, to decrypt what it encrypted. */
  ring(mode: KeyMode, version?: number): Promise<KeyRing>;
  /** Adds a new current key to both rings. The old keys stay, to decrypt existing cards. */
  addKeys(): Promise<void>;
}

/** An error names only the source, never the content. */
function readKeys(text: string, source: string): KeyFile {
  const isWhole = ({ current, keys }: KeyFile['live']): boolean => Object.hasOwn(keys, String(current));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (validFile.Check(value) && isWhole(value.sandbox) && isWhole(value.live)) return value;
  throw new ConfigurationError(`${source} does not contain valid vault keys. Restore it from a backup.`);
}

function toRing({ current, keys, fingerprint }: KeyFile['live']): KeyRing {
  const secret = (text: string): Secret<Buffer> => new Secret(Buffer.from(text, 'base64url'));
  return {
    current,
    keys: new Map(Object.entries(keys).map(([version, text]) => [Number(version), secret(text)])),
    fingerprintKey: secret(fingerprint),
  };
}

/** Keys from the environment do not change while the process runs. */
export function fixedKeyStore(keys: Secret<string>): KeyStore {
  const file = readKeys(keys.reveal(), 'SVC_VAULT_KEYS');
  const rings = { sandbox: toRing(file.sandbox), live: toRing(file.live) };
  return {
    ring: async (mode) => rings[mode],
    async addKeys() {
      throw new Error('The keys are in SVC_VAULT_KEYS. Add the new keys there, restart, then rotate.');
    },
  };
}

/** Reads the key file again as soon as it changes, so that a rotation reaches every process at once. */
export async function fileKeyStore(path: string, options: { create: boolean }): Promise<KeyStore> {
  if (options.create && !existsSync(path)) {
    await writeOnce(path, JSON.stringify({ sandbox: newRing(), live: newRing() }));
  }
  let loaded = await load(path);
  return {
    async ring(mode, version) {
      if (version !== undefined && loaded[mode].keys.has(version)) return loaded[mode];
      // Checking the file costs about 50 µs; a card that cannot be decrypted costs an order.
      if ((await identityOf(path)) !== loaded.identity) loaded = await load(path);
      return loaded[mode];
    },
    addKeys: () => withLock(path, () => writeNextKeys(path)),
  };
}

async function load(path: string): Promise<Record<KeyMode, KeyRing> & { identity: string }> {
  const identity = await identityOf(path).catch(() => {
    throw new ConfigurationError(
      `${path} with the vault keys is missing, but there are cards that only these keys can decrypt. Restore it from a backup.`,
    );
  });
  const file = readKeys(await readFile(path, 'utf8'), path);
  return { sandbox: toRing(file.sandbox), live: toRing(file.live), identity };
}

/** A changed file is a new file with the same name, so its inode differs even if the clock has not advanced. */
async function identityOf(path: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(path);
  return `${ino} ${size} ${mtimeMs}`;
}

/** Returns the keys of SVC_VAULT_KEYS with a new key in each ring, or the first keys if there are none. */
export function nextKeys(text: string | undefined): string {
  if (!text) return JSON.stringify({ sandbox: newRing(), live: newRing() });
  return withNewKeys(readKeys(text, 'SVC_VAULT_KEYS'));
}

function withNewKeys(file: KeyFile): string {
  const next = (ring: KeyFile['live']): KeyFile['live'] => {
    const current = Math.max(...Object.keys(ring.keys).map(Number)) + 1;
    return { ...ring, current, keys: { ...ring.keys, [current]: newKey() } };
  };
  return JSON.stringify({ sandbox: next(file.sandbox), live: next(file.live) });
}

async function writeNextKeys(path: string): Promise<void> {
  const text = withNewKeys(readKeys(await readFile(path, 'utf8'), path));
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

const staleLockMs = 60_000;

/** Only one process at a time adds keys: an overwritten key may already have encrypted cards. */
async function withLock(path: string, work: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`;
  const held = await stat(lock).catch(() => undefined);
  if (held && performance.timeOrigin + performance.now() - held.mtimeMs > staleLockMs) await rm(lock, { force: true });
  const handle = await open(lock, 'wx', 0o600).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
    throw new Error(`Another process is adding keys. If there is no such process, delete ${lock}.`);
  });
  try {
    await work();
  } finally {
    await handle.close();
    await rm(lock, { force: true });
  }
}
