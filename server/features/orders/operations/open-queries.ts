import type { Queryable } from '../../../platform/database.ts';
import type { BrandName } from '../../../platform/card-brands.ts';
import type { FailureCode, ProcessorResponse } from '../../../vault/processors/processor.ts';
import { isBehindGate, isClosed, remembers, requireOpenGate } from '../../restores/gate-queries.ts';
import {
  canMove,
  type OperationCause,
  type OperationState,
  type OperationTrigger,
  stateAfter,
} from './operation-moves.ts';
import { connectionOfNew } from './new-connection-queries.ts';
import type { Referenced } from './reference.ts';
import { transactionChanges } from '../transitions.ts';

/** Queries for operations at the processor whose outcome is not recorded yet. */

/** The slot of an operation in flight. An order has one such slot, so it has at most one operation in flight. */
export const inFlightSlot = '00000000-0000-0000-0000-000000000000';

/** An authorization is an `auth`. Its capture is a `sale` with the cause `capture`. */
export type OpenType = 'sale' | 'auth' | 'refund' | 'void';

export interface NewOpenTransaction {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly customer_id: string;
  readonly payment_method_id: string;
  readonly reference: string;
  readonly type: OpenType;
  readonly cause: OperationCause;
  /** What its reference is derived from. For an idempotency key only that it is one, see `recordedSubject`. */
  readonly subject: readonly string[];
  readonly number: number;
  readonly amount: number;
  readonly currency: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
  readonly request_id: string | null;
  readonly updated_at: Date;
}

/** Returns SQL for the time until which a request recorded now is valid; `lifeMs` is SQL. */
export const validFor = (lifeMs: string): string => `date_trunc('milliseconds', now()) + ${lifeMs} * interval '1 ms'`;

/** The same for a company, whose id is `$1`. */
const validUntil = validFor('(SELECT c.request_life_ms FROM companies c WHERE c.id = $1)');

export const milliseconds = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::bigint`;

/** An operation that is recorded and may be sent. */
export interface Opened {
  /** The processor rejects the request after this time. By the clock of the database. */
  readonly validUntilMs: number;
  /** The number of this sending. The outcome of an earlier sending has no effect. */
  readonly sending: number;
  /** Where it is sent; null for the sandbox. */
  readonly connection_id: string | null;
  /** After a restore, a processor may have executed it, see `kept-outcomes.ts`. */
  readonly remembers?: boolean | undefined;
}

interface OpenedRow {
  valid_until_ms: number;
  sending: number;
  connection_id: string | null;
  remembers?: boolean;
}
const openedColumns = `${milliseconds('valid_until')} AS valid_until_ms, sending, connection_id`;
const toOpened = ({ valid_until_ms: validUntilMs, ...opened }: OpenedRow): Opened => ({ validUntilMs, ...opened });

/** SQL: whether the company of the row that is written remembers what its processors executed. */
export const companyRemembers = `(SELECT ${remembers('k')} FROM companies k WHERE k.id = open_transactions.company_id)`;

/** Identifies an operation in the statements below. */
export type OpenKey = Pick<OpenTransaction, 'company_id' | 'order_id' | 'id' | 'sending'>;
export type Intended = Pick<OpenTransaction, 'company_id' | 'order_id' | 'id' | 'reference'>;

export const isThisSending = `company_id = $1 AND order_id = $2 AND id = $3 AND sending = $4`;
export const keyOf = ({ company_id, order_id, id, sending }: OpenKey): readonly unknown[] => [
  company_id,
  order_id,
  id,
  sending,
];

/** Returns undefined if another operation of the order is in flight. Throws if the gate of the company is closed. */
export async function insertOpen(db: Queryable, open: NewOpenTransaction, lockMs: number): Promise<Opened | undefined> {
  const rows = await db.query<OpenedRow>(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
       currency, card_brand, card_last4, updated_at, request_id, reference, valid_until, locked_until, next_check_at,
       connection_id, cause, subject, number)
     SELECT $1, $2, '${inFlightSlot}', $3, $4, $5, $6, $7, $8, $9, $10, $11, $13, $14, ${validFor('c.request_life_ms')},
       now() + $12 * interval '1 ms', now() + $12 * interval '1 ms',
       ${connectionOfNew(open.cause)}, $15, $16, $17
     FROM companies c WHERE c.id = $1 AND NOT (${isClosed('c')})
     ON CONFLICT (company_id, order_id, slot) DO NOTHING RETURNING ${openedColumns}, ${companyRemembers} AS remembers`,
    [
      open.company_id,
      open.order_id,
      open.id,
      open.customer_id,
      open.payment_method_id,
      open.type,
      open.amount,
      open.currency,
      open.card_brand,
      open.card_last4,
      open.updated_at,
      lockMs,
      open.request_id,
      open.reference,
      open.cause,
      open.subject,
      open.number,
    ],
  );
  if (!rows[0]) await requireOpenGate(db, open.company_id);
  return rows[0] && toOpened(rows[0]);
}

