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

/** What a bank is asked. */
export interface Wanted {
  /** The `pspReference` that the payment will have. */
  readonly psp: string;
  readonly reference: string;
  readonly amount: AdyenAmount;
  readonly last4: string;
  readonly isManual: boolean;
  /** Why the bank will refuse it; null if it will not. */
  readonly refusal: string | null;
  /** An unusual result. */
  readonly unusual?: 'partial' | 'pending';
  readonly additionalData: Readonly<Record<string, string>>;
}

/** The bank asks the customer first. */
export interface PausedLine {
  readonly type: 'paused';
  /** In the URL of the bank. */
  readonly id: string;
  /** What the return URL gets. */
  readonly redirectResult: string;
  readonly returnUrl: string;
  readonly wanted: Wanted;
  readonly key: string;
  readonly answer: StoredAnswer;
}

/** What the customer answered. */
interface DecisionLine {
  readonly type: 'decision';
  readonly of: string;
  readonly isPassed: boolean;
}

/** The details of a paused payment arrived under this key, before or after the bank was asked to pay. */
export interface DetailsLine {
  readonly type: 'details';
  readonly of: string;
  readonly key: string;
  readonly answer: StoredAnswer;
}

export interface Paused extends PausedLine {
  readonly isPassed?: boolean;
  readonly hasDetails?: true;
}

export interface PaymentLine extends Line {
  readonly type: 'payment';
  readonly amount: AdyenAmount;
  readonly last4: string;
  readonly isAuthorized: boolean;
  readonly refusal: string | null;
  /** Without a request for manual capture, Adyen captures by itself. */
  readonly isCaptured: boolean;
  /** The customer was asked before. */
  readonly pausedId?: string;
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

export type BooksLine = PaymentLine | PausedLine | DecisionLine | DetailsLine | ChangeLine | KeyLine | FailureLine;

export interface Payment extends PaymentLine {
  readonly changes: ChangeLine[];
}

export interface Books {
  apply(line: BooksLine): void;
  answerUnder(key: string): StoredAnswer | undefined;
  payment(psp: string): Payment | undefined;
  /** The payment with this reference of the merchant. */
  paymentWith(reference: string): Payment | undefined;
  /** A payment for which the bank asks the customer, by its place in the URL of the bank or by what the return URL gets. */
  paused(idOrResult: string): Paused | undefined;
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
  const paused = new Map<string, Paused>();

  function pause(line: Paused): void {
    paused.set(line.id, line);
    paused.set(line.redirectResult, line);
  }
  function changePaused(id: string | undefined, change: Partial<Paused>): void {
    const found = paused.get(id ?? '');
    if (found) pause({ ...found, ...change });
  }

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
      if (line.type === 'decision') return changePaused(line.of, { isPassed: line.isPassed });
      answers.set(line.key, line.answer);
      if (line.type === 'key') return;
      if (line.type === 'paused') return pause(line);
      if (line.type === 'details') return changePaused(line.of, { hasDetails: true });
      if (line.type === 'payment') {
        changePaused(line.pausedId, { hasDetails: true });
        const payment = { ...line, changes: [] };
        payments.set(line.psp, payment);
        byReference.set(line.reference, payment);
      } else if (line.payment !== null) payments.get(line.payment)?.changes.push(line);
    },
    answerUnder: (key) => answers.get(key),
    payment: (psp) => payments.get(psp),
    paymentWith: (reference) => byReference.get(reference),
    paused: (idOrResult) => paused.get(idOrResult),
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
