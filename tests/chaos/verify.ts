import type { Queryable } from '../../server/platform/database.ts';
import { type OrderStatus, orderTransitions } from '../../server/features/orders/transitions.ts';
import { compareLedger, type JournaledOperation } from '../support/ledger.ts';
import type { Answer, Diary } from './client.ts';

/** Checks what must be true when nothing is in progress. Each sentence it returns is a broken guarantee. */

export interface Totals {
  readonly ordersInLedger: number;
  readonly charged: number;
  /** The part of it that was held first. */
  readonly captured: number;
  /** Authorizations that were voided. */
  readonly released: number;
  readonly refunded: number;
  readonly refundsSettled: number;
  readonly refundsRejected: number;
  readonly declined: number;
  /** Charges that were approved and then not captured. */
  readonly notCaptured: number;
  /** First charges that failed, by what the order says about it. */
  readonly failures: ReadonlyMap<string, number>;
}

interface OrderRow {
  readonly id: string;
  readonly status: OrderStatus;
  readonly refunded_amount: number;
  /** Its charges are authorizations. */
  readonly manual: boolean;
  /** Those that count: a charge that was interrupted and sent again does not. */
  readonly charges: number;
  readonly good_charges: number;
  readonly interrupted_charges: number;
  /** Of an authorization. */
  readonly captures: number;
  readonly good_captures: number;
  /** Authorizations that ended, and charges that were not captured after all. */
  readonly voided: number;
  readonly refunds: number;
  readonly good_refunds: number;
  readonly refunded_in_all: number;
  /** Charged by the worker or by a customer on a page, not by a client. */
  readonly by_others: boolean;
  /** The event types, by sequence. */
  readonly events: readonly string[];
}

const ordersStatement = `
  SELECT o.id, o.status, o.refunded_amount, o.subscription_id IS NOT NULL OR o.metadata->'checkout' IS NOT NULL AS by_others,
    bool_or(t.type = 'auth') IS TRUE AS manual,
    count(t.id) FILTER (WHERE t.is_charge AND t.status <> 'failed')::integer + o.attempt_count AS charges,
    count(t.id) FILTER (WHERE t.is_charge AND t.status = 'failed')::integer - o.attempt_count AS interrupted_charges,
    count(t.id) FILTER (WHERE t.is_charge AND t.status <> 'failed')::integer AS good_charges,
    count(t.id) FILTER (WHERE t.is_capture)::integer AS captures,
    count(t.id) FILTER (WHERE t.is_capture AND t.status <> 'failed')::integer AS good_captures,
    count(t.id) FILTER (WHERE t.status = 'voided')::integer AS voided,
    count(t.id) FILTER (WHERE t.type = 'refund')::integer AS refunds,
    count(t.id) FILTER (WHERE t.type = 'refund' AND t.status = 'succeeded')::integer AS good_refunds,
    coalesce(sum(t.amount) FILTER (WHERE t.type = 'refund' AND t.status = 'succeeded'), 0)::bigint AS refunded_in_all,
    coalesce(e.types, '{}') AS events
  FROM orders o LEFT JOIN (
    SELECT *, type = 'auth' OR (type = 'sale' AND NOT of_manual) AS is_charge, type = 'sale' AND of_manual AS is_capture
    FROM (SELECT *, bool_or(type = 'auth') OVER (PARTITION BY company_id, order_id) AS of_manual FROM transactions) known
  ) t ON t.company_id = o.company_id AND t.order_id = o.id
  LEFT JOIN (
    SELECT object_id, array_agg(type ORDER BY sequence) AS types FROM events GROUP BY object_id
  ) e ON e.object_id = o.id
  GROUP BY o.company_id, o.id, e.types`;