export interface OpenTransaction {
  readonly company_id: string;
  readonly order_id: string;
  readonly id: string;
  readonly reference: string;
  /**
   * The validity that was sent. Only after this time, by the processor's clock, does "not found" mean that the
   * operation never happened.
   */
  readonly valid_until_ms: number;
  readonly sending: number;
  readonly connection_id: string | null;
  /** How long ago it was opened, by the clock of the database. */
  readonly age_ms: number;
  readonly type: OpenType;
  readonly state: OperationState;
  readonly cause: OperationCause;
  /** What its reference is derived from. For an idempotency key only that it is one. */
  readonly subject: readonly string[];
  readonly number: number;
  readonly amount: number;
  readonly currency: string;
  /** How often it was sent again because a part of the service stopped. */
  readonly interruptions: number;
  /** Whether the process that opened it is assumed to be working on it. */
  readonly locked: boolean;
  /** Whether the comparison after a restore comes first: until then nothing says that it was not executed. */
  readonly held: boolean;
  /** Whether the customer was led to the bank. */
  readonly asked: boolean;
  readonly request_id: string | null;
  readonly payment_method_id: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
}

export const openColumns = `company_id, order_id, id, coalesce(reference, id) AS reference, type, amount, currency, request_id,
  payment_method_id, card_brand, card_last4, state, cause, subject, number, interruptions, locked_until > now() AS locked,
  customer_until IS NOT NULL AS asked,
  ${isBehindGate('open_transactions')} AS held, ${openedColumns}, greatest(0, ${milliseconds('now() - opened_at')}) AS age_ms`;

export async function findOpenOf(db: Queryable, companyId: string, orderId: string): Promise<OpenTransaction[]> {
  return db.query<OpenTransaction>(
    `SELECT ${openColumns} FROM open_transactions WHERE company_id = $1 AND order_id = $2`,
    [companyId, orderId],
  );
}

export async function findOpenByReference(
  db: Queryable,
  companyId: string,
  reference: string,
): Promise<OpenTransaction | undefined> {
  const [row] = await db.query<OpenTransaction>(
    `SELECT ${openColumns} FROM open_transactions WHERE company_id = $1 AND reference = $2`,
    [companyId, reference],
  );
  return row;
}

/** SQL that moves the operation `$1` to `$4` if its state allows it. All changes of a state are made by this or by a check. */
export const move = (because: OperationTrigger, sets: string): string =>
  `UPDATE open_transactions SET state = ${stateAfter(because)}, ${sets} WHERE ${isThisSending} AND ${canMove(because)}`;

/** The outcome is unknown: the worker reconciles it from now on. */
export async function markInDoubt(
  db: Queryable,
  open: OpenKey,
  { checkAfterMs, interrupted = false }: { readonly checkAfterMs: number; readonly interrupted?: boolean },
): Promise<void> {
  await db.query(
    move(
      interrupted ? 'service_stopped' : 'answer_lost',
      `locked_until = now(), next_check_at = now() + $5 * interval '1 ms'`,
    ),
    [...keyOf(open), checkAfterMs],
  );
}

