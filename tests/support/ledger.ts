import type { Queryable } from '../../server/platform/database.ts';
import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';

/** A row in the journal of a simulated processor. */
export interface JournaledOperation
  extends Pick<Operation, 'kind' | 'charge_reference' | 'amount' | 'currency' | 'last4' | 'voided'> {
  /** Null for a void or a capture at a processor that keeps no reference for it. */
  readonly reference: string | null;
  /** `not_captured` was approved before its capture failed; `authorized` and `cancelled` never moved money. */
  readonly status: Operation['status'] | 'not_captured' | 'authorized' | 'cancelled';
  readonly settled?: boolean;
  /** Null if the processor may never have reported it. */
  readonly transaction_id: string | null;
}

/**
 * Compares the acquirer's books with ours when no operation is in flight. It lists every operation that is missing on
 * one side or differs; an empty list means that they agree to the cent.
 */

interface LedgerRow {
  readonly id: string;
  readonly reference: string;
  readonly order_id: string;
  readonly sale_id: string | null;
  readonly type: 'sale' | 'auth' | 'refund' | 'void';
  /** `accepted` is a refund that was accepted and has not settled; the outcome of `undecided` is unknown. */
  readonly status: 'succeeded' | 'failed' | 'voided' | 'chargeback' | 'accepted' | 'undecided';
  readonly amount: number;
  readonly currency: string;
  readonly card_last4: string;
  readonly processor_transaction_id: string | null;
}

interface OrderRow {
  readonly id: string;
  readonly status: string;
  readonly total: number;
  readonly refunded_amount: number;
  readonly sale_id: string | null;
  readonly captured_amount: number | null;
  readonly is_held: boolean;
  readonly sequence: number;
  readonly event_sequences: readonly number[];
}

export async function compareLedger(db: Queryable, journaled: readonly JournaledOperation[]): Promise<string[]> {
  const ledger = await db.query<LedgerRow>(
    `SELECT t.id, coalesce(t.reference, t.id) AS reference, t.order_id, o.sale_id, t.type, t.status, t.amount, t.currency, t.card_last4,
       t.processor_response->>'transaction_id' AS processor_transaction_id
     FROM (
       SELECT company_id, id, reference, order_id, type, status, amount, currency, card_last4, processor_response
       FROM transactions
       UNION ALL
       SELECT company_id, id, reference, order_id, type, CASE WHEN slot = id THEN 'accepted' ELSE 'undecided' END, amount, currency,
         card_last4, processor_response FROM open_transactions
     ) t
     JOIN orders o ON o.company_id = t.company_id AND o.id = t.order_id
     JOIN companies c ON c.id = t.company_id WHERE c.mode = 'live'`,
  );
  const orders = await db.query<OrderRow>(
    `SELECT o.id, o.status, o.total, o.refunded_amount, o.sale_id, o.captured_amount,
       o.capture_before IS NOT NULL AS is_held, o.sequence,
       coalesce(e.sequences, '{}') AS event_sequences
     FROM orders o JOIN companies c ON c.id = o.company_id
     LEFT JOIN (
       SELECT object_id, array_agg(sequence ORDER BY sequence) AS sequences FROM events GROUP BY object_id
     ) e ON e.object_id = o.id
     WHERE c.mode = 'live'`,
  );
  const ours = new Map(ledger.map((row) => [row.reference, row]));
  const operations = journaled.map((operation) => named(operation, ledger, ours));
  const journal = operations.filter(({ status }) => status !== 'authorized' && status !== 'cancelled');
  const voidedSales = ledger.filter(({ type, status }) => type === 'sale' && status === 'voided');
  const voided = new Set(voidedSales.map(({ order_id }) => order_id));
  const theirs = new Map(operations.map((operation) => [operation.reference, operation]));
  const ofOrder = Map.groupBy(ledger, (row) => row.order_id);
  return [
    ...journal.flatMap((operation) => missing(operation, ours, voided)),
    ...ledger.flatMap((row) => unfounded(row, theirs.get(row.reference) ?? heldFor(row, ofOrder, theirs))),
    ...orders.flatMap((order) => contradictions(order, ofOrder.get(order.id) ?? [])),
  ];
}

