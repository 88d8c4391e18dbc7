import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { connectTo } from '../../../tests/support/connect.ts';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, eventTypes, openShop, order, readOrder, type Shop } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { type Simulator, startSimulator } from '../../../tests/support/simulator.ts';
import type { NoticedChargeback } from '../../vault/processors/notices.ts';

/** A member decides which payment a chargeback of NMI is about. */

const securityKey = 'FakeSecurityKey'.padEnd(32, '8');

let fake: Simulator;
let service: TestService;
let owner: Person;
let company: string;
let connection: string;
let key: string;
let shop: Shop;

before(async () => {
  fake = await startSimulator('nmi', securityKey);
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: fake.url } });
  owner = await signUp(service);
  company = companyOf(owner, 'live');
  const configuration = { security_key: securityKey, api_url: fake.url };
  const timing = { timeoutMs: 5_000, requestLifeMs: 60_000, extraOrigins: [fake.url] };
  connection = await connectTo(service, company, { kind: 'nmi', configuration, ...timing });
  key = await service.createKey({ ...service.company, id: company, mode: 'live', processor: 'connected' });
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([fake.stop(), service.stop()]);
});

const ask = (method: string, path = '', body?: object, as = owner): Promise<Reply> =>
  as.in(method, `/dashboard/chargebacks${path}`, body, { company });

const pay = async (): Promise<Reply['body']> => {
  const { body } = await order(service, shop, {}, { key });
  assert.equal(body.status, 'succeeded', JSON.stringify(body));
  return body;
};

/** A chargeback that waits, and its ID. */
async function waiting(change: Partial<NoticedChargeback> = {}): Promise<string> {
  const chargeback: NoticedChargeback = {
    id: `cb-${randomUUID()}`,
    date: new Date().toISOString().slice(0, 10),
    first6: '424242',
    last4: '4242',
    amount: '49.00',
    reason: 'fraudulent',
    networkReasonCode: '10.4',
    text: '10.4: Fraud',
    ...change,
  };
  const about = { kind: 'chargeback', chargeback } as const;
  await service.orders.applyNotice({ companyId: company, connectionId: connection, about, happenedAt: new Date() });
  const { data } = (await ask('GET')).body;
  const row = data.find((one: { processor_chargeback_id: string }) => one.processor_chargeback_id === chargeback.id);
  assert.ok(row, 'it waits');
  return row.id;
}

const attention = async (): Promise<number | undefined> => {
  const { data } = (await owner.in('GET', '/dashboard/attention', undefined, { company })).body;
  return data.find(({ kind }: { kind: string }) => kind === 'chargebacks_unmatched')?.count;
};

it('shows the payments that fit, and opens the dispute of the one that is chosen', async () => {
  const [first, second] = [await pay(), await pay()];
  const id = await waiting();
  assert.equal(await attention(), 1);
  const [row] = (await ask('GET')).body.data;
  assert.deepEqual(
    new Set(row.payments.map(({ order_id }: { order_id: string }) => order_id)),
    new Set([first.id, second.id]),
  );
  const chosen = row.payments.find(({ order_id }: { order_id: string }) => order_id === second.id);
  const matched = await ask('POST', `/${id}/match`, { transaction_id: chosen.transaction_id });
  assert.deepEqual([matched.status, matched.body.data], [200, []], matched.text);
  assert.equal((await readOrder(service, second.id, { key })).status, 'chargeback');
  assert.equal((await readOrder(service, first.id, { key })).status, 'succeeded');
  const { data } = (await owner.in('GET', `/dashboard/disputes?order_id=${second.id}`, undefined, { company })).body;
  assert.deepEqual([data.length, data[0].status, data[0].amount], [1, 'needs_response', 4900]);
  assert.equal(await attention(), undefined);
  assertRefused(
    await ask('POST', `/${id}/match`, { transaction_id: chosen.transaction_id }),
    422,
    'invalid_state_transition',
  );
  assertRefused(await ask('POST', `/${id}/dismiss`, {}), 422, 'invalid_state_transition');
  const entries = await service.db.query('SELECT 1 FROM audit_entries WHERE company_id = $1 AND object_id = $2', [
    company,
    id,
  ]);
  assert.equal(entries.length, 1, 'it is in the audit log');
});