export async function verify(
  db: Queryable,
  journal: readonly JournaledOperation[],
  diary: Diary,
): Promise<{ violations: string[]; totals: Totals }> {
  const rows = await db.query<OrderRow>(ordersStatement);
  const open = await db.query<{ id: string; type: string; order_id: string; accepted: boolean }>(
    'SELECT id, type, order_id, slot = id AS accepted FROM open_transactions',
  );
  const waiting = await db.query<{ type: string; id: string; result: string | null }>(
    'SELECT type, id, result FROM processor_notices WHERE applied_at IS NULL',
  );
  const held = await db.query<{ reference: string }>(
    `SELECT coalesce(reference, id) AS reference FROM transactions WHERE type = 'auth' AND status = 'succeeded'`,
  );
  const standing = new Set<string | null>(held.map(({ reference }) => reference));
  const orders = new Map(rows.map((row) => [row.id, row]));
  const answers = Map.groupBy(diary.answers, ({ orderId }) => orderId);
  const violations = [
    ...diary.wrong,
    ...(diary.unanswered > 0 ? [`${diary.unanswered} requests got no answer until the end`] : []),
    ...open.map(({ id, type, order_id, accepted }) =>
      accepted ? `refund ${id} of order ${order_id} has not settled` : `${type} ${id} of ${order_id} is in doubt`,
    ),
    ...waiting.map(({ type, id, result }) => `the notice ${type} ${id} was not applied: ${result}`),
    ...journal
      .filter(({ status, reference }) => status === 'authorized' && !standing.has(reference))
      .map(({ reference }) => `the funds of the authorization ${reference} were not released`),
    ...(await compareLedger(db, journal)),
    ...(await doubleCharges(db, journal)),
    ...[...answers].flatMap(([id, ofOrder]) => lost(id, orders.get(id), ofOrder)),
    ...oneOrderPerKey(diary.answers),
    ...rows.flatMap(wrongEvents),
    ...rows.flatMap((order) => wrongCounts(order, answers.get(order.id))),
  ];
  const sum = (...kinds: readonly JournaledOperation['kind'][]): number =>
    journal.reduce(
      (total, { kind, status, voided, amount }) =>
        total + (kinds.includes(kind) && status === 'approved' && !voided ? (amount ?? 0) : 0),
      0,
    );
  const totals: Totals = {
    failures: await firstFailures(db),
    ordersInLedger: rows.length,
    charged: sum('charge', 'capture'),
    captured: sum('capture'),
    released: journal.filter(({ kind, voided }) => kind === 'authorization' && voided).length,
    refunded: sum('refund'),
    refundsSettled: journal.filter(({ kind, status }) => kind === 'refund' && status === 'approved').length,
    refundsRejected: journal.filter(({ status }) => status === 'rejected').length,
    declined: journal.filter(({ status }) => status === 'declined').length,
    notCaptured: journal.filter(({ status }) => status === 'not_captured').length,
  };
  return { violations: [...violations, ...(await unequalSums(db, totals))], totals };
}

/** Uses only the journal, for cases that our own constraints could not detect. */
async function doubleCharges(db: Queryable, journal: readonly JournaledOperation[]): Promise<string[]> {
  const rows = await db.query<{ reference: string; order_id: string }>(
    'SELECT reference, order_id FROM all_transactions',
  );
  const orderOf = new Map(rows.map(({ reference, order_id }) => [reference, order_id]));
  const approved = journal.filter(({ kind, status }) => ['charge', 'capture'].includes(kind) && status === 'approved');
  const byOrder = Map.groupBy(approved, ({ reference, charge_reference }) => {
    const known = reference ?? charge_reference ?? '';
    return orderOf.get(known) ?? known;
  });
  return [...byOrder].flatMap(([order, charges]) =>
    charges.length > 1 ? [`order ${order} was charged ${charges.length} times`] : [],
  );
}

async function firstFailures(db: Queryable): Promise<Map<string, number>> {
  const rows = await db.query<{ why: string; count: number }>(
    `SELECT why, count(*)::integer AS count FROM (
       SELECT DISTINCT ON (t.company_id, t.order_id) t.status, concat(t.failure_code, ': ', t.failure_reason) AS why
       FROM transactions t JOIN orders o ON o.company_id = t.company_id AND o.id = t.order_id
       WHERE t.type IN ('sale', 'auth') AND o.subscription_id IS NULL ORDER BY t.company_id, t.order_id, t.id
     ) AS firsts WHERE status = 'failed' GROUP BY why ORDER BY why`,
  );
  return new Map(rows.map(({ why, count }) => [why, count]));
}