/** A capture without a reference is that of its authorization. */
function named(
  operation: JournaledOperation,
  ledger: readonly LedgerRow[],
  ours: ReadonlyMap<string, LedgerRow>,
): JournaledOperation {
  if (operation.kind !== 'capture' || operation.reference !== null) return operation;
  const orderId = ours.get(operation.charge_reference ?? '')?.order_id;
  const taken = ledger.find(
    ({ type, status, order_id }) => type === 'sale' && status !== 'failed' && order_id === orderId,
  );
  return { ...operation, reference: taken?.reference ?? null };
}

/** A processor that keeps no reference of a capture lists no capture that failed: it names the authorization. */
function heldFor(
  row: LedgerRow,
  ofOrder: ReadonlyMap<string, readonly LedgerRow[]>,
  theirs: ReadonlyMap<string | null, JournaledOperation>,
): JournaledOperation | undefined {
  if (row.type !== 'sale' || row.status !== 'failed') return undefined;
  const hold = ofOrder.get(row.order_id)?.find(({ type, processor_transaction_id: id }) => {
    return type === 'auth' && id === row.processor_transaction_id;
  });
  return hold && theirs.get(hold.reference);
}

const name = ({ kind, reference, status, amount }: JournaledOperation): string =>
  `${status} ${kind} ${reference} of ${amount}`;
const nameOf = ({ type, id, status, amount }: LedgerRow): string => `${status} ${type} ${id} of ${amount}`;

/** Reports an operation at the acquirer that our books miss. `voided` are the orders whose sale is voided. */
function missing(
  operation: JournaledOperation,
  ours: ReadonlyMap<string, LedgerRow>,
  voided: ReadonlySet<string>,
): string[] {
  const what = `the acquirer has the ${name(operation)}`;
  if (operation.kind === 'void') {
    const sale = ours.get(operation.charge_reference ?? '');
    const stands = operation.status === 'approved' && sale?.status !== 'voided' && !voided.has(sale?.order_id ?? '');
    return stands ? [`${what}; our sale is ${sale?.status ?? 'missing'}`] : [];
  }
  const row = ours.get(operation.reference ?? '');
  if (!row) return [`${what}; we do not know it`];
  const type = types[operation.kind];
  const wrong: string[] = [];
  // Where every charge is an authorization first, a declined one could have been either.
  const isEither = operation.kind === 'charge' && operation.status === 'declined' && row.type === 'auth';
  if (row.type !== type && !isEither) wrong.push(`ours is a ${row.type}`);
  if (row.amount !== operation.amount || row.currency !== operation.currency) {
    wrong.push(`ours has ${row.amount} ${row.currency}, theirs ${operation.amount} ${operation.currency}`);
  }
  if (isFirst(operation) && row.card_last4 !== operation.last4) wrong.push(`ours is on ${row.card_last4}`);
  const about = ours.get(operation.charge_reference ?? '');
  const isOfOther = about?.type === 'auth' ? about.order_id !== row.order_id : about?.id !== row.sale_id;
  if (operation.kind === 'refund' && isOfOther) wrong.push(`it gives back ${about?.id}, ours ${row.sale_id}`);
  const { transaction_id } = operation;
  // A charge in doubt that was not captured fails before its id is known.
  const isNameless = row.status === 'undecided' || (operation.status === 'not_captured' && row.status === 'failed');
  const isNamed = transaction_id !== null && !isNameless;
  if (isNamed && row.processor_transaction_id !== transaction_id) {
    wrong.push(`ours names ${row.processor_transaction_id}, theirs ${transaction_id}`);
  }
  // Of an authorization that was captured, the sale is voided, and the authorization stays as it was.
  const isVoidedSale = operation.kind === 'authorization' && operation.voided && voided.has(row.order_id);
  if (!isVoidedSale && !expected(operation).includes(row.status)) wrong.push(`ours is ${row.status}`);
  return wrong.map((why) => `${what}; ${why}`);
}