it('can be dismissed, and matched all the same later', async () => {
  const paid = await pay();
  const id = await waiting({ amount: '10.00' });
  const dismissed = await ask('POST', `/${id}/dismiss`, {});
  assert.deepEqual([dismissed.status, dismissed.body.data], [200, []], dismissed.text);
  const [listed] = (await ask('GET', '?state=dismissed')).body.data;
  assert.deepEqual([listed.id, listed.amount, typeof listed.dismissed_at], [id, '10.00', 'string']);
  const transaction_id = paid.transactions[0].id;
  assert.equal((await ask('POST', `/${id}/match`, { transaction_id })).status, 200);
  assert.deepEqual((await ask('GET', '?state=dismissed')).body.data, [], 'it is matched');
  const { data } = (await owner.in('GET', `/dashboard/disputes?order_id=${paid.id}`, undefined, { company })).body;
  assert.equal(data[0].amount, 1000, 'only a part is disputed');
});

it('lists the last that were dismissed first, and those that wait apart', async () => {
  const [first, second, third] = [await waiting(), await waiting(), await waiting()];
  for (const id of [second, first]) await ask('POST', `/${id}/dismiss`, {});
  const listed = async (query: string): Promise<string[]> =>
    (await ask('GET', query)).body.data.map((row: { id: string }) => row.id);
  assert.deepEqual(await listed('?state=dismissed'), [first, second]);
  assert.deepEqual([await listed(''), await listed('?state=open')], [[third], [third]]);
  assert.equal((await ask('GET', '')).body.data[0].dismissed_at, null);
  assertRefused(await ask('GET', '?state=matched'), 400, 'validation_error', 'state');
  const stranger = await signUp(service);
  const path = '/dashboard/chargebacks?state=dismissed';
  const theirs = await stranger.in('GET', path, undefined, { company: companyOf(stranger, 'live') });
  assert.deepEqual(theirs.body.data, []);
  await ask('POST', `/${third}/dismiss`, {});
});

it('refuses payments of others, that failed, or that are smaller, and members without the permission', async () => {
  const paid = await pay();
  const id = await waiting({ amount: '9000.00' });
  const transaction_id = paid.transactions[0].id;
  assertRefused(await ask('POST', `/${id}/match`, { transaction_id }), 400, 'validation_error', 'transaction_id');
  await fake.control({ next: ['decline:202'] });
  const failed = (await order(service, shop, {}, { key })).body.transactions[0].id;
  for (const wrong of [failed, randomUUID(), paid.id]) {
    assertRefused(
      await ask('POST', `/${id}/match`, { transaction_id: wrong }),
      400,
      'validation_error',
      'transaction_id',
    );
  }
  assertRefused(await ask('POST', `/${randomUUID()}/dismiss`, {}), 404, 'resource_not_found');
  const stranger = await signUp(service);
  const theirs = companyOf(stranger, 'live');
  assertRefused(
    await stranger.in('POST', `/dashboard/chargebacks/${id}/dismiss`, {}, { company: theirs }),
    404,
    'resource_not_found',
  );
  assert.deepEqual((await stranger.in('GET', '/dashboard/chargebacks', undefined, { company: theirs })).body.data, []);
});

it('two members at once decide once', async () => {
  const [first, second] = [await pay(), await pay()];
  const id = await waiting();
  const replies = await Promise.all(
    [first, second].map(({ transactions }) => ask('POST', `/${id}/match`, { transaction_id: transactions[0].id })),
  );
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200, 422]));
});

const disputesPath = '/dashboard/disputes';
const inCompany = (method: string, path: string, body?: object, as = owner): Promise<Reply> =>
  as.in(method, path, body, { company });

/** A disputed payment of NMI, and its dispute. */
async function disputed(change: Partial<NoticedChargeback> = {}): Promise<{
  readonly orderId: string;
  readonly transactionId: string;
  readonly disputeId: string;
  readonly chargebackId: string;
}> {
  const paid = await pay();
  const chargebackId = await waiting({ amount: '10.00', ...change });
  const transactionId = paid.transactions[0].id;
  assert.equal((await ask('POST', `/${chargebackId}/match`, { transaction_id: transactionId })).status, 200);
  const { data } = (await inCompany('GET', `${disputesPath}?order_id=${paid.id}`)).body;
  return { orderId: paid.id, transactionId, disputeId: data[0].id, chargebackId };
}

