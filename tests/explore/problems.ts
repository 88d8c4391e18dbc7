import type { Queryable } from '../../server/platform/database.ts';
import { inconsistencies } from './changes.ts';
import { compareLedger, type JournaledOperation } from '../support/ledger.ts';
import { unmapped } from './safeguards.ts';
import type { World } from './world.ts';

/** Finds out whether everything has come to rest, and compares the books then. Each sentence is a broken guarantee. */

/** What is still under way in our records. */
const openStatement = (isWatched: boolean): string => `
  SELECT format('the %s %s is %s', type, id, state) AS what FROM open_transactions WHERE company_id = $1
  UNION ALL
  SELECT format('the event %s was not delivered', event_id) FROM webhook_deliveries
  WHERE company_id = $1 AND status = 'pending'
  UNION ALL
  SELECT format('the gate is closed and waits for %s: %s', waits_for, failure) FROM company_gates
  WHERE company_id = $1 AND opened_at IS NULL
  UNION ALL
  SELECT format('the funds of the order %s are held beyond their end', id) FROM orders
  WHERE company_id = $1 AND capture_before <= now()
  UNION ALL
  SELECT format('the gate is %s', gate) FROM companies WHERE id = $1 AND gate IN ('closed', 'renewals_wait')
  UNION ALL
  SELECT format('the payment of the checkout session %s has no outcome', session_id) FROM checkout_payments
  WHERE company_id = $1 AND state = 'open'
  ${
    // A notice about what a restored database has forgotten waits for weeks.
    isWatched
      ? ''
      : `UNION ALL SELECT format('the notice %s was not applied: %s', type, result) FROM processor_notices
  WHERE company_id = $1 AND applied_at IS NULL`
  }`;

async function findOpen(world: World): Promise<string[]> {
  const { owner } = await world.home();
  const rows = await owner.query<{ what: string }>(openStatement(world.options.restores === true), [
    world.merchant.company.id,
  ]);
  return rows.map(({ what }) => what);
}

export async function isAtRest(world: World): Promise<boolean> {
  return (await findOpen(world)).length === 0;
}

export async function findProblems(world: World): Promise<string[]> {
  const { owner } = await world.home();
  const journal = await journalOf(world);
  return [
    ...(await findOpen(world)),
    ...doubledOf(journal),
    ...(await chargedTwice(owner, journal)),
    ...refundedTwice(journal),
    ...(await compareLedger(owner, journal)),
    ...(await unequalSums(owner, journal)),
    ...journal
      .filter(({ status }) => status === 'authorized')
      .map(({ reference }) => `the funds of the authorization ${reference} were not released`),
    ...(await unshownPayments(world, owner)),
    ...(world.options.changes ? await inconsistencies(world) : []),
    ...contradictionsOf(world),
  ];
}

/** What all processors have executed. */
async function journalOf({ merchant }: World): Promise<JournaledOperation[]> {
  const journals = await Promise.all(merchant.processors.map((processor) => processor.journal()));
  return journals.flat().map((operation) => ({
    ...operation,
    reference: operation.reference && unmapped(operation.reference),
    charge_reference: operation.charge_reference && unmapped(operation.charge_reference),
  }));
}

/** The capture of an authorization takes its money, as a charge does. */
const isPaid = ({ kind, status, voided }: JournaledOperation): boolean =>
  (kind === 'charge' || kind === 'capture') && status === 'approved' && !voided;

/** A capture at a processor that keeps no reference for it has that of its authorization. */
const referenceOf = ({ reference, charge_reference }: JournaledOperation): string =>
  reference ?? charge_reference ?? '';

/** One reference is executed once, at one processor. */
function doubledOf(journal: readonly JournaledOperation[]): string[] {
  const byReference = Map.groupBy(journal.filter(isPaid), referenceOf);
  return [...byReference].flatMap(([reference, { length }]) =>
    length > 1 ? [`the charge ${reference} was executed ${length} times`] : [],
  );
}

/** One order is paid once, under whichever references. */
async function chargedTwice(db: Queryable, journal: readonly JournaledOperation[]): Promise<string[]> {
  const rows = await db.query<{ reference: string; order_id: string }>(
    'SELECT reference, order_id FROM all_transactions',
  );
  const orderOf = new Map(rows.map(({ reference, order_id }) => [reference, order_id]));
  const byOrder = Map.groupBy(journal.filter(isPaid), (paid) => orderOf.get(referenceOf(paid)) ?? referenceOf(paid));
  return [...byOrder].flatMap(([order, { length }]) =>
    length > 1 ? [`order ${order} was charged ${length} times`] : [],
  );
}

/** No play refunds a charge with two keys. */
function refundedTwice(journal: readonly JournaledOperation[]): string[] {
  const refunds = journal.filter(({ kind, status }) => kind === 'refund' && status === 'approved');
  return [...Map.groupBy(refunds, ({ charge_reference }) => charge_reference)].flatMap(([charge, { length }]) =>
    length > 1 ? [`the charge ${charge} was refunded ${length} times`] : [],
  );
}

async function unequalSums(db: Queryable, journal: readonly JournaledOperation[]): Promise<string[]> {
  const [ours] = await db.query<{ charged: number; refunded: number }>(
    `SELECT coalesce(sum(amount) FILTER (WHERE type = 'sale'), 0)::float8 AS charged,
       coalesce(sum(amount) FILTER (WHERE type = 'refund'), 0)::float8 AS refunded
     FROM transactions WHERE status = 'succeeded'`,
  );
  const sum = (wanted: (operation: JournaledOperation) => boolean): number =>
    journal.filter(wanted).reduce((total, { amount }) => total + (amount ?? 0), 0);
  const charged = sum(isPaid);
  const refunded = sum(({ kind, status }) => kind === 'refund' && status === 'approved');
  if (ours?.charged === charged && ours.refunded === refunded) return [];
  return [`the processors have ${charged} charged and ${refunded} refunded, our records ${JSON.stringify(ours)}`];
}

/** A customer whose payment on a page has succeeded sees that. */
async function unshownPayments({ options, merchant }: World, db: Queryable): Promise<string[]> {
  if (!options.checkout) return [];
  const rows = await db.query<{ id: string }>(
    `SELECT o.id FROM orders o WHERE o.company_id = $1 AND o.status = 'succeeded' AND NOT EXISTS (
       SELECT 1 FROM checkout_sessions s WHERE s.company_id = $1 AND s.order_id = o.id AND s.status = 'completed')`,
    [merchant.company.id],
  );
  return rows.map(({ id }) => `order ${id} is paid, and no checkout page shows that`);
}

/**
 * A restored database may have forgotten a decline, which moved no money, but not a payment. What was refunded or voided stays
 * so, although a repeated request may only be answered that it is.
 */
function contradictionsOf({ answers, options: { restores } }: World): string[] {
  return [...answers].flatMap(([key, given]) => {
    const firstPaid = given.findIndex(({ body }) => body.status === 'succeeded');
    // What was captured stays so, although a repeated request may only be answered that it is.
    if (restores && key.startsWith('capture')) return [];
    const counted = restores ? (firstPaid < 0 ? [] : given.slice(firstPaid)) : given;
    const shown = new Set(counted.map(({ status, body }) => `${status} ${body.status ?? ''}`));
    return shown.size > 1 ? [`key ${key} was answered with ${[...shown].join(' and ')}`] : [];
  });
}