const types = { charge: 'sale', authorization: 'auth', capture: 'sale', refund: 'refund', void: 'void' } as const;

const isFirst = ({ kind }: JournaledOperation): boolean => kind === 'charge' || kind === 'authorization';

function expected({ kind, status, settled, voided }: JournaledOperation): readonly LedgerRow['status'][] {
  // Held funds that ended are released by us, and the processor only forgets them.
  if (kind === 'authorization' && status === 'approved') return voided ? ['voided'] : ['succeeded', 'voided'];
  if (kind !== 'refund' && kind !== 'void') {
    if (status === 'not_captured') return ['failed', 'voided'];
    if (status !== 'approved') return kind === 'capture' ? ['failed', 'voided'] : ['failed'];
    return voided ? ['voided'] : ['succeeded', 'chargeback'];
  }
  if (status === 'approved') return settled ? ['accepted', 'succeeded'] : ['accepted'];
  return status === 'rejected' ? ['accepted', 'failed'] : ['failed'];
}

/** Reports a row of our books that the acquirer does not know, or that is in doubt. */
function unfounded(row: LedgerRow, operation: JournaledOperation | undefined): string[] {
  if (row.status === 'undecided') return [`we have the ${nameOf(row)}`];
  const needsOne = row.status !== 'failed' || row.processor_transaction_id !== null;
  return needsOne && !operation ? [`we have the ${nameOf(row)}; the acquirer does not know it`] : [];
}

function contradictions(order: OrderRow, rows: readonly LedgerRow[]): string[] {
  const wrong: string[] = [];
  const sales = rows.filter(({ type, status }) => type === 'sale' && !['failed', 'undecided'].includes(status));
  if (sales.length > 1) wrong.push(`has ${sales.length} successful sales`);
  if ((sales[0]?.id ?? null) !== order.sale_id) wrong.push(`names the sale ${order.sale_id}, has ${sales[0]?.id}`);
  const undecidedSale = rows.some(({ type, status }) => type !== 'refund' && status === 'undecided');
  if (order.status === 'pending' && !undecidedSale && !order.is_held)
    wrong.push('is pending, and nothing is under way');
  const isReleased = rows.some(({ type, status }) => type === 'auth' && status === 'voided');
  if (isReleased && sales.length > 0) wrong.push('was released and captured');
  if ((order.status === 'voided') !== (sales[0]?.status === 'voided' || isReleased)) {
    wrong.push(`is ${order.status}, its sale ${sales[0]?.status}`);
  }
  const refunded = rows
    .filter(({ type, status }) => type === 'refund' && ['accepted', 'succeeded'].includes(status))
    .reduce((sum, { amount }) => sum + amount, 0);
  if (refunded !== order.refunded_amount) wrong.push(`has ${order.refunded_amount} refunded, its refunds ${refunded}`);
  const taken = order.captured_amount ?? order.total;
  if (refunded > taken) wrong.push(`gave back ${refunded} of ${taken}`);
  const fits: Readonly<Record<string, boolean>> = {
    succeeded: refunded === 0,
    partially_refunded: refunded > 0 && refunded < taken,
    refunded: refunded === taken,
  };
  if (fits[order.status] === false) wrong.push(`is ${order.status} with ${refunded} of ${order.total} refunded`);
  const sequences = order.event_sequences.join();
  const unbroken = Array.from({ length: order.sequence }, (_, index) => index + 1).join();
  if (sequences !== unbroken) wrong.push(`has events ${sequences}, should have ${unbroken}`);
  return wrong.map((why) => `order ${order.id} ${why}`);
}
