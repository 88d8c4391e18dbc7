import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Answer, Silence } from '../exchange.ts';
import { type FailureCode, failureReasons, type Outcome } from '../processor.ts';
import { amountAtStripe, amountOfStripe } from './amounts.ts';
import { confirmOutcome, created, intentStanding } from './answers.ts';
import { refundOutcome } from './refund-answers.ts';
import { declines, refundFailures } from './codes.ts';
import { readers } from './events.ts';
import { verificationOf } from './verifications.ts';

const reference = 'a3b1c2d4-0000-4000-8000-00000000c0de';
const handle = 'pi_3Real';
const nowMs = 1_800_000_000_000;
const created1 = nowMs / 1_000 - 7;
const money = { amount: 4900, currency: 'usd' };
const sent = { reference, handle, money, last4: '4242' };
const sentRefund = { kind: 'refund', reference, intent: handle, money } as const;

/** What must never be seen in an outcome, and what Stripe's messages may quote. */
const number = '4242424242424242';
const secrets = [number, '4242 4242 4242 4242', 'sk_live_51Secret', 'rk_live_51Secret', 'whsec_Secret', 'CVC 737'];
const quoting = `You sent ${number}, 4242 4242 4242 4242, sk_live_51Secret***4242, rk_live_51Secret and whsec_Secret`;

function answer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, text, headers: { 'idempotency-key': reference, ...headers }, askedAtMs: nowMs };
}

const ok = (body: unknown): Answer => answer(200, body);

const charge = (overrides: object = {}) => ({
  object: 'charge',
  id: 'ch_3Real',
  amount: 4900,
  currency: 'usd',
  created: created1,
  status: 'succeeded',
  captured: true,
  payment_intent: handle,
  metadata: { svc_reference: reference },
  failure_code: null,
  failure_message: null,
  outcome: { network_status: 'approved_by_network', reason: null, seller_message: 'Payment complete.' },
  payment_method_details: {
    card: {
      last4: '4242',
      checks: { address_line1_check: 'pass', address_postal_code_check: 'pass', cvc_check: 'pass' },
      authorization_code: '123456',
      network_transaction_id: '579865842357',
    },
  },
  balance_transaction: { id: 'txn_1', status: 'pending' },
  ...overrides,
});

const intent = (overrides: object = {}) => ({
  object: 'payment_intent',
  id: handle,
  amount: 4900,
  amount_received: 4900,
  currency: 'usd',
  status: 'succeeded',
  metadata: { svc_reference: reference },
  latest_charge: charge(),
  last_payment_error: null,
  ...overrides,
});

const cardError = (code: string, decline_code?: string) => ({
  type: 'card_error',
  code,
  ...(decline_code && { decline_code }),
  message: quoting,
});

/** With an outcome, it shows its charge. */
const failedIntent = (error: object | null, outcome?: object) =>
  intent({
    status: 'requires_payment_method',
    amount_received: 0,
    latest_charge: outcome ? charge({ status: 'failed', captured: false, outcome }) : 'ch_3Real',
    last_payment_error: error,
  });

const blockedIntent = (reason: string) =>
  failedIntent(cardError('card_declined', 'fraudulent'), {
    type: 'blocked',
    network_status: 'not_sent_to_network',
    reason,
    seller_message: 'Stripe blocked this payment as too risky.',
  });

const declinedAnswer = (code: string, decline_code?: string): Answer => {
  const error = cardError(code, decline_code);
  return answer(402, { error: { ...error, payment_intent: failedIntent(error) } });
};

/** A decline without a reason, with the advice of the card network. */
const advisedAnswer = (advice: object): Answer => {
  const error = { ...cardError('card_declined', 'generic_decline'), ...advice };
  return answer(402, { error: { ...error, payment_intent: failedIntent(error) } });
};

const authenticationAnswer = (advice: object): Answer => {
  const error = { ...cardError('authentication_required', 'authentication_required'), ...advice };
  return answer(402, { error: { ...error, payment_intent: failedIntent(error) } });
};

