import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { connectTo } from '../../../tests/support/connect.ts';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, openShop, order, readOrder, type Shop } from '../../../tests/support/orders.ts';
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
  const transaction_id = paid.transactions[0].id;
  assert.equal((await ask('POST', `/${id}/match`, { transaction_id })).status, 200);
  const { data } = (await owner.in('GET', `/dashboard/disputes?order_id=${paid.id}`, undefined, { company })).body;
  assert.equal(data[0].amount, 1000, 'only a part is disputed');
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
