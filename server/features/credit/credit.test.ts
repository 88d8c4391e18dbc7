import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../limits.ts';
import { assertRefused, openShop, order } from '../../../tests/support/orders.ts';
import {
  type CallOptions,
  type Reply,
  someCustomer,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { insertEntry, type NewEntry } from './queries.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function newCustomer(): Promise<string> {
  const reply = await service.call('POST', '/v1/customers', { body: someCustomer() });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const change = (customerId: string, fields: object = {}, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', `/v1/customers/${customerId}/credit`, {
    body: { type: 'grant', amount: 1500, currency: 'usd', reason: 'Late delivery', ...fields },
    idempotencyKey: randomUUID(),
    ...options,
  });

async function creditOf(customerId: string, query = ''): Promise<Reply['body']> {
  const reply = await service.call('GET', `/v1/customers/${customerId}/credit${query}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

describe('credit of a customer', () => {
  it('is nothing until some is granted', async () => {
    const id = await newCustomer();
    assert.deepEqual(await creditOf(id), { customer_id: id, balances: [], entries: [], has_more: false });
  });

  it('is granted and taken back with a reason, in each currency apart', async () => {
    const id = await newCustomer();
    const granted = await change(id);
    assert.equal(granted.status, 201, granted.text);
    const { id: entryId, created_at, actor, ...entry } = granted.body;
    assert.deepEqual(entry, {
      customer_id: id,
      type: 'grant',
      amount: 1500,
      balance: 1500,
      currency: 'usd',
      reason: 'Late delivery',
      order_id: null,
      subscription_id: null,
      livemode: false,
    });
    assert.ok(entryId && created_at && actor);
    await change(id, { currency: 'eur', amount: 200 });
    const taken = await change(id, { type: 'take_back', amount: 400, reason: 'Granted twice' });
    assert.deepEqual([taken.body.amount, taken.body.balance], [-400, 1100]);
    const { balances, entries, has_more } = await creditOf(id);
    assert.deepEqual(balances, [
      { currency: 'eur', amount: 200 },
      { currency: 'usd', amount: 1100 },
    ]);
    assert.deepEqual(entries[0], taken.body);
    assert.deepEqual([entries.length, has_more], [3, false]);
  });

  it('is read page by page, the newest entry first', async () => {
    const id = await newCustomer();
    for (const amount of [1, 2, 3]) await change(id, { amount });
    const first = await creditOf(id, '?limit=2');
    assert.deepEqual([first.entries.map(({ amount }: { amount: number }) => amount), first.has_more], [[3, 2], true]);
    const second = await creditOf(id, `?limit=2&starting_after=${first.entries[1].id}`);
    assert.deepEqual([second.entries.map(({ amount }: { amount: number }) => amount), second.has_more], [[1], false]);
  });

  it('is granted once for one idempotency key', async () => {
    const id = await newCustomer();
    const idempotencyKey = randomUUID();
    const [one, two] = [await change(id, {}, { idempotencyKey }), await change(id, {}, { idempotencyKey })];
    assert.deepEqual(two.body, one.body);
    assert.equal((await creditOf(id)).balances[0].amount, 1500);
    const body = { type: 'grant', amount: 1, currency: 'usd', reason: 'Late delivery' };
    const keyless = await service.call('POST', `/v1/customers/${id}/credit`, { body });
    assertRefused(keyless, 400, 'missing_idempotency_key');
  });

  it('rejects to take back more than the balance, or from another currency', async () => {
    const id = await newCustomer();
    await change(id);
    for (const fields of [{ amount: 1501 }, { amount: 1, currency: 'eur' }]) {
      const reply = await change(id, { type: 'take_back', ...fields });
      assertRefused(reply, 400, 'validation_error');
      assert.equal(reply.body.error.param, 'amount');
    }
    assert.equal((await creditOf(id)).entries.length, 1);
  });

  it('rejects an amount, a currency, a type or a reason that is wrong', async () => {
    const id = await newCustomer();
    const wrong = { amount: 0, currency: 'USD!', type: 'pay_out', reason: '  ' };
    for (const [field, value] of Object.entries(wrong)) {
      const reply = await change(id, { [field]: value });
      assertRefused(reply, 400, 'validation_error');
      assert.equal(reply.body.error.param, field, reply.text);
    }
    assertRefused(await change(id, { amount: -5 }), 400, 'validation_error');
    assertRefused(await change(id, { reason: 'card 4242 4242 4242 4242' }), 400, 'validation_error');
  });

  it('never exceeds the largest amount of an order', async () => {
    const id = await newCustomer();
    await change(id);
    await service.db.query('UPDATE credit_balances SET balance = $2 WHERE customer_id = $1', [
      id,
      limits.orderTotalCentsMax - 10,
    ]);
    assertRefused(await change(id, { amount: 11 }), 400, 'validation_error');
    await service.db.query('UPDATE credit_balances SET balance = 1500 WHERE customer_id = $1', [id]);
  });

  it('is never below zero, however many take it back at once', async () => {
    const id = await newCustomer();
    await change(id, { amount: 1000 });
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => change(id, { type: 'take_back', amount: 300, reason: 'Race' })),
    );
    assert.deepEqual(Map.groupBy(replies, ({ status }) => status).get(201)?.length, 3);
    const { balances, entries } = await creditOf(id);
    assert.deepEqual([balances[0].amount, entries.length], [100, 4]);
  });

  it('is never below zero in the database, and writers of one balance wait for each other', async () => {
    const id = await newCustomer();
    await change(id, { amount: 1000 });
    const entry = (amount: number): NewEntry => ({
      id: entryIds.pop() ?? '',
      customer_id: id,
      currency: 'usd',
      type: amount > 0 ? 'grant' : 'take_back',
      amount,
      reason: 'Race',
      order_id: null,
      subscription_id: null,
      actor_name: null,
    });
    const entryIds = (await service.db.query<{ id: string }>('SELECT uuidv7() AS id FROM generate_series(1, 40)')).map(
      (row) => row.id,
    );
    const amounts = Array.from({ length: 40 }, (_, index) => (index % 4 === 0 ? 100 : -170));
    const rows = await Promise.all(amounts.map((amount) => insertEntry(service.db, service.company.id, entry(amount))));
    const sum = rows.reduce((total, row) => total + (row?.amount ?? 0), 1000);
    const { balances } = await creditOf(id);
    assert.ok(sum >= 0);
    assert.equal(balances[0].amount, sum);
    await assert.rejects(
      service.db.query('UPDATE credit_balances SET balance = balance - 100000 WHERE customer_id = $1', [id]),
      /credit_balances_not_negative/,
    );
  });

  /** What the database refuses, and the constraint that does. */
  const broken: Readonly<Record<string, string>> = {
    credit_entries_numbered: 'number = 0',
    credit_entries_type: `type = 'gift', reason = NULL, amount = -1, number = 2`,
    credit_entries_not_negative: 'balance = -1, number = 2',
    credit_entries_direction: `type = 'take_back'`,
    credit_entries_adds_up: 'balance = 7',
    credit_entries_has_reason: 'reason = NULL',
    credit_entries_of_order: 'order_id = id',
  };
  for (const [constraint, set] of Object.entries(broken)) {
    it(`keeps no entry that breaks ${constraint}`, async () => {
      const id = await newCustomer();
      await change(id);
      await assert.rejects(
        service.db.query(`UPDATE credit_entries SET ${set} WHERE customer_id = $1`, [id]),
        new RegExp(constraint),
      );
    });
  }

  it('keeps no second entry of one number, and no balance without entries', async () => {
    const id = await newCustomer();
    await change(id);
    const copied = `INSERT INTO credit_entries (company_id, id, customer_id, currency, number, type, amount, balance, reason)
      SELECT company_id, uuidv7(), customer_id, currency, number, type, amount, balance, reason FROM credit_entries
      WHERE customer_id = $1`;
    await assert.rejects(service.db.query(copied, [id]), /credit_entries_once/);
    const emptied = service.db.query('UPDATE credit_balances SET entries = 0 WHERE customer_id = $1', [id]);
    await assert.rejects(emptied, /credit_balances_has_entries/);
  });

  it('needs permissions of its own, which existing keys do not have', async () => {
    const id = await newCustomer();
    const reader = await service.createKey(service.company, { permissions: ['credit:read'] });
    const other = await service.createKey(service.company, { permissions: ['customers:write', 'customers:read'] });
    assert.equal((await service.call('GET', `/v1/customers/${id}/credit`, { key: reader })).status, 200);
    assertRefused(await change(id, {}, { key: reader }), 403, 'insufficient_permissions');
    assertRefused(
      await service.call('GET', `/v1/customers/${id}/credit`, { key: other }),
      403,
      'insufficient_permissions',
    );
  });

  it('ends with its customer, whose entries are kept', async () => {
    const id = await newCustomer();
    await change(id);
    const deleted = await service.call('DELETE', `/v1/customers/${id}`);
    assert.equal(deleted.status, 200, deleted.text);
    const { balances, entries } = await creditOf(id);
    assert.equal(balances[0].amount, 0);
    assert.deepEqual([entries[0].type, entries[0].amount, entries[0].reason], ['customer_deleted', -1500, null]);
    assertRefused(await change(id), 400, 'invalid_request');
    await service.call('DELETE', `/v1/customers/${id}`);
    assert.equal((await creditOf(id)).entries.length, 2);
  });

  it('is not ended by a customer that cannot be deleted', async () => {
    const shop = await openShop(service);
    await order(service, shop);
    await change(shop.customerId);
    assertRefused(await change(randomUUID()), 404, 'resource_not_found');
    assert.equal((await creditOf(shop.customerId)).balances[0].amount, 1500);
  });
});