async function unequalSums(db: Queryable, { charged, refunded }: Totals): Promise<string[]> {
  const [ours] = await db.query<{ charged: number; refunded: number }>(
    `SELECT coalesce(sum(amount) FILTER (WHERE type = 'sale'), 0)::bigint AS charged,
       coalesce(sum(amount) FILTER (WHERE type = 'refund'), 0)::bigint AS refunded
     FROM transactions t JOIN companies c ON c.id = t.company_id WHERE c.mode = 'live' AND t.status = 'succeeded'`,
  );
  if (ours?.charged === charged && ours.refunded === refunded) return [];
  return [`the journal has ${charged} charged and ${refunded} refunded, the ledger ${JSON.stringify(ours)}`];
}

function reachable(from: string): Set<string> {
  const found = new Set([from]);
  for (const status of found) {
    for (const [start, , end] of orderTransitions) if (start === status) found.add(end);
  }
  return found;
}

function lost(id: string, order: OrderRow | undefined, answers: readonly Answer[]): string[] {
  if (!order) return [`order ${id} was acknowledged and does not exist`];
  return answers
    .filter(({ status }) => !reachable(status).has(order.status))
    .map(({ kind, status }) => `order ${id} was reported as ${status} by a ${kind}, and is ${order.status}`);
}

function oneOrderPerKey(answers: readonly Answer[]): string[] {
  const creations = answers.filter(({ kind }) => kind === 'create' || kind === 'repeat');
  return [...Map.groupBy(creations, ({ key }) => key)].flatMap(([key, answers]) => {
    const ids = new Set(answers.map(({ orderId }) => orderId));
    return ids.size > 1 ? [`key ${key} has the orders ${[...ids].join(', ')}`] : [];
  });
}

function wrongEvents(order: OrderRow): string[] {
  const { id, events, manual, charges, good_charges, interrupted_charges, refunds, good_refunds } = order;
  const number = (pattern: RegExp): number => events.filter((type) => pattern.test(type)).length;
  const wrong: string[] = [];
  if (events[0] !== 'order.created' || number(/^order\.created$/) !== 1) wrong.push('not created once');
  if (!/^order\.(succeeded|authorized|failed)$/.test(events[1] ?? '')) wrong.push('its first charge did not end');
  const paid = manual ? order.good_captures : good_charges;
  if (number(/^order\.succeeded$/) !== paid) wrong.push(`${paid} payments succeeded`);
  const held = manual ? good_charges : 0;
  if (number(/^order\.authorized$/) !== held) wrong.push(`${held} authorizations succeeded`);
  if (number(/^order\.voided$/) !== order.voided) wrong.push(`${order.voided} were voided`);
  if (number(/^order\.failed$/) !== charges - good_charges) wrong.push(`${charges - good_charges} charges failed`);
  if (interrupted_charges < 0) wrong.push('more attempts are counted than were made');
  if (number(/refund_failed/) !== refunds - good_refunds) wrong.push(`${refunds - good_refunds} refunds failed`);
  // A refund may fail after it had settled.
  const settled = number(/refunded$/);
  if (settled < good_refunds || settled > refunds) wrong.push(`${good_refunds} refunds settled`);
  return wrong.map((why) => `order ${id} has the events ${events.join(', ')}: ${why}`);
}

/** Each successful response must belong to exactly one operation, and there must be no others. */
function wrongCounts(order: OrderRow, answers: readonly Answer[] = []): string[] {
  const { id, charges, captures, refunds, refunded_amount, refunded_in_all, by_others } = order;
  const wrong: string[] = [];
  if (refunded_amount !== refunded_in_all) wrong.push(`says ${refunded_amount} refunded, gave back ${refunded_in_all}`);
  const acknowledged = answers.some(({ kind }) => kind === 'create');
  const count = (...kinds: readonly Answer['kind'][]): number =>
    answers.filter(({ kind }) => kinds.includes(kind)).length;
  const asked = count('refund', 'retry');
  if (by_others) return wrong.map((why) => `order ${id} ${why}`);
  if (!acknowledged) wrong.push('was created, and no client got a response');
  if (charges - 1 + refunds !== asked)
    wrong.push(`was refunded or retried ${asked} times, and has ${charges}+${refunds}`);
  if (captures !== count('capture')) wrong.push(`was captured ${count('capture')} times, and has ${captures} captures`);
  return wrong.map((why) => `order ${id} ${why}`);
}
