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
