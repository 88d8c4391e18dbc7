import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, it } from 'node:test';
import { approvedOutcome, declinedOutcome, useFaultyService } from '../../../tests/support/faulty-service.ts';
import {
  assertRefused,
  checkAllOpen,
  countOf,
  eventsOf,
  openShop,
  readOrder,
  refund,
  retry,
  type Shop,
  succeeded,
  voidOrder,
} from '../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../tests/support/service.ts';
import { newId } from '../../platform/ids.ts';
import { closeOpen, inFlightSlot } from './operations/open-queries.ts';
import { changeSale } from './queries.ts';
import {
  nextOrderStatus,
  type OrderStatus,
  type OrderTrigger,
  orderStatuses,
  orderTransitions,
  orderTriggers,
  refundable,
  retryable,
  transactionChanges,
  type TransactionStatus,
  transactionStatuses,
} from './transitions.ts';

let service: TestService;
let shop: Shop;
const faults = useFaultyService(async (started) => {
  service = started;
  shop = await openShop(service);
});
afterEach(async () => {
  await service.db.query('DELETE FROM open_transactions');
});

const total = 4900;
const refundedIn: Partial<Record<OrderStatus, number>> = { refunded: total, partially_refunded: 1900 };

/** An order put into a status by force, with all that belongs to it. */
async function orderThatIs(status: OrderStatus): Promise<string> {
  const { id } = await succeeded(service, shop);
  const paid = status !== 'pending' && status !== 'failed';
  await service.db.query(
    `UPDATE orders SET status = $2, refunded_amount = $3, sale_id = CASE WHEN $4 THEN sale_id END,
       failure_code = CASE WHEN $2 = 'failed' THEN 'do_not_honor' END WHERE id = $1`,
    [id, status, refundedIn[status] ?? 0, paid],
  );
  if (!paid) {
    await service.db.query(
      `UPDATE transactions SET status = 'failed', failure_code = 'do_not_honor' WHERE order_id = $1`,
      [id],
    );
  }
  return id;
}

/** As the program would have written it down before it called the processor, or after that took it on. */
async function openOf(orderId: string, type: 'sale' | 'auth' | 'refund', accepted = false): Promise<string> {
  const id = newId(service.clock.nowMs());
  await service.db.query(
    `INSERT INTO open_transactions (company_id, order_id, slot, id, customer_id, payment_method_id, type, amount,
       currency, card_brand, card_last4, updated_at, locked_until, in_doubt, next_check_at)
     SELECT company_id, id, $2, $3, customer_id, payment_method_id, $4, 100, currency, card_brand, card_last4,
       now(), now(), true, now() FROM orders WHERE id = $1`,
    [orderId, accepted ? id : inFlightSlot, id, type],
  );
  return id;
}

interface OrderAsStored {
  readonly status: string;
  readonly sale_id: string | null;
  readonly attempt_count: number;
}

async function stored(id: string): Promise<OrderAsStored | undefined> {
  const [row] = await service.db.query<OrderAsStored>(
    'SELECT status, sale_id, attempt_count FROM orders WHERE id = $1',
    [id],
  );
  return row;
}

const disputes = (id: string, path = ''): Promise<Reply> =>
  service.call('POST', `/v1/sandbox/orders/${id}/chargeback${path}`, {
    ...(path && { body: { outcome: path === '/resolve' ? 'accepted' : 'dismissed' } }),
  });

