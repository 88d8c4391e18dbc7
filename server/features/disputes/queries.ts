import { createdAtConditions, createdAtFilters, type ListSource, type Page } from '../../http/lists.ts';
import type { QueryValues } from '../../http/query-parameters.ts';
import type { PageRequest } from '../../http/route.ts';
import { anyOf, type Arm, everyRow, keyArm, searchPage } from '../../http/search-pages.ts';
import type { Queryable } from '../../platform/database.ts';
import { staysHere } from '../../shards/queries.ts';
import { anyRow, raw, sql } from '../../platform/sql.ts';
import { armsOfAmount, findOrderIds, idArms, numbersMax } from '../orders/search-queries.ts';
import { findOwners, type Searcher } from '../customers/queries.ts';
import type {
  Defense,
  DisputeReason,
  DisputeState,
  EvidenceFile,
  EvidenceText,
} from '../../vault/processors/notices.ts';

export interface DisputeRow {
  readonly id: string;
  readonly order_id: string;
  readonly order_number: string;
  readonly customer_id: string;
  readonly transaction_id: string;
  readonly connection_id: string | null;
  readonly connection_name: string | null;
  /** The kind of the connection. */
  readonly kind: string | null;
  readonly processor_id: string;
  readonly state: DisputeState;
  readonly amount: number;
  readonly currency: string;
  readonly reason: DisputeReason;
  readonly network_reason_code: string | null;
  readonly evidence_due_at: Date | null;
  readonly evidence: Readonly<Partial<Record<EvidenceText, string>>>;
  readonly defense: Defense | null;
  readonly submitted_at: Date | null;
  readonly files: readonly FileSummary[] | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

interface FileSummary {
  readonly id: string;
  readonly kind: EvidenceFile['kind'];
  readonly name: string;
  readonly size_bytes: number;
}

const columns = `id, order_id, transaction_id, connection_id, processor_id, state, amount, currency, reason,
  network_reason_code, evidence_due_at, evidence, defense, submitted_at, created_at,
  updated_at, (SELECT o.order_number FROM orders o WHERE o.company_id = disputes.company_id AND o.id = disputes.order_id)
    AS order_number,
  (SELECT o.customer_id FROM orders o WHERE o.company_id = disputes.company_id AND o.id = disputes.order_id)
    AS customer_id,
  (SELECT p.name FROM processor_connections p
   WHERE p.company_id = disputes.company_id AND p.id = disputes.connection_id) AS connection_name,
  (SELECT p.kind FROM processor_connections p
   WHERE p.company_id = disputes.company_id AND p.id = disputes.connection_id) AS kind,
  (SELECT json_agg(json_build_object('id', f.id, 'kind', f.kind, 'name', f.name,
     'size_bytes', octet_length(f.content)) ORDER BY f.id)
   FROM dispute_files f WHERE f.company_id = disputes.company_id AND f.dispute_id = disputes.id) AS files`;

const source: ListSource = { table: 'disputes', objectType: 'dispute', columns, sorts: {} };

export interface DisputeFilters extends QueryValues<typeof createdAtFilters> {
  readonly q?: string;
  readonly status?: readonly string[];
  readonly reason?: readonly string[];
  readonly order_id?: string;
}

/** The number of an order, an amount, or a customer. Few orders are disputed, so the list is read for the others. */
async function armsOf(searcher: Searcher, { q, order_id }: DisputeFilters): Promise<Arm[]> {
  const { db, company } = searcher;
  const companyId = company.id;
  if (order_id) return [keyArm('order_id', 'uuid', [order_id])];
  if (q === undefined) return [everyRow];
  const text = q.trim();
  const owners = await findOwners(searcher, text, 1_000);
  const customer = raw(
    '(SELECT o.customer_id FROM orders o WHERE o.company_id = disputes.company_id AND o.id = order_id)',
  );
  const amount = armsOfAmount('amount', text)[0]?.only;
  return [
    ...idArms('order_id', await findOrderIds(db, companyId, text), numbersMax),
    ...(amount ? [{ only: amount }] : []),
    ...(owners
      ? [{ only: 'ids' in owners ? sql`${customer} = ANY(${owners.ids}::uuid[])` : owners.isOneOf(customer) }]
      : []),
  ];
}

export async function listDisputes(
  searcher: Searcher,
  filters: DisputeFilters,
  page: PageRequest,
): Promise<Page<DisputeRow>> {
  const { db, company } = searcher;
  return searchPage(db, company.id, source, page, {
    arms: await armsOf(searcher, filters),
    ranges: { id: createdAtConditions(filters) },
    checks: [...anyOf('state', filters.status), ...anyOf('reason', filters.reason)],
  });
}

export async function findDispute(db: Queryable, companyId: string, id: string): Promise<DisputeRow | undefined> {
  const [row] = await db.query<DisputeRow>(`SELECT ${columns} FROM disputes WHERE company_id = $1 AND id = $2`, [
    companyId,
    id,
  ]);
  return row;
}

/** Returns false if evidence is no longer wanted. */
export async function saveEvidence(
  db: Queryable,
  companyId: string,
  id: string,
  { evidence, defense }: { readonly evidence: object; readonly defense: Defense | null },
  at: Date,
): Promise<boolean> {
  const rows = await db.query(
    `UPDATE disputes SET evidence = $3, defense = $4, updated_at = $5
     WHERE company_id = $1 AND id = $2 AND state IN ('inquiry', 'needs_response') RETURNING 1`,
    [companyId, id, JSON.stringify(evidence), defense && JSON.stringify(defense), at],
  );
  return rows.length === 1;
}

export async function insertFile(
  db: Queryable,
  companyId: string,
  disputeId: string,
  id: string,
  { kind, name, contentType, content }: EvidenceFile,
): Promise<void> {
  await db.query(
    `INSERT INTO dispute_files (company_id, dispute_id, id, kind, name, content_type, content)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [companyId, disputeId, id, kind, name, contentType, content],
  );
}

/** Keeps others from changing the evidence until the transaction ends. */
export async function lockDispute(db: Queryable, companyId: string, id: string): Promise<void> {
  await db.query('SELECT 1 FROM disputes WHERE company_id = $1 AND id = $2 FOR UPDATE', [companyId, id]);
}

/** Returns how many disputes had evidence. */
export async function eraseEvidenceOfDeleted(db: Queryable, count: number): Promise<number> {
  const rows = await db.query(
    `WITH closed AS (
       SELECT d.company_id, d.id FROM disputes d
       JOIN orders o ON o.company_id = d.company_id AND o.id = d.order_id
       JOIN customers c ON c.company_id = o.company_id AND c.id = o.customer_id
       WHERE c.deleted_at IS NOT NULL AND d.state IN ('won', 'lost', 'accepted', 'inquiry_closed')
         AND ${staysHere('d.company_id')}
         AND (d.evidence::text <> '{}'
           OR ${anyRow('dispute_files f WHERE f.company_id = d.company_id AND f.dispute_id = d.id')})
       LIMIT $1 FOR UPDATE OF d SKIP LOCKED
     ), files AS (
       DELETE FROM dispute_files f USING closed WHERE f.company_id = closed.company_id AND f.dispute_id = closed.id
     )
     UPDATE disputes d SET evidence = '{}', defense = NULL FROM closed
     WHERE d.company_id = closed.company_id AND d.id = closed.id RETURNING 1`,
    [count],
  );
  return rows.length;
}

export async function deleteFile(db: Queryable, companyId: string, disputeId: string, id: string): Promise<boolean> {
  const rows = await db.query(
    'DELETE FROM dispute_files WHERE company_id = $1 AND dispute_id = $2 AND id = $3 RETURNING 1',
    [companyId, disputeId, id],
  );
  return rows.length === 1;
}

export async function findFiles(db: Queryable, companyId: string, disputeId: string): Promise<EvidenceFile[]> {
  return db.query<EvidenceFile>(
    `SELECT id, kind, name, content_type AS "contentType", content FROM dispute_files
     WHERE company_id = $1 AND dispute_id = $2 ORDER BY id`,
    [companyId, disputeId],
  );
}

/** The processor's own report follows, and is newer. Only evidence is submitted; an acceptance is not. */
export async function markAnswered(
  db: Queryable,
  companyId: string,
  id: string,
  { state, isSubmission, at }: { readonly state: DisputeState; readonly isSubmission: boolean; readonly at: Date },
): Promise<void> {
  await db.query(
    `UPDATE disputes SET state = $3, submitted_at = CASE WHEN $4 THEN coalesce(submitted_at, $5) ELSE submitted_at END,
       updated_at = $5
     WHERE company_id = $1 AND id = $2 AND state IN ('inquiry', 'needs_response')`,
    [companyId, id, state, isSubmission, at],
  );
}