const ends = [
  { how: 'resolve', body: { outcome: 'won' }, status: 'won', orderStatus: 'chargeback_dismissed' },
  { how: 'resolve', body: { outcome: 'lost' }, status: 'lost', orderStatus: 'chargeback_accepted' },
  { how: 'accept', body: {}, status: 'accepted', orderStatus: 'chargeback_accepted' },
] as const;

for (const { how, body, status, orderStatus } of ends) {
  it(`a dispute of NMI is recorded as ${status}, once, with an event and an audit entry`, async () => {
    const { orderId, disputeId } = await disputed();
    const path = `${disputesPath}/${disputeId}`;
    const open = (await inCompany('GET', path)).body;
    assert.deepEqual([open.answer.is_possible, open.answer.is_decided_by_hand], [false, true]);
    assert.match(open.answer.reason, /Send your evidence to your acquirer/);
    const replies = await Promise.all([1, 2].map(() => inCompany('POST', `${path}/${how}`, body)));
    assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200, 422]), replies[0]?.text);
    const { body: closed } = await inCompany('GET', path);
    assert.deepEqual([closed.status, closed.answer.is_decided_by_hand], [status, false]);
    assert.equal((await readOrder(service, orderId, { key })).status, orderStatus);
    const events = await eventTypes(service, orderId);
    assert.deepEqual(events.slice(-2), ['order.chargeback', `order.${orderStatus}`]);
    assert.equal(events.filter((type) => type === `order.${orderStatus}`).length, 1);
    for (const again of ends) {
      assertRefused(await inCompany('POST', `${path}/${again.how}`, again.body), 422, 'invalid_state_transition', 'id');
    }
    const entries = await service.db.query('SELECT 1 FROM audit_entries WHERE company_id = $1 AND object_id = $2', [
      company,
      disputeId,
    ]);
    assert.equal(entries.length, 1, 'it is in the audit log');
  });
}

it('a dispute of NMI is closed by the operator as well, and not by another company', async () => {
  const { orderId, disputeId } = await disputed();
  const stranger = await signUp(service);
  const foreign = { company: companyOf(stranger, 'live') };
  const path = `${disputesPath}/${disputeId}`;
  assertRefused(await stranger.in('POST', `${path}/resolve`, { outcome: 'won' }, foreign), 404, 'resource_not_found');
  const resolve = `/dashboard/orders/${orderId}/chargeback/resolve`;
  assert.equal((await inCompany('POST', resolve, { outcome: 'dismissed' })).body.status, 'chargeback_dismissed');
  assert.equal((await inCompany('GET', path)).body.status, 'won');
});

it('a second dispute of a decided order can be closed, and changes only itself', async () => {
  const { orderId, transactionId, disputeId } = await disputed();
  await inCompany('POST', `${disputesPath}/${disputeId}/resolve`, { outcome: 'won' });
  const second = await waiting({ amount: '20.00' });
  assert.equal((await ask('POST', `/${second}/match`, { transaction_id: transactionId })).status, 200);
  const { data } = (await inCompany('GET', `${disputesPath}?order_id=${orderId}&status=needs_response`)).body;
  const lost = await inCompany('POST', `${disputesPath}/${data[0].id}/resolve`, { outcome: 'lost' });
  assert.deepEqual([lost.status, lost.body.status], [200, 'lost'], lost.text);
  assert.equal((await inCompany('GET', `${disputesPath}/${disputeId}`)).body.status, 'won');
  assert.equal((await readOrder(service, orderId, { key })).status, 'chargeback_dismissed');
});

const dayOf = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