/** What makes each trigger happen. Each must be refused, or leave the status as it is. */
const attempts: Readonly<Record<OrderTrigger, (id: string, status: OrderStatus) => Promise<void>>> = {
  async charge_approved(id) {
    await openOf(id, 'sale');
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
  },
  async charge_declined(id) {
    await openOf(id, 'sale');
    faults.lookup = declinedOutcome;
    await checkAllOpen(service);
  },
  async charge_authorized(id) {
    await openOf(id, 'auth');
    faults.lookup = approvedOutcome;
    await checkAllOpen(service);
  },
  async authorization_captured(id) {
    assertRefused(await service.call('POST', `/v1/orders/${id}/capture`), 422, 'invalid_state_transition');
  },
  async authorization_released(id, status) {
    if (status !== 'succeeded') return attempts.void_approved(id, status);
    // A void of a charge has another trigger.
    await service.orders.releaseEnded(10);
  },
  async refund_accepted_in_full(id) {
    assertRefused(await refund(service, id), 422, 'invalid_state_transition');
  },
  async refund_accepted_in_part(id) {
    assertRefused(await refund(service, id, 1), 422, 'invalid_state_transition');
  },
  async refund_rejected(id) {
    // Its amount goes back in every status; this is about the status alone.
    await service.db.query('UPDATE orders SET refunded_amount = greatest(refunded_amount, 100) WHERE id = $1', [id]);
    await openOf(id, 'refund', true);
    faults.lookup = declinedOutcome;
    await checkAllOpen(service);
  },
  async void_approved(id) {
    const error = { code: 'invalid_state_transition', status: 422 };
    await assert.rejects(voidOrder(service, id), error);
  },
  async not_captured(id) {
    const connectionId = randomUUID();
    const [sale] = await service.db.query<{ company_id: string; reference: string }>(
      `UPDATE transactions SET connection_id = $2, reference = coalesce(reference, id)
       WHERE order_id = $1 AND type = 'sale' RETURNING company_id, reference`,
      [id, connectionId],
    );
    assert.ok(sale);
    const charge = { reference: sale.reference, transactionId: null };
    const place = { companyId: sale.company_id, connectionId, happenedAt: new Date() };
    await service.orders.applyNotice({ ...place, about: { kind: 'not_captured', charge } });
  },
  async chargeback_raised(id) {
    assertRefused(await disputes(id), 422, 'invalid_state_transition');
  },
  async chargeback_accepted(id) {
    assertRefused(await disputes(id, '/resolve'), 422, 'invalid_state_transition');
  },
  async chargeback_dismissed(id) {
    const path = `/v1/sandbox/orders/${id}/chargeback/resolve`;
    const reply = await service.call('POST', path, { body: { outcome: 'dismissed' } });
    assertRefused(reply, 422, 'invalid_state_transition');
  },
};

describe('the transitions of an order', () => {
  it('are those of the contract and the decisions, each once, and no others', () => {
    const pairs = orderTransitions.map(([from, because]) => `${from} ${because}`);
    assert.equal(new Set(pairs).size, pairs.length);
    const edges = new Set(orderTransitions.map(([from, , to]) => `${from} → ${to}`));
    assert.deepEqual(
      [...edges].toSorted(),
      [
        'pending → succeeded',
        'pending → failed',
        'pending → pending',
        'pending → voided',
        'failed → pending',
        'succeeded → refunded',
        'succeeded → partially_refunded',
        'partially_refunded → refunded',
        'partially_refunded → partially_refunded',
        'failed → succeeded',
        'failed → failed',
        'refund_failed → refunded',
        'refund_failed → partially_refunded',
        'succeeded → refund_failed',
        'partially_refunded → refund_failed',
        'refunded → refund_failed',
        'refund_failed → refund_failed',
        'succeeded → voided',
        'refund_failed → voided',
        'succeeded → chargeback',
        'partially_refunded → chargeback',
        'refund_failed → chargeback',
        'chargeback → chargeback_accepted',
        'chargeback → chargeback_dismissed',
      ].toSorted(),
    );
    assert.deepEqual(refundable, ['succeeded', 'partially_refunded']);
    assert.deepEqual(retryable, ['failed', 'refund_failed']);
  });

  for (const status of orderStatuses) {
    for (const trigger of orderTriggers.filter((one) => nextOrderStatus(status, one) === undefined)) {
      it(`none from ${status} because of ${trigger}`, async () => {
        const id = await orderThatIs(status);
        const [before, events] = [await stored(id), await eventsOf(service, id)];
        await attempts[trigger](id, status);
        assert.deepEqual(await stored(id), before);
        const since = (await eventsOf(service, id)).slice(events.length).map(({ type }) => type);
        // The event is about the rejection; the order in it has its status.
        assert.deepEqual(since, trigger === 'refund_rejected' ? ['order.refund_failed'] : []);
        if (trigger.startsWith('charge_')) {
          const open = await countOf(service, 'open_transactions', 'order_id = $1', [id]);
          const sales = await countOf(service, 'transactions', `order_id = $1 AND type = 'sale'`, [id]);
          assert.deepEqual([open, sales], [1, 1], 'nothing was booked');
        }
      });
    }
  }

  for (const status of orderStatuses) {
    const isRetryable = retryable.includes(status);
    it(`${status} ${isRetryable ? 'can' : 'cannot'} be retried`, async () => {
      const id = await orderThatIs(status);
      if (status === 'refund_failed') {
        await service.db.query(
          `INSERT INTO transactions SELECT company_id, $2, order_id, customer_id, payment_method_id,
             'refund', 'failed', 100, currency, card_brand, card_last4, NULL, 'do_not_honor', 'No.', now()
           FROM transactions WHERE order_id = $1`,
          [id, newId(service.clock.nowMs())],
        );
      }
      const before = await readOrder(service, id);
      const reply = await retry(service, id);
      if (isRetryable) return assert.equal(reply.status, 200, reply.text);
      assertRefused(reply, 400, 'invalid_state_transition');
      assert.deepEqual(await readOrder(service, id), before);
    });
  }
});

