import type { ControlQueryable } from '../../platform/database.ts';

export interface UserRow {
  id: string;
  email: string;
  email_key: string;
  email_verified_at: Date | null;
  first_name: string;
  last_name: string;
  phone_number: string | null;
  password_hash: string;
  totp_secret: Buffer | null;
  totp_confirmed_at: Date | null;
  totp_last_step: number | null;
  recovery_hashes: Buffer[];
}

const columns = `id, email, email_key, email_verified_at, first_name, last_name, phone_number, password_hash, totp_secret,
  totp_confirmed_at, totp_last_step, recovery_hashes`;
const columnsOf = (table: string): string =>
  columns
    .split(',')
    .map((column) => `${table}.${column.trim()}`)
    .join(', ');

export type NewUser = Pick<
  UserRow,
  'id' | 'email' | 'email_key' | 'email_verified_at' | 'first_name' | 'last_name' | 'phone_number' | 'password_hash'
>;

export async function insertUser(db: ControlQueryable, user: NewUser): Promise<void> {
  await db.query(
    `INSERT INTO users (id, email, email_key, email_verified_at, first_name, last_name, phone_number, password_hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      user.id,
      user.email,
      user.email_key,
      user.email_verified_at,
      user.first_name,
      user.last_name,
      user.phone_number,
      user.password_hash,
    ],
  );
}

export async function findUserByEmail(db: ControlQueryable, emailKey: string): Promise<UserRow | undefined> {
  const [row] = await db.query<UserRow>(`SELECT ${columns} FROM users WHERE email_key = $1`, [emailKey]);
  return row;
}

export async function findUser(db: ControlQueryable, id: string): Promise<UserRow | undefined> {
  const [row] = await db.query<UserRow>(`SELECT ${columns} FROM users WHERE id = $1`, [id]);
  return row;
}

export async function lockUser(db: ControlQueryable, id: string): Promise<UserRow | undefined> {
  const [row] = await db.query<UserRow>(`SELECT ${columns} FROM users WHERE id = $1 FOR UPDATE`, [id]);
  return row;
}

/**
 * Counts an attempt as failed before the password is checked, so that parallel attempts do not exceed the limit.
 * Returns false if the limit is reached.
 */
export async function takeAttempt(
  db: ControlQueryable,
  key: Buffer,
  most: number,
  now: Date,
  expiresAt: Date,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO login_attempts AS a (key, failures, expires_at) VALUES ($1, 1, $4)
     ON CONFLICT (key) DO UPDATE
       SET failures = CASE WHEN a.expires_at <= $3 THEN 1 ELSE a.failures + 1 END, expires_at = EXCLUDED.expires_at
       WHERE a.expires_at <= $3 OR a.failures < $2
     RETURNING 1`,
    [key, most, now, expiresAt],
  );
  return rows.length === 1;
}

export async function findAttempts(db: ControlQueryable, key: Buffer): Promise<Date | undefined> {
  const [row] = await db.query<{ expires_at: Date }>('SELECT expires_at FROM login_attempts WHERE key = $1', [key]);
  return row?.expires_at;
}

/** For an attempt that did not fail, but did not complete the sign-in either. */
export async function giveBackAttempt(db: ControlQueryable, key: Buffer): Promise<void> {
  await db.query(
    `WITH last AS (DELETE FROM login_attempts WHERE key = $1 AND failures = 1)
     UPDATE login_attempts SET failures = failures - 1 WHERE key = $1 AND failures > 1`,
    [key],
  );
}

export async function deleteAttempts(db: ControlQueryable, keys: readonly Buffer[]): Promise<void> {
  await db.query('DELETE FROM login_attempts WHERE key = ANY($1)', [keys]);
}

export async function deleteExpiredAttempts(db: ControlQueryable, now: Date): Promise<number> {
  const rows = await db.query('DELETE FROM login_attempts WHERE expires_at <= $1 RETURNING 1', [now]);
  return rows.length;
}

/** Returns false if another request has used a code of this step. */
export async function takeTotpStep(db: ControlQueryable, id: string, step: number): Promise<boolean> {
  const rows = await db.query(
    `UPDATE users SET totp_last_step = $2 WHERE id = $1 AND (totp_last_step IS NULL OR totp_last_step < $2)
     RETURNING 1`,
    [id, step],
  );
  return rows.length === 1;
}

