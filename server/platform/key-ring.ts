import { randomBytes, randomUUID } from 'node:crypto';
import { limits } from '../limits.ts';
import { ConfigurationError } from './configuration-error.ts';
import type { ControlDatabase, ControlQueryable } from './database.ts';
import { dayMs } from './durations.ts';
import type { Logger } from './log.ts';
import { checkMasterSecret, type MasterSecrets, rememberMasterSecret } from './master-secret.ts';
import { openBytes, sealBytes } from './sealing.ts';
import { deriveKey, type DerivedPurpose, keyedHashText, type Secret } from './secret.ts';
import { type KnownKey, keyPurposes, originalKeys, type ServiceKeys, serviceKey } from './service-keys.ts';

/**
 * The keys of the service are stored in the database, encrypted with the master secret. Every process reads them
 * again every few seconds and reports which it knows, so that keys can change while processes run.
 */

const pollMs = 2_000;
/** A process that has not reported for so long has ended. */
export const readerSilenceMs = 20_000;

/** How long a retired key is accepted in hashes: as long as the hashed values are valid. */
const validForDays: Readonly<Record<DerivedPurpose, number>> = {
  'api-keys': Infinity,
  // Recovery codes do not expire.
  'account-recovery': Infinity,
  'card-tokens': 1,
  'file-urls': 1,
  'customer-links': limits.unsubscribeLinkDays + 1,
  idempotency: 2 * (limits.idempotencyKeyHours / 24),
  invitations: limits.invitationDays + 1,
  sessions: limits.sessionDays + 1,
  'login-attempts': limits.knownBrowserDays + 1,
  // What these keys encrypt is encrypted again by a rotation.
  'webhook-secrets': Infinity,
  'kept-answers': Infinity,
  mails: Infinity,
  'page-links': Infinity,
  totp: Infinity,
};

/** Identifies a master secret without revealing anything about it. */
export const masterIdOf = (master: Secret<Buffer>): string =>
  keyedHashText(deriveKey(master, 'secret-check'), 'svc/master-id').slice(0, 16);

const about = (purpose: string, id: number): string => `service key ${id} for ${purpose}`;

interface Master {
  readonly id: string;
  readonly key: Buffer;
}

export function mastersOf({ current, previous }: MasterSecrets): readonly [Master, ...Master[]] {
  const of = (secret: Secret<Buffer>): Master => ({ id: masterIdOf(secret), key: deriveKey(secret, 'key-encryption') });
  return previous ? [of(current), of(previous)] : [of(current)];
}

interface KeyRow {
  readonly id: number;
  readonly purpose: DerivedPurpose;
  readonly original: boolean;
  readonly active: boolean;
  readonly retired_at: Date | null;
  readonly expired: boolean;
  /** The copies for the known master secrets. */
  readonly copies: { readonly master_id: string; readonly sealed: string }[];
}

async function readRows(db: ControlQueryable, masters: readonly Master[]): Promise<KeyRow[]> {
  const rows = await db.query<Omit<KeyRow, 'expired'> & { age_ms: number | null }>(
    `SELECT k.id, k.purpose, k.original, k.activated_at IS NOT NULL AS active, k.retired_at,
       (extract(epoch FROM now() - k.retired_at) * 1000)::float8 AS age_ms,
       coalesce((SELECT json_agg(json_build_object('master_id', c.master_id, 'sealed', encode(c.sealed, 'base64')))
         FROM service_key_copies c WHERE c.key_id = k.id AND c.master_id = ANY($1)), '[]') AS copies
     FROM service_keys k ORDER BY k.id`,
    [masters.map(({ id }) => id)],
  );
  return rows.map((row) => ({ ...row, expired: (row.age_ms ?? 0) > (validForDays[row.purpose] ?? 0) * dayMs }));
}

function openRow({ id, purpose, copies }: KeyRow, masters: readonly Master[]): Buffer | undefined {
  const master = masters.find((one) => copies.some((copy) => copy.master_id === one.id));
  const copy = copies.find(({ master_id }) => master_id === master?.id);
  return master && copy ? openBytes(master.key, Buffer.from(copy.sealed, 'base64'), about(purpose, id)) : undefined;
}

