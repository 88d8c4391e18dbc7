import { randomBytes } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { Secret } from '../platform/secret.ts';
import type { KeyRing } from './keys.ts';

/** Where the vault's keys come from: a file of mode 0600, or a setting with the same content. */

export type Mode = 'sandbox' | 'live';

const ringSchema = Type.Object({
  current: Type.Integer({ minimum: 1 }),
  keys: Type.Record(Type.String({ pattern: '^[1-9]\\d*$' }), Type.String({ minLength: 43, maxLength: 44 })),
  fingerprint: Type.String({ minLength: 43, maxLength: 44 }),
});
const fileSchema = Type.Object({ sandbox: ringSchema, live: ringSchema });
type KeyFile = Static<typeof fileSchema>;
const validFile = Compile(fileSchema);

const newKey = (): string => randomBytes(32).toString('base64url');
const newRing = (): KeyFile['live'] => ({ current: 1, keys: { '1': newKey() }, fingerprint: newKey() });

export interface KeyStore {
  ring(mode: Mode): Promise<KeyRing>;
  /** Adds a new current key to both rings; the old ones stay, to open what they have sealed. */
  addKeys(): Promise<void>;
}

function parseKeys(text: string, source: string): Record<Mode, KeyRing> {
  const value: unknown = JSON.parse(text);
  if (!validFile.Check(value)) throw new Error(`${source} does not hold the vault's keys`);
  return { sandbox: toRing(value.sandbox), live: toRing(value.live) };
}

function toRing({ current, keys, fingerprint }: KeyFile['live']): KeyRing {
  const secret = (key: string): Secret<Buffer> => new Secret(Buffer.from(key, 'base64url'));
  return {
    current,
    keys: new Map(Object.entries(keys).map(([version, key]) => [Number(version), secret(key)])),
    fingerprintKey: secret(fingerprint),
  };
}

/** Keys from the environment do not change while the process runs. */
export function fixedKeyStore(keys: Secret<string>): KeyStore {
  const rings = parseKeys(keys.reveal(), 'SVC_VAULT_KEYS');
  return {
    ring: async (mode) => rings[mode],
    async addKeys() {
      throw new Error('The keys come from SVC_VAULT_KEYS: add the new ones there, restart, then rotate.');
    },
  };
}

const freshForMs = 1_000;

/** Keys from a file are read again when it changed, so that a rotation reaches every process within a second. */
export async function fileKeyStore(path: string, options: { create: boolean }): Promise<KeyStore> {
  if (options.create) await createIfMissing(path);
  let loaded = { rings: parseKeys(await readFile(path, 'utf8'), path), changedAtMs: 0, checkedAtMs: 0 };

  async function refresh(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - loaded.checkedAtMs < freshForMs) return;
    const { mtimeMs } = await stat(path);
    if (mtimeMs === loaded.changedAtMs) {
      loaded = { ...loaded, checkedAtMs: nowMs };
      return;
    }
    loaded = { rings: parseKeys(await readFile(path, 'utf8'), path), changedAtMs: mtimeMs, checkedAtMs: nowMs };
  }

  return {
    async ring(mode) {
      await refresh();
      return loaded.rings[mode];
    },
    async addKeys() {
      const file = JSON.parse(await readFile(path, 'utf8')) as KeyFile;
      const next = (ring: KeyFile['live']): KeyFile['live'] => {
        const current = Math.max(...Object.keys(ring.keys).map(Number)) + 1;
        return { ...ring, current, keys: { ...ring.keys, [current]: newKey() } };
      };
      await writeKeys(path, { sandbox: next(file.sandbox), live: next(file.live) });
    },
  };
}

async function createIfMissing(path: string): Promise<void> {
  const text = JSON.stringify({ sandbox: newRing(), live: newRing() });
  // Fails where the file exists: two first starts at once must end up with the same keys.
  await writeFile(path, text, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function writeKeys(path: string, file: KeyFile): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(file), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}