/** Returns false if the code was used or never existed. */
export async function takeRecoveryCode(db: ControlQueryable, id: string, hashes: readonly Buffer[]): Promise<boolean> {
  const rows = await db.query(
    `UPDATE users SET recovery_hashes = ARRAY(SELECT hash FROM unnest(recovery_hashes) hash WHERE hash <> ALL ($2))
     WHERE id = $1 AND recovery_hashes && $2 RETURNING 1`,
    [id, hashes],
  );
  return rows.length === 1;
}

/** Undefined fields stay unchanged. */
export async function updateUser(
  db: ControlQueryable,
  id: string,
  change: { readonly [Name in 'first_name' | 'last_name' | 'phone_number']?: string | undefined },
): Promise<void> {
  await db.query(
    `UPDATE users SET first_name = COALESCE($2, first_name), last_name = COALESCE($3, last_name),
       phone_number = COALESCE($4, phone_number)
     WHERE id = $1`,
    [id, change.first_name ?? null, change.last_name ?? null, change.phone_number ?? null],
  );
}

/**
 * Stores the number from an invitation, for a user without one, or for an account that the user has just taken over.
 */
export async function givePhone(db: ControlQueryable, id: string, phone: string, replaces: boolean): Promise<void> {
  await db.query('UPDATE users SET phone_number = $2 WHERE id = $1 AND ($3 OR phone_number IS NULL)', [
    id,
    phone,
    replaces,
  ]);
}

/** Also deletes password reset links. */
export async function updatePassword(db: ControlQueryable, id: string, hash: string): Promise<void> {
  await db.query(
    `WITH ended AS (DELETE FROM password_resets WHERE user_id = $1) UPDATE users SET password_hash = $2 WHERE id = $1`,
    [id, hash],
  );
}

export async function markVerified(db: ControlQueryable, id: string, at: Date): Promise<void> {
  await db.query('UPDATE users SET email_verified_at = COALESCE(email_verified_at, $2) WHERE id = $1', [id, at]);
}

/**
 * Returns false if a link exists that is valid for longer than `notAfter`, which means that it was just mailed. The
 * caller holds the lock of the user.
 */
export async function insertReset(
  db: ControlQueryable,
  userId: string,
  hash: Buffer,
  expiresAt: Date,
  notAfter: Date,
): Promise<boolean> {
  const rows = await db.query(
    `INSERT INTO password_resets (hash, user_id, expires_at) SELECT $2, $1, $3
     WHERE NOT EXISTS (SELECT 1 FROM password_resets WHERE user_id = $1 AND expires_at > $4) RETURNING 1`,
    [userId, hash, expiresAt, notAfter],
  );
  return rows.length === 1;
}

export async function findUserByReset(
  db: ControlQueryable,
  hashes: readonly Buffer[],
  at: Date,
): Promise<UserRow | undefined> {
  const [row] = await db.query<UserRow>(
    `SELECT ${columnsOf('u')} FROM users u JOIN password_resets r ON r.user_id = u.id
     WHERE r.hash = ANY($1) AND r.expires_at > $2 FOR UPDATE`,
    [hashes, at],
  );
  return row;
}

export async function deleteExpiredResets(db: ControlQueryable, now: Date): Promise<number> {
  const rows = await db.query('DELETE FROM password_resets WHERE expires_at <= $1 RETURNING 1', [now]);
  return rows.length;
}

export async function setTotpSecret(db: ControlQueryable, id: string, sealed: Buffer): Promise<void> {
  await db.query(
    `UPDATE users SET totp_secret = $2, totp_last_step = NULL WHERE id = $1 AND totp_confirmed_at IS NULL`,
    [id, sealed],
  );
}

export async function confirmTotp(
  db: ControlQueryable,
  id: string,
  at: Date,
  step: number,
  recovery: readonly Buffer[],
): Promise<void> {
  await db.query('UPDATE users SET totp_confirmed_at = $2, totp_last_step = $3, recovery_hashes = $4 WHERE id = $1', [
    id,
    at,
    step,
    recovery,
  ]);
}

