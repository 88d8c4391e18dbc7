import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answersTheProduct } from '../../../../tests/support/live-suite.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { external, presence } from '../conformance-customers.ts';
import { openExchange, type ExchangeRequest } from '../exchange.ts';
import { evidenceFiles, evidenceTexts } from '../notices.ts';
import type { ChargeRequest, Processor, ProcessorCard } from '../processor.ts';
import { stripeProcessor } from './adapter.ts';
import * as requests from './requests.ts';
import * as setups from './setup-requests.ts';

/**
 * Suites that need a program or an account outside of this repository. Without their settings they only check that
 * every request can be built.
 */

const { SVC_STRIPE_MOCK: mockUrl, SVC_LIVE_SUITE: liveSuite, STRIPE_SECRET_KEY: liveKey = '' } = process.env;
const { STRIPE_SIGNING_SECRET: signingSecret } = process.env;

const cardWith = (digits: string): ProcessorCard => ({
  number: new CardNumber(digits),
  cardId: randomUUID(),
  expMonth: 12,
  expYear: 2040,
});
const billing = {
  name: 'Ada Byron',
  email: 'ada@example.com',
  phone: '+441632960961',
  line1: '12 St James Square',
  line2: 'Flat 3',
  city: 'London',
  state: 'London',
  postalCode: 'SW1Y 4JH',
  country: 'GB',
};

/** Every request that the connector can send, with all of its fields. */
function everyRequest(): Record<string, ExchangeRequest> {
  const reference = randomUUID();
  const period = { from: 1_700_000_000, until: 1_700_003_600 };
  const uses = { initiator: ['customer', 'merchant'], sequence: ['first', 'subsequent', 'unscheduled'] } as const;
  const confirmations = uses.initiator.flatMap((initiator) =>
    uses.sequence.map((sequence): [string, ExchangeRequest] => {
      const credential = { initiator, sequence, networkTransactionId: null };
      return [`confirm ${initiator} ${sequence}`, requests.confirmIntent('pi_1', 'pm_1', { reference, credential })];
    }),
  );
  const files = evidenceFiles.map((kind) => ({ kind, id: 'file_1' }));
  const texts = Object.fromEntries(evidenceTexts.map((text) => [text, 'A text']));
  const refund = { reference, chargeReference: randomUUID(), intent: 'pi_1', amount: 100 };
  return {
    'payment method': requests.createPaymentMethod(reference, cardWith('4242424242424242'), billing, '737'),
    'payment intent': requests.createIntent(reference, 4900, 'usd'),
    confirm: requests.confirmIntent('pi_1', 'pm_1', { reference }),
    ...Object.fromEntries(confirmations),
    'confirm with the customer': requests.confirmIntent('pi_1', 'pm_1', {
      ...{ reference, presence },
      credential: { initiator: 'customer', sequence: 'first', networkTransactionId: null, startsSeries: true },
    }),
    'confirm with a 3DS server': requests.confirmIntent('pi_1', 'pm_1', { reference, authentication: external }),
    'read intent': requests.getIntent('pi_1'),
    'cancel intent': requests.cancelIntent('pi_1'),
    'search intents': requests.searchIntents(reference),
    refund: requests.createRefund({ ...refund, kind: 'refund' }),
    void: requests.createRefund({ ...refund, kind: 'void' }),
    'refunds of an intent': requests.listRefundsOf('pi_1', 're_1'),
    'charges of a period': requests.listCharges(period, 'ch_1'),
    'refunds of a period': requests.listRefunds(period, 're_1'),
    'balance transactions': requests.listBalanceTransactions(period, 'txn_1'),
    'setup intent': setups.createSetupIntent(reference, 'pm_1'),
    'setup intent of a customer': setups.createSetupIntent(reference, 'pm_1', {
      ...{ customer: 'cus_1', returnUrl: presence.returnUrl, startsSeries: true },
    }),
    'read setup intent': setups.getSetupIntent('seti_1'),
    'cancel setup intent': setups.cancelSetupIntent('seti_1'),
    account: requests.getAccount,
    balance: requests.getBalance,
    evidence: requests.submitEvidence({ disputeId: 'dp_1', texts }, files, reference),
    'read dispute': requests.getDispute('dp_1'),
    'close dispute': requests.closeDispute('dp_1', reference),
    file: requests.uploadFile(
      { kind: 'receipt', name: 'receipt.pdf', contentType: 'application/pdf', content: Buffer.from('%PDF-1.4') },
      reference,
    ),
  };
}

