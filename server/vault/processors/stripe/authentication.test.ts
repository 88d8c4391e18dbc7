import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answerBank } from '../../../../tests/support/bank-page.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { chargeOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { CardNumber } from '../../card-number.ts';
import type { Operation } from '../acquirer/protocol.ts';
import { authenticationConformance } from '../conformance-authentication.ts';
import { asTheVault, assertAsked, external, presence, savedCardOf } from '../conformance-customers.ts';
import type { ChargeRequest, Processor } from '../processor.ts';
import { readers } from './events.ts';
import { stripeKind } from './kind.ts';

const secretKey = 'sk_test_51NotARealKey00000000';
const cardOf = (number: string) => ({
  number: new CardNumber(number),
  cardId: randomUUID(),
  expMonth: 12,
  expYear: 2032,
});
const card = cardOf('4242424242424242');
let stripe: Simulator;
let processor: Processor;

function connect(timeoutMs = 5_000): Processor {
  const options = { timeoutMs, extraOrigins: [stripe.url] };
  return stripeKind.open({ secret_key: secretKey, api_url: stripe.url }, options);
}

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 400 });
  processor = connect();
});
after(() => stripe.stop());
beforeEach(() => stripe.control({ faults: {}, next: [], lacks: [], wants_authentication: false, frictionless: false }));
afterEach(async () => assert.ok(!(await stripe.traces()).includes(external.cavv), 'the proof of the bank is kept'));

const executions = async (reference: string): Promise<number> => {
  const operations: Operation[] = (await stripe.call('GET', '/journal')).operations;
  return operations.filter((one) => one.reference === reference && one.status === 'approved').length;
};

authenticationConformance('Stripe', async () => ({
  processor,
  card,
  executions,
  declineNext: () => stripe.control({ next: ['decline:insufficient_funds'] }),
  banks: (what) => stripe.control({ wants_authentication: what !== 'nothing', frictionless: what === 'recognize' }),
}));

async function asked(changes: Partial<ChargeRequest> = {}) {
  await stripe.control({ wants_authentication: true });
  const vault = asTheVault(processor);
  const request = chargeOf(card, { presence, ...changes });
  const url = assertAsked(await vault.charge(request));
  return { vault, request, url };
}

describe('the cards that Stripe publishes for authentication', () => {
  const rows: [number: string, choice: 'pass' | 'fail', outcome: string, code: string | undefined][] = [
    ['4000002500003155', 'pass', 'approved', undefined],
    ['4000002760003184', 'pass', 'approved', undefined],
    ['4000003800000446', 'pass', 'approved', undefined],
    ['4000000000003220', 'fail', 'declined', 'transaction_not_allowed'],
    ['4000008260003178', 'pass', 'declined', 'insufficient_funds'],
    ['4000008400001629', 'pass', 'declined', 'do_not_honor'],
  ];
  for (const [number, choice, outcome, code] of rows) {
    it(`…${number.slice(-4)}: ${choice}, then ${outcome} ${code ?? ''}`, async () => {
      const vault = asTheVault(processor);
      const request = chargeOf(cardOf(number), { presence });
      const url = assertAsked(await vault.charge(request));
      const found = await vault.resume(request, { returned: await answerBank(url, choice) });
      assert.equal(found.outcome, outcome, inspect(found));
      assert.equal('failureCode' in found ? found.failureCode : undefined, code);
    });
  }
});

