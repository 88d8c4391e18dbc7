import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { continueSetups } from '../server/features/card-setups/jobs.ts';
import { completeSetupSession } from '../server/features/checkout-sessions/setup.ts';
import { cardFailpoints, type Failpoint } from '../server/platform/failpoints.ts';
import { bankCards, browser } from './support/bank.ts';
import { openScene, type Scene } from './support/billing.ts';
import { atBank } from './support/confirmations.ts';
import { dieOf, endDoomed, launch, publicUrl } from './support/doomed.ts';
import { countOf } from './support/orders.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';
import { silentLog } from './support/silent-log.ts';

/**
 * A process dies at every named moment while a customer saves a card. A second one is on the same database. Afterwards the card is
 * saved once if the bank has confirmed it and this is known, and otherwise not at all; the customer can always type it again.
 */

let survivor: TestService;
before(async () => {
  const limits = Object.fromEntries(
    ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']),
  );
  survivor = await startTestService({ settings: limits, baseUrl: publicUrl });
});
after(async () => {
  endDoomed();
  await survivor.stop();
});

interface Visit extends Scene {
  readonly id: string;
  /** The address of a request of the page. */
  path(part: string): string;
  onPage(part: string, body?: object): Promise<Reply>;
  typed(number: string): Promise<object>;
}

async function visit(): Promise<Visit> {
  const scene = await openScene(survivor);
  const { key, customer_id, company } = scene;
  await survivor.db.query('UPDATE companies SET authenticates = true WHERE id = $1', [company.id]);
  survivor.forgetAccess(company.id);
  const made = await survivor.call('POST', '/v1/checkout_sessions', { key, body: { mode: 'setup', customer_id } });
  const token = made.body.url.split('/').at(-1);
  const path = (part: string): string => `/checkout/${token}/${part}`;
  const onPage = (part: string, sent?: object): Promise<Reply> => {
    const headers = { origin: survivor.baseUrl, 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
    const body = sent && { body: sent };
    return survivor.call(sent ? 'POST' : 'GET', path(part), { key: null, headers, ...body });
  };
  return {
    ...scene,
    id: made.body.id,
    path,
    onPage,
    async typed(number) {
      const { body } = await onPage('card_tokens', { card: { number, exp_month: '12', exp_year: '2036', cvc: '999' } });
      return { card_token: body.id, browser };
    },
  };
}

const die = async (failpoint: Failpoint, at: Visit, part: string, body: object): Promise<void> =>
  dieOf(survivor, failpoint, at.path(part), body);

const makeDue = (): Promise<unknown> => survivor.db.query('UPDATE card_setups SET check_at = now()');

/** A worker that dies of the first card about which it asks. */
async function dieAsWorker(failpoint: Failpoint): Promise<void> {
  await makeDue();
  const { child, exited } = await launch(survivor, failpoint, 'worker,api,vault');
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
}

async function recover({ company }: Scene): Promise<void> {
  await makeDue();
  const { db, clock, orders, vault } = survivor;
  const shard = { db, clock, name: company.shard, orders, vault, log: silentLog };
  await continueSetups(shard, completeSetupSession, 100);
}

async function asked(): Promise<{ at: Visit; url: string }> {
  const at = await visit();
  const { body } = await at.onPage('setup/save', await at.typed(bankCards.challenge));
  assert.equal(body.status, 'at_bank');
  return { at, url: body.bank_url };
}

/** What has to be true of every session: the cards that were saved, each with its event, and nothing else that is open. */
async function check(at: Visit, ...last4: string[]): Promise<void> {
  const { customer_id, key } = at;
  const { body } = await survivor.call('GET', `/v1/customers/${customer_id}/payment_methods`, { key });
  const saved = body.data.filter(({ mandate }: { mandate: object | null }) => mandate !== null);
  assert.deepEqual(
    saved.map(({ card }: { card: { last4: string } }) => card.last4),
    last4,
  );
  const events = await countOf(survivor, 'events', `type = 'payment_method.attached' AND object->>'customer_id' = $1`, [
    customer_id,
  ]);
  assert.equal(events, body.data.length);
  assert.equal(await countOf(survivor, 'card_setups', 'customer_id = $1', [customer_id]), 0);
  const left = 'customer_id = $1 AND NOT listed AND deleted_at IS NULL';
  assert.equal(await countOf(survivor, 'payment_methods', left, [customer_id]), 0);
  const session = await survivor.call('GET', `/v1/checkout_sessions/${at.id}`, { key });
  assert.equal(session.body.status, last4.length > 0 ? 'completed' : 'open');
}

describe('a process dies while a customer saves a card', () => {
  for (const failpoint of ['card.after_wish', 'card.after_processor'] as const) {
    for (const kind of ['challenge', 'frictionless'] as const) {
      it(`at ${failpoint} (${kind}): the card is not saved, and can be typed again at once`, async () => {
        const at = await visit();
        await die(failpoint, at, 'setup/save', await at.typed(bankCards[kind]));
        assert.equal((await at.onPage('setup')).body.status, 'open');
        const again = await at.onPage('setup/save', await at.typed(bankCards.frictionless));
        assert.equal(again.body.status, 'completed', again.text);
        await recover(at);
        await check(at, '3307');
      });
    }

    it(`at ${failpoint}, and the customer does not come back: the worker removes it`, async () => {
      const at = await visit();
      await die(failpoint, at, 'setup/save', await at.typed(bankCards.challenge));
      await recover(at);
      await check(at);
    });
  }

  it('at card.after_step: the page leads to the bank', async () => {
    const at = await visit();
    await die('card.after_step', at, 'setup/save', await at.typed(bankCards.challenge));
    const { body } = await at.onPage('setup');
    assert.equal(body.status, 'at_bank');
    const returned = await atBank(survivor, body.bank_url, 'confirm');
    assert.equal((await at.onPage('setup/resume', { returned })).body.status, 'completed');
    await check(at, '3315');
  });

  for (const failpoint of ['card.before_resume', 'card.after_resume', 'card.after_record'] as const) {
    it(`at ${failpoint}, when the customer comes back`, async () => {
      const { at, url } = await asked();
      const returned = await atBank(survivor, url, 'confirm');
      await die(failpoint, at, 'setup/resume', { returned });
      assert.equal((await at.onPage('setup/resume', { returned })).body.status, 'completed');
      await recover(at);
      await check(at, '3315');
    });

    it(`at ${failpoint}, when the worker asks after a closed browser`, async () => {
      const { at, url } = await asked();
      await atBank(survivor, url, 'confirm');
      await dieAsWorker(failpoint);
      await recover(at);
      await check(at, '3315');
    });
  }

  it('at card.after_resume, when the customer types another card: the first one ends, the other is saved', async () => {
    const { at, url } = await asked();
    await die('card.after_resume', at, 'setup/save', await at.typed(bankCards.frictionless));
    await atBank(survivor, url, 'confirm');
    await recover(at);
    const { body } = await at.onPage('setup/save', await at.typed(bankCards.frictionless));
    assert.equal(body.status, 'completed');
    await check(at, '3307');
  });

  it('every failpoint has a case', () => {
    const first = ['card.after_wish', 'card.after_processor', 'card.after_step'];
    assert.deepEqual([...cardFailpoints], [...first, 'card.before_resume', 'card.after_resume', 'card.after_record']);
  });
});
