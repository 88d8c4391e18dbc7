import { randomBytes } from 'node:crypto';
import type Stripe from 'stripe';
import type { Clock } from '../../server/platform/clock.ts';
import { dayMs, secondMs } from '../../server/platform/durations.ts';
import type { Decline } from './bank.ts';

/** The objects of the simulated Stripe, as it stores and shows them. Of a card it keeps only what a receipt may show. */

type Metadata = Readonly<Record<string, string>>;
type Shown = Record<string, unknown>;

export interface Method {
  readonly id: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly checks: Readonly<Record<string, string | null>>;
  /** What the bank will say about the security code; undefined without one. */
  readonly cvcResult?: 'pass' | 'fail';
  /** The customer to which it is attached. Only then can it be used again. */
  readonly customerId?: string | null;
  /** Saved by a payment of the customer or a SetupIntent, and not only attached. */
  readonly isSetUp?: boolean;
  /** What Stripe's test card with this number does. */
  readonly testCard?: string;
}

export interface Customer {
  readonly id: string;
  readonly metadata: Metadata;
  readonly createdMs: number;
  readonly isDeleted: boolean;
}

/** The bank asks the customer. */
export interface Challenge {
  /** The page of the bank. */
  readonly url: string;
  /** Undefined if the payment was confirmed without one: then only Stripe's script can show the page. */
  readonly returnUrl?: string;
  readonly methodId: string;
  /** What the confirmation asked for. */
  readonly form: string;
  /** What happens after the customer has confirmed. */
  readonly fault?: string;
}

/** How the customer was authenticated, as Stripe shows it. */
export type ThreeDSecure = Readonly<Stripe.Charge.PaymentMethodDetails.Card.ThreeDSecure>;

export interface Intent {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly metadata: Metadata;
  readonly customerId?: string | null;
  readonly createdMs: number;
  readonly status:
    | 'requires_payment_method'
    | 'requires_action'
    | 'processing'
    | 'requires_capture'
    | 'succeeded'
    | 'canceled';
  /** Captured only on request, and then perhaps a part. */
  readonly isManual?: boolean;
  readonly capturedAmount?: number;
  readonly error: Shown | null;
  readonly chargeId: string | null;
  /** While it is `requires_action`, and afterwards for customers who come back late. */
  readonly challenge?: Challenge;
}

/** A card that is saved without a payment. */
export interface Setup {
  readonly id: string;
  readonly metadata: Metadata;
  readonly createdMs: number;
  readonly status: 'requires_payment_method' | 'requires_action' | 'succeeded' | 'canceled';
  readonly methodId: string;
  readonly customerId: string | null;
  readonly error: Shown | null;
  readonly challenge?: Challenge;
  readonly threeDSecure?: ThreeDSecure;
}

export interface Charge {
  readonly id: string;
  readonly intentId: string;
  readonly methodId: string;
  readonly createdMs: number;
  readonly settlesAtMs: number;
  readonly declineCode: string | null;
  /** Of a declined charge, what the bank or Radar said. */
  readonly decline?: Decline;
  readonly authorizationCode: string | null;
  /** Of an authorization: then the payment is cancelled. */
  readonly captureBeforeMs?: number;
  readonly threeDSecure?: ThreeDSecure;
}

export interface Refund {
  readonly id: string;
  readonly intentId: string;
  readonly amount: number;
  readonly metadata: Metadata;
  readonly createdMs: number;
  readonly settlesAtMs: number;
  /** Why the bank returns it. */
  readonly fails: string | false;
  /** What Stripe says until then. */
  readonly first?: 'pending' | 'succeeded';
}

export interface Dispute {
  readonly id: string;
  readonly intentId: string;
  readonly status: string;
  readonly createdMs: number;
  readonly evidence: Shown;
  /** Evidence is submitted once, and cannot be changed then. */
  readonly isSubmitted?: boolean;
  /** Without it, the amount of the payment. */
  readonly amount?: number;
}

interface SavedKey {
  readonly id: string;
  readonly path: string;
  readonly digest: string;
  readonly status: number;
  readonly body: object;
}

