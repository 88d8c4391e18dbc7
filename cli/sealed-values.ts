import { aboutToken } from '../server/features/checkout-sessions/service.ts';
import { aboutMail } from '../server/features/mails/service.ts';
import { aboutSecret } from '../server/features/webhooks/secrets.ts';
import type { AnyQueryable } from '../server/platform/database.ts';
import { currentPrefix } from '../server/platform/key-rotation.ts';
import type { DerivedPurpose } from '../server/platform/secret.ts';
import type { ServiceKeys } from '../server/platform/service-keys.ts';
import { onEachShard } from './connect.ts';
import type { Shards } from '../server/shards/shards.ts';

/** Every column with values that the keys of the service encrypt, for encrypting them again with new keys. */

interface SealedRow {
  readonly company_id: string;
  readonly id: string;
  readonly sealed: readonly Buffer[];
}

interface SealedColumn {
  readonly name: string;
  readonly purpose: DerivedPurpose;
  /** On the control plane instead of the shards. */
  readonly isControl?: true;
  /** Selects the rows with a value that does not begin with $1. */
  readonly select: string;
  readonly about: (row: SealedRow) => string;
  /** Sets $4 if the value is still $3. */
  readonly update: string;
}

const begins = (value: string): string => `substring(${value} FROM 1 FOR octet_length($1::bytea)) = $1`;

const sealedColumns: readonly SealedColumn[] = [
  {
    name: 'webhook secrets',
    purpose: 'webhook-secrets',
    select: `SELECT company_id, id, ARRAY[secret] AS sealed FROM webhook_endpoints WHERE NOT ${begins('secret')}`,
    about: ({ company_id, id }) => aboutSecret(company_id, id),
    update:
      'UPDATE webhook_endpoints SET secret = ($4::bytea[])[1] WHERE company_id = $1 AND id = $2 AND secret = ($3::bytea[])[1]',
  },
  {
    name: 'previous webhook secrets',
    purpose: 'webhook-secrets',
    select: `SELECT company_id, id, previous_secrets AS sealed FROM webhook_endpoints
      WHERE EXISTS (SELECT 1 FROM unnest(previous_secrets) AS one WHERE NOT ${begins('one')})`,
    about: ({ company_id, id }) => aboutSecret(company_id, id),
    update:
      'UPDATE webhook_endpoints SET previous_secrets = $4 WHERE company_id = $1 AND id = $2 AND previous_secrets = $3',
  },
  {
    name: 'links in emails',
    purpose: 'mails',
    select: `SELECT company_id, id, ARRAY[sealed_body] AS sealed FROM mails
      WHERE sealed_body IS NOT NULL AND NOT ${begins('sealed_body')}`,
    about: aboutMail,
    update:
      'UPDATE mails SET sealed_body = ($4::bytea[])[1] WHERE company_id = $1 AND id = $2 AND sealed_body = ($3::bytea[])[1]',
  },
  ...(['checkout_sessions', 'payment_links'] as const).map((table) => ({
    name: `tokens of ${table.replace('_', ' ')}`,
    purpose: 'page-links' as const,
    select: `SELECT company_id, id, ARRAY[sealed_token] AS sealed FROM ${table}
      WHERE sealed_token IS NOT NULL AND NOT ${begins('sealed_token')}`,
    about: aboutToken,
    update: `UPDATE ${table} SET sealed_token = ($4::bytea[])[1]
      WHERE company_id = $1 AND id = $2 AND sealed_token = ($3::bytea[])[1]`,
  })),
  {
    name: 'authenticator secrets',
    purpose: 'totp',
    isControl: true,
    select: `SELECT id AS company_id, id, ARRAY[totp_secret] AS sealed FROM users
      WHERE totp_secret IS NOT NULL AND NOT ${begins('totp_secret')}`,
    about: ({ id }) => id,
    update:
      'UPDATE users SET totp_secret = ($4::bytea[])[1] WHERE id = $1 AND id = $2 AND totp_secret = ($3::bytea[])[1]',
  },
  {
    name: 'stored responses with secrets',
    purpose: 'kept-answers',
    // Other responses are JSON objects, which do not look like base64.
    select: `SELECT company_id, key AS id, ARRAY[decode(body, 'base64')] AS sealed FROM idempotency_keys
      WHERE body ~ '^[A-Za-z0-9+/]' AND NOT ${begins(`decode(body, 'base64')`)}`,
    about: ({ company_id }) => company_id,
    update: `UPDATE idempotency_keys SET body = translate(encode(($4::bytea[])[1], 'base64'), E'\\n', '')
      WHERE company_id = $1 AND key = $2 AND decode(body, 'base64') = ($3::bytea[])[1]`,
  },
];

export const sealingPurposes = [...new Set(sealedColumns.map(({ purpose }) => purpose))];

/** Counts the values that an earlier key has encrypted. */
export async function countOldValues(shards: Shards): Promise<{ name: string; count: number }[]> {
  const prefixes = new Map<SealedColumn, Buffer>();
  for (const column of sealedColumns) prefixes.set(column, await currentPrefix(shards.control, column.purpose));
  const counts = new Map(sealedColumns.map(({ name }) => [name, 0]));
  const countIn = async (db: AnyQueryable, isControl: boolean): Promise<void> => {
    for (const [column, prefix] of prefixes) {
      if (column.isControl !== isControl) continue;
      const text = `SELECT count(*)::integer AS count FROM (${column.select}) old`;
      const [row] = await db.query<{ count: number }>(text, [prefix]);
      counts.set(column.name, (counts.get(column.name) ?? 0) + (row?.count ?? 0));
    }
  };
  await countIn(shards.control, true);
  await onEachShard(shards.all, ({ db }) => countIn(db, false));
  return [...counts].map(([name, count]) => ({ name, count }));
}

const databasesOf = ({ control, all }: Shards, { isControl }: SealedColumn): readonly AnyQueryable[] =>
  isControl ? [control] : all.map(({ db }) => db);

const batch = 200;

/**
 * Encrypts every value again with the current keys. A value that changes meanwhile is left to the next round. Returns
 * the values that no key decrypts.
 */
export async function sealAgain(
  shards: Shards,
  keys: ServiceKeys,
  onProgress: (name: string, count: number) => void,
): Promise<string[]> {
  const unreadable: string[] = [];
  for (const column of sealedColumns) {
    const prefix = await currentPrefix(shards.control, column.purpose);
    for (const db of databasesOf(shards, column)) unreadable.push(...(await sealColumn(db, prefix, column)));
  }
  return unreadable;

  async function sealColumn(db: AnyQueryable, prefix: Buffer, column: SealedColumn): Promise<string[]> {
    for (let done = 0; ; ) {
      const rows = await db.query<SealedRow>(`${column.select} ORDER BY 1, 2 LIMIT ${batch}`, [prefix]);
      const failed = await Promise.all(rows.map((row) => sealRow(db, keys, column, row)));
      const progress = failed.filter((each) => !each).length;
      done += progress;
      if (progress > 0) onProgress(column.name, done);
      if (progress > 0) continue;
      return rows.map(({ company_id, id }) => `${column.name}: ${company_id} / ${id}`);
    }
  }
}

/** Returns whether the row cannot be decrypted. */
async function sealRow(db: AnyQueryable, keys: ServiceKeys, column: SealedColumn, row: SealedRow): Promise<boolean> {
  const key = keys[column.purpose];
  let again: Buffer[];
  try {
    again = row.sealed.map((value) => key.seal(key.open(value, column.about(row)), column.about(row)));
  } catch {
    return true;
  }
  await db.query(column.update, [row.company_id, row.id, row.sealed, again]);
  return false;
}
