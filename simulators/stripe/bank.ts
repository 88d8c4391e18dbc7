import { type Books, type Method, newId, type ThreeDSecure } from './books.ts';
import { needsSetUp } from './customers.ts';

/** What Radar and the bank of a card decide about a payment, as Stripe reports it. */

/** Of a payment that is declined. */
export interface Decline {
  /** The error as an answer shows it. */
  readonly error: Readonly<Record<string, unknown>>;
  /** The `outcome` of the charge; undefined if there is no charge, because nothing was sent to the bank. */
  readonly outcome?: Readonly<Record<string, unknown>>;
}

/** Stripe's test cards, by what they do. The number itself is not kept. */
const testCards: ReadonlyMap<string, string> = new Map([
  ['4000000000000002', 'generic_decline'],
  ['4000000000009995', 'insufficient_funds'],
  ['4000000000009987', 'lost_card'],
  ['4000000000009979', 'stolen_card'],
  ['4000000000000069', 'expired_card'],
  ['4000000000000127', 'incorrect_cvc'],
  ['4000000000000119', 'processing_error'],
  ['4000000000006975', 'card_velocity_exceeded'],
  ['4100000000000019', 'blocked'],
  ['4000000000000259', 'disputed'],
  ['4000000000007726', 'refund_succeeds_later'],
  ['4000000000005126', 'refund_fails_later'],
  ['4000002500003155', 'authenticates_until_set_up'],
  ['4000002760003184', 'authenticates_always'],
  ['4000003800000446', 'is_set_up'],
  ['4000000000003220', 'authenticates_always'],
  ['4000008260003178', 'authenticates_then_insufficient_funds'],
  ['4000008400001629', 'authenticates_then_generic_decline'],
]);
export const testCardOf = (number: string): string | undefined => testCards.get(number);

/** Stripe has an error code of its own for these; for all others it is `card_declined`. */
const ownCodes = ['expired_card', 'incorrect_cvc', 'incorrect_number', 'processing_error', 'authentication_required'];

type NetworkAnswer = Readonly<Record<'network_decline_code' | 'network_advice_code' | 'advice_code', string>>;
const answered = (network_decline_code: string, advice_code: string, network_advice_code: string): NetworkAnswer => ({
  network_decline_code,
  network_advice_code,
  advice_code,
});

/** What banks send with a decline: their response code, and what they advise. */
const networkAnswers: Readonly<Record<string, NetworkAnswer>> = {
  authentication_required: answered('1A', 'try_again_later', '02'),
  card_velocity_exceeded: answered('65', 'try_again_later', '24'),
  do_not_honor: answered('05', 'try_again_later', '02'),
  expired_card: answered('54', 'confirm_card_data', '01'),
  generic_decline: answered('05', 'try_again_later', '02'),
  incorrect_cvc: answered('N7', 'confirm_card_data', '01'),
  incorrect_number: answered('14', 'confirm_card_data', '01'),
  insufficient_funds: answered('51', 'try_again_later', '02'),
  lost_card: answered('41', 'do_not_try_again', '03'),
  pickup_card: answered('04', 'do_not_try_again', '03'),
  stolen_card: answered('43', 'do_not_try_again', '03'),
};

/** The error of a card. With `advice`, the network advises this. */
export function cardError(declineCode: string, rest: object = {}, advice?: string) {
  const code = ownCodes.includes(declineCode) ? declineCode : 'card_declined';
  const said = { ...networkAnswers[declineCode], ...(advice && { advice_code: advice, network_advice_code: '' }) };
  const shown = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== ''));
  return { type: 'card_error', code, decline_code: declineCode, message: 'Your card was declined.', ...shown, ...rest };
}

function byBank(declineCode: string, advice?: string): Decline {
  const error = cardError(declineCode, {}, advice);
  const { type: _, code: __, decline_code: reason, message: ___, ...said } = error;
  const seller_message = `The bank returned the decline code \`${declineCode}\`.`;
  return {
    error,
    outcome: { type: 'issuer_declined', network_status: 'declined_by_network', reason, seller_message, ...said },
  };
}

/** Radar blocks a payment before it is sent to the bank. The answer says no more than that the card was declined. */
const blocked: Decline = {
  error: cardError('fraudulent'),
  outcome: {
    type: 'blocked',
    network_status: 'not_sent_to_network',
    reason: 'highest_risk_level',
    risk_level: 'highest',
    seller_message: 'Stripe blocked this payment as too risky.',
  },
};

/** The customer refused, or the bank did not recognize the customer: the bank was not asked to pay. */
export const authenticationFailed = (kind: 'payment' | 'setup', rest: object = {}): Decline => ({
  error: {
    type: 'invalid_request_error',
    code: `${kind}_intent_authentication_failure`,
    message: `The provided PaymentMethod has failed authentication. You can provide a new PaymentMethod to attempt to fulfill this ${kind === 'payment' ? 'PaymentIntent' : 'SetupIntent'} again.`,
    ...rest,
  },
});

/** With `error_on_requires_action`: the bank wants the customer to confirm the payment, and was not asked to pay. */
const notAuthenticated: Decline = {
  error: {
    type: 'card_error',
    code: 'authentication_required',
    decline_code: 'authentication_not_handled',
    message: 'This payment required an authentication action to complete, but `error_on_requires_action` was set.',
  },
};

