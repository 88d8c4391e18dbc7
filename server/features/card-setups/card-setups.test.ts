import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bankCards, browser } from '../../../tests/support/bank.ts';
import { created, later, moveTo, openScene, type Scene } from '../../../tests/support/billing.ts';
import { atBank } from '../../../tests/support/confirmations.ts';
import { countOf } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { readSubscription } from '../../../tests/support/subscriptions.ts';
import { minuteMs } from '../../platform/durations.ts';
import { completeSetupSession } from '../checkout-sessions/setup.ts';
import { continueSetups } from './jobs.ts';

/** A card that is typed on the customer page, in a sandbox whose bank asks. */

let service: TestService;
before(async () => {
  const off = { SVC_RATE_LIMIT_CAPTURE: 'off', SVC_RATE_LIMIT_REFUSED_CARDS: 'off' };
  service = await startTestService({ settings: off });
});
after(() => service.stop());

interface Visit extends Scene {
  readonly subscriptionId: string;
  readonly start: string;
  onPage(path: string, body?: object): Promise<Reply>;
  /** Types a card and saves it. */
  save(number: string): Promise<Reply>;
  back(returned: Record<string, string>): Promise<Reply>;
  cards(): Promise<Reply['body'][]>;
}

async function visit(authenticates = true): Promise<Visit> {
  const scene = await openScene(service);
  await service.db.query('UPDATE companies SET authenticates = $2 WHERE id = $1', [scene.company.id, authenticates]);
  service.forgetAccess(scene.company.id);
  const { id, current_period_start } = await created(service, scene);
  const { key, customer_id } = scene;
  const { body } = await service.call('POST', '/v1/customer_sessions', { key, body: { customer_id } });
  const token = body.url.split('/').at(-1);
  const onPage = (path: string, sent?: object): Promise<Reply> => {
    const headers = { origin: service.baseUrl, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
    return service.call(sent ? 'POST' : 'GET', `/customer/${token}/${path}`, {
      key: null,
      headers,
      ...(sent && { body: sent }),
    });
  };
  return {
    ...scene,
    subscriptionId: id,
    start: current_period_start,
    onPage,
    async save(number) {
      const card = { number, exp_month: '12', exp_year: '2036', cvc: '999' };
      const typed = await onPage('card_tokens', { card });
      assert.equal(typed.status, 201, typed.text);
      return onPage('card', { card_token: typed.body.id, browser });
    },
    back: (returned) => onPage('card/resume', { returned }),
    cards: async () => (await service.call('GET', `/v1/customers/${customer_id}/payment_methods`, { key })).body.data,
  };
}

const runJob = async ({ company }: Scene): Promise<void> => {
  await service.db.query('UPDATE card_setups SET check_at = now() WHERE company_id = $1', [company.id]);
  const { db, clock, orders, vault } = service;
  await continueSetups({ db, clock, name: company.shard, orders, vault, log: silentLog }, completeSetupSession, 10);
};

const attached = (at: Visit): Promise<number> =>
  countOf(service, 'events', `type = 'payment_method.attached' AND object->>'customer_id' = $1`, [at.customer_id]);
const openSetups = (at: Visit): Promise<number> =>
  countOf(service, 'card_setups', 'customer_id = $1', [at.customer_id]);
const lastOf = (cards: Reply['body'][]): string[] => cards.map(({ card: { last4 } }) => last4);
const bankUrl = ({ body }: Reply): string => body.card_at_bank.bank_url;

describe('a card that a customer saves', () => {
  it('is saved with a mandate after the bank has confirmed it, and pays for the subscriptions', async () => {
    const at = await visit();
    const asked = await at.save(bankCards.challenge);
    assert.equal(asked.status, 200, asked.text);
    assert.deepEqual([(await at.cards()).length, await attached(at)], [1, 1], 'not before');
    const reply = await at.back(await atBank(service, bankUrl(asked), 'confirm'));
    assert.deepEqual([reply.status, reply.body.card_at_bank], [200, null], reply.text);
    const [saved] = await at.cards();
    assert.deepEqual([saved?.card.last4, saved?.is_default, await attached(at)], ['3315', true, 2]);
    assert.ok(saved?.mandate?.created_at);
    const { payment_method } = await readSubscription(service, at.subscriptionId, at);
    assert.equal(payment_method.id, saved?.id);
  });

  it('is charged without the customer from then on', async () => {
    const at = await visit();
    await at.back(await atBank(service, bankUrl(await at.save(bankCards.challenge)), 'confirm'));
    await moveTo(service, at.key, later(at.start, 32 * 1_440 * minuteMs));
    assert.equal((await readSubscription(service, at.subscriptionId, at)).completed_cycles, 2);
  });

  it('is not saved if the bank refuses it', async () => {
    const at = await visit();
    const reply = await at.back(await atBank(service, bankUrl(await at.save(bankCards.challenge)), 'refuse'));
    assert.deepEqual([reply.status, reply.body.error.param], [400, 'card_token'], reply.text);
    assert.deepEqual([lastOf(await at.cards()).length, await attached(at), await openSetups(at)], [1, 1, 0]);
    const gone = await countOf(service, 'payment_methods', `customer_id = $1 AND deleted_at IS NOT NULL`, [
      at.customer_id,
    ]);
    assert.equal(gone, 1);
  });

  it('needs no answer of a bank that does not ask, and none of one that refuses at once', async () => {
    const at = await visit();
    const frictionless = await at.save(bankCards.frictionless);
    assert.deepEqual([frictionless.status, frictionless.body.card_at_bank], [200, null]);
    assert.ok((await at.cards())[0]?.mandate);
    assert.equal((await at.save(bankCards.unavailable)).status, 400);
    assert.deepEqual(lastOf(await at.cards())[0], '3307');
  });

  it('is saved by the worker if the browser is closed', async () => {
    const at = await visit();
    await atBank(service, bankUrl(await at.save(bankCards.challenge)), 'confirm');
    await runJob(at);
    assert.deepEqual([lastOf(await at.cards())[0], await openSetups(at)], ['3315', 0]);
  });

  it('is removed when the bank has not decided after 30 minutes', async () => {
    const at = await visit();
    const asked = await at.save(bankCards.abandoned);
    await runJob(at);
    assert.equal(await openSetups(at), 1);
    assert.equal((await at.onPage('account')).body.card_at_bank.bank_url, bankUrl(asked), 'a reload offers the bank');
    await moveTo(service, at.key, later(new Date().toISOString(), 31 * minuteMs));
    await runJob(at);
    assert.deepEqual([await openSetups(at), (await at.cards()).length], [0, 1]);
  });

  it('is saved once by two returns and a worker at the same moment', async () => {
    const at = await visit();
    const returned = await atBank(service, bankUrl(await at.save(bankCards.challenge)), 'confirm');
    await Promise.all([at.back(returned), at.back(returned), runJob(at)]);
    assert.deepEqual([(await at.cards()).length, await attached(at)], [2, 2]);
  });

  it('believes no parameter that the browser brings', async () => {
    const at = await visit();
    await at.save(bankCards.challenge);
    const { body } = await at.back({ returned: 'card', result: 'confirmed' });
    assert.deepEqual([body.card_at_bank !== null, (await at.cards()).length], [true, 1]);
  });

  it('ends at the bank when another card is typed', async () => {
    const at = await visit();
    const first = await at.save(bankCards.challenge);
    await at.save('5555555555554444');
    await atBank(service, bankUrl(first), 'confirm');
    await at.back({});
    assert.deepEqual(lastOf(await at.cards()).includes('3315'), false);
    assert.deepEqual([lastOf(await at.cards())[0], await openSetups(at)], ['4444', 0]);
  });

  it('has no mandate where no bank is asked', async () => {
    const at = await visit(false);
    const reply = await at.save(bankCards.challenge);
    assert.deepEqual([reply.status, reply.body.card_at_bank], [200, null]);
    const [saved] = await at.cards();
    assert.deepEqual([saved?.card.last4, saved?.is_default, saved?.mandate], ['3315', true, null]);
  });

  it('is removed if the customer is deleted meanwhile', async () => {
    const at = await visit();
    await atBank(service, bankUrl(await at.save(bankCards.challenge)), 'confirm');
    await service.call('DELETE', `/v1/subscriptions/${at.subscriptionId}`, { key: at.key });
    const deleted = await service.call('DELETE', `/v1/customers/${at.customer_id}`, { key: at.key });
    assert.equal(deleted.status, 200, deleted.text);
    await runJob(at);
    assert.equal(await openSetups(at), 0);
  });
});
