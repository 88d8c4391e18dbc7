import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { hashFields } from '../http/idempotency.ts';
import { type ControlPool, controlPlaneOn, openDatabase } from './database.ts';
import { openKeyRing, prepareKeys, readKeys, removeExpiredKeys } from './key-ring.ts';
import {
  activateKeys,
  beginRotation,
  findReaders,
  finishRotation,
  readersOfOldKeys,
  readersOfOtherSecrets,
  readersWithoutKeys,
} from './key-rotation.ts';
import { silentLog } from '../../tests/support/silent-log.ts';
import type { MasterSecrets } from './master-secret.ts';
import { Secret } from './secret.ts';
import { originalKeys } from './service-keys.ts';

const newSecret = (): Secret<Buffer> => new Secret(randomBytes(32));
const [first, second] = [newSecret(), newSecret()];
const onlyFirst: MasterSecrets = { current: first, previous: undefined };
const both: MasterSecrets = { current: second, previous: first };
const onlySecond: MasterSecrets = { current: second, previous: undefined };

let database: TestDatabase;
let db: ControlPool;

before(async () => {
  database = await cloneDatabase(1);
  const pool = openDatabase({
    connectionString: database.apiUrl,
    poolSize: 4,
    applicationName: 'test',
    onError: () => undefined,
  });
  db = controlPlaneOn(pool);
});

after(async () => {
  await db.close();
  await database.drop();
});

describe('the keys of the service', () => {
  it('are those of 0.1.0 until the first rotation, so that both versions read the same values', async () => {
    await Promise.all([prepareKeys(db, onlyFirst), prepareKeys(db, onlyFirst)]);
    const [keys, old] = [await readKeys(db, onlyFirst), originalKeys(first)];
    assert.deepEqual(keys.sessions.hashes('token'), old.sessions.hashes('token'));
    assert.equal(old.totp.open(keys.totp.seal(Buffer.from('seed'), 'user'), 'user').toString(), 'seed');
    assert.equal(keys.totp.open(old.totp.seal(Buffer.from('seed'), 'user'), 'user').toString(), 'seed');
  });

  it('refuse a master secret that does not belong to the database', async () => {
    await assert.rejects(prepareKeys(db, onlySecond), /does not belong to this database/);
  });

  it('are the same for processes with the old and with the new master secret', async () => {
    const one = await openKeyRing(db, onlyFirst, 'one', silentLog);
    const other = await openKeyRing(db, both, 'other', silentLog);
    assert.deepEqual(one.keys.sessions.hash('token'), other.keys.sessions.hash('token'));
    assert.deepEqual(
      (await readersOfOtherSecrets(db, both)).map(({ name }) => name),
      ['one'],
    );
    await Promise.all([one.stop(), other.stop()]);
    assert.deepEqual(await findReaders(db), []);
  });

  it('change in steps, in which each process reads what every other one writes', async () => {
    const rings = [
      await openKeyRing(db, both, 'one', silentLog),
      await openKeyRing(db, onlySecond, 'other', silentLog),
    ];
    const values: { hash: Buffer; sealed: Buffer }[] = [];
    const check = (): void => {
      for (const { keys } of rings) {
        values.push({ hash: keys.sessions.hash('token'), sealed: keys.mails.seal(Buffer.from('link'), 'mail') });
      }
      for (const { keys } of rings) {
        for (const { hash, sealed } of values) {
          assert.ok(keys.sessions.hashes('token').some((each) => each.equals(hash)));
          assert.equal(keys.mails.open(sealed, 'mail').toString(), 'link');
          assert.throws(() => keys.mails.open(sealed, 'another mail'));
        }
      }
    };
    const until = async (condition: () => Promise<unknown[]>): Promise<void> => {
      while ((await condition()).length > 0) {
        check();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      check();
    };
    check();
    assert.deepEqual(await beginRotation(db, both), { resumed: false });
    assert.equal((await readersWithoutKeys(db)).length, 2);
    await until(() => readersWithoutKeys(db));
    assert.deepEqual(await beginRotation(db, both), { resumed: true });
    await activateKeys(db);
    assert.equal((await readersOfOldKeys(db)).length, 2);
    await until(() => readersOfOldKeys(db));
    await activateKeys(db);
    await finishRotation(db, both, ['mails']);
    check();
    assert.equal(new Set(values.map(({ hash }) => hash.toString('hex'))).size, 2, 'an old and a new key');
    await Promise.all(rings.map((ring) => ring.stop()));
    const last = values.at(-1)?.sealed ?? Buffer.alloc(0);
    assert.throws(() => originalKeys(first).mails.open(last, 'mail'));
    assert.throws(() => originalKeys(second).mails.open(last, 'mail'));
  });

  it('refuse the old master secret after the rotation, even if a process still has it as the previous one', async () => {
    for (const secrets of [onlySecond, both]) {
      await prepareKeys(db, secrets);
      await assert.rejects(prepareKeys(db, onlyFirst), /does not belong to this database/);
      await assert.rejects(readKeys(db, onlyFirst), /does not belong to this database/);
    }
  });

  it('name the fields that differ, also in a request that an earlier key hashed', async () => {
    const now = await readKeys(db, onlySecond);
    const then = originalKeys(first);
    const [stored = {}] = hashFields(then.idempotency, 'company', { amount: 1, note: 'a' });
    const same = hashFields(now.idempotency, 'company', { amount: 1, note: 'a' });
    assert.ok(same.some((hashes) => hashes.amount === stored.amount && hashes.note === stored.note));
    const changed = hashFields(now.idempotency, 'company', { amount: 2, note: 'a' });
    assert.ok(changed.some((hashes) => hashes.amount !== stored.amount && hashes.note === stored.note));
  });

  it('stop accepting hashes of an earlier key when what they hash has expired, except for API keys', async () => {
    await db.query(`UPDATE service_keys SET retired_at = now() - interval '50 hours' WHERE retired_at IS NOT NULL`);
    const keys = await readKeys(db, onlySecond);
    assert.equal(keys.idempotency.hashes('x').length, 1);
    assert.equal(keys.sessions.hashes('x').length, 2);
    await db.query(`UPDATE service_keys SET retired_at = now() - interval '10 years' WHERE retired_at IS NOT NULL`);
    await removeExpiredKeys(db);
    const later = await readKeys(db, onlySecond);
    assert.equal(later.sessions.hashes('x').length, 1);
    assert.equal(later['api-keys'].hashes('x').length, 2);
    assert.deepEqual(
      await db.query(`SELECT purpose FROM service_keys WHERE retired_at IS NOT NULL AND purpose = 'sessions'`),
      [],
    );
  });
});