export interface Wait {
  /** A part of this service, credentials that the processor accepts, or a connection that takes the charge. */
  readonly waitsFor: 'service' | 'credentials' | 'connection';
  readonly checkAfterMs: number;
}

/** The sale was not sent; it can be sent later under its reference. */
export async function markWaiting(db: Queryable, open: OpenKey, { waitsFor, checkAfterMs }: Wait): Promise<void> {
  await db.query(
    move('not_sent', `waits_for = $6, locked_until = now(), next_check_at = now() + $5 * interval '1 ms'`),
    [...keyOf(open), checkAfterMs, waitsFor],
  );
}

/**
 * A charge that was interrupted waits until it is sent again, or given up after this time. Returns false if another
 * process has recorded or changed it.
 */
export async function waitAgain(
  db: Queryable,
  open: OpenKey & Pick<OpenTransaction, 'interruptions'>,
  checkAfterMs: number,
): Promise<boolean> {
  const rows = await db.query(
    `${move(
      'not_executed',
      `waits_for = 'service', interruptions = $5, sending = sending + 1, locked_until = now(),
       next_check_at = now() + $6 * interval '1 ms'`,
    )} RETURNING pg_notify('${dueChannel}', '')`,
    [...keyOf(open), open.interruptions + 1, checkAfterMs],
  );
  return rows.length === 1;
}

/**
 * Claims a waiting sale. From here on it may have been sent. Returns undefined if another process claimed it first. Throws if
 * the gate of the company is closed.
 */
export async function claimWaiting(
  db: Queryable,
  open: OpenKey,
  lockMs: number,
  /** The caller knows the outcome, so that nothing will be sent. */
  isResolved = false,
): Promise<Opened | undefined> {
  const rows = await db.query<OpenedRow>(
    `${move(
      'taken',
      `waits_for = NULL, checks = 0, opened_at = now(), valid_until = ${validUntil}, sending = sending + 1,
       locked_until = now() + $5 * interval '1 ms', next_check_at = now() + $5 * interval '1 ms'`,
    )} AND ($6 OR NOT (SELECT ${isClosed('c')} FROM companies c WHERE c.id = $1)) RETURNING ${openedColumns}`,
    [...keyOf(open), lockMs, isResolved],
  );
  if (!rows[0] && !isResolved) await requireOpenGate(db, open.company_id);
  return rows[0] && toOpened(rows[0]);
}

/**
 * A renewal that waits is not to be sent any more: the worker gives it up at once. A process that is about to send it
 * has the number of an earlier sending. Returns false if no renewal of the order waits.
 */
export async function recallWaiting(db: Queryable, companyId: string, orderId: string): Promise<boolean> {
  const rows = await db.query(
    `UPDATE open_transactions SET sending = sending + 1, next_check_at = now()
     WHERE company_id = $1 AND order_id = $2 AND ${canMove('recalled')} AND cause = 'renewal'
     RETURNING pg_notify('${dueChannel}', '')`,
    [companyId, orderId],
  );
  return rows.length === 1;
}

