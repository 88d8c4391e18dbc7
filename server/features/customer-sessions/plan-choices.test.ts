import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  addCard,
  cards,
  created,
  everyDays,
  openScene,
  operator,
  ordersOf,
  type Scene,
} from '../../../tests/support/billing.ts';
import { assertInvalid, assertRefused } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, readSubscription, somePlan } from '../../../tests/support/subscriptions.ts';
import { createPlanGroup } from '../plan-groups/service.ts';
import type { PlanGroupCreate } from '../plan-groups/schemas.ts';
import { createPriceChange } from '../price-changes/service.ts';
import { continuePriceChanges } from '../price-changes/jobs.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';

/** A customer changes between the plans of a group, by the rules of the merchant and by nothing else. */

let service: TestService;
before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
});
after(() => service.stop());

interface Grouped extends Scene {
  readonly small: string;
  readonly large: string;
  readonly yearly: string;
  readonly token: string;
  readonly id: string;
}

async function openGrouped(rules: Partial<PlanGroupCreate> = {}, number?: string): Promise<Grouped> {
  const scene = await openScene(service, { name: 'Middle', amount: 3000, billing_cycle: everyDays(30) }, number);
  const plan = async (name: string, amount: number, days: number): Promise<string> =>
    (await somePlan(service, { name, amount, billing_cycle: everyDays(days) }, scene.company)).id;
  const [small, large, yearly] = [
    await plan('Small', 1000, 30),
    await plan('Large', 6000, 30),
    await plan('Yearly', 70_000, 365),
  ];
  await createPlanGroup(await operator(service, scene), {
    ...{ name: 'Teas', plan_ids: [small, scene.plan_id, large, yearly], upgrade: 'now', downgrade: 'renewal' },
    ...{ proration: 'difference', after_cycles: 0, seats_max: 5 },
    ...rules,
  });
  const { id } = await created(service, scene);
  const { body } = await service.call('POST', '/v1/customer_sessions', {
    key: scene.key,
    body: { customer_id: scene.customer_id },
  });
  return { ...scene, small, large, yearly, id, token: body.url.split('/').at(-1) };
}

const onPage = ({ token }: Grouped, path: string, body?: object): Promise<Reply> =>
  service.call(body ? 'POST' : 'GET', `/customer/${token}/${path}`, {
    key: null,
    headers: { origin: service.baseUrl },
    ...(body && { body }),
  });

const shown = async (at: Grouped): Promise<Record<string, any>> =>
  (await onPage(at, 'account')).body.subscriptions.find(({ id }: { id: string }) => id === at.id);
const read = (at: Grouped): Promise<Reply['body']> => readSubscription(service, at.id, { key: at.key });

const preview = (at: Grouped, plan_id: string, quantity = 1): Promise<Reply> =>
  onPage(at, `subscriptions/${at.id}/preview_plan`, { plan_id, quantity });

/** Chooses what the preview has shown. */
async function choose(at: Grouped, plan_id: string, quantity = 1): Promise<Reply> {
  const { status, body, text } = await preview(at, plan_id, quantity);
  assert.equal(status, 200, text);
  const chosen = { plan_id, quantity, at: body.at, expected_amount: body.amount_due };
  return onPage(at, `subscriptions/${at.id}/change_plan`, chosen);
}