it('a chargeback that is reported again after its dispute was closed waits for a person', async () => {
  const id = `cb-${randomUUID()}`;
  const reportOn = async (days: number): Promise<string> => {
    const date = dayOf(days);
    const chargeback = {
      ...{ id, date, first6: '424242', last4: '4242', amount: '10.00', text: null },
      reason: 'fraudulent',
      networkReasonCode: null,
    } as const;
    const about = { kind: 'chargeback', chargeback } as const;
    const notice = { companyId: company, connectionId: connection, about, happenedAt: new Date(date) };
    return (await service.orders.applyNotice(notice)).result;
  };
  const paid = await pay();
  const other = await pay();
  await reportOn(-3);
  const listed = async (): Promise<Reply['body']> =>
    (await ask('GET')).body.data.find((one: Reply['body']) => one.processor_chargeback_id === id);
  const first = await listed();
  assert.equal(first.closed_as, null);
  await ask('POST', `/${first.id}/match`, { transaction_id: paid.transactions[0].id });
  const { data } = (await inCompany('GET', `${disputesPath}?order_id=${paid.id}`)).body;
  const path = `${disputesPath}/${data[0].id}`;
  assert.match(await reportOn(-2), /known/, 'it is open');
  await inCompany('POST', `${path}/resolve`, { outcome: 'won' });
  assert.match(await reportOn(-3), /known/, 'it is the same report');
  assert.match(await reportOn(-1), /closed before/);
  assert.match(await reportOn(-1), /known/);
  assert.equal((await inCompany('GET', path)).body.status, 'won', 'nothing changes without a person');
  const row = await listed();
  assert.deepEqual([row.id, row.closed_as], [first.id, 'won']);
  assert.deepEqual(
    row.payments.map((payment: { order_id: string }) => payment.order_id),
    [paid.id],
  );
  const wrong = { transaction_id: other.transactions[0].id };
  assertRefused(await ask('POST', `/${row.id}/match`, wrong), 400, 'validation_error', 'transaction_id');
  assert.equal((await ask('POST', `/${row.id}/dismiss`, {})).status, 200);
  assert.match(await reportOn(-1), /known/, 'the person has decided about this report');

  assert.match(await reportOn(0), /closed before/);
  assert.equal((await ask('POST', `/${row.id}/match`, { transaction_id: paid.transactions[0].id })).status, 200);
  const again = (await inCompany('GET', path)).body;
  assert.deepEqual([again.status, again.answer.is_decided_by_hand], ['needs_response', true]);
  assert.equal((await readOrder(service, paid.id, { key })).status, 'chargeback_dismissed');
  assert.equal((await inCompany('POST', `${path}/resolve`, { outcome: 'lost' })).body.status, 'lost');
});

it('finds any payment of the connection by order number or amount, and none of another', async () => {
  const paid = await pay();
  const { body: larger } = await order(
    service,
    shop,
    { items: [{ product_id: shop.productId, quantity: 31 }] },
    { key },
  );
  const id = await waiting({ amount: '11.00', last4: '0000' });
  const search = async (q: string, as = owner, of = company): Promise<Reply> =>
    as.in('GET', `/dashboard/chargebacks/${id}/payments?q=${encodeURIComponent(q)}`, undefined, { company: of });
  const numbers = async (q: string): Promise<string[]> =>
    (await search(q)).body.data.map(({ order_number }: { order_number: string }) => order_number);
  for (const text of ['1519', '1519.00', '$1,519.00', larger.order_number, larger.order_number.slice(0, -1)]) {
    assert.deepEqual(await numbers(text), [larger.order_number], text);
  }
  assert.ok((await numbers('49.00')).includes(paid.order_number));
  const [found] = (await search('1519')).body.data;
  const facts = ['amount', 'card_last4', 'created_at', 'currency', 'order_id', 'order_number', 'transaction_id'];
  assert.deepEqual(Object.keys(found).toSorted(), facts, 'no data of the customer');
  assert.deepEqual(await numbers('1518.99'), []);
  assert.deepEqual(await numbers('alan'), []);
  const stranger = await signUp(service);
  assertRefused(await search('49.00', stranger, companyOf(stranger, 'live')), 404, 'resource_not_found');
  const timing = { timeoutMs: 5_000, requestLifeMs: 60_000, extraOrigins: [fake.url] };
  const configuration = { security_key: securityKey, api_url: fake.url };
  const another = await connectTo(service, company, { kind: 'nmi', configuration, ...timing });
  const moved = await service.db.query(
    'UPDATE transactions SET connection_id = $3 WHERE company_id = $1 AND order_id = $2 RETURNING 1',
    [company, larger.id, another],
  );
  assert.equal(moved.length, 1);
  assert.deepEqual(await numbers('1519'), [], 'it is of another connection');
});
