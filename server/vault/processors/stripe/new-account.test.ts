import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { chargeOf, refundOf } from '../../../../tests/support/processor-requests.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { CardNumber } from '../../card-number.ts';
import type { Operation } from '../acquirer/protocol.ts';
import type { ChargeRequest, LookupOutcome, Outcome, Processor } from '../processor.ts';
import { stripeKind } from './kind.ts';

/** What an account at Stripe does that has no settings, with the cards that Stripe publishes for it. */

const secretKey = 'sk_test_51NotARealKey00000000';
let stripe: Simulator;
let processor: Processor;

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 400 });
  const options = { timeoutMs: 5_000, extraOrigins: [stripe.url] };
  processor = stripeKind.open({ secret_key: secretKey, api_url: stripe.url }, options);
});
after(() => stripe.stop());
beforeEach(() => stripe.control({ next: [], faults: {}, lacks: [], wants_set_up: false, wants_authentication: false }));

async function prepared(number: string, changes: Partial<ChargeRequest> = {}): Promise<ChargeRequest> {
  const card = { number: new CardNumber(number), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
  const request = chargeOf(card, changes);
  const preparation = await processor.prepare?.(request);
  assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
  return { ...request, handle: preparation.handle };
}

async function executed({ reference }: ChargeRequest): Promise<string[]> {
  const operations: Operation[] = (await stripe.call('GET', '/journal')).operations;
  return operations.filter((one) => one.reference === reference).map(({ status }) => status);
}

type Declined = Extract<Outcome, { outcome: 'declined' }>;
function assertDeclined(found: Outcome | LookupOutcome): asserts found is Declined {
  assert.equal(found.outcome, 'declined', inspect(found));
}

const plain = '4242424242424242';
const untilSetUp = '4000002500003155';
const always = '4000002760003184';
const isSetUp = '4000003800000446';
const renewal = { initiator: 'merchant', sequence: 'subsequent', networkTransactionId: null } as const;

describe('a bank that wants the customer to confirm the payment', () => {
  for (const number of [untilSetUp, always, isSetUp]) {
    it(`declines the card …${number.slice(-4)}, by the answer and by the lookup`, async () => {
      const request = await prepared(number);
      for (const found of [await processor.charge(request), await processor.lookup({ ...request, kind: 'charge' })]) {
        assertDeclined(found);
        assert.deepEqual(
          [found.failureCode, found.response.response_code, found.isProcessorFault],
          ['transaction_not_allowed', 'authentication_not_handled', undefined],
        );
        assert.match(found.failureReason, /wants the customer to confirm/);
      }
      assert.deepEqual(await executed(request), [], 'the bank was not asked to pay');
    });
  }

  it('declines every card in Europe, and every renewal of a card that is not saved', async () => {
    await stripe.control({ wants_authentication: true });
    const bought = await processor.charge(await prepared(plain));
    assertDeclined(bought);
    assert.equal(bought.failureCode, 'transaction_not_allowed');
    const request = await prepared(plain, { credential: renewal });
    const renewed = await processor.charge(request);
    assertDeclined(renewed);
    assert.deepEqual(
      [renewed.failureCode, renewed.response.response_code],
      ['transaction_not_allowed', 'authentication_required'],
    );
    assert.match(renewed.failureReason, /wants the customer to confirm/);
    assert.deepEqual(await executed(request), ['declined'], 'the bank has declined it');
  });

  it('leaves no payment open that the customer could still confirm', async () => {
    const request = await prepared(plain);
    await stripe.control({ next: ['requires_action'] });
    const found = await processor.charge(request);
    assertDeclined(found);
    assert.equal(found.failureCode, 'transaction_not_allowed');
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
    assert.equal((await processor.charge(request)).outcome, 'not_sent');
    assert.deepEqual(await executed(request), []);
  });

  it('leaves the payment in doubt while it cannot be cancelled', async () => {
    const request = await prepared(plain);
    await stripe.control({ next: ['requires_action', 'cancel_error'] });
    assert.equal((await processor.charge(request)).outcome, 'unknown');
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
  });
});

describe('a decline', () => {
  const rows: [fault: string, failureCode: string][] = [
    ['decline:generic_decline', 'do_not_honor'],
    ['decline:generic_decline:do_not_try_again', 'contact_bank'],
    ['decline:generic_decline:confirm_card_data', 'invalid_account'],
    ['decline:call_issuer:try_again_later', 'issuer_unavailable'],
    ['decline:stolen_card', 'lost_stolen_card'],
    ['decline:expired_card', 'expired_card'],
  ];
  for (const [fault, failureCode] of rows) {
    it(`${fault}: ${failureCode}, by the answer and by the lookup`, async () => {
      const request = await prepared(plain);
      await stripe.control({ next: [fault] });
      for (const found of [await processor.charge(request), await processor.lookup({ ...request, kind: 'charge' })]) {
        assertDeclined(found);
        assert.deepEqual([found.failureCode, found.isProcessorFault], [failureCode, undefined]);
      }
    });
  }

  it('by Radar has its own reason, and no bank has seen it', async () => {
    const requests = [await prepared('4100000000000019'), await prepared(plain)];
    await stripe.control({ next: ['block'] });
    for (const request of [...requests].toReversed()) {
      for (const found of [await processor.charge(request), await processor.lookup({ ...request, kind: 'charge' })]) {
        assertDeclined(found);
        assert.equal(found.failureCode, 'fraud_suspected');
        assert.equal(found.response.response_code, 'highest_risk_level');
        assert.match(found.failureReason, /^Radar, the fraud protection of Stripe, blocked the payment/);
        assert.equal(found.isUnseenByBank, true);
      }
    }
  });
});

describe('an error without a code', () => {
  for (const fault of ['refuse:live_charges', 'refuse:export', 'refuse:card', 'refuse:api']) {
    it(`${fault}: is a fault of the configuration, with what Stripe says`, async () => {
      const request = await prepared(plain);
      await stripe.control({ next: [fault] });
      const found = await processor.charge(request);
      assertDeclined(found);
      assert.deepEqual([found.failureCode, found.isProcessorFault], ['invalid_merchant_configuration', true]);
      assert.ok(found.response.response_text && /account|export/.test(found.response.response_text), inspect(found));
      assert.deepEqual(await executed(request), []);
    });
  }
});

describe('a refund', () => {
  const refundRows: [name: string, number: string, fault: string | undefined, first: string, last: string][] = [
    ['waits while the balance is short', plain, 'short_balance', 'pending', 'succeeded'],
    ['fails if the balance stays short', plain, 'short_balance_fails', 'pending', 'insufficient_funds'],
    ['of the test card for later refunds succeeds later', '4000000000007726', undefined, 'pending', 'succeeded'],
    [
      'of the test card for failing refunds fails after it succeeded',
      '4000000000005126',
      undefined,
      'succeeded',
      'expired_or_canceled_card',
    ],
  ];
  for (const [name, number, fault, first, last] of refundRows) {
    it(name, async () => {
      const request = await prepared(number);
      assert.equal((await processor.charge(request)).outcome, 'approved');
      await stripe.control({ next: fault ? [fault] : [] });
      const refund = refundOf(request);
      const found = await processor.refund(refund);
      assert.ok(found.outcome === 'approved', inspect(found));
      assert.deepEqual([found.response.response_code, found.settled], [first, first === 'succeeded']);
      const later = async (): Promise<string | null> => {
        const looked = await processor.lookup({ ...refund, kind: 'refund' });
        return 'response' in looked ? looked.response.response_code : null;
      };
      await waitUntil(async () => (await later()) === last);
    });
  }
});

describe('the search', () => {
  it('of a payment that was just made finds nothing, which decides nothing', async () => {
    const request = await prepared(plain);
    assert.equal((await processor.charge(request)).outcome, 'approved');
    const { companyId, reference, handle } = request;
    assert.deepEqual(await processor.lookup({ companyId, reference, kind: 'charge' }), { outcome: 'not_found' });
    const refund = { ...refundOf(request), chargeTransactionId: undefined };
    const { chargeTransactionId: _, ...unnamed } = refund;
    assert.equal((await processor.refund(unnamed)).outcome, 'not_sent');
    assert.deepEqual(await processor.lookup({ ...unnamed, kind: 'refund' }), { outcome: 'not_found' });
    assert.equal(
      (await processor.lookup({ companyId, reference, kind: 'charge', handle: handle ?? '' })).outcome,
      'approved',
    );
  });
});

describe('a restricted key', () => {
  const restricted = 'rk_live_51NotARealKey00000000';
  let other: Simulator;
  let limited: Processor;
  before(async () => {
    other = await startSimulator('stripe', restricted, { 'request-life-ms': 400 });
    const options = { timeoutMs: 5_000, extraOrigins: [other.url] };
    limited = stripeKind.open({ secret_key: restricted, api_url: other.url }, options);
  });
  after(() => other.stop());
  beforeEach(() => other.control({ next: [], lacks: [] }));

  it('works with the permissions that the guide lists, and its test changes nothing', async () => {
    const found = await limited.test?.();
    assert.ok(found?.outcome === 'works', inspect(found));
    assert.deepEqual(await other.call('GET', '/customers'), { customers: [] });
    assert.ok(!/"table":"(?!keys)/.test(await other.traces()), await other.traces());
  });

  const needed = [
    ...['accounts_kyc_basic_read', 'balance_read', 'balance_transaction_source_read', 'charge_read', 'charge_write'],
    ...['customer_write', 'dispute_write', 'file_write', 'payment_intent_write', 'payment_method_write'],
    'setup_intent_write',
  ].map((name) => `rak_${name}`);
  for (const permission of needed) {
    it(`names ${permission} in the test of the connection`, async () => {
      await other.control({ lacks: [permission] });
      const found = await limited.test?.();
      assert.ok(found?.outcome === 'fails' && found.problem.includes(permission), inspect(found));
    });
  }

  it('without a permission refuses the charge, is named, and charges once it has it', async () => {
    await other.control({ lacks: ['rak_payment_intent_write'] });
    const card = { number: new CardNumber(plain), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
    const request = chargeOf(card);
    const refused = await limited.prepare?.(request);
    assert.ok(refused?.outcome === 'declined' && refused.refusesCredentials === true, inspect(refused));
    assert.match(refused.response.response_text ?? '', /lacks the permission rak_payment_intent_write/);
    await other.control({ lacks: [] });
    assert.equal((await limited.charge(request)).outcome, 'approved');
  });
});