export interface EventRecord {
  readonly id: string;
  readonly body: string;
  readonly delivered: boolean;
}

interface Rows {
  readonly customers: Customer;
  readonly methods: Method;
  readonly intents: Intent;
  readonly setups: Setup;
  readonly charges: Charge;
  readonly refunds: Refund;
  readonly disputes: Dispute;
  readonly keys: SavedKey;
  readonly events: EventRecord;
}
export type TableName = keyof Rows;
type Tables = { readonly [Name in TableName]: Map<string, Rows[Name]> };

export const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
const seconds = (ms: number): number => Math.floor(ms / secondMs);

export interface Books extends Tables {
  readonly clock: Clock;
  put<Name extends TableName>(table: Name, row: Rows[Name]): Rows[Name];
}

export function openBooks(clock: Clock, onPut: (table: TableName, row: object) => void): Books {
  const tables: Tables = {
    customers: new Map(),
    methods: new Map(),
    intents: new Map(),
    setups: new Map(),
    charges: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    keys: new Map(),
    events: new Map(),
  };
  return {
    ...tables,
    clock,
    put(table, row) {
      (tables[table] as Map<string, object>).set(row.id, row);
      onPut(table, row);
      return row;
    },
  };
}

export const refundsOf = ({ refunds }: Books, intentId: string): Refund[] =>
  [...refunds.values()].filter((refund) => refund.intentId === intentId);

export const refundStatus = ({ clock }: Books, { settlesAtMs, fails, first = 'pending' }: Refund): string =>
  clock.nowMs() < settlesAtMs ? first : fails === false ? 'succeeded' : 'failed';

export const stands = (books: Books, refund: Refund): boolean => refundStatus(books, refund) !== 'failed';

export const takenBy = ({ amount, capturedAmount }: Intent): number => capturedAmount ?? amount;

/** What remains of the charge of an intent. */
export function remainingOf(books: Books, intent: Intent): number {
  const refunded = refundsOf(books, intent.id).filter((refund) => stands(books, refund));
  return refunded.reduce((left, refund) => left - refund.amount, takenBy(intent));
}

export const showMethod = ({ id, last4, exp_month, exp_year, checks, customerId = null }: Method): Shown => ({
  id,
  object: 'payment_method',
  type: 'card',
  customer: customerId,
  card: { brand: 'visa', last4, exp_month, exp_year, checks },
});

export function showRefund(books: Books, refund: Refund): Shown {
  const { id, intentId, amount, metadata, createdMs } = refund;
  const status = refundStatus(books, refund);
  return {
    id,
    object: 'refund',
    amount,
    currency: books.intents.get(intentId)?.currency,
    created: seconds(createdMs),
    metadata,
    payment_intent: intentId,
    status,
    ...(status === 'failed' && { failure_reason: refund.fails }),
  };
}

const approval = {
  type: 'authorized',
  network_status: 'approved_by_network',
  reason: null,
  risk_level: 'normal',
  seller_message: 'Payment complete.',
};

export const balanceId = ({ id }: Charge): string => id.replace('ch_', 'txn_');

export function showBalanceTransaction({ clock }: Books, charge: Charge): Shown {
  const { id, createdMs, settlesAtMs } = charge;
  return {
    id: balanceId(charge),
    object: 'balance_transaction',
    created: seconds(createdMs),
    available_on: seconds(settlesAtMs),
    status: clock.nowMs() < settlesAtMs ? 'pending' : 'available',
    source: id,
  };
}