/** Creates a key with a copy for each of the master secrets. */
export async function insertKey(
  db: ControlQueryable,
  masters: readonly Master[],
  key: {
    readonly purpose: DerivedPurpose;
    readonly bytes: Buffer;
    readonly original: boolean;
    readonly active: boolean;
  },
): Promise<void> {
  const [row] = await db.query<{ id: number }>(
    `INSERT INTO service_keys (purpose, original, activated_at) VALUES ($1, $2, CASE WHEN $3 THEN now() END) RETURNING id`,
    [key.purpose, key.original, key.active],
  );
  if (row) await insertCopies(db, masters, { ...key, id: row.id });
}

async function insertCopies(
  db: ControlQueryable,
  masters: readonly Master[],
  { id, purpose, bytes }: { readonly id: number; readonly purpose: string; readonly bytes: Buffer },
): Promise<void> {
  for (const master of masters) {
    await db.query('INSERT INTO service_key_copies VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      id,
      master.id,
      sealBytes(master.key, bytes, about(purpose, id)),
    ]);
  }
}

const hasCopy = ({ copies }: KeyRow, { id }: Master): boolean => copies.some(({ master_id }) => master_id === id);

/** Serializes changes of the keys. */
export const lockKeys = `SELECT pg_advisory_xact_lock(7241865325823965)`;

/**
 * Creates the keys that do not exist yet, and copies of all keys for the current master secret if only the previous
 * one can decrypt them. Rejects a master secret that does not belong to the database.
 */
export async function prepareKeys(db: ControlDatabase, secrets: MasterSecrets): Promise<void> {
  const masters = mastersOf(secrets);
  await db.transaction(async (transaction) => {
    await transaction.query(lockKeys);
    const rows = await readRows(transaction, masters);
    if (rows.length === 0) await createOriginals(transaction, secrets, masters);
    // A copy for the previous secret is never added: after a rotation it would make that secret useful again.
    const [current] = masters;
    for (const row of rows) {
      const bytes = openRow(row, masters);
      if (!bytes) throw new ConfigurationError(rows.some((each) => each.copies.length > 0) ? rotated : another);
      if (!hasCopy(row, current)) await insertCopies(transaction, [current], { ...row, bytes });
    }
    const inUse = masters.filter((master) => master === current || rows.some((row) => hasCopy(row, master)));
    const present = new Set(rows.map(({ purpose }) => purpose));
    const added = rows.length === 0 ? [] : keyPurposes.filter((purpose) => !present.has(purpose));
    for (const purpose of added) {
      await insertKey(transaction, inUse, { purpose, bytes: randomBytes(32), original: false, active: true });
    }
  });
}

/** 0.1.0 derives its keys from the master secret, so the first keys are those. */
async function createOriginals(
  db: ControlDatabase,
  { current, previous }: MasterSecrets,
  masters: readonly Master[],
): Promise<void> {
  const isOfPrevious = previous && (await checkMasterSecret(db, previous)) === 'same';
  const master = isOfPrevious ? previous : current;
  await rememberMasterSecret(db, master);
  if ((await checkMasterSecret(db, master)) !== 'same') throw new ConfigurationError(another);
  for (const purpose of keyPurposes) {
    await insertKey(db, masters, { purpose, bytes: deriveKey(master, purpose), original: true, active: true });
  }
}

const another =
  'The master secret (SVC_MASTER_SECRET, or master.secret in SVC_DATA_DIR) does not belong to this database. With another ' +
  'secret, no API key works. Use the secret that the database was created with, or the new one after a rotation.';
const rotated =
  'The master secret is being changed, and this one is the old one. Set SVC_MASTER_SECRET to the new secret, and ' +
  'SVC_MASTER_SECRET_PREVIOUS to the old one.';

export interface KeyRing {
  readonly keys: ServiceKeys;
  stop(): Promise<void>;
}

interface Loaded {
  readonly byPurpose: ReadonlyMap<DerivedPurpose, readonly [KnownKey, ...KnownKey[]]>;
  readonly newestKnown: number;
  readonly newestActive: number;
  readonly unreadable: number;
}