const errorAnswer = (status: number, fields: object, headers?: Record<string, string>): Answer =>
  answer(status, { error: { type: 'invalid_request_error', message: quoting, ...fields } }, headers);

/** The header of an answer to another request. */
const ofAnother = { 'idempotency-key': 'another' };
const unexpected = (payment_intent: object): Answer =>
  errorAnswer(400, { code: 'payment_intent_unexpected_state', payment_intent });
const unsafe = 'Sending credit card numbers directly to the Stripe API is generally unsafe.';

const idle = { amount_received: 0, latest_charge: null };
const silence = (mayHaveArrived: boolean): Silence => ({ mayHaveArrived, reason: 'no response within 10000 ms' });

type Expected = Outcome['outcome'] | `declined ${FailureCode}` | `fault ${FailureCode}` | 'look';

function shown(outcome: Outcome | undefined): string {
  if (!outcome) return 'look';
  if (outcome.outcome !== 'declined') return outcome.outcome;
  return `${outcome.isProcessorFault ? 'fault' : 'declined'} ${outcome.failureCode}`;
}

function assertScrubbed(value: unknown): void {
  const text = JSON.stringify(value) + inspect(value, { depth: 9 });
  for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} in ${text}`);
}

describe('an answer to a confirmation', () => {
  const rows: [name: string, answer: Answer | Silence, expected: Expected][] = [
    ['an approval', ok(intent()), 'approved'],
    ['an approval without its charge', ok(intent({ latest_charge: 'ch_3Real' })), 'approved'],
    ['processing', ok(intent({ status: 'processing', amount_received: 0 })), 'unknown'],
    ['only authorized', ok(intent({ status: 'requires_capture', amount_received: 0 })), 'unknown'],
    ['a part of the amount', ok(intent({ amount_received: 100 })), 'unknown'],
    ['a status that we do not know', ok(intent({ status: 'maybe' })), 'unknown'],
    ['still unconfirmed', ok(intent({ status: 'requires_confirmation', ...idle })), 'look'],
    ['asks for action', ok(intent({ status: 'requires_action', ...idle })), 'look'],
    ['another reference', ok(intent({ metadata: { svc_reference: 'other' } })), 'unknown'],
    ['no metadata', ok(intent({ metadata: {} })), 'unknown'],
    ['another intent', ok(intent({ id: 'pi_other' })), 'unknown'],
    ['another amount', ok(intent({ amount: 4901, amount_received: 4901 })), 'conflict'],
    ['another currency', ok(intent({ currency: 'eur' })), 'conflict'],
    ['a decline in a 200', ok(failedIntent(cardError('card_declined', 'stolen_card'))), 'declined lost_stolen_card'],
    ['insufficient funds', declinedAnswer('card_declined', 'insufficient_funds'), 'declined insufficient_funds'],
    ['a generic decline', declinedAnswer('card_declined', 'generic_decline'), 'declined do_not_honor'],
    ['an expired card', declinedAnswer('expired_card'), 'declined expired_card'],
    ['a wrong CVC', declinedAnswer('incorrect_cvc', 'incorrect_cvc'), 'declined incorrect_cvv'],
    ['fraud', declinedAnswer('card_declined', 'fraudulent'), 'declined fraud_suspected'],
    ['a lost card', declinedAnswer('card_declined', 'lost_card'), 'declined lost_stolen_card'],
    [
      'an authentication',
      declinedAnswer('authentication_required', 'authentication_required'),
      'declined transaction_not_allowed',
    ],
    ['a processing error', declinedAnswer('processing_error'), 'fault processor_declined'],
    ['the bank is away', declinedAnswer('card_declined', 'issuer_not_available'), 'declined issuer_unavailable'],
    ['a new decline code', declinedAnswer('card_declined', 'moon_phase'), 'declined do_not_honor'],
    ['new codes', declinedAnswer('new_code', 'moon_phase'), 'declined unknown'],
    ['advice: do not try again', advisedAnswer({ advice_code: 'do_not_try_again' }), 'declined contact_bank'],
    ['advice: try again later', advisedAnswer({ advice_code: 'try_again_later' }), 'declined do_not_honor'],
    ['advice: confirm the card', advisedAnswer({ advice_code: 'confirm_card_data' }), 'declined invalid_account'],
    ['new advice', advisedAnswer({ advice_code: 'ask_the_moon' }), 'declined do_not_honor'],
    ['advice 03 of the network', advisedAnswer({ network_advice_code: '03' }), 'declined contact_bank'],
    ['advice 02 of the network', advisedAnswer({ network_advice_code: '02' }), 'declined do_not_honor'],
    ['response R1 of the network', advisedAnswer({ network_decline_code: 'R1' }), 'declined contact_bank'],
    ['response 05 of the network', advisedAnswer({ network_decline_code: '05' }), 'declined do_not_honor'],
    ['a wrong postal code', declinedAnswer('incorrect_zip'), 'declined invalid_account'],
    ['a wrong address', declinedAnswer('card_declined', 'incorrect_address'), 'declined invalid_account'],
    ['a wrong number', declinedAnswer('incorrect_number'), 'declined invalid_account'],
    ['a wrong month', declinedAnswer('invalid_expiry_month'), 'declined expired_card'],
    ['a wrong year', declinedAnswer('invalid_expiry_year'), 'declined expired_card'],
    ['too many attempts', declinedAnswer('card_declined', 'card_velocity_exceeded'), 'declined card_limit_exceeded'],
    [
      'a card of another currency',
      declinedAnswer('card_declined', 'currency_not_supported'),
      'declined transaction_not_allowed',
    ],
    ['a PIN', declinedAnswer('card_declined', 'online_or_offline_pin_required'), 'declined transaction_not_allowed'],
    ['a block list', declinedAnswer('card_declined', 'merchant_blacklist'), 'declined fraud_suspected'],
    [
      'a stopped series',
      declinedAnswer('card_declined', 'revocation_of_all_authorizations'),
      'declined transaction_not_allowed',
    ],
    ['a test card', declinedAnswer('card_declined', 'testmode_decline'), 'declined invalid_account'],
    [
      'an account without live charges',
      errorAnswer(400, { code: 'testmode_charges_only' }),
      'fault invalid_merchant_configuration',
    ],
    ['an error without a code', errorAnswer(400, {}), 'fault invalid_merchant_configuration'],
    [
      'an error of a card without a code',
      errorAnswer(402, { type: 'card_error' }),
      'fault invalid_merchant_configuration',
    ],
    [
      'an error of the API without a code',
      errorAnswer(400, { type: 'api_error' }),
      'fault invalid_merchant_configuration',
    ],
    ['a new error of the API', errorAnswer(400, { type: 'api_error', code: 'new' }), 'fault processor_declined'],
    ['blocked by Radar', ok(blockedIntent('highest_risk_level')), 'declined fraud_suspected'],
    ['blocked by a rule of the merchant', ok(blockedIntent('rule')), 'declined fraud_suspected'],
    ['blocked for a new reason', ok(blockedIntent('moon_phase')), 'declined fraud_suspected'],
    [
      'declined by the bank without a code',
      ok(failedIntent({ type: 'card_error', message: 'No.' }, { network_status: 'declined_by_network' })),
      'declined unknown',
    ],
    [
      'an authentication that is not handled',
      declinedAnswer('authentication_required', 'authentication_not_handled'),
      'declined transaction_not_allowed',
    ],
    [
      'an authentication, with advice to try again',
      authenticationAnswer({ advice_code: 'try_again_later' }),
      'declined transaction_not_allowed',
    ],
    ['a new error of a request', errorAnswer(400, { code: 'new' }), 'fault invalid_merchant_configuration'],
    [
      'a decline about another intent',
      answer(402, { error: { ...cardError('card_declined'), payment_intent: intent({ id: 'pi_other' }) } }, ofAnother),
      'look',
    ],
    ['a decline without an intent', answer(402, { error: cardError('card_declined') }, ofAnother), 'look'],
    ['already succeeded', unexpected(intent({ latest_charge: 'ch_3Real' })), 'approved'],
    ['already cancelled', unexpected(intent({ status: 'canceled', ...idle })), 'not_sent'],
    ['an unexpected state', errorAnswer(400, { code: 'payment_intent_unexpected_state' }), 'look'],
    ['other parameters under the key', errorAnswer(400, { type: 'idempotency_error' }), 'look'],
    ['an unknown parameter', errorAnswer(400, { code: 'parameter_unknown' }), 'fault validation_error'],
    ['an error of another request', errorAnswer(400, { code: 'parameter_unknown' }, ofAnother), 'look'],
    ['an intent that does not exist', errorAnswer(404, { code: 'resource_missing' }), 'declined validation_error'],
    ['a wrong key', errorAnswer(401, {}), 'fault invalid_merchant_configuration'],
    ['a key without permission', errorAnswer(403, { code: 'more_permissions_required' }), 'look'],
    ['401 of a proxy', answer(401, '<html>'), 'unknown'],
    ['the key is in use', errorAnswer(409, { code: 'idempotency_key_in_use' }), 'unknown'],
    ['too many requests', errorAnswer(429, { code: 'rate_limit' }), 'unknown'],
    ['an error of Stripe', errorAnswer(500, { type: 'api_error' }), 'unknown'],
    ['an approval with status 500', answer(500, intent()), 'unknown'],
    ['503 of a proxy', answer(503, '<html>upstream</html>'), 'unknown'],
    ['HTML', answer(200, '<html>fine</html>'), 'unknown'],
    ['nothing', answer(200, ''), 'unknown'],
    ['cut JSON', answer(200, JSON.stringify(intent()).slice(0, -9)), 'unknown'],
    ['null', answer(200, 'null'), 'unknown'],
    ['another object', answer(200, charge()), 'unknown'],
    ['a text as amount', ok(intent({ amount: '4900' })), 'unknown'],
    ['a redirect', answer(302, ''), 'unknown'],
    ['no answer', silence(true), 'unknown'],
    ['no connection', silence(false), 'not_sent'],
  ];
  for (const [name, given, expected] of rows) {
    it(`${name}: ${expected}`, () => {
      const outcome = confirmOutcome(given, sent);
      assert.equal(shown(outcome), expected, inspect(outcome));
      assertScrubbed(outcome);
    });
  }

  it('has at least 60 rows', () => assert.ok(rows.length >= 60, `${rows.length} rows`));

  it('of every code in the table gives its failure code', () => {
    for (const [code, { failureCode, isProcessorFault, failureReason }] of declines) {
      const outcome = confirmOutcome(declinedAnswer('unlisted', code), sent);
      assert.equal(shown(outcome), `${isProcessorFault ? 'fault' : 'declined'} ${failureCode}`);
      assert.ok(outcome?.outcome === 'declined');
      assert.equal(outcome.failureReason, failureReason ?? failureReasons[failureCode]);
      assert.equal(outcome.response.transaction_id, handle);
    }
  });

  it('carries what the API shows of it', () => {
    assert.deepEqual(confirmOutcome(answer(200, intent()), sent), {
      outcome: 'approved',
      response: {
        transaction_id: handle,
        authorization_code: '123456',
        avs_result: 'Y',
        cvv_result: 'M',
        response_code: 'approved_by_network',
        response_text: 'Payment complete.',
      },
      settled: false,
      networkTransactionId: '579865842357',
      executed: { atMs: created1 * 1_000, ageMs: 7_000 },
    });
  });

  it('has the letters of AVS and CVV', () => {
    const letters: [
      line: string | null,
      postal: string | null,
      cvc: string | null,
      avs: string | null,
      cvv: string | null,
    ][] = [
      ['pass', 'pass', 'pass', 'Y', 'M'],
      ['fail', 'pass', 'fail', 'Z', 'N'],
      ['pass', 'fail', 'unchecked', 'A', 'P'],
      ['fail', 'fail', 'unavailable', 'N', 'U'],
      ['pass', 'unchecked', null, 'B', null],
      [null, 'pass', 'new', 'P', null],
      ['unchecked', 'fail', null, 'N', null],
      ['unavailable', 'unchecked', null, 'U', null],
      [null, null, null, null, null],
    ];
    for (const [address_line1_check, address_postal_code_check, cvc_check, avs, cvv] of letters) {
      const checks = { address_line1_check, address_postal_code_check, cvc_check };
      const outcome = confirmOutcome(
        answer(200, intent({ latest_charge: charge({ payment_method_details: { card: { checks } } }) })),
        sent,
      );
      assert.ok(outcome?.outcome === 'approved', inspect(outcome));
      assert.deepEqual([outcome.response.avs_result, outcome.response.cvv_result], [avs, cvv]);
    }
  });
});

describe('an answer to a lookup', () => {
  const rows: [name: string, body: unknown, expected: string][] = [
    ['succeeded', intent(), 'approved'],
    ['never confirmed', intent({ status: 'requires_payment_method', ...idle }), 'unconfirmed'],
    ['with a method', intent({ status: 'requires_confirmation', ...idle }), 'unconfirmed'],
    ['waiting for the cardholder', intent({ status: 'requires_action', ...idle }), 'unconfirmed'],
    ['cancelled', intent({ status: 'canceled', ...idle }), 'canceled'],
    ['cancelled with a charge', intent({ status: 'canceled', amount_received: 0 }), 'unknown'],
    [
      'cancelled after a decline',
      intent({ status: 'canceled', latest_charge: charge({ status: 'failed' }) }),
      'declined',
    ],
    [
      'failed, without the error',
      intent({
        status: 'requires_payment_method',
        latest_charge: charge({ status: 'failed', failure_code: 'expired_card' }),
      }),
      'declined',
    ],
    ['failed, with neither', intent({ status: 'requires_payment_method', latest_charge: 'ch_3Real' }), 'unknown'],
    [
      'another card',
      intent({ latest_charge: charge({ payment_method_details: { card: { last4: '0000' } } }) }),
      'conflict',
    ],
    ['another amount, unconfirmed', intent({ amount: 1, status: 'requires_payment_method', ...idle }), 'conflict'],
    ['no intent', { deleted: true }, 'unknown'],
  ];
  for (const [name, body, expected] of rows) {
    it(`${name}: ${expected}`, () => assert.equal(intentStanding(answer(200, body), sent).outcome, expected));
  }

  it('is never "not found" because of a 404: the key may be of another account', () => {
    assert.equal(intentStanding(errorAnswer(404, { code: 'resource_missing' }), sent).outcome, 'unknown');
  });
});

describe('an answer to a refund', () => {
  const refund = (overrides: object = {}) => ({
    object: 'refund',
    id: 're_1',
    amount: 4900,
    currency: 'usd',
    created: created1,
    status: 'succeeded',
    payment_intent: handle,
    metadata: { svc_reference: reference, svc_kind: 'refund' },
    ...overrides,
  });
  const rows: [name: string, answer: Answer | Silence, expected: Expected][] = [
    ['succeeded', ok(refund()), 'approved'],
    ['pending', ok(refund({ status: 'pending' })), 'approved'],
    ['asks for action', ok(refund({ status: 'requires_action' })), 'approved'],
    ['failed', ok(refund({ status: 'failed', failure_reason: 'lost_or_stolen_card' })), 'declined lost_stolen_card'],
    ['failed for a new reason', ok(refund({ status: 'failed', failure_reason: 'new' })), 'declined unknown'],
    ['cancelled', ok(refund({ status: 'canceled' })), 'declined transaction_not_allowed'],
    ['a new status', ok(refund({ status: 'new' })), 'unknown'],
    ['without a status', ok(refund({ status: null })), 'unknown'],
    ['another amount', ok(refund({ amount: 1 })), 'conflict'],
    [
      'a void under our reference',
      ok(refund({ metadata: { svc_reference: reference, svc_kind: 'void' } })),
      'conflict',
    ],
    ['another reference', ok(refund({ metadata: { svc_reference: 'other' } })), 'unknown'],
    ['another charge', ok(refund({ payment_intent: 'pi_other' })), 'unknown'],
    ['too much', errorAnswer(400, { param: 'amount' }), 'declined validation_error'],
    ['already refunded', errorAnswer(400, { code: 'charge_already_refunded' }), 'declined transaction_not_allowed'],
    ['disputed', errorAnswer(400, { code: 'charge_disputed' }), 'declined transaction_not_allowed'],
    ['no balance', errorAnswer(400, { code: 'balance_insufficient' }), 'fault processor_declined'],
    ['other parameters under the key', errorAnswer(400, { type: 'idempotency_error' }), 'look'],
    ['an error of another request', errorAnswer(400, {}, ofAnother), 'look'],
    ['a wrong key', errorAnswer(401, {}), 'fault invalid_merchant_configuration'],
    ['in use', errorAnswer(409, {}), 'unknown'],
    ['an error of Stripe', errorAnswer(500, {}), 'unknown'],
    ['HTML', answer(200, '<html>'), 'unknown'],
    ['no answer', silence(true), 'unknown'],
    ['no connection', silence(false), 'not_sent'],
  ];
  for (const [name, given, expected] of rows) {
    it(`${name}: ${expected}`, () => {
      const outcome = refundOutcome(given, sentRefund);
      assert.equal(shown(outcome), expected, inspect(outcome));
      assertScrubbed(outcome);
    });
  }
});

describe('an answer to a preparation', () => {
  const rows: [name: string, answer: Answer | Silence, expected: string][] = [
    ['created', answer(200, { object: 'payment_intent', id: handle }), 'created'],
    ['another object', answer(200, { object: 'payment_method', id: 'pm_1' }), 'not_sent'],
    ['a wrong number', answer(402, { error: cardError('incorrect_number') }), 'declined invalid_account'],
    [
      'card numbers are not accepted',
      errorAnswer(402, { type: 'card_error', message: unsafe }),
      'fault invalid_merchant_configuration',
    ],
    ['other parameters', errorAnswer(400, { type: 'idempotency_error' }), 'conflict'],
    ['a wrong key', errorAnswer(401, {}), 'fault invalid_merchant_configuration'],
    ['in use', errorAnswer(409, {}), 'not_sent'],
    ['an error of Stripe', errorAnswer(500, {}), 'not_sent'],
    ['HTML', answer(200, '<html>'), 'not_sent'],
    ['no answer', silence(true), 'not_sent'],
  ];
  for (const [name, given, expected] of rows) {
    it(`${name}: ${expected}`, () => {
      const result = created(given, 'payment_intent');
      assert.equal('outcome' in result ? shown(result) : 'created', expected);
      assertScrubbed(result);
    });
  }
});

describe('an arbitrary answer', () => {
  const bodies = fc.oneof(
    fc.string(),
    fc.json(),
    fc.constant(JSON.stringify(intent())).map((text) => text.slice(0, -1)),
  );
  const answers = fc.record({ status: fc.integer({ min: 100, max: 599 }), text: bodies });
  it('never becomes approved or declined', () => {
    fc.assert(
      fc.property(answers, ({ status, text }) => {
        const given = { status, text, headers: { 'idempotency-key': reference }, askedAtMs: nowMs };
        for (const outcome of [
          confirmOutcome(given, sent),
          refundOutcome(given, sentRefund),
          intentStanding(given, sent),
        ]) {
          assert.ok(!outcome || outcome.outcome === 'unknown', inspect(outcome));
        }
        assert.equal(verificationOf(given, reference).outcome, 'unknown');
      }),
      { numRuns: 500 },
    );
  });

  it('with one field of an approval changed is approved only if it still says the same', () => {
    const paths = ['object', 'id', 'amount', 'currency', 'status', 'metadata', 'latest_charge'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue(), (path, value) => {
        const given = answer(200, { ...intent(), [path]: value });
        const outcome = confirmOutcome(given, sent)?.outcome;
        if (outcome !== 'approved') return;
        const isHarmless = path === 'latest_charge' && (value === null || typeof value === 'string');
        assert.ok(isHarmless, `${path}: ${inspect(value)}`);
      }),
      { numRuns: 500 },
    );
  });
});

describe('amounts', () => {
  it('come back as they were sent', () => {
    for (const [amount, currency] of [
      [4900, 'usd'],
      [500, 'isk'],
      [500, 'jpy'],
      [50_000, 'mga'],
      [5_120, 'kwd'],
    ] as const) {
      const atStripe = amountAtStripe(amount, currency);
      assert.ok(atStripe !== undefined);
      assert.equal(amountOfStripe(atStripe, currency), amount);
    }
    for (const amount of [0, -1, 0.5, Number.NaN, 2 ** 53]) assert.equal(amountAtStripe(amount, 'usd'), undefined);
  });
});

/**
 * The decline codes of docs.stripe.com/declines/codes, and those of the codes of errors that the package of Stripe lists for
 * payments.
 */
const documented = [
  ...['approve_with_id', 'authentication_not_handled', 'authentication_required', 'call_issuer', 'card_not_supported'],
  ...['card_velocity_exceeded', 'currency_not_supported', 'do_not_honor', 'do_not_try_again', 'duplicate_transaction'],
  ...['expired_card', 'fraudulent', 'generic_decline', 'incorrect_address', 'incorrect_cvc', 'incorrect_number'],
  ...['incorrect_pin', 'incorrect_zip', 'insufficient_funds', 'invalid_account', 'invalid_amount', 'invalid_cvc'],
  ...['invalid_expiry_month', 'invalid_expiry_year', 'invalid_number', 'invalid_pin', 'issuer_not_available'],
  ...['lost_card', 'merchant_blacklist', 'mobile_device_authentication_required', 'new_account_information_available'],
  ...['no_action_taken', 'not_permitted', 'offline_pin_required', 'online_or_offline_pin_required', 'pickup_card'],
  ...['pin_try_exceeded', 'processing_error', 'reenter_transaction', 'restricted_card', 'revocation_of_authorization'],
  ...['revocation_of_all_authorizations', 'security_violation', 'service_not_allowed', 'stolen_card'],
  ...['stop_payment_order', 'testmode_decline', 'transaction_not_allowed', 'try_again_later'],
  'withdrawal_count_limit_exceeded',
];

describe('the table of codes', () => {
  it('has every decline code that Stripe documents', () => {
    assert.deepEqual(
      documented.filter((code) => !declines.has(code)),
      [],
    );
  });

  it('has no name but those that Stripe documents, or that its package lists', () => {
    const types = readFileSync(new URL(import.meta.resolve('stripe')).pathname.replace(/\.js$/, '.d.ts'), 'utf8');
    const folder = new URL('./resources/PaymentIntents.d.ts', import.meta.resolve('stripe'));
    const listed = new Set(
      `${types}${readFileSync(folder, 'utf8')}`.match(/'[a-z_]+'/g)?.map((one) => one.slice(1, -1)),
    );
    assert.ok(listed.has('authentication_required'), 'the package has no list');
    const unknown = [...declines.keys()].filter((code) => !listed.has(code) && !documented.includes(code));
    assert.deepEqual(unknown, []);
  });
});

describe('the guide', () => {
  const page = readFileSync(new URL('../../../../docs/processors/stripe.md', import.meta.url), 'utf8');
  it('lists every code with its failure code, and every event', () => {
    for (const [code, { failureCode, isProcessorFault }] of declines) {
      const row = `| \`${code}\` | \`${failureCode}\` |${isProcessorFault ? ' yes |' : ' |'}`;
      assert.ok(page.includes(row), `docs/processors/stripe.md lacks: ${row}`);
    }
    for (const [code, failureCode] of refundFailures) {
      assert.ok(page.includes(`| \`${code}\` | \`${failureCode}\` |`), `docs/processors/stripe.md lacks ${code}`);
    }
    for (const type of readers.keys())
      assert.ok(page.includes(`\`${type}\``), `docs/processors/stripe.md lacks ${type}`);
  });
});
