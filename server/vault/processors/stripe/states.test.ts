import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import type Stripe from 'stripe';
import { systemClock } from '../../../platform/clock.ts';
import type { Answer, ExchangeRequest } from '../exchange.ts';
import type { SetUpOutcome } from '../setup.ts';
import { authenticationIn } from './authentication.ts';
import { lookupCharge, resume } from './charges.ts';
import type { Client } from './client.ts';
import { referenceName } from './requests.ts';
import { endSetUp, resumeSetUp } from './setups.ts';

/**
 * What each state of a PaymentIntent and of a SetupIntent means: for a customer who may still be at the bank, and for a look-up, which
 * ends what is open. The states are those of Stripe's documents and package.
 */

const companyId = randomUUID();
const reference = randomUUID();
type Fields = Readonly<Record<string, unknown>>;

const answerOf = (body: Fields, status = 200): Answer => ({
  ...{ status, headers: {}, askedAtMs: 2_000_000 },
  text: JSON.stringify(body),
});

/** Stripe cancels a payment in these states. */
const cancellable = ['requires_payment_method', 'requires_confirmation', 'requires_action', 'requires_capture'];

interface Stub extends Client {
  readonly sent: string[];
}

/** A Stripe with one object, which it shows, and cancels if it can. */
function stub(object: Fields): Stub {
  let current = object;
  const sent: string[] = [];
  return {
    ...{ sent, sendFile: async () => answerOf({}), clock: systemClock, goneAfterMs: 1, descriptor: undefined },
    prepared: new Map(),
    async send({ method, path }: ExchangeRequest) {
      sent.push(path.at(-1) === 'cancel' ? 'cancel' : method);
      if (path.at(-1) !== 'cancel') return answerOf(current);
      if (!cancellable.includes(String(current.status))) {
        const error = {
          type: 'invalid_request_error',
          code: 'payment_intent_unexpected_state',
          payment_intent: current,
        };
        return answerOf({ error }, 400);
      }
      current = { ...current, status: 'canceled' };
      return answerOf(current);
    },
  };
}