describe('a payment whose customer is at the bank', () => {
  it('is not asked for twice by another process, which leads to the same page', async () => {
    const { request, url } = await asked();
    const prepared = await processor.prepare?.(request);
    assert.ok(prepared?.outcome === 'prepared');
    for (const by of [connect(), connect()]) {
      assert.equal(assertAsked(await by.charge({ ...request, handle: prepared.handle })), url);
    }
  });

  for (const fault of ['timeout', 'error', 'reset']) {
    it(`${fault}_after: its confirmation is lost, and it is found waiting`, async () => {
      await stripe.control({ wants_authentication: true, next: [`${fault}_after`] });
      const by = fault === 'timeout' ? connect(300) : processor;
      const request = chargeOf(card, { presence });
      const prepared = await processor.prepare?.(request);
      assert.ok(prepared?.outcome === 'prepared');
      const known = { ...request, handle: prepared.handle };
      assert.equal((await by.charge(known)).outcome, 'unknown');
      await waitUntil(
        async () => (await processor.resume?.({ ...known, kind: 'charge' }))?.outcome === 'needs_customer',
      );
      assertAsked(await processor.charge(known));
      assert.deepEqual(await processor.lookup(known), { outcome: 'not_found', isFinal: true });
    });
  }

  for (const fault of ['lookup_error', 'cancel_error']) {
    it(`${fault}: it is not given up before Stripe has confirmed it`, async () => {
      const { vault, request, url } = await asked();
      await stripe.control({ next: [fault, fault] });
      const first = await vault.end(request);
      assert.equal(first.outcome, 'unknown', inspect(first));
      await stripe.control({ next: [] });
      assert.deepEqual(await vault.end(request), { outcome: 'not_found', isFinal: true });
      await answerBank(url, 'pass');
      assert.equal(await executions(request.reference), 0);
    });
  }

  it('is approved if the customer confirmed before it was given up', async () => {
    const { vault, request, url } = await asked();
    await answerBank(url, 'pass_and_close');
    assert.equal((await vault.end(request)).outcome, 'approved');
    assert.equal(await executions(request.reference), 1);
  });

  it('survives a kill of Stripe before and after the answer of the customer', async () => {
    const { vault, request, url } = await asked();
    await stripe.restart();
    const returned = await answerBank(url, 'pass');
    await stripe.restart();
    assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
    assert.equal(await executions(request.reference), 1);
  });

  it('that no browser can be led to is cancelled and declined', async () => {
    await stripe.control({ next: ['requires_action'] });
    const { presence: _, ...request } = chargeOf(card, { presence });
    const found = await asTheVault(processor).charge(request);
    assert.ok(found.outcome === 'declined' && found.needsAuthentication, inspect(found));
    assert.equal(await executions(request.reference), 0);
  });

  it('is reported by an event when the customer has refused, and by none that ends it when it was cancelled', async () => {
    const events = async (type: string, reference: string) =>
      (
        (await stripe.call('GET', '/events')).events as {
          type: string;
          data: { object: { metadata?: Record<string, string> } };
        }[]
      )
        .filter((event) => event.type === type && event.data.object.metadata?.svc_reference === reference)
        .map((event) => readers.get(type)?.(event.data.object));
    const refused = await asked();
    await answerBank(refused.url, 'fail_and_close');
    const [about] = await events('payment_intent.payment_failed', refused.request.reference);
    assert.ok(about?.kind === 'operation' && about.found.outcome === 'declined', inspect(about));
    assert.equal(about.found.authentication?.status, 'failed');
    const held = await asked({ authorizesOnly: true });
    await held.vault.end(held.request);
    assert.deepEqual(await events('payment_intent.canceled', held.request.reference), [{ kind: 'other' }]);
  });

  it('saves the card when the customer confirms it, for charges without the customer', async () => {
    const credential = { initiator: 'customer', sequence: 'first', networkTransactionId: null } as const;
    const savedCard = savedCardOf();
    const { vault, request, url } = await asked({ credential, savedCard });
    const returned = await answerBank(url, 'pass');
    assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
    const renewal = { initiator: 'merchant', sequence: 'subsequent', networkTransactionId: null } as const;
    const renewed = await asTheVault(processor).charge(chargeOf(card, { credential: renewal, savedCard }));
    assert.equal(renewed.outcome, 'approved', inspect(renewed));
  });

  it('of a server of the merchant shows its result, and is refused with other values', async () => {
    await stripe.control({ wants_authentication: true });
    const found = await asTheVault(processor).charge(chargeOf(card, { authentication: external }));
    assert.ok(found.outcome === 'approved', inspect(found));
    assert.deepEqual(found.authentication, {
      ...{ flow: null, status: 'authenticated', liabilityShifted: true, version: '2.2.0', eci: '05' },
    });
    const wrong = { ...external, cavv: 'bm90IDIwIGJ5dGVz' };
    const refused = await asTheVault(processor).charge(chargeOf(card, { authentication: wrong }));
    assert.equal(refused.outcome, 'declined', inspect(refused));
  });
});

describe('a card that is being saved at Stripe', () => {
  const newSetUp = () => ({ ...chargeOf(card, { presence }), presence, savedCard: savedCardOf() });

  it('is saved once, with lost answers', async () => {
    await stripe.control({ wants_authentication: true, next: ['save_reset_after'] });
    const request = newSetUp();
    const first = await processor.setUp?.(request);
    const again = first?.outcome === 'needs_customer' ? first : await processor.setUp?.(request);
    assert.ok(again?.outcome === 'needs_customer' && again.action, inspect(again));
    await answerBank(again.action.url, 'pass');
    await stripe.control({ next: ['lookup_error'] });
    const { companyId, reference, savedCard } = request;
    const about = { companyId, reference, savedCard, handle: again.handle };
    assert.equal((await processor.resumeSetUp?.(about))?.outcome, 'unknown');
    assert.equal((await processor.resumeSetUp?.(about))?.outcome, 'set_up');
    const saved = (await stripe.call('GET', '/customers')).customers as {
      id: string;
      metadata: Record<string, string>;
      methods: string[];
    }[];
    const own = saved.filter(({ metadata }) => metadata.svc_card === savedCard.name);
    assert.deepEqual([own.length, own[0]?.methods.length], [1, 1]);
    assert.equal(savedCard.kept.at(-1), `${own[0]?.id} ${own[0]?.methods[0]}`);
  });

  it('is not saved without a customer at Stripe', async () => {
    await stripe.control({ next: ['save_error'] });
    assert.equal((await processor.setUp?.(newSetUp()))?.outcome, 'not_sent');
  });

  it('is declined by the bank', async () => {
    await stripe.control({ next: ['decline:incorrect_cvc'] });
    const found = await processor.setUp?.(newSetUp());
    assert.ok(found?.outcome === 'declined' && found.failureCode === 'incorrect_cvv', inspect(found));
  });

  it('that was confirmed before it was given up is saved', async () => {
    await stripe.control({ wants_authentication: true });
    const request = newSetUp();
    const found = await processor.setUp?.(request);
    assert.ok(found?.outcome === 'needs_customer' && found.action, inspect(found));
    await answerBank(found.action.url, 'pass_and_close');
    const { companyId, reference, savedCard } = request;
    const ended = await processor.endSetUp?.({ companyId, reference, savedCard, handle: found.handle });
    assert.equal(ended?.outcome, 'set_up', inspect(ended));
  });
});
