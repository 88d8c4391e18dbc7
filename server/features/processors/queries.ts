import type { Queryable } from '../../platform/database.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { KindName } from '../../vault/processors/kind.ts';
import type { NotedOperation } from './rejections.ts';

/** The connections of companies. Their credentials are in the vault. */

/** Which charges a connection takes. An absent rule excludes nothing. */
export interface Rules {
  readonly currencies?: readonly string[];
  readonly brands?: readonly BrandName[];
  /** The percentage of the charges that it takes before the next connection. */
  readonly share?: number;
}

export interface ConnectionRow {
  readonly company_id: string;
  readonly id: string;
  readonly kind: KindName;
  readonly name: string;
  readonly position: number;
  readonly rules: Rules;
  readonly request_life_ms: number;
  readonly verifies_cards: boolean;
  readonly created_at: Date;
  readonly disconnected_at: Date | null;
  readonly removed_at: Date | null;
  readonly notice_seen_at: Date | null;
  /** The last notice that was refused since one was accepted, and why. */
  readonly notice_refused_at: Date | null;
  readonly notice_refusal: string | null;
  /** Since when the processor refuses the credentials. */
  readonly refused_at: Date | null;
  /** Since when its account takes no charge without the security code. */
  readonly code_wanted_at: Date | null;
  /** Since when approved charges come without the reference of the card network, which the account has to turn on. */
  readonly unlinked_at: Date | null;
  /** Since when the processor refuses the account, its settings or a permission of its key, which, and for what operations. */
  readonly rejected_at: Date | null;
  readonly rejection: string | null;
  readonly rejected_operation: NotedOperation | null;
  /** Undefined if it is not known. */
  readonly account_id?: string | null;
}

const columns = `company_id, id, kind, name, position, rules, request_life_ms, verifies_cards, created_at,
  disconnected_at, removed_at, notice_seen_at, notice_refused_at, notice_refusal, refused_at, code_wanted_at, unlinked_at,
  rejected_at, rejection, rejected_operation, account_id`;

/** In the order in which they are tried; disconnected ones last. */
export async function findConnections(db: Queryable, companyId: string): Promise<ConnectionRow[]> {
  return db.query<ConnectionRow>(
    `SELECT ${columns} FROM processor_connections WHERE company_id = $1
     ORDER BY disconnected_at IS NOT NULL, position, created_at`,
    [companyId],
  );
}

export async function findConnection(db: Queryable, companyId: string, id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(
    `SELECT ${columns} FROM processor_connections WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
  return row;
}

/** Keeps others from changing the connection until the transaction ends. */
export async function lockConnection(db: Queryable, companyId: string, id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(
    `SELECT ${columns} FROM processor_connections WHERE company_id = $1 AND id = $2 FOR NO KEY UPDATE`,
    [companyId, id],
  );
  return row;
}

/** A notice names only the connection. */
export async function findConnectionById(db: Queryable, id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(`SELECT ${columns} FROM processor_connections WHERE id = $1`, [id]);
  return row;
}

export type NewConnectionRow = Pick<
  ConnectionRow,
  'company_id' | 'id' | 'kind' | 'name' | 'request_life_ms' | 'account_id'
>;

/** What makes two rows connections to the same account. */
const isOneAccount = `removed_at IS NULL AND kind <> 'nmi'`;

/** The new connection is tried last. Returns false if the account is connected already. */
export async function insertConnection(db: Queryable, connection: NewConnectionRow): Promise<boolean> {
  const { company_id, id, kind, name, request_life_ms, account_id = null } = connection;
  const rows = await db.query(
    `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, account_id)
     SELECT $1, $2, $3, $4, 1 + coalesce(max(position), 0), $5, $6 FROM processor_connections
     WHERE company_id = $1 AND disconnected_at IS NULL
     ON CONFLICT (company_id, kind, account_id) WHERE ${isOneAccount} DO NOTHING RETURNING 1`,
    [company_id, id, kind, name, request_life_ms, account_id],
  );
  return rows.length === 1;
}

/**
 * Remembers the account of a connection, unless one is known or another connection has it. Returns the account that is
 * known now.
 */
export async function keepAccount(
  db: Queryable,
  companyId: string,
  id: string,
  accountId: string | null,
): Promise<string | null> {
  const [row] = await db.query<{ account_id: string | null }>(
    `UPDATE processor_connections p SET account_id = coalesce(account_id, (SELECT $3::text WHERE NOT EXISTS (
       SELECT FROM processor_connections WHERE company_id = $1 AND kind = p.kind AND account_id = $3 AND ${isOneAccount})))
     WHERE company_id = $1 AND id = $2 RETURNING account_id`,
    [companyId, id, accountId],
  );
  return row?.account_id ?? null;
}

export async function forgetAccount(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('UPDATE processor_connections SET account_id = NULL WHERE company_id = $1 AND id = $2', [
    companyId,
    id,
  ]);
}

export async function updateConnection(
  db: Queryable,
  { company_id, id }: Pick<ConnectionRow, 'company_id' | 'id'>,
  change: { readonly name?: string; readonly rules?: Rules; readonly verifies_cards?: boolean },
): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET name = coalesce($3, name), rules = coalesce($4::jsonb, rules),
       verifies_cards = coalesce($5, verifies_cards)
     WHERE company_id = $1 AND id = $2`,
    [
      company_id,
      id,
      change.name ?? null,
      change.rules ? JSON.stringify(change.rules) : null,
      change.verifies_cards ?? null,
    ],
  );
}