const charge = (fields: Fields = {}): Fields => ({
  ...{
    object: 'charge',
    id: 'ch_1',
    amount: 4900,
    currency: 'usd',
    created: 1_000,
    status: 'succeeded',
    captured: true,
  },
  ...{ payment_method_details: { card: { last4: '4242', network_transaction_id: '123456' } } },
  ...fields,
});
const failedCharge = charge({ status: 'failed', captured: false, failure_code: 'card_declined' });
const declinedError = { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds' };
const notAuthenticated = { type: 'invalid_request_error', code: 'payment_intent_authentication_failure' };
const redirect = {
  type: 'redirect_to_url',
  redirect_to_url: { url: 'https://hooks.stripe.com/1', return_url: 'https://shop.example/' },
} satisfies Stripe.PaymentIntent.NextAction;
const received = { amount_received: 4900 };

/** What a resumption says, what a look-up says, and whether the look-up has to cancel. */
type Expected = readonly [resumed: string, lookedUp: string, isCancelled?: 'cancels'];
const never = 'not_found';

const rows: readonly (readonly [what: string, intent: Fields, automatic: Expected, manual: Expected])[] = [
  [
    'never confirmed',
    { status: 'requires_payment_method' },
    ['unknown', never, 'cancels'],
    ['unknown', never, 'cancels'],
  ],
  [
    'declined without a charge',
    { status: 'requires_payment_method', last_payment_error: declinedError },
    ...([
      ['declined', 'declined'],
      ['declined', 'declined'],
    ] as const),
  ],
  [
    'declined with a charge',
    { status: 'requires_payment_method', last_payment_error: declinedError, latest_charge: failedCharge },
    ...([
      ['declined', 'declined'],
      ['declined', 'declined'],
    ] as const),
  ],
  [
    'declined with a charge only',
    { status: 'requires_payment_method', latest_charge: failedCharge },
    ...([
      ['declined', 'declined'],
      ['declined', 'declined'],
    ] as const),
  ],
  [
    'the customer did not confirm',
    { status: 'requires_payment_method', last_payment_error: notAuthenticated },
    ...([
      ['declined', 'declined'],
      ['declined', 'declined'],
    ] as const),
  ],
  [
    'a charge that is not shown',
    { status: 'requires_payment_method', latest_charge: 'ch_1' },
    ...([
      ['unknown', 'unknown'],
      ['unknown', 'unknown'],
    ] as const),
  ],
  [
    'waits for a confirmation',
    { status: 'requires_confirmation' },
    ['unknown', never, 'cancels'],
    ['unknown', never, 'cancels'],
  ],
  [
    'the customer is led to the bank',
    { status: 'requires_action', next_action: redirect },
    ...([
      ['needs_customer', never, 'cancels'],
      ['needs_customer', never, 'cancels'],
    ] as const),
  ],
  [
    'a script of Stripe is wanted',
    { status: 'requires_action', next_action: { type: 'use_stripe_sdk', use_stripe_sdk: {} } },
    ...([
      ['needs_customer', never, 'cancels'],
      ['needs_customer', never, 'cancels'],
    ] as const),
  ],
  [
    'a notice to the customer in India',
    { status: 'requires_action', next_action: { type: 'card_await_notification', card_await_notification: {} } },
    ...([
      ['needs_customer', never, 'cancels'],
      ['needs_customer', never, 'cancels'],
    ] as const),
  ],
  [
    'an action that is not shown',
    { status: 'requires_action', next_action: null },
    ...([
      ['needs_customer', never, 'cancels'],
      ['needs_customer', never, 'cancels'],
    ] as const),
  ],
  ['processing', { status: 'processing' }, ['unknown', 'unknown'], ['unknown', 'unknown']],
  [
    'processing, with its charge',
    { status: 'processing', latest_charge: charge({ status: 'pending' }) },
    ...([
      ['unknown', 'unknown'],
      ['unknown', 'unknown'],
    ] as const),
  ],
  [
    'holds funds',
    { status: 'requires_capture', latest_charge: charge({ captured: false }) },
    ...([
      ['unknown', 'unknown'],
      ['approved', 'approved'],
    ] as const),
  ],
  [
    'succeeded',
    { status: 'succeeded', ...received, latest_charge: charge() },
    ...([
      ['approved', 'approved'],
      ['approved', 'approved'],
    ] as const),
  ],
  [
    'succeeded, and its charge is not shown',
    { status: 'succeeded', ...received, latest_charge: 'ch_1' },
    ...([
      ['approved', 'approved'],
      ['approved', 'approved'],
    ] as const),
  ],
  [
    'a part succeeded',
    { status: 'succeeded', amount_received: 4000, latest_charge: charge() },
    ...([
      ['unknown', 'unknown'],
      ['approved', 'approved'],
    ] as const),
  ],
  ['cancelled before it was confirmed', { status: 'canceled' }, [never, never], [never, never]],
  [
    'cancelled after a decline',
    { status: 'canceled', latest_charge: failedCharge },
    ...([
      ['declined', 'declined'],
      ['declined', 'declined'],
    ] as const),
  ],
  [
    'cancelled after an authorization',
    { status: 'canceled', latest_charge: charge({ captured: false }) },
    ...([
      ['unknown', 'unknown'],
      ['approved', 'approved'],
    ] as const),
  ],
  ['a state of the future', { status: 'requires_patience' }, ['unknown', 'unknown'], ['unknown', 'unknown']],
  ['another payment', { id: 'pi_2', status: 'succeeded', ...received }, ['unknown', 'unknown'], ['unknown', 'unknown']],
  [
    'another amount',
    { status: 'succeeded', amount: 100, amount_received: 100, latest_charge: charge() },
    ...([
      ['conflict', 'conflict'],
      ['conflict', 'conflict'],
    ] as const),
  ],
];

const intentOf = (fields: Fields, capture_method: string): Fields => ({
  ...{ object: 'payment_intent', id: 'pi_1', amount: 4900, currency: 'usd', latest_charge: null, capture_method },
  metadata: { [referenceName]: reference },
  ...fields,
});

const intentStates: readonly Stripe.PaymentIntent.Status[] = [
  ...(['requires_payment_method', 'requires_confirmation', 'requires_action', 'processing'] as const),
  ...(['requires_capture', 'canceled', 'succeeded'] as const),
];
const setupStates: readonly Stripe.SetupIntent.Status[] = [
  ...(['requires_payment_method', 'requires_confirmation', 'requires_action', 'processing'] as const),
  ...(['canceled', 'succeeded'] as const),
];
const results: readonly Stripe.Charge.PaymentMethodDetails.Card.ThreeDSecure.Result[] = [
  ...(['attempt_acknowledged', 'authenticated', 'data_share_only', 'exempted', 'failed'] as const),
  ...(['not_supported', 'processing_error'] as const),
];

describe('a PaymentIntent', () => {
  it('has each of its states here', () => {
    for (const status of intentStates)
      assert.ok(
        rows.some(([, fields]) => fields.status === status),
        status,
      );
  });

  const sent = { amount: 4900, currency: 'usd', last4: '4242' };
  for (const [what, fields, ...expected] of rows) {
    for (const [at, method] of ['automatic_async', 'manual'].entries()) {
      const [resumed, lookedUp, isCancelled] = expected[at] as Expected;
      it(`${fields.status}, ${method}, ${what}: ${resumed}, then ${lookedUp}`, async () => {
        const kind = method === 'manual' ? 'authorization' : 'charge';
        const request = { companyId, reference, kind, handle: 'pi_1', sent } as const;
        const open = stub(intentOf(fields, method));
        const found = await resume(open, { ...request, returned: { redirect_status: 'succeeded' } });
        assert.equal(found.outcome, resumed, inspect(found));
        assert.ok(!open.sent.includes('cancel'), 'the customer may still be at the bank');
        const ending = stub(intentOf(fields, method));
        const ended = await lookupCharge(ending, request);
        assert.equal(ended.outcome, lookedUp, inspect(ended));
        assert.equal(ending.sent.includes('cancel'), isCancelled === 'cancels');
        if (ended.outcome === 'not_found') assert.equal(ended.isFinal, true);
      });
    }
  }
});

describe('a SetupIntent', () => {
  const setupOf = (fields: Fields): Fields => ({
    ...{ object: 'setup_intent', id: 'seti_1', metadata: { [referenceName]: reference }, customer: 'cus_1' },
    ...{ payment_method: { id: 'pm_1', card: {} }, latest_attempt: null, last_setup_error: null, next_action: null },
    ...fields,
  });
  const setupError = { type: 'invalid_request_error', code: 'setup_intent_authentication_failure' };
  type Outcome = SetUpOutcome['outcome'];
  const table: readonly (readonly [what: string, setup: Fields, resumed: Outcome, ended: Outcome])[] = [
    ['saved', { status: 'succeeded' }, 'set_up', 'unknown'],
    ['led to the bank', { status: 'requires_action', next_action: redirect }, 'needs_customer', 'ended'],
    ['a script is wanted', { status: 'requires_action', next_action: { type: 'use_stripe_sdk' } }, 'declined', 'ended'],
    ['not confirmed', { status: 'requires_payment_method', last_setup_error: setupError }, 'declined', 'ended'],
    ['declined', { status: 'requires_payment_method', last_setup_error: declinedError }, 'declined', 'ended'],
    ['without a card', { status: 'requires_payment_method' }, 'unknown', 'ended'],
    ['waits for a confirmation', { status: 'requires_confirmation' }, 'unknown', 'ended'],
    ['processing', { status: 'processing' }, 'unknown', 'unknown'],
    ['cancelled', { status: 'canceled' }, 'ended', 'ended'],
    ['a state of the future', { status: 'requires_patience' }, 'unknown', 'unknown'],
    ['another card', { status: 'succeeded', metadata: {} }, 'unknown', 'unknown'],
  ];
  it('has each of its states here', () => {
    for (const status of setupStates)
      assert.ok(
        table.some(([, fields]) => fields.status === status),
        status,
      );
  });

  for (const [what, fields, resumed, ended] of table) {
    it(`${fields.status}, ${what}: ${resumed}, or ${ended} when it is given up`, async () => {
      const request = { companyId, reference, handle: 'seti_1' };
      const found = await resumeSetUp(stub(setupOf(fields)), request);
      assert.equal(found.outcome, resumed, inspect(found));
      const end = await endSetUp(stub(setupOf(fields)), request);
      const isSaved = fields.status === 'succeeded' && fields.metadata === undefined;
      assert.equal(end.outcome, isSaved ? 'set_up' : ended, inspect(end));
    });
  }
});

describe('the result of an authentication', () => {
  const table: readonly (readonly [
    result: string | null,
    eci: string | null,
    status: string | null,
    shift: boolean | null,
  ])[] = [
    ['authenticated', '05', 'authenticated', true],
    ['authenticated', '02', 'authenticated', true],
    ['authenticated', null, 'authenticated', true],
    ['authenticated', '07', 'authenticated', false],
    ['attempt_acknowledged', '06', 'attempted', true],
    ['attempt_acknowledged', '01', 'attempted', true],
    ['attempt_acknowledged', '00', 'attempted', false],
    ['exempted', null, 'exempted', false],
    ['failed', '07', 'failed', false],
    ['not_supported', null, 'unavailable', false],
    ['processing_error', null, 'unavailable', false],
    ['data_share_only', null, 'unavailable', false],
    ['guessed', null, null, null],
    [null, null, null, null],
  ];
  it('has each of its values here', () => {
    for (const value of results)
      assert.ok(
        table.some(([result]) => result === value),
        value,
      );
  });

  for (const [result, electronic_commerce_indicator, status, shift] of table) {
    it(`${result}, ${electronic_commerce_indicator}: ${status}, liability ${shift ? 'shifted' : 'not shifted'}`, () => {
      const three_d_secure = {
        result,
        electronic_commerce_indicator,
        authentication_flow: 'challenge',
        version: '2.2.0',
      };
      const { authentication } = authenticationIn({ three_d_secure });
      assert.deepEqual(
        [authentication?.status ?? null, authentication?.liabilityShifted ?? null],
        [status, shift],
        inspect(authentication),
      );
    });
  }
});
