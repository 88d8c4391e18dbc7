import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from '../../../../tests/support/database.ts';
import type { Queryable } from '../../../platform/database.ts';
import type { NoticedChargeback } from '../../../vault/processors/notices.ts';
import { inFlightSlot } from '../operations/open-queries.ts';
import { takeLater } from './adopt-queries.ts';
import { findUnmatched, keepUnmatched, markDecided, searchCharges } from './chargeback-queries.ts';

/** What these statements leave alone. The rows have no others that they refer to. */

let database: TestDatabase;
let client: pg.Client;
let db: Queryable;
before(async () => {
  database = await cloneDatabase(1);
  client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  await client.query('SET session_replication_role = replica');
  db = { query: async (text: string, values?: unknown[]) => (await client.query(text, values)).rows } as Queryable;
});
after(async () => {
  await client.end();
  await database.drop();
});

const now = new Date('2026-11-20T12:00:00Z');
const days = (count: number): Date => new Date(now.getTime() + count * 86_400_000);

async function insert(table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const places = Object.keys(row).map((_, index) => `$${index + 1}`);
  await client.query(`INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`, [
    ...Object.values(row),
  ]);
}

const inOrder = (companyId: string, orderId: string, connectionId: string) => ({
  ...{ company_id: companyId, id: randomUUID(), order_id: orderId, connection_id: connectionId },
  ...{ customer_id: randomUUID(), payment_method_id: randomUUID(), amount: 4_900, currency: 'usd' },
  ...{ card_brand: 'visa', card_last4: '4242', updated_at: now },
});

it('a search finds payments that were paid, disputed ones too, and nothing else', async () => {
  const [companyId, connectionId] = [randomUUID(), randomUUID()];
  const orderIds: string[] = [];
  const paid: string[] = [];
  for (const [type, status, isPaid] of [
    ['sale', 'failed', false],
    ['sale', 'voided', false],
    ['sale', 'succeeded', true],
    ['refund', 'succeeded', false],
    ['auth', 'succeeded', false],
    ['sale', 'chargeback', true],
  ] as const) {
    const row = { ...inOrder(companyId, randomUUID(), connectionId), type, status };
    orderIds.push(row.order_id);
    await insert('transactions', { ...row, failure_code: status === 'failed' ? 'do_not_honor' : null });
    if (isPaid) paid.push(row.id);
  }
  const found = await searchCharges(db, { companyId, connectionId }, { orderIds, amounts: [4_900] });
  assert.deepEqual(found.map(({ id }) => id).toSorted(), paid.toSorted());
});

const reported = (id: string, amount: string): NoticedChargeback => ({
  ...{ id, date: '2026-11-18', first6: '424242', last4: '4242', amount, reason: 'fraudulent' },
  ...{ networkReasonCode: null, text: null },
});

it('a chargeback waits as it was first reported, and is decided again only after a later report', async () => {
  const place = { companyId: randomUUID(), connectionId: randomUUID() };
  const [id, other] = [randomUUID(), randomUUID()];
  const report = (ofId: string, processorId: string, amount: string, at: Date): Promise<void> =>
    keepUnmatched(db, place, ofId, reported(processorId, amount), { happenedAt: at, at });
  const open = async (): Promise<string[]> =>
    (await findUnmatched(db, place.companyId, 'open', 10)).map((one) => `${one.processor_id} ${one.amount}`);
  await report(id, 'cb_1', '49.00', now);
  await report(other, 'cb_2', '12.00', now);
  await report(randomUUID(), 'cb_1', '48.00', days(1));
  assert.deepEqual((await open()).toSorted(), ['cb_1 49.00', 'cb_2 12.00'], 'it was not decided yet');
  await markDecided(db, place.companyId, id, null, days(2));
  assert.deepEqual(await open(), ['cb_2 12.00'], 'only one was decided');
  await report(randomUUID(), 'cb_1', '47.00', days(-1));
  assert.deepEqual(await open(), ['cb_2 12.00'], 'an earlier report changes nothing');
  await report(randomUUID(), 'cb_1', '46.00', days(3));
  assert.deepEqual((await open()).toSorted(), ['cb_1 46.00', 'cb_2 12.00']);
});

it('the dispute of another connection with the same id is another dispute', async () => {
  const place = { companyId: randomUUID(), connectionId: randomUUID() };
  await keepUnmatched(db, place, randomUUID(), reported('cb_1', '49.00'), { happenedAt: now, at: now });
  const dispute = (connection_id: string, state: string): Promise<void> =>
    insert('disputes', {
      ...{ company_id: place.companyId, id: randomUUID(), order_id: randomUUID(), transaction_id: randomUUID() },
      ...{ connection_id, processor_id: 'cb_1', state, amount: 4_900, currency: 'usd', reason: 'fraudulent' },
      ...{ state_at: now, created_at: now, updated_at: now },
    });
  await dispute(randomUUID(), 'lost');
  const [earlier] = await findUnmatched(db, place.companyId, 'open', 10);
  assert.equal(earlier?.closed_as, null);
  await dispute(place.connectionId, 'won');
  const [current] = await findUnmatched(db, place.companyId, 'open', 10);
  assert.equal(current?.closed_as, 'won');
});

it('the capture of an authorization does not become the charge that a processor lists', async () => {
  const [companyId, orderId, connectionId] = [randomUUID(), randomUUID(), randomUUID()];
  await insert('open_transactions', {
    ...{ ...inOrder(companyId, orderId, connectionId), slot: inFlightSlot, type: 'sale', cause: 'capture' },
    ...{ state: 'in_doubt', in_doubt: true, locked_until: now, next_check_at: now, reference: randomUUID() },
  });
  const operation = { kind: 'charge', reference: randomUUID(), amount: 4_900, currency: 'usd', last4: '4242' } as const;
  const executed = { company_id: companyId, order_id: orderId, operation } as unknown as Parameters<
    typeof takeLater
  >[1];
  const later = { subject: ['key'], number: 1 } as unknown as Parameters<typeof takeLater>[2];
  assert.equal(await takeLater(db, executed, later), false);
  await client.query(`UPDATE open_transactions SET cause = 'order' WHERE company_id = $1`, [companyId]);
  assert.equal(await takeLater(db, executed, later), true);
});
