import type { AdyenAmount } from '../../server/vault/processors/adyen/money.ts';

/** What the simulator has executed. Everything follows from the lines of its journal. */

export interface StoredAnswer {
  readonly status: number;
  readonly body: object;
}

interface Line {
  readonly psp: string;
  /** The reference that the merchant gave. */
  readonly reference: string;
  readonly atMs: number;
  /** Under which key it was executed, and the answer that every repetition gets. */
  readonly key: string;
  readonly answer: StoredAnswer;
}

export interface PaymentLine extends Line {
  readonly type: 'payment';
  readonly amount: AdyenAmount;
  readonly last4: string;
  readonly isAuthorized: boolean;
  readonly refusal: string | null;
  /** Without a request for manual capture, Adyen captures by itself. */
  readonly isCaptured: boolean;
}

export interface ChangeLine extends Line {
  readonly type: 'capture' | 'refund' | 'reversal' | 'cancel';
  /** The payment that it changes; null if there is none. */
  readonly payment: string | null;
  readonly amount: AdyenAmount | null;
  /** Whether it succeeds, which only the notice says. */
  readonly isDone: boolean;
}

/** A saved error: the key is used up, and nothing was executed under it. */
interface KeyLine {
  readonly type: 'key';
  readonly key: string;
  readonly answer: StoredAnswer;
}

/** A capture or refund that the card network rejected after it had succeeded. */
interface FailureLine {
  readonly type: 'failure';
  readonly of: string;
}

export type BooksLine = PaymentLine | ChangeLine | KeyLine | FailureLine;

export interface Payment extends PaymentLine {
  readonly changes: ChangeLine[];
}

export interface Books {
  apply(line: BooksLine): void;
  answerUnder(key: string): StoredAnswer | undefined;
  payment(psp: string): Payment | undefined;
  /** The payment with this reference of the merchant. */
  paymentWith(reference: string): Payment | undefined;
  /** What a change would do now. */
  succeeds(type: ChangeLine['type'], payment: Payment | undefined, amount: AdyenAmount | null): boolean;
  capturedAmount(payment: Payment): number;
  refundedAmount(payment: Payment): number;
  isVoided(payment: Payment): boolean;
  isCancelled(payment: Payment): boolean;
  hasFailed(psp: string): boolean;
  payments(): Iterable<Payment>;
  readonly size: number;
}

export function openBooks(): Books {
  const answers = new Map<string, StoredAnswer>();
  const payments = new Map<string, Payment>();
  const byReference = new Map<string, Payment>();
  const failed = new Set<string>();

  const done = (payment: Payment, type: ChangeLine['type']): ChangeLine[] =>
    payment.changes.filter((change) => change.type === type && change.isDone && !failed.has(change.psp));
  const sum = (changes: readonly ChangeLine[]): number =>
    changes.reduce((total, { amount }) => total + (amount?.value ?? 0), 0);

  const isCancelled = (payment: Payment): boolean => done(payment, 'cancel').length > 0;
  const isReversed = (payment: Payment): boolean => done(payment, 'reversal').length > 0;
  const capturedAmount = (payment: Payment): number =>
    payment.isCaptured ? payment.amount.value : sum(done(payment, 'capture'));
  const refundedAmount = (payment: Payment): number => sum(done(payment, 'refund'));

  function succeeds(type: ChangeLine['type'], payment: Payment | undefined, amount: AdyenAmount | null): boolean {
    if (!payment?.isAuthorized || isCancelled(payment) || isReversed(payment)) return false;
    const captured = capturedAmount(payment);
    if (amount && amount.currency !== payment.amount.currency) return false;
    // Several captures of one payment need an agreement with Adyen.
    if (type === 'capture') return captured === 0 && (amount?.value ?? 0) <= payment.amount.value;
    if (type === 'refund') return refundedAmount(payment) + (amount?.value ?? 0) <= captured;
    return type === 'cancel' ? captured === 0 : refundedAmount(payment) === 0;
  }

  return {
    apply(line) {
      if (line.type === 'failure') {
        failed.add(line.of);
        return;
      }
      answers.set(line.key, line.answer);
      if (line.type === 'key') return;
      if (line.type === 'payment') {
        const payment = { ...line, changes: [] };
        payments.set(line.psp, payment);
        byReference.set(line.reference, payment);
      } else if (line.payment !== null) payments.get(line.payment)?.changes.push(line);
    },
    answerUnder: (key) => answers.get(key),
    payment: (psp) => payments.get(psp),
    paymentWith: (reference) => byReference.get(reference),
    succeeds,
    capturedAmount,
    refundedAmount,
    isVoided: isReversed,
    isCancelled,
    hasFailed: (psp) => failed.has(psp),
    payments: () => payments.values(),
    get size() {
      return payments.size;
    },
  };
}
