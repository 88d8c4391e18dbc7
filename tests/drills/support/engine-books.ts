import type { DatabasePool } from '../../../server/platform/database.ts';
import { eventIdOf } from '../../../server/platform/ids.ts';
import { drain } from '../../chaos/chaos.ts';
import { settleRenewals, verifyRenewals } from '../../chaos/renewals.ts';
import { verify } from '../../chaos/verify.ts';
import type { JournaledOperation } from '../../support/ledger.ts';
import type { Receiver } from '../../support/receiver.ts';
import { type DrillStage, exactly, type Figure, shown } from '../drill.ts';
import type { EngineLoad, Loads } from './engine-load.ts';
import { until } from './probes.ts';

/** Compares the books of the shards with what clients were answered and with the journals of the processors. */

const drainMaxMs = 120_000;

export interface Balance {
  /** Acknowledged orders that no shard has. */
  readonly lost: number;
  /** Orders that were charged more than once. */
  readonly doubled: number;
}

const journalOf = async ({ processors }: EngineLoad): Promise<JournaledOperation[]> =>
  (await Promise.all(processors.map((processor) => processor.journal()))).flat();

/** While clients order. What is not answered yet is not lost. */
export async function balance(loads: readonly EngineLoad[]): Promise<Balance> {
  const acknowledged = [...new Set(loads.flatMap(({ diary }) => diary.answers.map(({ orderId }) => orderId)))];
  const journal = (await Promise.all(loads.map(journalOf))).flat();
  const found = new Set<string>();
  const orderOf = new Map<string, string>();
  for (const { db } of loads) {
    const orders = await db.query<{ id: string }>('SELECT id FROM orders WHERE id = ANY($1)', [acknowledged]);
    for (const { id } of orders) found.add(id);
    const rows = await db.query<{ reference: string; order_id: string }>(
      'SELECT reference, order_id FROM all_transactions',
    );
    for (const { reference, order_id } of rows) orderOf.set(reference, order_id);
  }
  return { lost: acknowledged.filter((id) => !found.has(id)).length, doubled: doubledOrders(journal, orderOf).length };
}

/** The orders with more than one charge that was approved. */
export function doubledOrders(
  journal: readonly Pick<JournaledOperation, 'kind' | 'status' | 'reference'>[],
  orderOf: ReadonlyMap<string, string>,
): string[] {
  const approved = journal.filter(({ kind, status }) => kind === 'charge' && status === 'approved');
  const byOrder = Map.groupBy(approved, ({ reference }) => orderOf.get(reference ?? '') ?? reference ?? '');
  return [...byOrder].flatMap(([order, charges]) => (charges.length > 1 ? [order] : []));
}

/** The seconds until nothing that began before now is open, apart from refunds that a processor has accepted. */
export async function secondsInDoubt(db: DatabasePool, maxMs: number): Promise<number> {
  const startedMs = performance.now();
  // The first bits of an id are the time.
  const before = Date.now().toString(16).padStart(12, '0').padEnd(32, '0');
  const open = 'SELECT 1 FROM open_transactions WHERE slot <> id AND id < $1::uuid LIMIT 1';
  await until(async () => performance.now() - startedMs > maxMs || (await db.query(open, [before])).length === 0);
  return (performance.now() - startedMs) / 1_000;
}

/** After the load has ended. */
export async function compareEngines(
  { note }: DrillStage,
  { all }: Loads,
  apiUrls: readonly string[],
  receiver: Receiver,
): Promise<Figure[]> {
  note('the books are compared');
  const broken: string[] = [];
  const undelivered: string[] = [];
  let [orders, events, renewals] = [0, 0, 0];
  for (const load of all) {
    const { shard, db, shops, diary } = load;
    const deadlineMs = performance.now() + drainMaxMs;
    await settleRenewals(db, deadlineMs);
    await drain(db, { urls: apiUrls, shops }, deadlineMs);
    const { violations, totals } = await verify(db, await journalOf(load), diary);
    const billed = await verifyRenewals(db);
    broken.push(...[...violations, ...billed.violations].map((violation) => `shard ${shard.name}: ${violation}`));
    orders += totals.ordersInLedger;
    renewals += billed.totals.renewals;
    const pending = `SELECT 1 FROM webhook_deliveries WHERE status <> 'delivered' LIMIT 1`;
    await until(async () => performance.now() > deadlineMs || (await db.query(pending)).length === 0);
    const rows = await db.query<{ id: string }>(
      `SELECT e.id FROM events e WHERE e.company_id IN (SELECT company_id FROM webhook_endpoints)`,
    );
    const received = new Set(receiver.received.map(({ event }) => event.id as string));
    undelivered.push(...rows.map(({ id }) => eventIdOf(id)).filter((id) => !received.has(id)));
    events += rows.length;
  }
  for (const line of broken.slice(0, 12)) note(line);
  return [
    shown('orders', orders),
    shown('renewals among them', renewals),
    exactly('lost, doubled or in doubt, or differences between the books', broken.length, 0),
    shown('events', events),
    exactly('events that the receiver did not get', undelivered.length, 0),
  ];
}
