import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  checkAllOpen,
  openShop,
  order as placeOrder,
  readOrder,
  refund,
  type Shop,
  succeeded,
} from '../../../../tests/support/orders.ts';
import { addConnection } from '../../processors/service.ts';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import type { DisputeState, NoticeSubject } from '../../../vault/processors/notices.ts';
import { inFlightSlot } from '../operations/open-queries.ts';
import { returnRefund } from './notice-queries.ts';

/** What each kind of notice means for an operation that is open or closed, at the connection that reports it or at another one. */

let base: TestService;
let service: TestService;
let shop: Shop;
let declining: Shop;
before(async () => {
  base = await startTestService();
  const vault = { ...base.vault, release: async () => true };
  service = await startTestService({ database: base.database, vault });
  [shop, declining] = [await openShop(service), await openShop(service, '4000000000000002')];
});
after(async () => {
  await service.stop();
  await base.stop();
});

const [here, there] = [randomUUID(), randomUUID()];

interface Charged {
  readonly orderId: string;
  readonly reference: string;
}

/** A charge in doubt at this connection. */
async function openAt(connectionId: string): Promise<Charged> {
  const reference = randomUUID();
  const { id: orderId } = (await placeOrder(service, declining)).body;
  await service.db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount, currency,
       card_brand, card_last4, updated_at, locked_until, next_check_at, state, cause, subject, number, reference,
       connection_id)
     SELECT company_id, id, $2, $3, customer_id, payment_method_id, 'sale', total, currency, card_brand, card_last4, now(),
       now(), now(), 'in_doubt', 'retry', ARRAY['retry', id::text], 0, $3, $4 FROM orders WHERE id = $1`,
    [orderId, inFlightSlot, reference, connectionId],
  );
  return { orderId, reference };
}

/** A charge that this connection was paid for. */
async function closedAt(connectionId: string): Promise<Charged> {
  const { id: orderId } = await succeeded(service, shop);
  const [row] = await service.db.query<{ reference: string }>(
    'UPDATE transactions SET connection_id = $2 WHERE order_id = $1 RETURNING reference',
    [orderId, connectionId],
  );
  return { orderId, reference: row?.reference ?? assert.fail('no charge') };
}

async function apply(about: NoticeSubject, happenedAt = new Date()): Promise<string> {
  const notice = { companyId: service.company.id, connectionId: here, about, happenedAt };
  const { isDone, isForeign, result } = await service.orders.applyNotice(notice);
  return `${isDone ? '' : isForeign ? 'foreign: ' : 'later: '}${result}`;
}

const response = { transaction_id: 't', authorization_code: null, avs_result: null, cvv_result: null } as never;
const approved = { outcome: 'approved', response } as const;
const disputeOf = (reference: string, state: DisputeState): NoticeSubject => ({
  kind: 'dispute',
  dispute: {
    disputeId: randomUUID(),
    charge: { reference, transactionId: null },
    ...{ state, amount: 4900, currency: 'usd', reason: 'fraudulent', networkReasonCode: null, evidenceDueAtMs: null },
  } as never,
});

const abouts: Readonly<Record<string, (reference: string) => NoticeSubject>> = {
  operation: (reference) => ({ kind: 'operation', reference, found: approved }),
  settled: (reference) => ({ kind: 'settled', charge: { reference, transactionId: randomUUID() } }),
  authorized: (reference) => ({ kind: 'authorized', charge: { reference, transactionId: randomUUID() } }),
  released: (reference) => ({ kind: 'released', charge: { reference, transactionId: randomUUID() } }),
  capture_refused: (reference) => ({
    kind: 'capture_refused',
    ...{ reference, charge: { reference, transactionId: randomUUID() } },
    found: { outcome: 'declined', response, failureCode: 'processor_declined', failureReason: 'Refused.' },
  }),
  not_captured: (reference) => ({ kind: 'not_captured', charge: { reference, transactionId: randomUUID() } }),
  dispute: (reference) => disputeOf(reference, 'needs_response'),
};

const undecided = 'later: the charge is not decided yet';
const foreign = 'foreign: no charge of this connection has this id';
const ofAnother = 'the operation is of another connection';
const meanings: Readonly<Record<string, readonly string[]>> = {
  operation: ['the operation is approved', ofAnother, 'the outcome was known', ofAnother],
  settled: [undecided, foreign, 'the charge is settled', foreign],
  authorized: [undecided, undecided, 'the charge is paid', 'the charge is not paid; its funds are released'],
  released: [undecided, foreign, 'no funds are held for the order', foreign],
  capture_refused: ['the operation is declined', ofAnother, 'the order is voided; its funds are released', ofAnother],
  not_captured: [
    'the operation is not_found; its funds are released',
    `${ofAnother}; its funds are released`,
    'the order is voided; its funds are released',
    foreign,
  ],
  dispute: [undecided, foreign, 'the dispute is needs_response', foreign],
};

describe('a notice', () => {
  for (const [kind, results] of Object.entries(meanings)) {
    it(`of the kind ${kind} means something else for what is open or closed, here or at another connection`, async () => {
      const charges = [await openAt(here), await openAt(there), await closedAt(here), await closedAt(there)];
      const about = abouts[kind] ?? assert.fail(kind);
      const applied: string[] = [];
      for (const { reference } of charges) applied.push(await apply(about(reference)));
      assert.deepEqual(applied, results);
    });
  }

  const statuses: Readonly<Record<DisputeState, string>> = {
    inquiry: 'succeeded',
    inquiry_closed: 'succeeded',
    needs_response: 'chargeback',
    under_review: 'chargeback',
    won: 'chargeback_dismissed',
    lost: 'chargeback_accepted',
    accepted: 'chargeback_accepted',
  };
  for (const [state, status] of Object.entries(statuses)) {
    it(`that a dispute is ${state} makes its order ${status}, also if it is the first one`, async () => {
      const { orderId, reference } = await closedAt(here);
      await apply(disputeOf(reference, state as DisputeState));
      assert.equal((await readOrder(service, orderId)).status, status);
    });
  }

  it('that a failed try is authorized releases its funds, also after a later try was captured', async () => {
    const { orderId } = await closedAt(here);
    const reference = randomUUID();
    await service.db.query(
      `INSERT INTO transactions SELECT (jsonb_populate_record(t, jsonb_build_object('id', uuidv7(), 'type', 'auth', 'status', 'failed',
         'failure_code', 'insufficient_funds', 'failure_reason', 'A part', 'reference', $2::text, 'settled_at', NULL))).*
       FROM transactions t WHERE t.order_id = $1`,
      [orderId, reference],
    );
    const about = { kind: 'authorized', charge: { reference, transactionId: randomUUID() } } as const;
    assert.equal(await apply(about), 'the charge is not paid; its funds are released');
  });

  it('that a charge has settled counts once, and for no other charge', async () => {
    const [settled, other] = [await closedAt(here), await closedAt(here)];
    const about = { kind: 'settled', charge: { reference: settled.reference, transactionId: null } } as const;
    for (const day of ['2026-05-01', '2026-05-02']) await apply(about, new Date(day));
    const rows = await service.db.query(
      'SELECT settled_at FROM transactions WHERE order_id = ANY ($1) ORDER BY order_id',
      [[settled.orderId, other.orderId]],
    );
    assert.deepEqual(rows, [{ settled_at: new Date('2026-05-01') }, { settled_at: null }]);
  });

  it('that a batch has settled counts for the paid charges of the connection that it names', async () => {
    const [named, unnamed, elsewhere, failed] = [
      await closedAt(here),
      await closedAt(here),
      await closedAt(there),
      await closedAt(here),
    ];
    const refunded = await closedAt(here);
    await refund(service, refunded.orderId, 100);
    await checkAllOpen(service);
    const batched = [named, elsewhere, failed, refunded].map(({ orderId }) => orderId);
    await service.db.query(
      `UPDATE transactions SET processor_response = '{"transaction_id": "in the batch"}', connection_id = CASE WHEN type = 'refund' THEN $2 ELSE connection_id END
       WHERE order_id = ANY ($1) AND (order_id <> $3 OR type = 'refund')`,
      [batched, here, refunded.orderId],
    );
    await service.db.query(`UPDATE transactions SET status = 'failed', failure_code = 'unknown' WHERE order_id = $1`, [
      failed.orderId,
    ]);
    const about = { kind: 'settled_batch', transactionIds: ['in the batch', 'another'] } as const;
    assert.equal(await apply(about), '1 of 2 transactions are charges that were made here');
    const rows = await service.db.query<{ order_id: string }>(
      `SELECT order_id FROM transactions WHERE order_id = ANY ($1) AND type = 'sale' AND settled_at IS NOT NULL`,
      [[...batched, unnamed.orderId]],
    );
    assert.deepEqual(
      rows.map(({ order_id }) => order_id),
      [named.orderId],
    );
  });

  it('that a batch has failed lets the processor of this connection be asked soon', async () => {
    const { id: company_id } = service.company;
    for (const id of [here, there])
      await addConnection(service.db, { company_id, id, kind: 'nmi', name: id, request_life_ms: 1_000 });
    await service.db.query('UPDATE processor_connections SET polled_at = now() WHERE company_id = $1', [company_id]);
    assert.equal(await apply({ kind: 'failed_batch' }), 'the processor is asked which charges failed');
    const rows = await service.db.query<{ id: string }>(
      'SELECT id FROM processor_connections WHERE company_id = $1 AND polled_at IS NULL',
      [company_id],
    );
    assert.deepEqual(rows, [{ id: here }]);
  });

  const inAnHour = `now() + interval '1 hour'`;
  const ofCustomer = `state = 'with_customer', customer_step = '\\x00', customer_until = ${inAnHour}, customer_check_at = ${inAnHour}`;
  for (const [what, change, column] of [
    ['that is in doubt', `state = 'in_doubt'`, 'next_check_at'],
    ['whose customer is at the bank', `${ofCustomer}, locked_until = ${inAnHour}`, 'customer_check_at'],
    ['that is being sent', `state = 'sending', locked_until = ${inAnHour}`, null],
  ] as const) {
    it(`that something happened to a charge ${what} ${column ? 'is a reason to ask about it' : 'changes nothing'}`, async () => {
      const [named, beside, elsewhere] = [await openAt(here), await openAt(here), await openAt(there)];
      const references = [named, beside, elsewhere].map(({ reference }) => reference);
      await service.db.query(
        `UPDATE open_transactions SET next_check_at = ${inAnHour}, ${change} WHERE reference = ANY ($1)`,
        [references],
      );
      const asked = 'the processor is asked about it';
      const known = 'the outcome was known';
      for (const reference of [named.reference, elsewhere.reference]) {
        const isAsked = column !== null && reference === named.reference;
        assert.equal(await apply({ kind: 'changed', reference }), isAsked ? asked : known);
      }
      const due = await service.db.query<{ reference: string }>(
        `SELECT reference FROM open_transactions WHERE reference = ANY ($1) AND least(next_check_at, customer_check_at) <= now()`,
        [references],
      );
      assert.deepEqual(
        due.map(({ reference }) => reference),
        column ? [named.reference] : [],
      );
    });
  }

  it('that a refund failed after it had settled returns its money once, and not that of another refund', async () => {
    const { orderId } = await closedAt(here);
    for (const amount of [100, 200]) {
      assert.equal((await refund(service, orderId, amount)).status, 200);
      await checkAllOpen(service);
    }
    const refunds = await service.db.query<{ id: string; reference: string }>(
      `UPDATE transactions SET connection_id = $2 WHERE order_id = $1 AND type = 'refund' AND amount = 100 RETURNING id, reference`,
      [orderId, here],
    );
    const [returned] = refunds;
    assert.ok(returned);
    const found = { outcome: 'declined', response, failureCode: 'unknown', failureReason: 'returned' } as const;
    const about = { kind: 'operation', reference: returned.reference, found } as const;
    assert.equal(await apply(about), 'the refund failed after it had settled');
    assert.equal(await apply(about), 'the outcome was known');
    assert.equal((await readOrder(service, orderId)).refunded_amount, 200);
    const failure = { code: 'unknown', reason: 'returned' } as const;
    assert.equal(await returnRefund(service.db, service.company.id, returned.id, failure, new Date()), false);
  });
});
