import { randomBytes } from 'node:crypto';
import type { ControlDatabase, ControlQueryable } from './database.ts';
import { insertKey, lockKeys, masterIdOf, mastersOf, prepareKeys, readerSilenceMs } from './key-ring.ts';
import { type MasterSecrets, stopDerivedKeys } from './master-secret.ts';
import { keyPurposes, prefixOf } from './service-keys.ts';
import type { DerivedPurpose } from './secret.ts';

/**
 * The steps of a rotation. Each of them can be repeated, so a rotation that was interrupted continues with the step
 * that it had reached. `svc secrets rotate` runs them in order.
 */

export interface Reader {
  readonly name: string;
  readonly master_id: string;
  readonly newest_known: number;
  readonly newest_active: number;
}

/** Returns the running processes. */
export const findReaders = (db: ControlQueryable): Promise<Reader[]> =>
  db.query<Reader>(
    `SELECT name, master_id, newest_known, newest_active FROM key_readers
     WHERE seen_at > now() - $1 * interval '1 ms' ORDER BY name`,
    [readerSilenceMs],
  );

/** Returns the processes that still use another master secret. */
export async function readersOfOtherSecrets(db: ControlQueryable, { current }: MasterSecrets): Promise<Reader[]> {
  const id = masterIdOf(current);
  return (await findReaders(db)).filter((reader) => reader.master_id !== id);
}

/** Creates a new key for each purpose, which no process uses yet; or finds the rotation that was interrupted. */
export async function beginRotation(
  db: ControlDatabase,
  secrets: MasterSecrets,
): Promise<{ readonly resumed: boolean }> {
  await prepareKeys(db, secrets);
  const [master] = mastersOf(secrets);
  return db.transaction(async (transaction) => {
    await transaction.query(lockKeys);
    const open = await transaction.query(`SELECT 1 FROM key_rotations WHERE finished_at IS NULL`);
    if (open.length > 0) return { resumed: true };
    await transaction.query('INSERT INTO key_rotations DEFAULT VALUES');
    for (const purpose of keyPurposes) {
      await insertKey(transaction, [master], { purpose, bytes: randomBytes(32), original: false, active: false });
    }
    return { resumed: false };
  });
}

/** Returns the processes that cannot read yet what the new keys encrypt. */
export async function readersWithoutKeys(db: ControlQueryable): Promise<Reader[]> {
  const newest = await newestKey(db);
  return (await findReaders(db)).filter((reader) => reader.newest_known < newest);
}

/** Makes the new keys the current ones. */
export async function activateKeys(db: ControlDatabase): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.query(lockKeys);
    await transaction.query(
      `UPDATE service_keys k SET retired_at = now() WHERE activated_at IS NOT NULL AND retired_at IS NULL
         AND EXISTS (SELECT 1 FROM service_keys n WHERE n.purpose = k.purpose AND n.activated_at IS NULL)`,
    );
    await transaction.query('UPDATE service_keys SET activated_at = now() WHERE activated_at IS NULL');
    await stopDerivedKeys(transaction);
  });
}

/** Returns the processes that may still write with the old keys. */
export async function readersOfOldKeys(db: ControlQueryable): Promise<Reader[]> {
  const newest = await newestKey(db);
  return (await findReaders(db)).filter((reader) => reader.newest_active < newest);
}

async function newestKey(db: ControlQueryable): Promise<number> {
  const [row] = await db.query<{ id: number }>('SELECT max(id) AS id FROM service_keys');
  return row?.id ?? 0;
}

/** Returns the beginning of what the current key of a purpose encrypts. */
export async function currentPrefix(db: ControlQueryable, purpose: DerivedPurpose): Promise<Buffer> {
  const [row] = await db.query<{ id: number; original: boolean }>(
    `SELECT id, original FROM service_keys WHERE purpose = $1 AND activated_at IS NOT NULL AND retired_at IS NULL`,
    [purpose],
  );
  return row ? prefixOf(row) : Buffer.alloc(0);
}

/**
 * Deletes the copies for other master secrets, which become useless. Keys of earlier rotations go too if nothing is
 * encrypted with them any more; the keys of this one stay, for a value that a slow request has yet to write.
 */
export async function finishRotation(
  db: ControlDatabase,
  { current }: MasterSecrets,
  sealing: readonly DerivedPurpose[],
): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.query(lockKeys);
    await transaction.query('DELETE FROM service_key_copies WHERE master_id <> $1', [masterIdOf(current)]);
    await transaction.query(
      `DELETE FROM service_keys WHERE purpose = ANY($1) AND retired_at < (
         SELECT started_at FROM key_rotations WHERE finished_at IS NULL)`,
      [sealing],
    );
    await transaction.query('UPDATE key_rotations SET finished_at = now() WHERE finished_at IS NULL');
  });
}

export interface RotationState {
  readonly rotatedAt: Date | null;
  readonly underWay: boolean;
  readonly retired: readonly { readonly purpose: string; readonly retired_at: Date }[];
  /** The number of master secrets that decrypt the keys: two while the master secret changes. */
  readonly masters: number;
}

export async function rotationState(db: ControlQueryable): Promise<RotationState> {
  const [row] = await db.query<{ rotated_at: Date | null; under_way: boolean; masters: number }>(
    `SELECT (SELECT max(finished_at) FROM key_rotations) AS rotated_at,
       EXISTS (SELECT 1 FROM key_rotations WHERE finished_at IS NULL) AS under_way,
       (SELECT count(DISTINCT master_id)::integer FROM service_key_copies) AS masters`,
  );
  const retired = await db.query<{ purpose: string; retired_at: Date }>(
    'SELECT purpose, retired_at FROM service_keys WHERE retired_at IS NOT NULL ORDER BY retired_at, purpose',
  );
  return {
    rotatedAt: row?.rotated_at ?? null,
    underWay: row?.under_way ?? false,
    masters: row?.masters ?? 0,
    retired,
  };
}
