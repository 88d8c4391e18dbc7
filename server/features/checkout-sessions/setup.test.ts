import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bankCards, browser } from '../../../tests/support/bank.ts';
import { openScene, type Scene } from '../../../tests/support/billing.ts';
import { atBank } from '../../../tests/support/confirmations.ts';
import { assertInvalid, assertRefused, countOf } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { continueSetups } from '../card-setups/jobs.ts';
import { completeSetupSession } from './setup.ts';

/** Sessions of the mode `setup`: a customer saves a card without a charge. */

let service: TestService;
before(async () => {
  const off = { SVC_RATE_LIMIT_CAPTURE: 'off', SVC_RATE_LIMIT_REFUSED_CARDS: 'off' };
  service = await startTestService({ settings: off });
});
after(() => service.stop());

interface Visit extends Scene {
  readonly id: string;
  readonly url: string;
  read(): Promise<Reply['body']>;
  onPage(path: string, body?: object): Promise<Reply>;
  save(number: string): Promise<Reply>;
  cards(): Promise<Reply['body'][]>;
}

const create = ({ key }: Scene, body: object): Promise<Reply> =>
  service.call('POST', '/v1/checkout_sessions', { key, body: { mode: 'setup', ...body } });

async function visit(authenticates = true): Promise<Visit> {
  const scene = await openScene(service);
  const { key, customer_id, company } = scene;
  await service.db.query('UPDATE companies SET authenticates = $2 WHERE id = $1', [company.id, authenticates]);
  service.forgetAccess(company.id);
  const made = await create(scene, { customer_id, success_url: 'https://shop.example/done?s={CHECKOUT_SESSION_ID}' });
  assert.equal(made.status, 201, made.text);
  const { id, url } = made.body;
  const token = url.split('/').at(-1);
  const onPage = (path: string, sent?: object): Promise<Reply> => {
    const headers = { origin: service.baseUrl, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
    const body = sent && { body: sent };
    return service.call(sent ? 'POST' : 'GET', `/checkout/${token}/${path}`, { key: null, headers, ...body });
  };
  return {
    ...scene,
    id,
    url,
    onPage,
    read: async () => (await service.call('GET', `/v1/checkout_sessions/${id}`, { key })).body,
    async save(number) {
      const card = { number, exp_month: '12', exp_year: '2036', cvc: '999' };
      const typed = await onPage('card_tokens', { card });
      assert.equal(typed.status, 201, typed.text);
      return onPage('setup/save', { card_token: typed.body.id, browser });
    },
    cards: async () => (await service.call('GET', `/v1/customers/${customer_id}/payment_methods`, { key })).body.data,
  };
}

const completedEvents = (at: Visit): Promise<number> =>
  countOf(service, 'events', `type = 'checkout_session.completed' AND object_id = $1`, [at.id]);

describe('a session that saves a card', () => {
  it('leads to the bank, and is completed with a card that has a mandate', async () => {
    const at = await visit();
    assert.match(at.url, /\/setup\//);
    const asked = await at.save(bankCards.challenge);
    assert.deepEqual([asked.status, asked.body.status], [200, 'at_bank'], asked.text);
    assert.equal((await at.read()).status, 'open');
    const returned = await atBank(service, asked.body.bank_url, 'confirm');
    const back = () => at.onPage('setup/resume', { returned });
    const replies = await Promise.all([back(), back()]);
    assert.ok(replies.some(({ body }) => body.status === 'completed'));
    const session = await at.read();
    const saved = (await at.cards()).find(({ id }) => id === session.payment_method_id);
    assert.deepEqual(
      [session.status, session.order_id, session.mode, saved?.card.last4, saved?.is_default],
      ['completed', null, 'setup', '3315', false],
    );
    assert.ok(saved?.mandate);
    assert.equal(await completedEvents(at), 1);
    const { body } = await at.onPage('setup');
    assert.deepEqual([body.card.last4, body.success_url], ['3315', `https://shop.example/done?s=${at.id}`]);
  });

  it('lets the customer try again after the bank refused', async () => {
    const at = await visit();
    const asked = await at.save(bankCards.challenge);
    const refused = await at.onPage('setup/resume', { returned: await atBank(service, asked.body.bank_url, 'refuse') });
    assert.deepEqual([refused.status, refused.body.error.param], [400, 'card_token']);
    assert.equal((await at.onPage('setup')).body.status, 'open');
    assert.equal((await at.save('5555555555554444')).body.status, 'completed');
    assert.equal((await at.cards()).length, 2);
  });

  it('leads to the same bank if the answer was lost and the request came again', async () => {
    const at = await visit();
    const card = { number: bankCards.challenge, exp_month: '12', exp_year: '2036', cvc: '999' };
    const { id: card_token } = (await at.onPage('card_tokens', { card })).body;
    const first = await at.onPage('setup/save', { card_token, browser });
    const again = await at.onPage('setup/save', { card_token, browser });
    assert.deepEqual([again.status, again.body.bank_url], [200, first.body.bank_url], again.text);
    const returned = await atBank(service, first.body.bank_url, 'confirm');
    assert.equal((await at.onPage('setup/resume', { returned })).body.status, 'completed');
    assert.equal((await at.cards()).length, 2);
  });

  it('is completed by the worker if the browser is closed', async () => {
    const at = await visit();
    await atBank(service, (await at.save(bankCards.challenge)).body.bank_url, 'confirm');
    await service.db.query('UPDATE card_setups SET check_at = now()');
    const { db, clock, orders, vault } = service;
    const shard = { db, clock, name: at.company.shard, orders, vault, log: silentLog };
    await continueSetups(shard, completeSetupSession, 10);
    assert.equal((await at.read()).status, 'completed');
  });

  it('saves a card without a mandate where no bank is asked', async () => {
    const at = await visit(false);
    assert.equal((await at.save(bankCards.challenge)).body.status, 'completed');
    const { payment_method_id } = await at.read();
    assert.equal((await at.cards()).find(({ id }) => id === payment_method_id)?.mandate, null);
  });

  it('saves one card: a second one is refused once it is completed', async () => {
    const at = await visit();
    assert.equal((await at.save('5555555555554444')).body.status, 'completed');
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2036', cvc: '999' };
    assert.equal((await at.onPage('card_tokens', { card })).status, 400);
    assert.equal(await completedEvents(at), 1);
  });

  it('sells nothing: it needs a customer, and the checkout page cannot pay it', async () => {
    const at = await visit();
    const { customer_id } = at;
    assertRefused(await create(at, {}), 400, 'validation_error', 'customer_id');
    const plan = { customer_id, plan_id: at.plan_id };
    assertInvalid(await create(at, plan), 'plan_id');
    for (const more of [
      { capture: 'manual' },
      { coupon_code: 'TEA' },
      { allow_coupons: true },
      { collect: ['company'] },
    ]) {
      const [field = ''] = Object.keys(more);
      assertInvalid(await create(at, { customer_id, ...more }), field);
    }
    assert.equal((await at.onPage('session')).body.status, 'unavailable');
    await at.onPage('pay', { attempt: 0, total: 0, card_token: 'cct_x' });
    assert.equal(await countOf(service, 'orders', 'customer_id = $1', [customer_id]), 0);
  });

  it('ends when it expires, and when its customer is deleted', async () => {
    const at = await visit();
    assert.equal((await service.call('POST', `/v1/checkout_sessions/${at.id}/expire`, { key: at.key })).status, 200);
    assert.equal((await at.onPage('setup')).body.status, 'expired');
    const other = await visit();
    await service.call('DELETE', `/v1/customers/${other.customer_id}`, { key: other.key });
    assert.equal((await other.onPage('setup')).body.status, 'expired');
  });
});
