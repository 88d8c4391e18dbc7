import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addCard, cards, dayMs, later, moveTo, operator, ordersOf } from '../../../tests/support/billing.ts';
import { bankCards } from '../../../tests/support/bank.ts';
import { answered, atBank, begin, onPage, pathOf } from '../../../tests/support/confirmations.ts';
import { readOrder } from '../../../tests/support/orders.ts';
import {
  change,
  changed,
  onDay,
  otherPlan,
  pass,
  subscribed,
  type Subscribed,
} from '../../../tests/support/plan-changes.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { pauseSubscription } from './service.ts';

/** A change of plan whose bank wants to ask the customer, who is absent. */

let service: TestService;
before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_REFUSED_CARDS: 'off' } });
});
after(() => service.stop());

async function switchBank({ company }: Subscribed, on: boolean): Promise<void> {
  await service.db.query('UPDATE companies SET authenticates = $2 WHERE id = $1', [company.id, on]);
  service.forgetAccess(company.id);
}

interface Asked extends Subscribed {
  readonly other: string;
  readonly order: Reply['body'];
  /** Of the page that confirms the payment. */
  readonly path: string;
}

/** Half of the period has passed, and the bank declines the charge of $15.00 because it wants to ask. */
async function asked(): Promise<Asked> {
  const at = await subscribed(service, {}, bankCards.challenge);
  const other = await otherPlan(service, at);
  await pass(service, at, 15);
  await switchBank(at, true);
  const { order } = await changed(service, at, { plan_id: other, at: onDay(at, 15) }, 'declined');
  assert.deepEqual([order.status, order.failure_code, order.total], ['failed', 'transaction_not_allowed', 1500]);
  return { ...at, other, order, path: pathOf(order) };
}

const planOf = async (at: Subscribed): Promise<string> => (await readSubscription(service, at.id, at)).plan_id;
const addressOf = async (at: Asked): Promise<string | null> =>
  (await readOrder(service, at.order.id, at)).authentication_url;
const totalsOf = async (at: Subscribed): Promise<unknown[]> =>
  (await ordersOf(service, at)).map(({ total, status, subscription_cycle }) => [total, status, subscription_cycle]);
const statusOn = async ({ path }: Asked): Promise<string> => (await onPage(service, path, 'payment')).body.status;

describe('a change of plan that the bank wants to confirm', () => {
  it('changes the plan only after the bank has confirmed, and is paid once', async () => {
    const at = await asked();
    const { body } = await begin(service, at.path);
    assert.deepEqual([body.status, await planOf(at)], ['processing', at.plan_id]);
    const returned = await atBank(service, body.next_action.url, 'confirm');
    const back = () => onPage(service, at.path, 'resume', { returned });
    await Promise.all([back(), back()]);
    assert.deepEqual([await statusOn(at), await planOf(at), await addressOf(at)], ['confirmed', at.other, null]);
    await switchBank(at, false);
    await pass(service, at, 31);
    assert.deepEqual(await totalsOf(at), [
      [3000, 'succeeded', 1],
      [1500, 'succeeded', null],
      [6000, 'succeeded', 2],
    ]);
  });

  it('leaves the plan if the customer refuses, and can be confirmed after that', async () => {
    const at = await asked();
    const { status, failure } = await answered(service, at.path, 'refuse');
    assert.deepEqual([status, await planOf(at)], ['open', at.plan_id]);
    assert.match(failure, /bank/);
    assert.equal((await answered(service, at.path, 'confirm')).status, 'confirmed');
    assert.equal(await planOf(at), at.other);
  });

  it('makes one charge of two tabs, and no other change meanwhile', async () => {
    const at = await asked();
    const tabs = await Promise.all([begin(service, at.path), begin(service, at.path)]);
    assert.ok(tabs.every(({ status }) => status === 200));
    assert.equal((await readOrder(service, at.order.id, at)).transactions.length, 2);
    assert.equal((await change(service, at, { plan_id: at.other, quantity: 2 })).status, 409);
    const { next_action } = (await onPage(service, at.path, 'payment')).body;
    await onPage(service, at.path, 'resume', { returned: await atBank(service, next_action.url, 'confirm') });
    assert.equal(await planOf(at), at.other);
  });

  it('ends after 30 minutes, and the renewal is charged at the old price', async () => {
    const at = await asked();
    await begin(service, at.path);
    await moveTo(service, at.key, later(at.start, 15 * dayMs + 3_600_000));
    assert.deepEqual([await statusOn(at), await planOf(at)], ['open', at.plan_id]);
    await switchBank(at, false);
    await pass(service, at, 31);
    assert.deepEqual((await totalsOf(at)).at(-1), [3000, 'succeeded', 2]);
  });
});

describe('a change that is superseded', () => {
  const supersede: Record<string, (at: Asked) => Promise<unknown>> = {
    'by a cancellation': (at) => service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key }),
    'by a pause': async (at) => pauseSubscription(await operator(service, at), at.id),
    'by another change': (at) => changed(service, at, { plan_id: at.other, when: 'renewal' }, 'scheduled'),
    'by the next period': async (at) => {
      await switchBank(at, false);
      await pass(service, at, 31);
    },
  };

  for (const [by, act] of Object.entries(supersede)) {
    it(`${by} has no address any more, and its page charges nothing`, async () => {
      const at = await asked();
      await act(at);
      const listed = (await ordersOf(service, at)).find(({ id }) => id === at.order.id);
      assert.deepEqual([await addressOf(at), listed?.authentication_url, await statusOn(at)], [null, null, 'ended']);
      assert.equal((await begin(service, at.path)).body.status, 'ended');
      const { transactions, status } = await readOrder(service, at.order.id, at);
      assert.deepEqual([transactions.length, status], [1, 'failed']);
    });
  }

  it('while its customer is at the bank ends there, and is not charged', async () => {
    const at = await asked();
    const { body } = await begin(service, at.path);
    assert.equal((await service.call('DELETE', `/v1/subscriptions/${at.id}`, { key: at.key })).status, 200);
    const returned = await atBank(service, body.next_action.url, 'refuse');
    assert.equal((await onPage(service, at.path, 'resume', { returned })).body.status, 'ended');
    const { transactions, status } = await readOrder(service, at.order.id, at);
    assert.deepEqual([transactions.at(-1).status, status], ['failed', 'failed']);
  });

  it('is paid with another card instead', async () => {
    const at = await asked();
    await addCard(service, at, cards.good, { update_subscriptions: true });
    assert.equal((await begin(service, at.path)).body.status, 'confirmed');
    assert.equal(await planOf(at), at.other);
  });
});
