import type { AnyQueryable } from './database.ts';
import { keyedHash } from './secret.ts';

/** A database stores a fingerprint of its secrets, so that a wrong secret is rejected before it does harm. */

type Table = 'secret_checks' | 'vault.secret_checks';

/** The key of each secret, by its name. */
export type Keys = ReadonlyMap<string, Buffer>;

const digestOf = (key: Buffer, name: string): Buffer => keyedHash(key, `svc/check/${name}`);

/** Stores new fingerprints and leaves existing ones unchanged. */
export async function rememberSecrets(db: AnyQueryable, table: Table, keys: Keys): Promise<void> {
  const names = [...keys.keys()];
  const digests = [...keys].map(([name, key]) => digestOf(key, name));
  await db.query(
    `INSERT INTO ${table} (name, digest) SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING`,
    [names, digests],
  );
}

/**
 * Returns the names of secrets that differ from those the database was created with, and of known secrets that are
 * missing.
 */
export async function compareSecrets(
  db: AnyQueryable,
  table: Table,
  keys: Keys,
): Promise<{ readonly different: string[]; readonly absent: string[]; readonly known: number }> {
  const known = await db.query<{ name: string; digest: Buffer }>(`SELECT name, digest FROM ${table} ORDER BY name`);
  const different = known.filter(({ name, digest }) => {
    const key = keys.get(name);
    return key !== undefined && !digestOf(key, name).equals(digest);
  });
  const absent = known.filter(({ name }) => !keys.has(name));
  return {
    different: different.map(({ name }) => name),
    absent: absent.map(({ name }) => name),
    known: known.length,
  };
}

export async function forgetSecrets(db: AnyQueryable, table: Table): Promise<void> {
  await db.query(`DELETE FROM ${table}`);
}
