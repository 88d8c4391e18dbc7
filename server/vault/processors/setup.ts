import type { FailureCode } from './failure-codes.ts';
import type { AuthenticationResult, CustomerAction, Presence } from './authentication.ts';
import type { Billing, CardAtProcessor, HeldCode, ProcessorCard, ProcessorResponse } from './processor.ts';

/**
 * Saving a card without a payment: the bank may ask the customer, and afterwards the merchant may charge the card without
 * the customer. No money is involved. Sent again with the same reference, it is the same card being saved.
 */

interface Known {
  readonly companyId: string;
  /** At most 64 characters of `A-Z a-z 0-9 -`. */
  readonly reference: string;
  /** For an adapter with `removeSaved`. */
  readonly savedCard?: CardAtProcessor;
}

export interface SetUpRequest extends Known {
  readonly validUntilMs: number;
  readonly card: ProcessorCard;
  readonly cvc?: HeldCode;
  readonly billing?: Billing;
  readonly customerIp?: string;
  readonly presence: Presence;
  /** The customer agrees to a series of charges. */
  readonly startsSeries?: boolean;
}

export interface ResumeSetUp extends Known {
  /** Of `needs_customer`. */
  readonly handle: string;
  /** The parameters with which the customer came back; undefined if the customer has not. */
  readonly returned?: Readonly<Record<string, string>>;
}

export type EndSetUp = Omit<ResumeSetUp, 'returned'>;

export type SetUpOutcome =
  /** The merchant may charge the card without the customer. */
  | {
      readonly outcome: 'set_up';
      readonly networkTransactionId: string | null;
      readonly avsResult: string | null;
      readonly cvvResult: string | null;
      readonly authentication?: AuthenticationResult;
    }
  | {
      readonly outcome: 'declined';
      readonly failureCode: FailureCode;
      readonly failureReason: string;
      readonly response: ProcessorResponse;
      readonly isProcessorFault?: boolean;
      readonly authentication?: AuthenticationResult;
    }
  | { readonly outcome: 'needs_customer'; readonly action?: CustomerAction; readonly handle: string }
  /** It was given up before the customer confirmed. */
  | { readonly outcome: 'ended' }
  | { readonly outcome: 'not_sent' | 'unknown'; readonly reason: string };

/** What a notice can say about it. */
export type NoticedSetUp = Extract<SetUpOutcome, { readonly outcome: 'set_up' | 'declined' }>;
