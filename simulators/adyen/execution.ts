import { randomBytes } from 'node:crypto';
import { refusals } from '../../server/vault/processors/adyen/codes.ts';
import type { ChangeLine, Payment, PaymentLine } from './books.ts';
import { type Fields, isFields, type ShapeName, type Violation, violationOf } from './rules.ts';
import { type AccountSettings, type Simulator, type RequestKind, write } from './state.ts';
import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';

/** Executes requests of the Checkout API at the simulator. */

export interface Request {
  readonly kind: RequestKind;
  readonly type: PaymentLine['type'] | ChangeLine['type'];
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
  if (path.length === 1) return { kind: 'authorization', type: 'payment', shape: 'payment', body, key, payment };
  const wanted = Object.entries(changes).find(([name]) => name === action)?.[1];
  return wanted && { ...wanted, body, key, payment };
}

/** Adyen's references have 16 letters and digits. They are not all digits here, so that none looks like a card. */
export function newReference(): string {
  const letters = 'BCDFGHJKLMNPQRSTVWXZ23456789';
  const characters = [...randomBytes(15)].map((byte) => letters[byte % letters.length]);
  return `F${characters.join('')}`;
}

const withoutShopper = ['Subscription', 'UnscheduledCardOnFile'];

/** What an account refuses by its settings. Charges that the merchant starts have no security code. */
function refusalBy({ takes_card_numbers, requires_cvc }: AccountSettings, body: Fields): Violation | undefined {
  if (!takes_card_numbers) return { status: 403, errorCode: '010', errorType: 'security', message: 'Not allowed' };
  const { cvc } = body.paymentMethod as Fields;
  const isByMerchant =
    body.shopperInteraction === 'ContAuth' && withoutShopper.includes(String(body.recurringProcessingModel));
  if (!requires_cvc || cvc !== undefined || isByMerchant) return undefined;
  const message = "Required field 'cvc' is not provided.";
  return { status: 422, errorCode: '14_029', errorType: 'validation', message };
}

export function problemOf({ books, account }: Simulator, { shape, body, payment }: Request): Violation | undefined {
  const violation = violationOf(shape, body) ?? (shape === 'payment' ? refusalBy(account, body) : undefined);
  if (violation || payment === undefined || books.payment(payment)) return violation;
  const message = 'Original pspReference required for this operation';
  return { status: 422, errorCode: '167', errorType: 'validation', message };
}

const isWrongCvc = (cvc: unknown): boolean => cvc === '000';

function checksOf(
  { reportsNetworkReferences }: Simulator,
  { paymentMethod, billingAddress }: Fields,
): Record<string, string> {
  const { cvc, networkPaymentReference } = isFields(paymentMethod) ? paymentMethod : {};
  const postalCode = isFields(billingAddress) ? billingAddress.postalCode : undefined;
  const matches =
    postalCode === '00000' ? '2 Neither postal code nor address match' : '7 Both postal code and address match';
  return {
    avsResult: postalCode === undefined ? '5 No AVS data provided' : matches,
    cvcResult: cvc === undefined ? '6 No CVC/CVV provided' : isWrongCvc(cvc) ? "2 Doesn't match" : '1 Matches',
    ...(reportsNetworkReferences && {
      networkTxReference:
        typeof networkPaymentReference === 'string'
          ? networkPaymentReference
          : `MCC${randomBytes(6).toString('hex').toUpperCase()}`,
    }),
  };
}

/** The test environment refuses cards whose holder has one of these names. */
const testRefusals: Readonly<Record<string, string>> = { DECLINED: '2', NOT_ENOUGH_BALANCE: '12' };

function pay(simulator: Simulator, { body, key }: Request, fault: string | undefined): PaymentLine {
  const { options, notices } = simulator;
  const { number, cvc, holderName } = body.paymentMethod as { number: string; cvc?: string; holderName?: string };
  const asked = body.amount as AdyenAmount;
  const reference = String(body.reference);
  const psp = newReference();
  const declineCode = fault?.startsWith('decline:') ? String(Number(fault.slice('decline:'.length))) : undefined;
  const refusal = declineCode ?? testRefusals[holderName ?? ''] ?? (isWrongCvc(cvc) ? '24' : null);
  const isPaused = fault === 'authentication';
  const amount = fault === 'partial' ? { ...asked, value: Math.ceil(asked.value / 2) } : asked;
  const isManual = isFields(body.additionalData) && body.additionalData.manualCapture === 'true';
  const reason = refusal === null ? undefined : (refusals[refusal]?.name ?? 'Refused');
  const unusual = { authentication: 'RedirectShopper', partial: 'PartiallyAuthorised', pending: 'Pending' };
  const resultCode = refusal === null ? (unusual[fault as keyof typeof unusual] ?? 'Authorised') : 'Refused';
  const answer = {
    merchantReference: reference,
    resultCode,
    ...(!isPaused && { pspReference: psp }),
    ...(refusal === null ? { amount } : { refusalReason: reason, refusalReasonCode: refusal }),
    additionalData: {
      ...checksOf(simulator, body),
      ...(refusal === null && { authCode: String(100_000 + simulator.books.size) }),
    },
  };
  const isAuthorized = refusal === null && !isPaused;
  if (!isPaused) {
    notices.add({
      eventCode: 'AUTHORISATION',
      pspReference: psp,
      merchantReference: reference,
      amount,
      isSuccess: isAuthorized,
      ...(reason !== undefined && { reason }),
    });
  }
  return {
    type: 'payment',
    psp,
    reference,
    amount,
    last4: number.slice(-4),
    isAuthorized,
    refusal,
    isCaptured: isAuthorized && !isManual && amount.value > 0,
    atMs: options.clock.nowMs(),
    key,
    answer: { status: 200, body: answer },
  };
}

const refusingFaults = ['capture_refused', 'refund_refused'];
const eventCodes = { capture: 'CAPTURE', refund: 'REFUND', reversal: 'CANCEL_OR_REFUND', cancel: 'CANCELLATION' };

function change(simulator: Simulator, request: Request, fault: string | undefined): ChangeLine {
  const { books, options, notices } = simulator;
  const { body, key, shape, type } = request;
  if (type === 'payment') throw new Error('a payment is not a change');
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

export function execute(simulator: Simulator, request: Request, fault: string | undefined): PaymentLine | ChangeLine {
  return request.type === 'payment' ? pay(simulator, request, fault) : change(simulator, request, fault);
}

const failures: Readonly<Record<string, string>> = { capture_failed: 'CAPTURE_FAILED', reject_refund: 'REFUND_FAILED' };

/** The card network rejects a capture or refund some time after it succeeded, but no capture that was refunded. */
export function failLater(simulator: Simulator, line: PaymentLine | ChangeLine, fault: string | undefined): void {
  const eventCode = failures[fault ?? ''];
  if (eventCode === undefined || line.type === 'payment' || !line.isDone || !line.amount) return;
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