describe('every request', () => {
  it(
    'is checked by stripe-mock',
    { skip: mockUrl ? false : 'stripe-mock is not here: set SVC_STRIPE_MOCK to its URL' },
    () => assert.ok(URL.canParse(mockUrl ?? '')),
  );

  for (const [name, request] of Object.entries(everyRequest())) {
    it(`"${name}" ${mockUrl ? 'is accepted by stripe-mock' : 'is complete'}`, async () => {
      assert.ok(request.path.length > 1 && !inspect(request).includes('undefined'), inspect(request));
      const key = String(request.headers?.[requests.idempotencyHeader] ?? '');
      assert.ok(key.length <= 255 && !key.includes('42424242'), key);
      if (!mockUrl) return;
      const headers = () => ({ authorization: 'Bearer sk_test_123', 'stripe-version': requests.apiVersion });
      const answer = await openExchange({ url: mockUrl, timeoutMs: 10_000, headers })(request);
      assert.ok(!('reason' in answer) && answer.status === 200, inspect(answer));
    });
  }
});

if (liveSuite === 'stripe') {
  describe('Stripe in test mode', () => {
    assert.match(liveKey, /^[sr]k_test_/, 'STRIPE_SECRET_KEY must be a key of the test mode');
    const processor: Processor = stripeProcessor({
      url: 'https://api.stripe.com',
      filesUrl: 'https://files.stripe.com',
      secretKey: new Secret(liveKey),
      signingSecrets: new Secret([]),
      timeoutMs: 30_000,
    });
    const companyId = randomUUID();
    const sending = () => ({ companyId, reference: randomUUID(), validUntilMs: Date.now() + 120_000 });
    async function prepared(digits: string): Promise<ChargeRequest & { handle: string }> {
      const request = { ...sending(), card: cardWith(digits), billing, amount: 4900, currency: 'usd' };
      const preparation = await processor.prepare?.(request);
      assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
      return { ...request, handle: preparation.handle };
    }

    answersTheProduct('stripe', () => ({
      secret_key: liveKey,
      ...(signingSecret && { signing_secret: signingSecret }),
    }));

    it('has a connection that works', async () => {
      const result = await processor.test?.();
      assert.ok(result?.outcome === 'works' && !result.livemode, inspect(result));
    });

    it('charges once, refunds, voids, and finds all of it', async () => {
      const request = await prepared('4242424242424242');
      const first = await processor.charge(request);
      assert.ok(first.outcome === 'approved', inspect(first));
      const again = await processor.charge(request);
      assert.ok(again.outcome === 'approved', inspect(again));
      assert.deepEqual(again.response, first.response);
      const found = await processor.lookup({ ...request, kind: 'charge' });
      assert.ok(found.outcome === 'approved', inspect(found));
      const charge = { chargeReference: request.reference, chargeTransactionId: request.handle };
      const refund = { ...sending(), ...charge, amount: 100, currency: 'usd' };
      const refunded = await processor.refund(refund);
      assert.ok(refunded.outcome === 'approved', inspect(refunded));
      const listed = await processor.lookup({ ...refund, kind: 'refund' });
      assert.ok(listed.outcome === 'approved', inspect(listed));
      const tooMuch = await processor.void({ ...sending(), ...charge });
      assert.ok(tooMuch.outcome === 'declined', inspect(tooMuch));
    });

    it('declines, and asks for authentication', async () => {
      const expected = { '4000000000009995': 'insufficient_funds', '4000002500003155': 'transaction_not_allowed' };
      for (const [digits, failureCode] of Object.entries(expected)) {
        const request = await prepared(digits);
        for (const outcome of [await processor.charge(request), await processor.lookup(request)]) {
          assert.ok(outcome.outcome === 'declined' && outcome.failureCode === failureCode, inspect(outcome));
        }
      }
    });

    it('cancels what was prepared', async () => {
      const request = await prepared('4242424242424242');
      assert.deepEqual(await processor.lookup(request), { outcome: 'not_found', isFinal: true });
      assert.equal((await processor.charge(request)).outcome, 'not_sent');
    });

    it('verifies a card', async () => {
      const card = cardWith('4242424242424242');
      const result = await processor.verify?.({ ...sending(), card, billing, cvc: new Secret('737') });
      assert.equal(result?.outcome, 'verified', inspect(result));
    });

    it('lists operations', async () => {
      const listing = await processor.list?.({ companyId, fromMs: Date.now() - 3_600_000, untilMs: Date.now() });
      assert.ok(listing && listing.operations.length > 0);
    });
  });
}