export function showCharge(books: Books, charge: Charge, isListed = false): Shown {
  const { id, intentId, methodId, createdMs, decline, declineCode, authorizationCode, captureBeforeMs } = charge;
  const { threeDSecure = null } = charge;
  const intent = books.intents.get(intentId);
  const method = books.methods.get(methodId);
  const approved = declineCode === null;
  return {
    id,
    object: 'charge',
    amount: intent?.amount,
    currency: intent?.currency,
    created: seconds(createdMs),
    status: approved ? 'succeeded' : 'failed',
    captured: approved && intent?.status === 'succeeded',
    amount_captured: approved && intent?.status === 'succeeded' ? takenBy(intent) : 0,
    paid: approved,
    payment_intent: intent && isListed ? showIntent(books, intent, false) : intentId,
    metadata: intent?.metadata,
    failure_code: decline?.error.code ?? null,
    failure_message: decline?.error.message ?? null,
    outcome: decline?.outcome ?? approval,
    payment_method_details: {
      card: {
        brand: 'visa',
        last4: method?.last4,
        checks: method?.checks,
        authorization_code: authorizationCode,
        network_transaction_id: approved ? id.slice(-12) : null,
        three_d_secure: threeDSecure,
        ...(captureBeforeMs !== undefined && { capture_before: seconds(captureBeforeMs) }),
      },
    },
    balance_transaction: approved && intent?.status === 'succeeded' ? showBalanceTransaction(books, charge) : null,
    refunds: { object: 'list', data: refundsOf(books, intentId).map((refund) => showRefund(books, refund)) },
  };
}

/** Without a return URL, only Stripe's own script can lead the customer to the bank. */
function nextAction({ status, challenge }: Pick<Intent | Setup, 'status' | 'challenge'>): Shown | null {
  if (status !== 'requires_action') return null;
  const { url, returnUrl } = challenge ?? {};
  if (returnUrl === undefined || url === undefined) return { type: 'use_stripe_sdk', use_stripe_sdk: {} };
  const redirect_to_url: Stripe.PaymentIntent.NextAction.RedirectToUrl = { url, return_url: returnUrl };
  return { type: 'redirect_to_url', redirect_to_url };
}

export function showSetup({ methods }: Books, setup: Setup): Shown {
  const { id, metadata, createdMs, status, methodId, customerId, error, threeDSecure = null } = setup;
  const method = methods.get(methodId);
  const card = { checks: method?.checks, three_d_secure: threeDSecure };
  return {
    id,
    object: 'setup_intent',
    created: seconds(createdMs),
    client_secret: `${id}_secret_x`,
    status,
    metadata,
    usage: 'off_session',
    customer: customerId,
    payment_method: error || !method ? null : showMethod(method),
    latest_attempt: error && !threeDSecure ? newId('setatt') : { payment_method_details: { card } },
    last_setup_error: error,
    next_action: nextAction(setup),
    mandate: null,
  };
}

export function showIntent(books: Books, intent: Intent, isExpanded: boolean): Shown {
  const { id, amount, currency, metadata, createdMs, status, error, chargeId, customerId = null } = intent;
  const charge = chargeId === null ? undefined : books.charges.get(chargeId);
  return {
    id,
    object: 'payment_intent',
    amount,
    amount_received: status === 'succeeded' ? takenBy(intent) : 0,
    amount_capturable: status === 'requires_capture' ? amount : 0,
    capture_method: intent.isManual ? 'manual' : 'automatic_async',
    currency,
    created: seconds(createdMs),
    metadata,
    customer: customerId,
    status,
    client_secret: `${id}_secret_x`,
    confirmation_method: 'automatic',
    next_action: nextAction(intent),
    last_payment_error: error,
    latest_charge: isExpanded && charge ? showCharge(books, charge) : chargeId,
  };
}

export function showDispute({ intents }: Books, dispute: Dispute): Shown {
  const { id, intentId, status, createdMs, evidence, isSubmitted } = dispute;
  const intent = intents.get(intentId);
  return {
    id,
    object: 'dispute',
    amount: dispute.amount ?? intent?.amount,
    currency: intent?.currency,
    created: seconds(createdMs),
    charge: intent?.chargeId,
    payment_intent: intentId,
    status,
    reason: 'fraudulent',
    evidence,
    evidence_details: {
      due_by: seconds(createdMs + 7 * dayMs),
      has_evidence: Object.keys(evidence).length > 0,
      past_due: false,
      submission_count: isSubmitted === true ? 1 : 0,
    },
    payment_method_details: { type: 'card', card: { brand: 'visa', network_reason_code: '10.4' } },
  };
}
