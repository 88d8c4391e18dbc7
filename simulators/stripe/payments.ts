import { authenticationFailed, chargeOf, declineOf, externalIn } from './bank.ts';
import type { Bank, Reply } from './bank-state.ts';
import { dayMs } from '../../server/platform/durations.ts';
import {
  type Charge,
  type Intent,
  type Method,
  showCharge,
  showIntent,
  showMethod,
  type ThreeDSecure,
} from './books.ts';
import { refusal } from './rules.ts';

/** What the simulated Stripe does with a payment once the bank may be asked to pay. */

/** Reports that a payment succeeded. */
function reportPaid({ books, notices }: Bank, intent: Intent): void {
  notices.emit('payment_intent.succeeded', showIntent(books, intent, false));
  const charge = books.charges.get(intent.chargeId ?? '');
  if (charge) notices.emit('charge.succeeded', { ...showCharge(books, charge), balance_transaction: null });
}

const processingMs = 300;

/** Ends the processing of a payment some time later, also after a restart. */
export function endProcessing(bank: Bank, intent: Intent): void {
  setTimeout(() => reportPaid(bank, bank.books.put('intents', { ...intent, status: 'succeeded' })), processingMs);
}

/** A payment that is cancelled, or whose authorization has ended. */
export function cancelled({ books, notices }: Bank, intent: Intent): Intent {
  const ended = books.put('intents', { ...intent, status: 'canceled' });
  notices.emit('payment_intent.canceled', showIntent(books, ended, false));
  return ended;
}

const timerMsMax = 2 ** 31 - 1;

/** The authorization ends at its time, also after a restart. */
export function endHold(bank: Bank, { id, chargeId }: Intent): void {
  const captureBeforeMs = bank.books.charges.get(chargeId ?? '')?.captureBeforeMs ?? 0;
  const end = (): void => {
    const intent = bank.books.intents.get(id);
    if (intent?.status === 'requires_capture') cancelled(bank, intent);
  };
  setTimeout(end, Math.min(Math.max(0, captureBeforeMs - bank.clock.nowMs()), timerMsMax)).unref();
}

/** The error of a payment that is not paid, and its events. */
export function declined(
  { books, notices }: Bank,
  intent: Intent,
  error: Readonly<Record<string, unknown>>,
  charge?: Charge,
): Reply {
  const chargeId = charge?.id ?? null;
  const failed = books.put('intents', { ...intent, status: 'requires_payment_method', error, chargeId });
  notices.emit('payment_intent.payment_failed', showIntent(books, failed, false));
  if (charge) notices.emit('charge.failed', showCharge(books, charge));
  return { status: 402, body: { error: { ...error, payment_intent: showIntent(books, failed, false) } } };
}

/** The customer did not confirm. There is no charge, because the bank was not asked to pay. */
export function notAuthenticated(bank: Bank, intent: Intent, method: Method): Reply {
  const { error } = authenticationFailed('payment', { payment_method: showMethod(method) });
  return declined(bank, intent, error);
}

function held(bank: Bank, intent: Intent, charge: Charge): Reply {
  const { books, notices } = bank;
  const until = books.put('charges', { ...charge, captureBeforeMs: charge.createdMs + bank.holdForMs });
  const standing = books.put('intents', { ...intent, status: 'requires_capture', chargeId: until.id });
  notices.emit('payment_intent.amount_capturable_updated', showIntent(books, standing, false));
  notices.emit('charge.succeeded', { ...showCharge(books, until), balance_transaction: null });
  endHold(bank, standing);
  return { status: 200, body: showIntent(books, standing, true) };
}

/** Asks the bank to pay. */
export function pay(
  bank: Bank,
  intent: Intent,
  method: Method,
  form: URLSearchParams,
  fault: string | undefined,
  threeDSecure: ThreeDSecure | undefined = externalIn(form),
): Reply {
  const { books, clock } = bank;
  const decline = declineOf(bank, method, form, fault);
  const open = chargeOf({ books, nowMs: clock.nowMs(), settlesAfterMs: bank.settleAfterMs ?? 2 * dayMs });
  const charge = open(intent.id, method.id, decline, threeDSecure);
  if (decline) {
    return declined(bank, intent, { ...decline.error, charge: charge.id, payment_method: showMethod(method) }, charge);
  }
  if (form.has('setup_future_usage') && intent.customerId) {
    books.put('methods', { ...method, customerId: intent.customerId, isSetUp: true });
  }
  if (intent.isManual) return held(bank, intent, charge);
  const status = fault === 'processing' ? 'processing' : 'succeeded';
  const paid = books.put('intents', { ...intent, status, chargeId: charge.id });
  (status === 'processing' ? endProcessing : reportPaid)(bank, paid);
  return { status: 200, body: showIntent(books, paid, true) };
}

export const unexpectedState = ({ books }: Bank, intent: Intent): Reply =>
  refusal(400, `This PaymentIntent's status is ${intent.status}.`, {
    code: 'payment_intent_unexpected_state',
    payment_intent: showIntent(books, intent, false),
  });