describe('the transitions of a transaction', () => {
  /** A sale in this status, of an order that may have it. */
  async function saleThatIs(status: TransactionStatus): Promise<{ orderId: string; id: string }> {
    const { id: orderId, transactions } = await succeeded(service, shop);
    if (status === 'in_progress') {
      await service.db.query(`DELETE FROM transactions WHERE order_id = $1`, [orderId]);
      return { orderId, id: await openOf(orderId, 'sale') };
    }
    await service.db.query(
      `UPDATE transactions SET status = $2, failure_code = CASE WHEN $2 = 'failed' THEN 'do_not_honor' END
       WHERE order_id = $1`,
      [orderId, status],
    );
    return { orderId, id: transactions[0].id };
  }

  const statusOf = async (id: string): Promise<string | undefined> =>
    (await service.db.query<{ status: string }>('SELECT status FROM all_transactions WHERE id = $1', [id]))[0]?.status;

  /** The only ways there are; false means that nothing was changed. */
  async function move(sale: { orderId: string; id: string }, to: TransactionStatus): Promise<boolean> {
    const at = new Date();
    if (to === 'voided' || to === 'chargeback') {
      return changeSale(service.db, service.company.id, sale.id, to === 'voided' ? 'voided' : 'disputed', at);
    }
    if (to === 'succeeded' || to === 'failed') {
      const closed = await closeOpen(
        service.db,
        { company_id: service.company.id, order_id: sale.orderId, id: sale.id, sending: 1 },
        {
          change: to === 'failed' ? 'declined' : 'approved',
          response: null,
          failureCode: to === 'failed' ? 'unknown' : null,
          failureReason: null,
          at,
        },
      );
      return closed !== undefined;
    }
    // Nothing becomes open again: not even the owner of the database can write that down.
    const write = () => service.db.query('UPDATE transactions SET status = $2 WHERE id = $1', [sale.id, to]);
    if (await countOf(service, 'transactions', 'id = $1', [sale.id])) await assert.rejects(write, { code: '23514' });
    else await write();
    return false;
  }

  for (const from of transactionStatuses.filter((status) => status !== 'pending')) {
    for (const to of transactionStatuses) {
      const allowed = Object.values(transactionChanges).some((change) => change.from === from && change.to === to);
      it(`${from} → ${to} ${allowed ? 'happens, once' : 'never happens'}`, async () => {
        const sale = await saleThatIs(from);
        assert.equal(await statusOf(sale.id), from);
        assert.equal(await move(sale, to), allowed);
        assert.equal(await statusOf(sale.id), allowed ? to : from);
        if (allowed) assert.equal(await move(sale, to), false);
      });
    }
  }

  it('a transaction begins handed to the processor: pending is never written down', async () => {
    const { id } = await succeeded(service, shop);
    for (const status of ['pending', 'in_progress']) {
      const write = service.db.query('UPDATE transactions SET status = $2 WHERE order_id = $1', [id, status]);
      await assert.rejects(write, { code: '23514' });
    }
  });
});
