import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { rounds } from '../../tests/support/random.ts';
import { Secret } from '../platform/secret.ts';
import { fileKeyStore, fixedKeyStore } from './key-store.ts';

const root = await mkdtemp(join(tmpdir(), 'svc-vault-'));
after(() => rm(root, { recursive: true, force: true }));
const newFolder = (): Promise<string> => mkdtemp(join(root, 'data-'));

describe('the key file', () => {
  it('is for its owner only, also after keys were added', async () => {
    const path = join(await newFolder(), 'vault.keys');
    const previous = process.umask(0);
    try {
      const keys = await fileKeyStore(path, { create: true });
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      await keys.addKeys();
      assert.equal((await stat(path)).mode & 0o777, 0o600);
    } finally {
      process.umask(previous);
    }
  });

  it('keeps every key when keys are added, and leaves no other file', async () => {
    const folder = await newFolder();
    const path = join(folder, 'vault.keys');
    const keys = await fileKeyStore(path, { create: true });
    const first = await keys.ring('live');
    await keys.addKeys();
    await keys.addKeys();
    const last = await (await fileKeyStore(path, { create: false })).ring('live');
    assert.equal(last.current, 3);
    assert.deepEqual([...last.keys.keys()], [1, 2, 3]);
    assert.deepEqual(last.keys.get(1)?.reveal(), first.keys.get(1)?.reveal());
    assert.deepEqual(last.fingerprintKey.reveal(), first.fingerprintKey.reveal());
    assert.deepEqual(await readdir(folder), ['vault.keys']);
  });

  it('is not replaced where it exists', async () => {
    const path = join(await newFolder(), 'vault.keys');
    await fileKeyStore(path, { create: true });
    const before = await readFile(path, 'utf8');
    await fileKeyStore(path, { create: true });
    assert.equal(await readFile(path, 'utf8'), before);
  });

  it('is the same for all of several first starts at once', async () => {
    for (let round = 0; round < rounds(10); round += 1) {
      const path = join(await newFolder(), 'vault.keys');
      const stores = await Promise.all(Array.from({ length: 4 }, () => fileKeyStore(path, { create: true })));
      const rings = await Promise.all(stores.map((store) => store.ring('sandbox')));
      assert.equal(new Set(rings.map((ring) => ring.keys.get(1)?.reveal().toString('hex'))).size, 1);
    }
  });

  it('is read again when keys were added, also where the clock of the file system has not moved on', async () => {
    const path = join(await newFolder(), 'vault.keys');
    const keys = await fileKeyStore(path, { create: true });
    const { atime, mtime } = await stat(path);
    await utimes(path, atime, mtime);
    assert.equal((await keys.ring('sandbox')).current, 1);
    await keys.addKeys();
    await utimes(path, atime, mtime);
    assert.equal((await keys.ring('sandbox')).current, 2);
  });

  it('loses no key when keys are added twice at about the same time', async () => {
    for (let round = 0; round < rounds(40); round += 1) {
      const path = join(await newFolder(), 'vault.keys');
      const keys = await fileKeyStore(path, { create: true });
      const other = await fileKeyStore(path, { create: false });
      const later = async (): Promise<void> => {
        for (let turn = 0; turn < round % 20; turn += 1) await setImmediate();
        await other.addKeys();
      };
      const added = await Promise.allSettled([keys.addKeys(), later()]);
      const succeeded = added.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(succeeded >= 1);
      const ring = await (await fileKeyStore(path, { create: false })).ring('sandbox');
      assert.equal(ring.keys.size, 1 + succeeded, 'a key that may have sealed cards already was overwritten');
    }
  });

  const damages: Record<string, (text: string) => string> = {
    emptied: () => '',
    'cut in the middle': (text) => text.slice(0, text.length / 2),
    'cut at its end': (text) => text.slice(0, -1),
    'something else': () => 'these are not the keys',
    null: () => 'null',
    'an empty object': () => '{}',
    'without the live keys': (text) => JSON.stringify({ sandbox: JSON.parse(text).sandbox }),
    'with a character of a key changed to one that no key has': (text) => text.replace(/("1":"\w?.{10})./, '$1!'),
    'with a key of the right length that is too short when read': (text) =>
      text.replace(/("1":")[^"]*/, `$1${'='.repeat(43)}`),
    'with a current version that has no key': (text) => text.replaceAll('"current":1', '"current":7'),
    'with a key that has lost its first quote': (text) => text.replace(/"1":"/, '"1":'),
    'with a stray character in front': (text) => `x${text}`,
    'with a stray character inside a key’s quotes': (text) => text.replace(/("1":".{20})/, '$1"'),
  };
  for (const [damage, apply] of Object.entries(damages)) {
    it(`is refused by its name, quoting nothing of it, and left as it is when it is ${damage}`, async () => {
      const path = join(await newFolder(), 'vault.keys');
      await fileKeyStore(path, { create: true });
      const whole = await readFile(path, 'utf8');
      const damaged = apply(whole);
      assert.notEqual(damaged, whole);
      await writeFile(path, damaged);
      const secrets = [...whole.matchAll(/[\w-]{43}/g)].map(([key]) => key);
      assert.equal(secrets.length, 4);
      await assert.rejects(fileKeyStore(path, { create: true }), (error: Error) => {
        const printed = inspect(error, { depth: null });
        for (const secret of secrets) {
          for (let at = 0; at + 5 <= secret.length; at += 1) {
            assert.ok(!printed.includes(secret.slice(at, at + 5)), `part of a key is in: ${error.message}`);
          }
        }
        assert.ok(error.message.includes(path), `the file is not named in: ${error.message}`);
        return true;
      });
      assert.equal(await readFile(path, 'utf8'), damaged);
    });
  }

  it('that cannot be read is refused by its name', { skip: process.getuid?.() === 0 }, async () => {
    const path = join(await newFolder(), 'vault.keys');
    await fileKeyStore(path, { create: true });
    await chmod(path, 0o000);
    await assert.rejects(fileKeyStore(path, { create: true }), (error: Error) => error.message.includes(path));
  });

  it('may be the setting SVC_VAULT_KEYS instead, which is refused by its name and not quoted when damaged', () => {
    const secret = randomBytes(32).toString('base64url');
    for (const text of [secret, `{"sandbox":${secret}`, '{}']) {
      assert.throws(
        () => fixedKeyStore(new Secret(text)),
        (error: Error) => {
          assert.ok(!inspect(error).includes(secret.slice(0, 6)), 'the setting is quoted');
          assert.match(error.message, /SVC_VAULT_KEYS/);
          return true;
        },
      );
    }
  });

  it('as a setting cannot be added to, which is said', async () => {
    const path = join(await newFolder(), 'vault.keys');
    await fileKeyStore(path, { create: true });
    const keys = fixedKeyStore(new Secret(await readFile(path, 'utf8')));
    await assert.rejects(keys.addKeys(), /SVC_VAULT_KEYS/);
  });
});