/** Errors without a code: Stripe refuses the account or the request, and asks no bank. */
const refusals: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'refuse:live_charges': {
    type: 'invalid_request_error',
    message: 'Your account cannot currently make live charges.',
  },
  'refuse:export': {
    type: 'invalid_request_error',
    message: 'As per Indian regulations, export transactions require a customer name and address.',
  },
  'refuse:card': { type: 'card_error', message: 'Your account cannot accept this card.' },
  'refuse:api': { type: 'api_error', message: 'This request cannot be processed for your account.' },
};
export const isRefusal = (fault: string): boolean => fault in refusals;
export const refusalOf = (fault: string | undefined): object | undefined => refusals[fault ?? ''];

const declineFault = /^decline:([a-z_]{1,40})(?::([a-z_]{1,20}))?$/;
export const isDecline = (fault: string): boolean => declineFault.test(fault);

/** The code of `decline:CODE` or `decline:CODE:ADVICE`. */
export const declineCodeOf = (fault: string | undefined): string | undefined => declineFault.exec(fault ?? '')?.[1];

export interface Habits {
  /** How long an authorization can be captured. */
  holdForMs: number;
  /** Whether banks want each card to have been saved by the customer before the merchant charges it, as in Europe. */
  wantsSetUp: boolean;
  /** Whether banks want the customer to confirm each payment, as in Europe. */
  wantsAuthentication: boolean;
  /** Whether banks recognize their customers without asking them. */
  isFrictionless: boolean;
}

const externalName = (name: string): string => `payment_method_options[card][three_d_secure][${name}]`;

/** The customer was authenticated by a server of the merchant. */
export function externalIn(form: URLSearchParams): ThreeDSecure | undefined {
  if (!form.has(externalName('cryptogram'))) return undefined;
  const eci = form.get(externalName('electronic_commerce_indicator'));
  return {
    authentication_flow: null,
    electronic_commerce_indicator: eci,
    exemption_indicator: null,
    result: eci === '01' || eci === '06' ? 'attempt_acknowledged' : 'authenticated',
    result_reason: null,
    transaction_id: form.get(externalName('transaction_id')),
    version: form.get(externalName('version')),
  };
}

/** Whether the bank wants the customer to confirm this payment. Without the customer it declines then. */
export function authenticationOf(
  habits: Habits,
  method: Method,
  form: URLSearchParams,
): 'wanted' | 'missing' | undefined {
  const { testCard } = method;
  const isOffSession = (form.get('off_session') ?? 'false') !== 'false';
  if (externalIn(form)) return undefined;
  if (!isOffSession) {
    const asks = testCard === 'is_set_up' || testCard?.startsWith('authenticates_') === true;
    const isSetUp = testCard === 'authenticates_until_set_up' && method.isSetUp === true;
    return (asks && !isSetUp) || habits.wantsAuthentication ? 'wanted' : undefined;
  }
  if (testCard === 'is_set_up') return undefined;
  if (testCard === 'authenticates_always') return 'missing';
  const wantsSetUp = habits.wantsSetUp || habits.wantsAuthentication || testCard === 'authenticates_until_set_up';
  return needsSetUp(wantsSetUp, method) ? 'missing' : undefined;
}

const declining = ['processing_error', 'expired_card', 'incorrect_cvc', 'card_velocity_exceeded', 'generic_decline'];
declining.push('insufficient_funds', 'lost_card', 'stolen_card');

/** Why a payment is declined before a bank would ask the customer; undefined if it is not. */
export function declineBefore(
  habits: Habits,
  method: Method,
  form: URLSearchParams,
  fault: string | undefined,
): Decline | undefined {
  if (fault === 'block' || method.testCard === 'blocked') return blocked;
  const isUnable = form.get('error_on_requires_action') === 'true';
  const authentication = declineFault.test(fault ?? '') ? undefined : authenticationOf(habits, method, form);
  return authentication === 'wanted' && isUnable ? notAuthenticated : undefined;
}

/** Why the bank declines a payment; undefined if it does not. */
export function declineOf(
  habits: Habits,
  method: Method,
  form: URLSearchParams,
  fault: string | undefined,
): Decline | undefined {
  const [, code, advice] = declineFault.exec(fault ?? '') ?? [];
  if (code) return byBank(code, advice);
  if (authenticationOf(habits, method, form) === 'missing') return byBank('authentication_required');
  const reason = method.testCard?.replace('authenticates_then_', '') ?? '';
  return declining.includes(reason) ? byBank(reason) : undefined;
}

/** The charge of a payment. */
export function chargeOf({ books, nowMs, settlesAfterMs }: { books: Books; nowMs: number; settlesAfterMs: number }) {
  return (intentId: string, methodId: string, decline: Decline | undefined, threeDSecure?: ThreeDSecure) =>
    books.put('charges', {
      id: newId('ch'),
      intentId,
      methodId,
      createdMs: nowMs,
      settlesAtMs: nowMs + settlesAfterMs,
      declineCode: decline ? String(decline.error.decline_code) : null,
      ...(decline && { decline }),
      ...(threeDSecure && { threeDSecure }),
      authorizationCode: decline ? null : String(books.charges.size % 1_000_000).padStart(6, '0'),
    });
}

/** Takes the habits out of the body of `POST /control`. Returns what else it asks for. */
export function setHabits(
  bank: Habits,
  { wants_set_up, wants_authentication, frictionless, hold_for_ms, ...others }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (typeof hold_for_ms === 'number') bank.holdForMs = hold_for_ms;
  if (typeof wants_set_up === 'boolean') bank.wantsSetUp = wants_set_up;
  if (typeof wants_authentication === 'boolean') bank.wantsAuthentication = wants_authentication;
  if (typeof frictionless === 'boolean') bank.isFrictionless = frictionless;
  return others;
}
