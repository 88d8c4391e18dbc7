import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { brokenAnswers } from '../../../../tests/support/broken-answers.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { unusedUrl } from '../../../../tests/support/listen.ts';
import { chargeOf, inAMinute, refundOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import type { Operation } from '../acquirer/protocol.ts';
import { processorConformance } from '../conformance.ts';
import { dated } from '../conformance-assertions.ts';
import { checkConfiguration } from '../kind.ts';
import type { ChargeRequest, ListedOperation, Outcome, Processor, ProcessorCard } from '../processor.ts';
import { stripeKind } from './kind.ts';

const cardNumber = '4000056655665556';
const cvc = '737';
const card: ProcessorCard = { number: new CardNumber(cardNumber), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
const companyId = randomUUID();
const secretKey = 'sk_test_51NotARealKey00000000';
const hastyMs = 300;

let stripe: Simulator;
let processor: Processor;
/** Gives up soon, so for silent answers only: a busy machine may be slower than this. */
let hasty: Processor;

function connect(url: string, key: string, timeoutMs = 5_000): Processor {
  const configuration = checkConfiguration(stripeKind, { secret_key: key, api_url: url });
  return stripeKind.open(configuration, { timeoutMs, extraOrigins: [new URL(url).origin] });
}

const newCharge = (overrides: Partial<ChargeRequest> = {}): ChargeRequest =>
  chargeOf(card, { companyId, ...overrides });

/** Charges as the vault does, which stores the handle first. */
async function prepared(overrides: Partial<ChargeRequest> = {}): Promise<ChargeRequest & { handle: string }> {
  const request = newCharge(overrides);
  const preparation = await processor.prepare?.(request);
  assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
  return { ...request, handle: preparation.handle };
}

async function charged(overrides: Partial<ChargeRequest> = {}): Promise<ChargeRequest & { handle: string }> {
  const request = await prepared(overrides);
  assertOutcome(await processor.charge(request), 'approved');
  return request;
}

function assertOutcome<Found extends { outcome: string }, Name extends Found['outcome']>(
  found: Found,
  outcome: Name,
): asserts found is Extract<Found, { outcome: Name }> {
  assert.equal(found.outcome, outcome, inspect(found));
}

const journal = async (): Promise<Operation[]> => (await stripe.call('GET', '/journal')).operations;
const taken = async (reference: string): Promise<Operation[]> =>
  (await journal()).filter((operation) => operation.reference === reference);

before(async () => {
  stripe = await startSimulator('stripe', secretKey, { 'request-life-ms': 400 });
  processor = connect(stripe.url, secretKey);
  hasty = connect(stripe.url, secretKey, hastyMs);
});
after(() => stripe.stop());
beforeEach(() =>
  stripe.control({ faults: {}, next: [], settle_after_ms: null, seed: 1, search_lag_ms: 0, revoked: false }),
);
afterEach(async () => {
  const traces = await stripe.traces();
  for (const secret of [cardNumber, `"${cvc}"`, secretKey]) assert.ok(!traces.includes(secret), 'in the journal');
});

processorConformance(
  'Stripe',
  async () => ({
    processor,
    approvedCard: async () => card,
    declinedCard: async () => {
      await stripe.control({ next: ['decline:insufficient_funds'] });
      return { card, failureCode: 'insufficient_funds' };
    },
    settleAtOnce: () => stripe.control({ settle_after_ms: 0 }),
    holdFor: (ms) => stripe.control({ hold_for_ms: ms }),
    executions: async (reference) => (await taken(reference)).length,
    faults: { next: (fault) => stripe.control({ next: [fault] }), hasty },
  }),
  {
    keepsBooks: true,
    authorizes: 'strictly',
    broken: brokenAnswers,
    isExact: false,
    voidsUntilSettled: false,
    unreachable: async () => connect(await unusedUrl(), secretKey),
  },
);

describe('a charge at Stripe', () => {
  it('reports AVS, authorization code and network id', async () => {
    const billing = {
      name: 'Ada Byron',
      email: 'ada@example.com',
      phone: null,
      line1: '12 St James Square',
      line2: null,
      city: 'London',
      state: null,
      postalCode: 'SW1Y 4JH',
      country: 'GB',
    };
    for (const sequence of ['first', 'unscheduled'] as const) {
      const credential = { initiator: 'customer', sequence, networkTransactionId: null } as const;
      const request = await prepared({ billing, credential });
      const outcome = await processor.charge(request);
      assertOutcome(outcome, 'approved');
      const { response, networkTransactionId, settled } = outcome;
      assert.match(response.authorization_code ?? '', /^\d{6}$/);
      assert.deepEqual([response.avs_result, response.cvv_result, settled], ['Y', null, false]);
      assert.equal(response.transaction_id, request.handle);
      assert.ok(networkTransactionId);
    }
  });

  it('says when the money has become available', async () => {
    await stripe.control({ settle_after_ms: 0 });
    const request = await charged();
    const found = await processor.lookup({ ...request, kind: 'charge' });
    assertOutcome(found, 'approved');
    assert.equal(found.settled, true);
  });

  it('that needs authentication is declined, and the same by lookup', async () => {
    await stripe.control({ next: ['decline:authentication_required'] });
    const request = await prepared();
    for (const outcome of [await processor.charge(request), await processor.lookup(request)]) {
      assertOutcome(outcome, 'declined');
      assert.deepEqual(
        [outcome.failureCode, outcome.response.response_code],
        ['transaction_not_allowed', 'authentication_required'],
      );
    }
  });

  it('is sent nowhere after its time', async () => {
    const request = await prepared({ validUntilMs: Date.now() - 1 });
    assertOutcome(await processor.charge(request), 'expired');
    const away = connect(await unusedUrl(), secretKey);
    assertOutcome(await away.charge({ ...newCharge(), validUntilMs: Date.now() - 1 }), 'expired');
    const refund = { ...refundOf(await charged()), validUntilMs: Date.now() - 1 };
    assertOutcome(await processor.refund(refund), 'expired');
    assertOutcome(await processor.void(refund), 'expired');
    assert.deepEqual([...(await taken(request.reference)), ...(await taken(refund.reference))], []);
  });

  it('in a currency with other units at Stripe has the right amount', async () => {
    const sent: [currency: string, amount: number, atStripe: number][] = [
      ['isk', 500, 50_000],
      ['jpy', 500, 500],
      ['mga', 50_000, 500],
      ['kwd', 5_120, 5_120],
    ];
    for (const [currency, amount, atStripe] of sent) {
      const request = await charged({ currency, amount });
      const [operation] = await taken(request.reference);
      assert.deepEqual([operation?.amount, operation?.currency], [atStripe, currency]);
      assertOutcome(await processor.refund({ ...refundOf(request), amount, currency }), 'approved');
    }
    for (const [currency, amount] of [
      ['ugx', 500],
      ['mga', 50_050],
      ['kwd', 5_124],
    ] as const) {
      const refused = await processor.charge(newCharge({ currency, amount }));
      assertOutcome(refused, 'not_sent');
      assert.equal(refused.failureCode, 'validation_error', 'another processor may take it');
    }
  });

  it('uses a corrected address and expiry under the same reference', async () => {
    const request = await prepared();
    const changed = { ...request, card: { ...card, expYear: 2040 } };
    const again = await processor.prepare?.(changed);
    assert.deepEqual(again, { outcome: 'prepared', handle: request.handle });
    assertOutcome(await processor.charge(changed), 'approved');
    assert.equal((await taken(request.reference)).length, 1);
    assertOutcome(await processor.charge(request), 'approved');
    assert.equal((await taken(request.reference)).length, 1);
  });

  it('is executed once by three instances at once', async () => {
    const request = newCharge();
    const instances = [1, 2, 3].map(() => connect(stripe.url, secretKey));
    const outcomes = await Promise.all(
      instances.map(async (each) => {
        const preparation = await each.prepare?.(request);
        assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
        return each.charge({ ...request, handle: preparation.handle });
      }),
    );
    for (const outcome of outcomes) assertOutcome(outcome, 'approved');
    assert.equal((await taken(request.reference)).length, 1);
  });

  it('of a restored service is not repeated, also after its keys have expired', async () => {
    const request = await charged();
    const restored = connect(stripe.url, secretKey);
    const withoutHandle = newCharge({ reference: request.reference });
    assertOutcome(await restored.charge(withoutHandle), 'approved');
    await stripe.control({ forget_keys: true });
    assertOutcome(await restored.lookup(withoutHandle), 'approved');
    const stored = connect(stripe.url, secretKey);
    assertOutcome(await stored.charge(request), 'approved');
    const declinedBefore = await prepared();
    await stripe.control({ next: ['decline:do_not_honor'] });
    assertOutcome(await processor.charge(declinedBefore), 'declined');
    await stripe.control({ forget_keys: true });
    assertOutcome(await stored.charge(declinedBefore), 'declined');
    for (const { reference } of [request, declinedBefore]) assert.equal((await taken(reference)).length, 1);
  });
});

describe('a lost answer of Stripe', () => {
  for (const fault of ['timeout', 'error', 'reset']) {
    it(`${fault}_before: the charge is in doubt, then certain never to happen`, async () => {
      const request = await prepared();
      await stripe.control({ next: [`${fault}_before`] });
      const sender = fault === 'timeout' ? hasty : processor;
      assertOutcome(await sender.charge(request), 'unknown');
      assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
      assertOutcome(await processor.charge(request), 'not_sent');
      assert.deepEqual(await taken(request.reference), []);
    });

    it(`${fault}_after: the charge is in doubt, then found`, async () => {
      const request = await prepared();
      await stripe.control({ next: [`${fault}_after`] });
      const sender = fault === 'timeout' ? hasty : processor;
      assertOutcome(await sender.charge(request), 'unknown');
      assertOutcome(await processor.lookup(request), 'approved');
      assertOutcome(await processor.charge(request), 'approved');
      assert.equal((await taken(request.reference)).length, 1);
    });

    it(`${fault}_after: the refund and the void are in doubt, then found in the list`, async () => {
      for (const kind of ['refund', 'void'] as const) {
        const request = refundOf(await charged());
        await stripe.control({ next: [`${fault}_after`] });
        const sender = fault === 'timeout' ? hasty : processor;
        assertOutcome(await sender[kind](request), 'unknown');
        await waitUntil(async () => (await taken(request.reference)).length === 1);
        assertOutcome(await processor.lookup({ ...request, kind }), 'approved');
      }
    });
  }

  it('late: a lookup cancels the charge, which then never happens', async () => {
    const request = await prepared();
    await stripe.control({ next: ['late'] });
    assertOutcome(await processor.charge(request), 'unknown');
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
    await new Promise((resolve) => setTimeout(resolve, 450));
    assert.deepEqual(await taken(request.reference), []);
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
  });

  it('late: a refund is not found as of a time before it was sent, then found', async () => {
    const request = refundOf(await charged());
    await stripe.control({ next: ['late'] });
    const sentAtMs = Date.now();
    assertOutcome(await processor.refund(request), 'unknown');
    const found = await processor.lookup({ ...request, kind: 'refund' });
    assertOutcome(found, 'not_found');
    assert.ok(!found.isFinal && (found.atMs ?? 0) < sentAtMs - 50_000, inspect(found));
    await waitUntil(async () => (await processor.lookup({ ...request, kind: 'refund' })).outcome === 'approved');
  });

  it('saved_error: the key repeats the error, and the lookup decides', async () => {
    const request = await prepared();
    await stripe.control({ next: ['saved_error'] });
    assertOutcome(await processor.charge(request), 'unknown');
    assertOutcome(await processor.charge(request), 'unknown');
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
  });

  it('key_in_use, rate_limit: the request is repeated', async () => {
    await stripe.control({ next: ['key_in_use', 'rate_limit'] });
    const request = await charged();
    assert.equal((await taken(request.reference)).length, 1);
    await stripe.control({ faults: { rate_limit: 1 } });
    const limited = newCharge();
    assertOutcome(await processor.charge(limited), 'unknown');
    assert.deepEqual(await taken(limited.reference), []);
  });

  it('processing: the charge is in doubt until it succeeds', async () => {
    const request = await prepared();
    await stripe.control({ next: ['processing'] });
    assertOutcome(await processor.charge(request), 'unknown');
    assertOutcome(await processor.lookup(request), 'unknown');
    await waitUntil(async () => (await processor.lookup(request)).outcome === 'approved');
  });

  it('prepare_*: nothing was sent that could move money', async () => {
    for (const fault of ['prepare_timeout', 'prepare_error', 'prepare_reset']) {
      await stripe.control({ next: [fault] });
      const request = newCharge();
      const preparation = await (fault === 'prepare_timeout' ? hasty : processor).prepare?.(request);
      assert.equal(preparation?.outcome, 'not_sent', fault);
    }
  });

  it('cancel_error, lookup_error: the doubt stays', async () => {
    const request = await prepared();
    await stripe.control({ next: ['cancel_error', 'lookup_error'] });
    assertOutcome(await processor.lookup(request), 'unknown');
    assertOutcome(await processor.lookup(request), 'unknown');
    assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
  });

  it('duplicate: the answers after it keep to their questions', async () => {
    await stripe.control({ next: ['duplicate', 'duplicate'] });
    for (let round = 0; round < 5; round += 1) {
      const request = newCharge();
      const outcome = await processor.charge(request);
      if (outcome.outcome === 'approved') {
        const [operation] = await taken(request.reference);
        assert.equal(outcome.response.transaction_id, operation?.transaction_id);
      } else assert.ok(['unknown', 'not_sent'].includes(outcome.outcome), inspect(outcome));
    }
  });

  it('a search that lags is never final', async () => {
    const request = await charged();
    await stripe.control({ search_lag_ms: 60_000 });
    const found = await processor.lookup({ companyId, reference: request.reference });
    assert.deepEqual(found, { outcome: 'not_found' });
  });

  it('a lookup of another content is a conflict', async () => {
    const request = await charged();
    for (const other of [{ amount: 1 }, { currency: 'eur' }, { last4: '0000' }]) {
      const sent = { amount: 4900, currency: 'usd', last4: card.number.last4, ...other };
      assertOutcome(await processor.lookup({ ...request, sent }), 'conflict');
    }
    const refund = refundOf(request, 100);
    assertOutcome(await processor.refund(refund), 'approved');
    const sent = { amount: 200, currency: 'usd', last4: null };
    assertOutcome(await processor.lookup({ ...refund, kind: 'refund', sent }), 'conflict');
  });

  it('of a killed Stripe is found after its restart', async () => {
    const request = await charged();
    const refund = refundOf(request, 100);
    const first = await processor.refund(refund);
    await stripe.restart();
    assertOutcome(await processor.lookup(request), 'approved');
    assert.deepEqual(dated(await processor.refund(refund)), dated(first));
    assert.equal((await taken(refund.reference)).length, 1);
  });
});

describe('a key that Stripe refuses in the middle of a charge', () => {
  function assertRefusal(found: Outcome): void {
    assertOutcome(found, 'declined');
    assert.deepEqual([found.refusesCredentials, found.failureCode], [true, 'invalid_merchant_configuration']);
  }

  for (const at of ['charge', 'lookup'] as const) {
    it(`at the ${at}: nothing is executed, and the same payment is charged once with the new key`, async () => {
      const request = await prepared();
      const other = connect(stripe.url, secretKey);
      await stripe.control({ next: [`revoke:${at}`] });
      assertRefusal(await (at === 'lookup' ? other : processor).charge(request));
      assertRefusal(await processor.charge(request));
      assertOutcome(await processor.lookup(request), 'unknown');
      assert.deepEqual(await taken(request.reference), []);
      await stripe.control({ revoked: false });
      const outcome = await connect(stripe.url, secretKey).charge(request);
      assertOutcome(outcome, 'approved');
      assert.equal(outcome.response.transaction_id, request.handle);
      assertOutcome(await processor.charge(request), 'approved');
      assert.equal((await taken(request.reference)).length, 1);
    });
  }

  it('leaves the payment to be charged once, also when Stripe has forgotten the idempotency keys', async () => {
    const request = await prepared();
    await stripe.control({ next: ['revoke:charge'] });
    assertRefusal(await processor.charge(request));
    await stripe.control({ revoked: false, forget_keys: true });
    assertOutcome(await processor.charge(request), 'approved');
    assert.equal((await taken(request.reference)).length, 1);
  });

  it('says nothing about another request that has the idempotency key', async () => {
    const request = await prepared();
    await stripe.control({ next: ['key_in_use', 'revoke:charge'] });
    assertOutcome(await processor.charge(request), 'unknown');
    await stripe.control({ revoked: false });
    const refund = refundOf(await charged());
    for (const kind of ['refund', 'void'] as const) {
      await stripe.control({ next: ['key_in_use', `revoke:${kind}`], revoked: false });
      assertOutcome(await processor[kind](refund), 'unknown');
    }
  });

  it('is not mistaken for a payment that this account does not have', async () => {
    const request = { ...(await prepared()), handle: 'pi_ofAnotherAccount' };
    assertOutcome(await processor.charge(request), 'unknown');
    assertOutcome(await processor.lookup(request), 'unknown');
  });

  it('at a refund or void executes nothing, and the same request is executed once with the new key', async () => {
    for (const kind of ['refund', 'void'] as const) {
      const request = refundOf(await charged());
      await stripe.control({ next: [`revoke:${kind}`] });
      assertRefusal(await processor[kind](request));
      await stripe.control({ revoked: false });
      assertOutcome(await processor[kind](request), 'approved');
      assert.equal((await taken(request.reference)).length, 1);
    }
  });
});

describe('a refund at Stripe', () => {
  it('that the bank rejects later is declined, and can be made again', async () => {
    const charge = await charged();
    await stripe.control({ next: ['reject_refund'], settle_after_ms: 200 });
    const request = refundOf(charge);
    const outcome = await processor.refund(request);
    assert.ok(outcome.outcome === 'approved' && outcome.settled === false, inspect(outcome));
    await waitUntil(async () => (await processor.lookup({ ...request, kind: 'refund' })).outcome === 'declined');
    const found = await processor.lookup({ ...request, kind: 'refund' });
    assert.ok(found.outcome === 'declined' && found.failureCode === 'closed_card', inspect(found));
    assertOutcome(await processor.refund(refundOf(charge)), 'approved');
  });

  it('fails for good if Stripe keeps a refusal or an error for its reference', async () => {
    const charge = await charged();
    const refused = refundOf(charge, 100);
    await stripe.control({ next: ['decline:insufficient_funds'] });
    assertOutcome(await processor.refund(refused), 'declined');
    assertOutcome(await processor.refund({ ...refused, amount: 50 }), 'declined');
    const failed = refundOf(charge, 100);
    await stripe.control({ next: ['saved_error'] });
    assertOutcome(await processor.refund(failed), 'unknown');
    assertOutcome(await processor.refund(failed), 'declined');
    assert.deepEqual([...(await taken(refused.reference)), ...(await taken(failed.reference))], []);
  });

  it('without the id of its charge finds it by the reference', async () => {
    const { handle: _, ...charge } = await charged();
    const request = refundOf(charge, 100);
    assertOutcome(await processor.refund(request), 'approved');
    assertOutcome(await processor.lookup({ ...request, kind: 'refund' }), 'approved');
    const { reference } = newCharge();
    assert.deepEqual(await processor.lookup({ ...request, reference, chargeReference: reference, kind: 'refund' }), {
      outcome: 'not_found',
    });
  });
});

describe('the list of operations at Stripe', () => {
  async function listed(fromMs: number, untilMs = Number.MAX_SAFE_INTEGER): Promise<ListedOperation[]> {
    const operations: ListedOperation[] = [];
    for (let after: string | undefined; ; ) {
      const listing = await processor.list?.({ companyId, fromMs, untilMs, ...(after && { after }) });
      assert.ok(listing && Math.abs(listing.nowMs - Date.now()) < 30_000);
      operations.push(...listing.operations);
      if (listing.next === null) return operations;
      after = listing.next;
    }
  }

  it('contains charges, refunds and voids of the period, and is whole however many there are', async () => {
    const fromMs = Date.now();
    const refunded = await charged();
    const voided = await charged();
    await stripe.control({ next: ['decline:do_not_honor'] });
    const refused = await prepared();
    await processor.charge(refused);
    const refund = refundOf(refunded, 100);
    const takeBack = refundOf(voided);
    assertOutcome(await processor.refund(refund), 'approved');
    assertOutcome(await processor.void(takeBack), 'approved');
    const operations = new Map((await listed(fromMs)).map((operation) => [operation.reference, operation]));
    const shown = (reference: string) => {
      const { kind, amount, last4, approved, voided: isVoided, chargeReference } = operations.get(reference) ?? {};
      return [kind, amount, last4, approved, isVoided, chargeReference];
    };
    const { last4 } = card.number;
    assert.deepEqual(shown(refunded.reference), ['charge', 4900, last4, true, false, null]);
    assert.deepEqual(shown(voided.reference), ['charge', 4900, last4, true, true, null]);
    assert.deepEqual(shown(refused.reference), ['charge', 4900, last4, false, false, null]);
    assert.deepEqual(shown(refund.reference), ['refund', 100, null, true, false, refunded.reference]);
    assert.deepEqual(shown(takeBack.reference), ['void', 4900, null, true, false, voided.reference]);
    assert.deepEqual(await listed(fromMs - 7_200_000, fromMs - 3_600_000), []);

    const many = await Promise.all(Array.from({ length: 110 }, () => charged()));
    const everything = await listed(fromMs - 40 * 86_400_000);
    const references = everything.map(({ reference }) => reference);
    assert.equal(new Set(references).size, references.length);
    for (const { reference } of many) assert.ok(references.includes(reference));
    const times = everything.map(({ executedAtMs }) => executedAtMs);
    assert.deepEqual(
      times,
      times.toSorted((one, next) => one - next),
    );
  });

  it('fails when Stripe does', async () => {
    await stripe.control({ next: ['lookup_error'] });
    await assert.rejects(() => listed(0), /answered 500/);
    const wrong = connect(stripe.url, 'sk_test_51AnotherKey0000');
    await assert.rejects(async () => wrong.list?.({ companyId, fromMs: 0, untilMs: 1_000 }), /answered 401/);
    const away = connect(await unusedUrl(), secretKey);
    await assert.rejects(async () => away.list?.({ companyId, fromMs: 0, untilMs: 1_000 }), /did not list/);
  });
});

describe('a card verification at Stripe', () => {
  const verify = (by: Processor = processor) =>
    by.verify?.({ companyId, reference: randomUUID(), validUntilMs: inAMinute(), card, cvc: new Secret(cvc) });

  it('reports the CVC check, and keeps no CVC', async () => {
    assert.deepEqual(await verify(), {
      outcome: 'verified',
      avsResult: null,
      cvvResult: 'M',
      networkTransactionId: null,
    });
    await stripe.control({ next: ['decline:incorrect_cvc'] });
    const wrong = await verify();
    assert.deepEqual([wrong?.outcome, wrong && 'cvvResult' in wrong && wrong.cvvResult], ['declined', 'N']);
  });

  it('decides nothing if the bank asks for authentication, or Stripe rejects the key', async () => {
    await stripe.control({ next: ['requires_action'] });
    assert.equal((await verify())?.outcome, 'unknown');
    assert.equal((await verify(connect(stripe.url, 'sk_test_51AnotherKey0000')))?.outcome, 'unknown');
    assert.equal((await verify(connect(await unusedUrl(), secretKey)))?.outcome, 'unknown');
  });
});

describe('the connection to Stripe', () => {
  it('is tested with a harmless call, which says whether the key is a live one', async () => {
    const found = await processor.test?.();
    assert.ok(found?.outcome === 'works', inspect(found));
    const { accountId, ...rest } = found;
    assert.deepEqual(rest, { outcome: 'works', account: 'Test shop', livemode: false });
    assert.match(accountId ?? '', /^acct_\w{16}$/);
    const revoked = await connect(stripe.url, 'sk_live_51RevokedKey0000').test?.();
    assert.ok(revoked?.outcome === 'fails' && /revoked/.test(revoked.problem), inspect(revoked));
    const away = await connect(await unusedUrl(), secretKey).test?.();
    assert.ok(away?.outcome === 'fails' && /did not answer/.test(away.problem), inspect(away));
    for (const shown of [revoked, away])
      assert.ok(!inspect(shown).includes('Revoked') && !inspect(shown).includes(secretKey));
  });

  it('with a wrong key declines everything as a fault of the processor, without the key', async () => {
    const wrong = connect(stripe.url, 'sk_live_51WrongKey000000');
    const request = await charged();
    const outcomes: Outcome[] = [
      await wrong.charge(newCharge()),
      await wrong.refund(refundOf(request)),
      await wrong.void({ ...refundOf(request), charged: { amount: 4900, currency: 'usd' } }),
    ];
    for (const outcome of outcomes) {
      assertOutcome(outcome, 'declined');
      assert.deepEqual([outcome.failureCode, outcome.isProcessorFault], ['invalid_merchant_configuration', true]);
      assert.ok(
        !inspect(outcome, { depth: 9 }).includes('WrongKey') && !inspect(outcome, { depth: 9 }).includes('sk_live'),
      );
    }
    assertOutcome(await wrong.lookup(request), 'unknown');
  });

  it('refuses keys and URLs of the wrong form in words', () => {
    const wrong: [fields: Record<string, string>, message: RegExp][] = [
      [{ secret_key: 'pk_live_51abcdefgh' }, /publishable key/],
      [{ secret_key: 'whsec_abcdefgh' }, /secret key/],
      [{ secret_key: '' }, /required/],
      [{ secret_key: secretKey, signing_secret: 'sk_live_51abcdefgh' }, /whsec_/],
      [{ secret_key: secretKey, api_url: 'https://evil.example' }, /api\.stripe\.com/],
      [{ secret_key: secretKey, api_url: 'nowhere' }, /URL/],
    ];
    for (const [fields, message] of wrong) {
      assert.throws(() => {
        const configuration = checkConfiguration(stripeKind, fields);
        stripeKind.open(configuration, { timeoutMs: 1_000, extraOrigins: [] });
      }, message);
    }
    const real = { secret_key: secretKey, signing_secret: 'whsec_abcdefgh, whsec_ijklmnop' };
    stripeKind.open(checkConfiguration(stripeKind, real), { timeoutMs: 1_000, extraOrigins: [] });
  });
});
