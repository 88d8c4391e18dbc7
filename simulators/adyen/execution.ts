import { completed, isByMerchant, pause, problemOfDetails, recognized, stepOf } from './authentication.ts';
import { ask, newReference, wantedOf } from './authorization.ts';
import type { BooksLine, ChangeLine, PausedLine, Payment, PaymentLine, Wanted } from './books.ts';
import { type Fields, type ShapeName, type Violation, violationOf } from './rules.ts';
import { type AccountSettings, type Simulator, type RequestKind, write } from './state.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';

/** Executes requests of the Checkout API at the simulator. */

export interface Request {
  readonly kind: RequestKind;
  readonly type: PaymentLine['type'] | ChangeLine['type'] | 'details';
  readonly shape: ShapeName;
  readonly key: string;
  readonly body: Fields;
  /** The payment that the path names. */
  readonly payment: string | undefined;
}

const changes = {
  captures: { kind: 'capture', type: 'capture', shape: 'amount' },
  refunds: { kind: 'refund', type: 'refund', shape: 'amount' },
  reversals: { kind: 'void', type: 'reversal', shape: 'plain' },
  cancels: { kind: 'cancel', type: 'cancel', shape: 'plain' },
} as const;

export function requestOf(path: readonly string[], body: Fields, key: string): Request | undefined {
  const [first, payment, action] = path;
  if (first === 'cancels' && path.length === 1) {
    return { kind: 'cancel', type: 'cancel', shape: 'technicalCancel', body, key, payment: undefined };
  }
  if (first !== 'payments') return undefined;
  if (payment === 'details' && path.length === 2) {
    return { kind: 'details', type: 'details', shape: 'details', body, key, payment: undefined };
  }
  if (path.length === 1) return { kind: 'authorization', type: 'payment', shape: 'payment', body, key, payment };
  const wanted = Object.entries(changes).find(([name]) => name === action)?.[1];
  return wanted && { ...wanted, body, key, payment };
}

/** What an account refuses by its settings. Charges that the merchant starts have no security code. */
function refusalBy({ takes_card_numbers, requires_cvc }: AccountSettings, body: Fields): Violation | undefined {
  if (!takes_card_numbers) return { status: 403, errorCode: '010', errorType: 'security', message: 'Not allowed' };
  const { cvc } = body.paymentMethod as Fields;
  if (!requires_cvc || cvc !== undefined || isByMerchant(body)) return undefined;
  const message = "Required field 'cvc' is not provided.";
  return { status: 422, errorCode: '14_029', errorType: 'validation', message };
}

export function problemOf({ books, account }: Simulator, { shape, body, payment }: Request): Violation | undefined {
  const violation = violationOf(shape, body) ?? (shape === 'payment' ? refusalBy(account, body) : undefined);
  if (!violation && shape === 'details') return problemOfDetails(books, body);
  if (violation || payment === undefined || books.payment(payment)) return violation;
  const message = 'Original pspReference required for this operation';
  return { status: 422, errorCode: '167', errorType: 'validation', message };
}

/** Of a payment for which the browser of the customer is not known: it can only be given up. */
function askInVain({ options }: Simulator, wanted: Wanted, key: string): PaymentLine {
  const { psp, reference, amount, last4 } = wanted;
  const additionalData = wanted.additionalData;
  const body = { merchantReference: reference, resultCode: 'RedirectShopper', amount, additionalData };
  const atMs = options.clock.nowMs();
  const payment = { psp, reference, amount, last4, isAuthorized: false, refusal: null, isCaptured: false };
  return { type: 'payment', ...payment, atMs, key, answer: { status: 200, body } };
}

function pay(simulator: Simulator, { body, key }: Request, fault: string | undefined): PaymentLine | PausedLine {
  const wanted = wantedOf(simulator, body, fault);
  const step = stepOf(simulator.account, body, fault);
  const notAuthenticated = { ...wanted, refusal: wanted.refusal ?? '38' };
  if (step === 'refuse') return ask(simulator, notAuthenticated, key);
  if (step === 'ask_in_vain') return askInVain(simulator, wanted, key);
  if (step === 'ask') return pause(simulator, wanted, body, key, fault === 'authentication_by_post' ? 'POST' : 'GET');
  return ask(simulator, step === 'recognize' ? recognized(wanted) : wanted, key);
}

const refusingFaults = ['capture_refused', 'refund_refused'];
const eventCodes = { capture: 'CAPTURE', refund: 'REFUND', reversal: 'CANCEL_OR_REFUND', cancel: 'CANCELLATION' };

function change(simulator: Simulator, request: Request, fault: string | undefined): ChangeLine {
  const { books, options, notices } = simulator;
  const { body, key, shape, type } = request;
  if (type === 'payment' || type === 'details') throw new Error('a payment is not a change');
  const isTechnical = shape === 'technicalCancel';
  const payment: Payment | undefined = isTechnical
    ? books.paymentWith(String(body.paymentReference))
    : books.payment(request.payment ?? '');
  const amount = (body.amount as AdyenAmount | undefined) ?? null;
  const reference = typeof body.reference === 'string' ? body.reference : (payment?.reference ?? '');
  const psp = newReference();
  const isDone = books.succeeds(type, payment, amount) && !refusingFaults.includes(fault ?? '');
  notices.add({
    eventCode: isTechnical ? 'TECHNICAL_CANCEL' : eventCodes[type],
    pspReference: psp,
    originalReference: payment?.psp ?? null,
    merchantReference: reference,
    amount: amount ?? payment?.amount ?? { currency: 'EUR', value: 0 },
    isSuccess: isDone,
    ...(!isDone && { reason: 'Transaction not found or in the wrong state' }),
  });
  const answer = {
    merchantAccount: options.merchantAccount,
    pspReference: psp,
    reference,
    status: 'received',
    ...(isTechnical ? { paymentReference: body.paymentReference } : { paymentPspReference: payment?.psp }),
    ...(amount && { amount }),
  };
  return {
    type,
    psp,
    reference,
    payment: payment?.psp ?? null,
    amount: type === 'reversal' ? (payment?.amount ?? null) : amount,
    isDone,
    atMs: options.clock.nowMs(),
    key,
    answer: { status: 201, body: answer },
  };
}

export function execute(
  simulator: Simulator,
  request: Request,
  fault: string | undefined,
): Exclude<BooksLine, { type: 'key' | 'failure' | 'decision' }> {
  if (request.type === 'payment') return pay(simulator, request, fault);
  return request.type === 'details' ? completed(simulator, request) : change(simulator, request, fault);
}

const failures: Readonly<Record<string, string>> = { capture_failed: 'CAPTURE_FAILED', reject_refund: 'REFUND_FAILED' };

/** The card network rejects a capture or refund some time after it succeeded, but no capture that was refunded. */
export function failLater(simulator: Simulator, line: BooksLine, fault: string | undefined): void {
  const eventCode = failures[fault ?? ''];
  if (eventCode === undefined || !('isDone' in line) || !line.isDone || !line.amount) return;
  const { psp, payment, reference, amount } = line;
  setTimeout(() => {
    const paid = simulator.books.payment(payment ?? '');
    if (line.type === 'capture' && paid && simulator.books.refundedAmount(paid) > 0) return;
    write(simulator, { type: 'failure', of: psp });
    simulator.notices.add({
      eventCode,
      pspReference: psp,
      originalReference: payment,
      merchantReference: reference,
      amount,
      isSuccess: true,
      reason: 'Capture rejected by card scheme because of a technical issue',
    });
  }, simulator.settleAfterMs);
}