export async function isWaiting(db: Queryable, companyId: string, orderId: string): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM open_transactions WHERE company_id = $1 AND order_id = $2 AND state = 'waiting' LIMIT 1`,
    [companyId, orderId],
  );
  return rows.length === 1;
}

/** What changes when an operation is sent once more. */
export interface Resending {
  /** With another reference. */
  readonly as?: Referenced;
  readonly fromMs?: number | undefined;
  readonly connectionId?: string;
  /** The caller knows the outcome, or has looked it up itself, so that the operation may be in doubt. */
  readonly isResolved?: boolean;
}

/**
 * Starts a new sending of an operation that was not executed: with another reference, at another
 * connection, or with a validity based on this time of the processor's clock. Returns undefined if the operation is closed, or another process has started a
 * sending. The same if it is in doubt: a lookup may be under way, and may complete what the earlier sending prepared.
 */
export async function startSending(
  db: Queryable,
  open: OpenKey,
  { as, fromMs, connectionId, isResolved = false }: Resending,
  lockMs: number,
): Promise<Opened | undefined> {
  const rows = await db.query<OpenedRow>(
    `${move(
      isResolved ? 'resolved' : 'sent_again',
      `sending = sending + 1, checks = 0, reference = coalesce($6, reference), number = coalesce($9, number),
       subject = coalesce($10, subject), connection_id = coalesce($8, connection_id),
       valid_until = ${validUntil} + coalesce(to_timestamp($7 / 1000.0) - date_trunc('milliseconds', now()), '0'),
       locked_until = now() + $5 * interval '1 ms', next_check_at = now() + $5 * interval '1 ms'`,
    )} RETURNING ${openedColumns}`,
    [
      ...keyOf(open),
      lockMs,
      as?.reference ?? null,
      fromMs ?? null,
      connectionId ?? null,
      as?.number ?? null,
      as?.subject ?? null,
    ],
  );
  return rows[0] && toOpened(rows[0]);
}

/** Called when the processor accepted a refund: frees the slot and schedules its reconciliation. */
export async function acceptOpen(db: Queryable, open: OpenKey, response: ProcessorResponse): Promise<boolean> {
  const rows = await db.query(
    `${move('accepted', `slot = id, processor_response = $5, checks = 0, locked_until = now(), next_check_at = now()`)}
     RETURNING pg_notify('${dueChannel}', '')`,
    [...keyOf(open), JSON.stringify(response)],
  );
  return rows.length === 1;
}

/** A worker that listens on this channel checks at once for due operations. */
export const dueChannel = 'transactions_due';

export interface Closing {
  readonly change: 'approved' | 'declined';
  readonly response: ProcessorResponse | null;
  readonly failureCode: FailureCode | null;
  readonly failureReason: string | null;
  readonly at: Date;
}

/** Closes the operation. Returns the state that it had; undefined if it was already closed. */
export async function closeOpen(
  db: Queryable,
  open: OpenKey,
  closing: Closing,
): Promise<Pick<OpenTransaction, 'state'> | undefined> {
  const [row] = await db.query<Pick<OpenTransaction, 'state'>>(
    `WITH closed AS (
       DELETE FROM open_transactions WHERE ${isThisSending} AND ${canMove('outcome_recorded')} RETURNING *
     ), inserted AS (
       INSERT INTO transactions (company_id, id, order_id, customer_id, payment_method_id, type, amount, currency,
         card_brand, card_last4, status, processor_response, failure_code, failure_reason, updated_at, reference,
         connection_id)
       SELECT company_id, id, order_id, customer_id, payment_method_id, type, amount, currency, card_brand, card_last4,
         $5, coalesce($6::json, processor_response), $7, $8, $9, reference, connection_id FROM closed
     )
     SELECT state FROM closed`,
    [
      ...keyOf(open),
      transactionChanges[closing.change].to,
      closing.response && JSON.stringify(closing.response),
      closing.failureCode,
      closing.failureReason,
      closing.at,
    ],
  );
  return row;
}

/**
 * Discards an operation that did not happen, or that leaves no transaction. A pagination cursor may still point at
 * it, so a tombstone remains.
 */
export async function discardOpen(db: Queryable, open: OpenKey): Promise<boolean> {
  return discard(db, open, 'outcome_recorded');
}

/** For the process that sent it, and learned that nothing was executed: not while a lookup may execute it. */
export async function discardUnexecuted(db: Queryable, open: OpenKey): Promise<boolean> {
  return discard(db, open, 'nothing_executed');
}

async function discard(db: Queryable, open: OpenKey, because: OperationTrigger): Promise<boolean> {
  const rows = await db.query(
    `WITH deleted AS (
       DELETE FROM open_transactions WHERE ${isThisSending} AND slot = '${inFlightSlot}' AND ${canMove(because)}
       RETURNING company_id, id, type, amount
     ), tombstone AS (
       INSERT INTO tombstones (company_id, id, object_type, sort_values)
       SELECT company_id, id, 'transaction', jsonb_build_object('amount', amount) FROM deleted WHERE type <> 'void'
     )
     SELECT 1 FROM deleted`,
    keyOf(open),
  );
  return rows.length === 1;
}
