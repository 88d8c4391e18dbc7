import type { CardNumber } from '../card-number.ts';

/**
 * A processor charges cards. An adapter reports only what it knows: a lost answer is `unknown`, and only `lookup`
 * resolves it. Every operation carries our own reference, which is derived from its purpose and stored before the
 * call. A processor executes a reference once, however often it is sent, and returns the first result. An outcome
 * describes only this one call: after an `unknown`, only `lookup` may resolve the operation.
 */
export interface Processor {
  charge(request: ChargeRequest): Promise<Outcome>;
  /** `approved` means that the refund was accepted; whether the money was returned is known when it has settled. */
  refund(request: RefundRequest): Promise<Outcome>;
  /** Cancels a charge that has not settled. */
  void(request: VoidRequest): Promise<Outcome>;
  /** Returns the outcome of a reference. It changes nothing. */
  lookup(request: LookupRequest): Promise<LookupOutcome>;
  /**
   * Lists the operations of a period, in the order of execution, page by page. Fails if the processor does not
   * answer. Undefined if a processor has no such list: then a restored database finds only operations whose
   * references it can derive.
   */
  list?(request: ListRequest): Promise<Listing>;
  /**
   * How long the processor executes a reference only once; `always` by default. Otherwise a service that was restored
   * from a backup looks up a charge before it sends it.
   */
  readonly executesOnce?: 'always' | 'for_a_time' | 'never';
}

export interface ListRequest {
  readonly companyId: string;
  /** By the processor's clock; the end is exclusive. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The cursor at which the previous page ended. */
  readonly after?: string;
}

/** An operation in the processor's books. */
export interface ListedOperation {
  readonly kind: 'charge' | 'refund' | 'void';
  readonly reference: string;
  readonly chargeReference: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  readonly approved: boolean;
  /** Whether the charge was approved and later voided. */
  readonly voided: boolean;
  readonly transactionId: string;
  readonly executedAtMs: number;
}

export interface Listing {
  readonly operations: readonly ListedOperation[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The processor's clock. */
  readonly nowMs: number;
}

export interface Money {
  readonly amount: number;
  readonly currency: string;
}

export interface ProcessorCard {
  readonly number: CardNumber;
  readonly cardId: string;
  readonly expMonth: number;
  readonly expYear: number;
}

interface Sending {
  readonly companyId: string;
  /** At most 64 characters of `A-Z a-z 0-9 -`, which every processor accepts. */
  readonly reference: string;
  /** The processor must not execute it after this time: only then does "not found" mean "never happened". */
  readonly validUntilMs: number;
}

export interface ChargeRequest extends Money, Sending {
  readonly card: ProcessorCard;
}

interface RefundRequest extends Money, Sending {
  /** The reference of the charge that is refunded. */
  readonly chargeReference: string;
}

interface VoidRequest extends Sending {
  readonly chargeReference: string;
}

export interface LookupRequest {
  readonly companyId: string;
  readonly reference: string;
  /** The content that was sent under the reference, if known: an operation with other content is a `conflict`. */
  readonly sent?: Money & { readonly last4: string | null };
  /** The card of a charge, if it is still stored; a processor with its own books does not need it. */
  readonly card?: ProcessorCard;
  /** The charge that the refund or void refers to. */
  readonly chargeReference?: string;
}

/** The response as the API shows it on a transaction. */
export interface ProcessorResponse {
  readonly transaction_id: string | null;
  readonly authorization_code: string | null;
  readonly avs_result: string | null;
  readonly cvv_result: string | null;
  readonly response_code: string | null;
  readonly response_text: string | null;
}

/** Fields of an operation that was executed. */
interface Executed {
  /** When, and how long ago, both by the processor's clock; undefined if the processor does not report it. */
  readonly executed?: { readonly atMs: number; readonly ageMs: number };
}

export type Outcome =
  | ({
      readonly outcome: 'approved';
      readonly response: ProcessorResponse;
      /** Whether the funds have settled, if the processor reports it. */
      readonly settled?: boolean;
      /** A sandbox charge that will be disputed. */
      readonly chargebackAfterMs?: number;
    } & Executed)
  | ({
      readonly outcome: 'declined';
      readonly response: ProcessorResponse;
      readonly failureCode: FailureCode;
      readonly failureReason: string;
    } & Executed)
  /** Another operation has this reference: the requested operation was not executed and never will be under it. */
  | ({
      readonly outcome: 'conflict';
      /** Whether the other operation was approved; undefined if the processor does not report it. */
      readonly approved?: boolean;
    } & Executed)
  /** Rejected, because the processor's clock is past the validity of the request. */
  | { readonly outcome: 'expired'; readonly nowMs?: number }
  /** The processor certainly did not receive the request. */
  | { readonly outcome: 'not_sent'; readonly reason: string; readonly failureCode?: FailureCode }
  /** The processor may have received the request, and may have executed it. */
  | { readonly outcome: 'unknown'; readonly reason: string };

export type LookupOutcome =
  | Exclude<Outcome, { outcome: 'not_sent' | 'expired' }>
  /** `atMs` is the time of the lookup by the processor's clock; undefined if the processor does not report it. */
  | { readonly outcome: 'not_found'; readonly atMs?: number };

/** Every decline reason, with the text that people read. */
export const failureReasons = {
  insufficient_funds: 'The card does not have enough funds.',
  do_not_honor: 'The bank declined the payment without a reason.',
  card_limit_exceeded: 'The amount exceeds a limit of the card.',
  processor_declined: 'The processor declined the payment.',
  issuer_unavailable: 'The card’s bank is unavailable.',
  unknown: 'The payment was declined for an unknown reason.',
  expired_card: 'The card has expired.',
  incorrect_cvv: 'The card’s security code (CVC) is wrong.',
  invalid_account: 'The card or its account does not exist.',
  blocked_card: 'The card is blocked.',
  closed_card: 'The card’s account is closed.',
  contact_bank: 'The cardholder must contact their bank.',
  transaction_not_allowed: 'The card or its account does not allow this payment.',
  lost_stolen_card: 'The card was reported lost or stolen.',
  fraud_suspected: 'The payment was declined on suspicion of fraud.',
  duplicate_transaction: 'The processor treated the payment as a duplicate.',
  invalid_merchant_configuration: 'The processor rejected the merchant’s configuration.',
  validation_error: 'The processor rejected a field of the request.',
} as const;

export type FailureCode = keyof typeof failureReasons;
export const failureCodes = Object.keys(failureReasons) as FailureCode[];

/** Groups decline reasons by whether a retry with the same card can succeed. */
export const failureGroups = {
  soft: [
    'insufficient_funds',
    'do_not_honor',
    'card_limit_exceeded',
    'processor_declined',
    'issuer_unavailable',
    'unknown',
  ],
  card_data: ['expired_card', 'incorrect_cvv', 'invalid_account'],
  account_status: ['blocked_card', 'closed_card', 'contact_bank', 'transaction_not_allowed'],
  fraud: ['lost_stolen_card', 'fraud_suspected'],
  configuration: ['duplicate_transaction', 'invalid_merchant_configuration', 'validation_error'],
} as const satisfies Record<string, readonly FailureCode[]>;