/** The first refusal counts. */
export async function setRefused(db: Queryable, companyId: string, id: string, isRefused: boolean): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET refused_at = CASE WHEN $3 THEN coalesce(refused_at, now()) END
     WHERE company_id = $1 AND id = $2 AND (refused_at IS NOT NULL) <> $3`,
    [companyId, id, isRefused],
  );
}

/** The first refusal counts. */
export async function setCodeWanted(db: Queryable, companyId: string, id: string, isWanted: boolean): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET code_wanted_at = CASE WHEN $3 THEN coalesce(code_wanted_at, now()) END
     WHERE company_id = $1 AND id = $2 AND (code_wanted_at IS NOT NULL) <> $3`,
    [companyId, id, isWanted],
  );
}

/** The first rejection of these operations counts, and the last reason. Another process may have noted a refused charge. */
export async function setRejected(
  db: Queryable,
  companyId: string,
  id: string,
  rejection: string,
  operation: NotedOperation,
): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET rejection = $3, rejected_operation = $4,
       rejected_at = CASE WHEN rejected_operation = $4 THEN coalesce(rejected_at, now()) ELSE now() END
     WHERE company_id = $1 AND id = $2 AND (rejection, rejected_operation) IS DISTINCT FROM ($3, $4)
       AND ($4 = 'charge' OR rejected_operation IS DISTINCT FROM 'charge')`,
    [companyId, id, rejection, operation],
  );
}

export async function endRejection(
  db: Queryable,
  companyId: string,
  id: string,
  operation: NotedOperation,
): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET rejected_at = NULL, rejection = NULL, rejected_operation = NULL
     WHERE company_id = $1 AND id = $2 AND rejected_operation = $3`,
    [companyId, id, operation],
  );
}

/** The first charge without a reference counts. */
export async function setUnlinked(db: Queryable, companyId: string, id: string, isUnlinked: boolean): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET unlinked_at = CASE WHEN $3 THEN coalesce(unlinked_at, now()) END
     WHERE company_id = $1 AND id = $2 AND (unlinked_at IS NOT NULL) <> $3`,
    [companyId, id, isUnlinked],
  );
}

/** After the credentials were replaced, what was refused before says nothing. */
export async function forgetRefusals(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET refused_at = NULL, notice_refused_at = NULL, notice_refusal = NULL, unlinked_at = NULL,
       rejected_at = NULL, rejection = NULL, rejected_operation = NULL
     WHERE company_id = $1 AND id = $2`,
    [companyId, id],
  );
}

export interface RefusedConnections {
  /** Of which the processor refuses the credentials. */
  readonly refused: number;
  /** Of which it takes the credentials, and refuses the account or its settings. */
  readonly rejected: number;
}

export async function countRefused(db: Queryable): Promise<RefusedConnections> {
  const [row] = await db.query<RefusedConnections>(
    `SELECT count(*) FILTER (WHERE refused_at IS NOT NULL)::integer AS refused,
       count(*) FILTER (WHERE refused_at IS NULL)::integer AS rejected FROM processor_connections
     WHERE (refused_at IS NOT NULL OR rejected_at IS NOT NULL) AND disconnected_at IS NULL`,
  );
  return row ?? { refused: 0, rejected: 0 };
}

/** Moves aside first, because no two connections may be at the same place at any moment. */
export async function orderConnections(db: Queryable, companyId: string, ids: readonly string[]): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET position = -position WHERE company_id = $1 AND disconnected_at IS NULL`,
    [companyId],
  );
  await db.query(
    `UPDATE processor_connections p SET position = wanted.place
     FROM unnest($2::uuid[]) WITH ORDINALITY AS wanted (id, place)
     WHERE p.company_id = $1 AND p.id = wanted.id AND p.disconnected_at IS NULL`,
    [companyId, ids],
  );
}

/** New charges no longer use it, or use it again after the others. */
export async function setConnected(db: Queryable, companyId: string, id: string, connected: boolean): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET disconnected_at = CASE WHEN $3 THEN NULL ELSE coalesce(disconnected_at, now()) END,
       position = CASE WHEN $3 AND disconnected_at IS NOT NULL THEN 1 + coalesce((SELECT max(o.position)
         FROM processor_connections o WHERE o.company_id = $1 AND o.disconnected_at IS NULL), 0) ELSE position END
     WHERE company_id = $1 AND id = $2 AND removed_at IS NULL`,
    [companyId, id, connected],
  );
}

export async function markRemoved(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query(
    `UPDATE processor_connections SET removed_at = now() WHERE company_id = $1 AND id = $2 AND removed_at IS NULL`,
    [companyId, id],
  );
}

/**
 * The company charges with its first connection, and its requests stay valid as long as those of the connection that
 * takes longest.
 */
export async function refreshCompany(db: Queryable, companyId: string): Promise<void> {
  await db.query(
    `UPDATE companies SET processor = CASE WHEN first.id IS NULL THEN NULL ELSE 'connected' END,
       connection_id = first.id, request_life_ms = coalesce(first.life, request_life_ms)
     FROM (SELECT (array_agg(id ORDER BY position))[1] AS id, max(request_life_ms) AS life
           FROM processor_connections WHERE company_id = $1 AND disconnected_at IS NULL) first
     WHERE companies.id = $1 AND companies.mode <> 'sandbox'`,
    [companyId],
  );
}

/** Whether operations at the connection have no outcome yet, which only it knows. */
export async function hasOpenOperations(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const rows = await db.query(`SELECT 1 FROM open_transactions WHERE company_id = $1 AND connection_id = $2 LIMIT 1`, [
    companyId,
    id,
  ]);
  return rows.length > 0;
}