describe('the customer page', () => {
  it('offers the other plans of the group, and upgrades now for exactly what the preview has shown', async () => {
    const at = await openGrouped();
    const { offer, plan_id, quantity } = await shown(at);
    assert.deepEqual([plan_id, quantity, offer.seats_max], [at.plan_id, 1, 5]);
    assert.deepEqual(
      offer.plans.map(({ name, when }: Record<string, string>) => `${name} ${when}`),
      ['Small renewal', 'Large now', 'Yearly now'],
    );
    const due = (await preview(at, at.large)).body.amount_due;
    const reply = await choose(at, at.large);
    assert.deepEqual([reply.status, reply.body.change], [200, { status: 'applied', confirm_url: null }], reply.text);
    assert.equal((await read(at)).plan_id, at.large);
    const orders = await ordersOf(service, at);
    assert.deepEqual([orders.length, orders[1]?.total <= due], [2, true]);
    const repeated = await onPage(at, `subscriptions/${at.id}/change_plan`, {
      ...{ plan_id: at.large, quantity: 1, at: new Date().toISOString(), expected_amount: due },
    });
    assert.equal(repeated.body.change.status, 'applied');
    assert.equal((await ordersOf(service, at)).length, 2, 'a repeated request charges nothing');
  });

  it('downgrades at the renewal, and takes back only what the customer has chosen', async () => {
    const at = await openGrouped();
    const reply = await choose(at, at.small);
    assert.equal(reply.body.change.status, 'scheduled', reply.text);
    assert.deepEqual((await shown(at)).scheduled, { plan_id: at.small, name: 'Small', quantity: 1, can_undo: true });
    await onPage(at, `subscriptions/${at.id}/undo_plan`, {});
    assert.equal((await read(at)).scheduled_change, null);
    await choose(at, at.small);
    await advance(service, { by: { days: 31 } }, { key: at.key });
    assert.equal((await read(at)).plan_id, at.small);
  });

  it('cannot undo or replace a price change of the merchant', async () => {
    const at = await openGrouped();
    await createPriceChange(await operator(service, at), { plan_id: at.plan_id, to_plan_id: at.large });
    const { db, clock, company } = service;
    while ((await continuePriceChanges({ name: company.shard, db, clock, log: silentLog })) === 'more');
    const { offer, scheduled } = await shown(at);
    assert.deepEqual([offer, scheduled.can_undo], [null, false]);
    assertRefused(await preview(at, at.plan_id, 2), 400, 'invalid_request');
    await onPage(at, `subscriptions/${at.id}/undo_plan`, {});
    assert.equal((await read(at)).scheduled_change.plan_id, at.large);
  });

  it('changes seats up to the limit, more of them now and fewer at the renewal', async () => {
    const at = await openGrouped();
    assert.equal((await choose(at, at.plan_id, 3)).body.change.status, 'applied');
    assert.equal((await read(at)).quantity, 3);
    assert.equal((await choose(at, at.plan_id, 2)).body.change.status, 'scheduled');
    assertInvalid(await preview(at, at.plan_id, 6), 'quantity');
  });

  it('keeps what a cheaper plan is worth less as credit, and uses it for the next upgrade', async () => {
    const at = await openGrouped({ downgrade: 'now' });
    const { body: cheaper } = await preview(at, at.small);
    assert.deepEqual([cheaper.amount_due, cheaper.credit_amount > 0], [0, true]);
    assert.equal((await choose(at, at.small)).body.change.status, 'applied');
    const { credit } = (await onPage(at, 'account')).body;
    const [{ amount }] = credit;
    assert.ok(amount > 0 && amount <= cheaper.credit_amount, 'worth less with each second');
    const { body: dearer } = await preview(at, at.plan_id);
    assert.ok(dearer.credit_applied > 0 && dearer.credit_applied <= amount);
    assert.equal((await choose(at, at.plan_id)).body.change.status, 'applied');
    const [, paid] = await ordersOf(service, at);
    assert.ok(paid?.credit_applied > 0 && paid?.captured_amount <= dearer.amount_due, 'the card pays the rest');
  });

  it('begins a new period for a plan of another interval', async () => {
    const at = await openGrouped();
    const reply = await choose(at, at.yearly);
    assert.equal(reply.body.change.status, 'applied', reply.text);
    assert.equal((await read(at)).completed_cycles, 2);
  });

  it('keeps the plan if the card is declined, and says so', async () => {
    const at = await openGrouped();
    const declining = await addCard(service, at, cards.declined);
    await service.call('PATCH', `/v1/subscriptions/${at.id}`, {
      key: at.key,
      body: { payment_method_id: declining },
    });
    const reply = await choose(at, at.large);
    assert.equal(reply.body.change.status, 'declined', reply.text);
    assert.equal((await read(at)).plan_id, at.plan_id);
  });

  it('offers nothing without a group, before the cycles that the rules ask for, and what the rules forbid', async () => {
    const early = await openGrouped({ after_cycles: 2 });
    assert.equal((await shown(early)).offer, null);
    assertRefused(await preview(early, early.large), 400, 'invalid_request');
    const forbidden = await openGrouped({ upgrade: 'off', seats_max: null });
    const { offer } = await shown(forbidden);
    assert.deepEqual(
      offer.plans.map(({ name }: Record<string, string>) => name),
      ['Small'],
    );
    assertRefused(await preview(forbidden, forbidden.large), 400, 'invalid_request');
    assertInvalid(await preview(forbidden, forbidden.small, 2), 'quantity');
    const other = await somePlan(service, { name: 'Secret', amount: 1 }, forbidden.company);
    assertRefused(await preview(forbidden, other.id), 400, 'invalid_request');
  });

  it('knows nothing of the subscription of another customer', async () => {
    const [mine, theirs] = [await openGrouped(), await openGrouped()];
    const path = `subscriptions/${theirs.id}`;
    const choice = { plan_id: mine.large, quantity: 1 };
    assertRefused(await onPage(mine, `${path}/preview_plan`, choice), 404, 'resource_not_found');
    const chosen = { ...choice, at: new Date().toISOString(), expected_amount: 0 };
    assertRefused(await onPage(mine, `${path}/change_plan`, chosen), 404, 'resource_not_found');
    assertRefused(await onPage(mine, `${path}/undo_plan`, {}), 404, 'resource_not_found');
  });

  it('has the rules of one group for a plan, with plans of one currency that exist', async () => {
    const at = await openGrouped();
    const context = await operator(service, at);
    const euros = (await somePlan(service, { currency: 'eur' }, at.company)).id;
    const rules = { name: 'Other', upgrade: 'now', downgrade: 'renewal', proration: 'difference' } as const;
    const group = { ...rules, after_cycles: 0, seats_max: null };
    for (const plan_ids of [[at.small], [euros, euros], [euros, (await openGrouped()).small]]) {
      await assert.rejects(createPlanGroup(context, { ...group, plan_ids }));
    }
    const dollars = (await somePlan(service, {}, at.company)).id;
    await assert.rejects(createPlanGroup(context, { ...group, plan_ids: [euros, dollars] }));
    assert.equal((await createPlanGroup(context, { ...group, plan_ids: [dollars] })).name, 'Other');
  });
});