/** `earlier` keeps the buffers of known keys: a hash with a known buffer takes a fifth of the time. */
async function load(db: ControlQueryable, masters: readonly Master[], earlier?: Loaded): Promise<Loaded> {
  const rows = await readRows(db, masters);
  const buffers = new Map([...(earlier?.byPurpose.values() ?? [])].flat().map((key) => [key.id, key.bytes]));
  const opened = rows.flatMap((row) => {
    const bytes = buffers.get(row.id) ?? openRow(row, masters);
    return bytes ? [{ ...row, bytes }] : [];
  });
  const isCurrent = (row: KeyRow): boolean => row.active && row.retired_at === null;
  const byPurpose = new Map(
    keyPurposes.flatMap((purpose) => {
      const all = opened.filter((row) => row.purpose === purpose && !row.expired);
      const [current] = all.filter(isCurrent);
      const keys = current ? ([current, ...all.filter((row) => row !== current).toReversed()] as const) : undefined;
      const known = keys ?? earlier?.byPurpose.get(purpose);
      return known ? [[purpose, known] as const] : [];
    }),
  );
  const firstUnreadable = rows.find((row) => !opened.some(({ id }) => id === row.id))?.id ?? Infinity;
  const newest = (list: readonly KeyRow[]): number => Math.max(0, ...list.map(({ id }) => id));
  return {
    byPurpose,
    newestKnown: newest(rows.filter(({ id }) => id < firstUnreadable)),
    newestActive: newest(opened.filter(({ active }) => active)),
    unreadable: rows.length - opened.length,
  };
}

/** For a command, which ends soon. It creates no keys: if the service has not done so, they are the derived ones. */
export async function readKeys(db: ControlQueryable, secrets: MasterSecrets): Promise<ServiceKeys> {
  const loaded = await load(db, mastersOf(secrets));
  if (loaded.unreadable > 0) throw new ConfigurationError(loaded.newestActive > 0 ? rotated : another);
  if (loaded.newestActive > 0) return keysFrom(() => loaded);
  if ((await checkMasterSecret(db, secrets.current)) === 'different') throw new ConfigurationError(another);
  return originalKeys(secrets.current);
}

const keysFrom = (loaded: () => Loaded): ServiceKeys =>
  Object.fromEntries(
    keyPurposes.map((purpose) => [
      purpose,
      serviceKey(() => {
        const known = loaded().byPurpose.get(purpose);
        if (!known) throw new Error(`there is no key for ${purpose}`);
        return known;
      }),
    ]),
  ) as unknown as ServiceKeys;

/** For a process of the service: reads the keys again and again, and reports which of them it knows. */
export async function openKeyRing(
  db: ControlDatabase,
  secrets: MasterSecrets,
  name: string,
  log: Logger,
): Promise<KeyRing> {
  await prepareKeys(db, secrets);
  const masters = mastersOf(secrets);
  const id = randomUUID();
  let loaded = await load(db, masters);
  const report = (): Promise<unknown> =>
    db.query(
      `INSERT INTO key_readers (id, name, master_id, newest_known, newest_active) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (id) DO UPDATE SET newest_known = $4, newest_active = $5, seen_at = now()`,
      [id, name, masters[0].id, loaded.newestKnown, loaded.newestActive],
    );
  await db.query(`DELETE FROM key_readers WHERE seen_at < now() - interval '1 day'`);
  await report();
  let complained = false;
  const refresh = async (): Promise<void> => {
    loaded = await load(db, masters, loaded);
    if (loaded.unreadable > 0 && !complained)
      log.error({ keys: loaded.unreadable }, 'cannot decrypt new keys: set the new SVC_MASTER_SECRET and restart');
    complained = loaded.unreadable > 0;
    await report();
  };
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    // A database that does not respond is reported elsewhere. The keys stay as they are until it does.
    running ??= refresh()
      .catch(() => undefined)
      .finally(() => {
        running = undefined;
      });
  }, pollMs).unref();
  return {
    keys: keysFrom(() => loaded),
    async stop() {
      clearInterval(timer);
      await running;
      await db.query('DELETE FROM key_readers WHERE id = $1', [id]).catch(() => undefined);
    },
  };
}

/** Deletes retired keys whose hashes have all expired. */
export async function removeExpiredKeys(db: ControlQueryable): Promise<void> {
  for (const [purpose, days] of Object.entries(validForDays)) {
    if (days === Infinity) continue;
    await db.query(`DELETE FROM service_keys WHERE purpose = $1 AND retired_at < now() - $2 * interval '1 day'`, [
      purpose,
      days + 1,
    ]);
  }
}
