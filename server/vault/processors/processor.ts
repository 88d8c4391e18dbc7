import type { CardNumber } from '../card-number.ts';

/**
 * What charges cards. An adapter says what it knows and nothing else: an answer that was lost is `unknown`, and only
 * `lookup` turns that into something known. Every operation carries our own reference, derived from what it stands for and
 * stored before the call; a processor executes a reference once, however often it is sent, and answers with the first
 * result. What an adapter answers speaks of this one sending: after an `unknown`, only `lookup` may close the matter.
 */
export interface Processor {
  charge(request: ChargeRequest): Promise<Outcome>;
  /** `approved` means taken on; whether the money went back is known when it has settled. */
  refund(request: RefundRequest): Promise<Outcome>;
  /** Takes back a charge that has not settled. */
  void(request: VoidRequest): Promise<Outcome>;
  /** What became of a reference. Asking changes nothing. */
  lookup(request: LookupRequest): Promise<LookupOutcome>;
  /**
   * What was executed in a time, in the order of execution, some at a time. Fails when the processor does not answer. Missing
   * where a processor has no such list: then a restored database finds only what it can derive the references of.
   */
  list?(request: ListRequest): Promise<Listing>;
  /**
   * How long a reference is executed once: `always` where nothing is said. Else a service that was restored from a backup
   * looks a charge up before it sends it.
   */
  readonly executesOnce?: 'always' | 'for_a_time' | 'never';
}

export interface ListRequest {
  readonly companyId: string;
  /** By the processor's own clock; the end is not included. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Where the listing before this one ended. */
  readonly after?: string;
}

/** An operation as the processor's books have it. */
export interface ListedOperation {
  readonly kind: 'charge' | 'refund' | 'void';
  readonly reference: string;
  readonly chargeReference: string | null;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly last4: string | null;
  readonly approved: boolean;
  /** A charge that was approved, and voided since. */
  readonly voided: boolean;
  readonly transactionId: string;
  readonly executedAtMs: number;
}

export interface Listing {
  readonly operations: readonly ListedOperation[];
  /** What to go on with; null at the end. */
  readonly next: string | null;
  /** What the processor's clock shows. */
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
  /** At most 64 characters of `A-Z a-z 0-9 -`, which is what every processor allows. */
  readonly reference: string;
  /** From then on it must not be executed: only after it does "not found" mean "never happened". */
  readonly validUntilMs: number;
}

export interface ChargeRequest extends Money, Sending {
  readonly card: ProcessorCard;
}

interface RefundRequest extends Money, Sending {
  /** The reference of the charge that is given back. */
  readonly chargeReference: string;
}

interface VoidRequest extends Sending {
  readonly chargeReference: string;
}

export interface LookupRequest {
  readonly companyId: string;
  readonly reference: string;
  /** What was sent under the reference, where that is known: what is found and differs is a `conflict`. */
  readonly sent?: Money & { readonly last4: string | null };
  /** The card of a charge, where it is still held; a processor with books of its own does not need it. */
  readonly card?: ProcessorCard;
  /** The charge that a refund or a void was for. */
  readonly chargeReference?: string;
}

/** As the API shows it on a transaction. */
export interface ProcessorResponse {
  readonly transaction_id: string | null;
  readonly authorization_code: string | null;
  readonly avs_result: string | null;
  readonly cvv_result: string | null;
  readonly response_code: string | null;
  readonly response_text: string | null;
}

/** Of an operation that was executed. */
interface Executed {
  /** When, and how long ago, both by the processor's own clock; missing where the processor does not say. */
  readonly executed?: { readonly atMs: number; readonly ageMs: number };
}

export type Outcome =
  | ({
      readonly outcome: 'approved';
      readonly response: ProcessorResponse;
      /** Whether the money has moved for good, where the processor says so. */
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
  /** The reference is held by an operation with other content: what was asked was not done and never will be under it. */
  | ({
      readonly outcome: 'conflict';
      /** Whether the other one holds money; missing where the processor does not say. */
      readonly approved?: boolean;
    } & Executed)
  /** Refused, because the processor's clock is past the validity that was sent. */
  | { readonly outcome: 'expired'; readonly nowMs?: number }
  /** The processor certainly did not get it. */
  | { readonly outcome: 'not_sent'; readonly reason: string; readonly failureCode?: FailureCode }
  /** It may have got it, and may have done it. */
  | { readonly outcome: 'unknown'; readonly reason: string };

export type LookupOutcome =
  | Exclude<Outcome, { outcome: 'not_sent' | 'expired' }>
  /** `atMs`: when the processor looked, by its own clock; nothing where it does not say. */
  | { readonly outcome: 'not_found'; readonly atMs?: number };

/** Every reason for a decline, with the words a person reads. */
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

/** What a later attempt with the same card can hope for. */
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
