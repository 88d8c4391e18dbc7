import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answersTheProduct } from '../../../../tests/support/live-suite.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { checkConfiguration } from '../kind.ts';
import type { Processor } from '../processor.ts';
import { adyenKind } from './kind.ts';
import { inAMinute } from '../../../../tests/support/processor-requests.ts';
import { newCharge, transactionOf } from './testing.ts';

/** Runs against Adyen's test environment, for those who have keys: docs/processors/adyen.md. */

const { SVC_LIVE_SUITE: suite, ADYEN_API_KEY, ADYEN_MERCHANT_ACCOUNT, ADYEN_HMAC_KEY } = process.env;
const skip = suite !== 'adyen' && 'SVC_LIVE_SUITE=adyen and the keys of a test account are needed';

/** Adyen's test card. In the test environment the name on the card chooses the result. */
const card = { number: new CardNumber('4111111111111111'), cardId: randomUUID(), expMonth: 3, expYear: 2030 };
const named = (name: string) => ({
  name,
  email: null,
  phone: null,
  line1: null,
  line2: null,
  city: null,
  state: null,
  postalCode: null,
  country: null,
});

const entered = () => ({
  api_key: ADYEN_API_KEY ?? '',
  merchant_account: ADYEN_MERCHANT_ACCOUNT ?? '',
  hmac_key: ADYEN_HMAC_KEY ?? '00'.repeat(32),
  verification_currency: 'EUR',
});

function connect(): Processor {
  return adyenKind.open(checkConfiguration(adyenKind, entered()), { timeoutMs: adyenKind.timeoutMs, extraOrigins: [] });
}

describe('the test environment of Adyen', { skip }, () => {
  answersTheProduct('adyen', entered);

  it('accepts the key and the merchant account', async () => {
    const found = await connect().test?.();
    assert.ok(found?.outcome === 'works' && !found.livemode, inspect(found));
  });

  it('authorizes, captures once, refunds and reverses', async () => {
    const processor = connect();
    const request = newCharge({ card });
    const preparation = await processor.prepare?.(request);
    assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
    assert.deepEqual(await processor.prepare?.(request), preparation, 'the same key returns the same payment');
    const { handle } = preparation;
    const outcome = await processor.charge({ ...request, handle });
    const chargeTransactionId = transactionOf(outcome);
    assert.deepEqual(await processor.lookup({ ...request, handle, ageMs: 1_000 }), outcome);
    const followUp = { ...request, chargeReference: request.reference, chargeTransactionId };
    transactionOf(await processor.refund({ ...followUp, reference: randomUUID(), amount: 100 }));
    transactionOf(await processor.void({ ...followUp, reference: randomUUID() }));
  });

  it('declines with its own codes', async () => {
    for (const [name, failureCode] of [
      ['NOT_ENOUGH_BALANCE', 'insufficient_funds'],
      ['CARD_EXPIRED', 'expired_card'],
      ['DECLINED', 'do_not_honor'],
    ] as const) {
      const found = await connect().prepare?.(newCharge({ card, billing: named(name) }));
      assert.ok(found?.outcome === 'declined' && found.failureCode === failureCode, inspect(found));
    }
  });

  it('verifies a card with its CVC', async () => {
    const about = { companyId: randomUUID(), reference: randomUUID(), validUntilMs: inAMinute() };
    const found = await connect().verify?.({ ...about, card, cvc: new Secret('737') });
    assert.equal(found?.outcome, 'verified', inspect(found));
  });

  it('cancels a payment by our reference', async () => {
    const processor = connect();
    const request = newCharge({ card });
    await processor.prepare?.(request);
    const found = await processor.lookup({ companyId: request.companyId, reference: request.reference, ageMs: 61_000 });
    assert.equal(found.outcome, 'unknown', 'the TECHNICAL_CANCEL notice decides');
  });
});
