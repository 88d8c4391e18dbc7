import { type Books, type Method, newId } from './books.ts';
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
}

/** Whether the bank wants the customer to confirm this payment. Without the customer it declines then. */
function authenticationOf(habits: Habits, method: Method, form: URLSearchParams): 'wanted' | 'missing' | undefined {
  const { testCard } = method;
  const isOffSession = (form.get('off_session') ?? 'false') !== 'false';
  if (!isOffSession) {
    const asks = ['authenticates_until_set_up', 'authenticates_always', 'is_set_up'].includes(testCard ?? '');
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

/** Why a payment is declined; undefined if it is not. */
export function declineOf(
  habits: Habits,
  method: Method,
  form: URLSearchParams,
  fault: string | undefined,
): Decline | undefined {
  const [, code, advice] = declineFault.exec(fault ?? '') ?? [];
  if (code) return byBank(code, advice);
  if (fault === 'block' || method.testCard === 'blocked') return blocked;
  const authentication = authenticationOf(habits, method, form);
  if (authentication === 'wanted') return notAuthenticated;
  if (authentication === 'missing') return byBank('authentication_required');
  return declining.includes(method.testCard ?? '') ? byBank(method.testCard ?? '') : undefined;
}

/** The charge of a payment. */
export function chargeOf({ books, nowMs, settlesAfterMs }: { books: Books; nowMs: number; settlesAfterMs: number }) {
  return (intentId: string, methodId: string, decline: Decline | undefined) =>
    books.put('charges', {
      id: newId('ch'),
      intentId,
      methodId,
      createdMs: nowMs,
      settlesAtMs: nowMs + settlesAfterMs,
      declineCode: decline ? String(decline.error.decline_code) : null,
      ...(decline && { decline }),
      authorizationCode: decline ? null : String(books.charges.size % 1_000_000).padStart(6, '0'),
    });
}

/** Takes the habits out of the body of `POST /control`. Returns what else it asks for. */
export function setHabits(
  bank: Habits,
  { wants_set_up, wants_authentication, hold_for_ms, ...others }: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  if (typeof hold_for_ms === 'number') bank.holdForMs = hold_for_ms;
  if (typeof wants_set_up === 'boolean') bank.wantsSetUp = wants_set_up;
  if (typeof wants_authentication === 'boolean') bank.wantsAuthentication = wants_authentication;
  return others;
}