export async function removeTotp(db: ControlQueryable, id: string): Promise<void> {
  await db.query(
    `UPDATE users SET totp_secret = NULL, totp_confirmed_at = NULL, totp_last_step = NULL, recovery_hashes = '{}'
     WHERE id = $1`,
    [id],
  );
}

export interface SessionRow {
  id: string;
  user_id: string;
  address: string;
  user_agent: string;
  last_seen_at: Date;
  expires_at: Date;
  stepped_up_at: Date;
}

const sessionColumns = 'id, user_id, address, user_agent, last_seen_at, expires_at, stepped_up_at';

export async function insertSession(db: ControlQueryable, session: SessionRow, tokenHash: Buffer): Promise<void> {
  await db.query(`INSERT INTO sessions (token_hash, ${sessionColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, [
    tokenHash,
    session.id,
    session.user_id,
    session.address,
    session.user_agent,
    session.last_seen_at,
    session.expires_at,
    session.stepped_up_at,
  ]);
}

interface SessionOfUser {
  readonly session: SessionRow;
  readonly user: UserRow;
}

export const findSession = (db: ControlQueryable, tokenHashes: readonly Buffer[]): Promise<SessionOfUser | undefined> =>
  findSessionWhere(db, 's.token_hash = ANY($1)', tokenHashes);
export const findSessionById = (db: ControlQueryable, id: string): Promise<SessionOfUser | undefined> =>
  findSessionWhere(db, 's.id = $1', id);

async function findSessionWhere(
  db: ControlQueryable,
  condition: string,
  value: readonly Buffer[] | string,
): Promise<SessionOfUser | undefined> {
  const [row] = await db.query<UserRow & { session: Omit<SessionRow, 'user_id'> & Record<string, string> }>(
    `SELECT ${columnsOf('u')}, json_build_object('id', s.id, 'address', s.address, 'user_agent', s.user_agent,
       'last_seen_at', s.last_seen_at, 'expires_at', s.expires_at, 'stepped_up_at', s.stepped_up_at) AS session
     FROM sessions s JOIN users u ON u.id = s.user_id WHERE ${condition}`,
    [value],
  );
  if (!row) return undefined;
  const { session, ...user } = row;
  const at = (name: string): Date => new Date(session[name] ?? '');
  return {
    user,
    session: {
      ...session,
      user_id: user.id,
      last_seen_at: at('last_seen_at'),
      expires_at: at('expires_at'),
      stepped_up_at: at('stepped_up_at'),
    },
  };
}

export async function touchSession(db: ControlQueryable, id: string, at: Date): Promise<void> {
  await db.query('UPDATE sessions SET last_seen_at = $2 WHERE id = $1', [id, at]);
}

/** Signs out every holder of the previous cookie. */
export async function replaceToken(db: ControlQueryable, id: string, tokenHash: Buffer): Promise<void> {
  await db.query('UPDATE sessions SET token_hash = $2 WHERE id = $1', [id, tokenHash]);
}

export async function stepUpSession(db: ControlQueryable, id: string, at: Date): Promise<void> {
  await db.query('UPDATE sessions SET stepped_up_at = $2 WHERE id = $1', [id, at]);
}

export async function listSessions(db: ControlQueryable, userId: string, after: Date): Promise<SessionRow[]> {
  return db.query<SessionRow>(
    `SELECT ${sessionColumns} FROM sessions WHERE user_id = $1 AND expires_at > now() AND last_seen_at > $2
     ORDER BY id DESC LIMIT 100`,
    [userId, after],
  );
}

export async function deleteSession(db: ControlQueryable, userId: string, id: string): Promise<boolean> {
  const rows = await db.query('DELETE FROM sessions WHERE user_id = $1 AND id = $2 RETURNING 1', [userId, id]);
  return rows.length === 1;
}

export async function deleteOtherSessions(db: ControlQueryable, userId: string, kept: string | null): Promise<void> {
  await db.query('DELETE FROM sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2', [userId, kept]);
}

export async function deleteExpiredSessions(db: ControlQueryable, seenBefore: Date): Promise<number> {
  const rows = await db.query('DELETE FROM sessions WHERE expires_at <= now() OR last_seen_at <= $1 RETURNING 1', [
    seenBefore,
  ]);
  return rows.length;
}
