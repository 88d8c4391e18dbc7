import type { LookupOutcome, Money } from './processor.ts';
import type { NoticedSetUp } from './setup.ts';

/** What a processor reports later: outcomes, settlements and disputes. */

export interface NoticeDelivery {
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  readonly nowMs: number;
  /** The account of the connection at the processor, if it is known. */
  readonly accountId?: string;
}

export type Reception =
  | {
      readonly outcome: 'accepted';
      readonly notices: readonly Notice[];
      /** The body of the response, if the processor expects one. */
      readonly reply?: string;
    }
  /** Not from the processor, or too old, or unreadable. */
  | { readonly outcome: 'refused'; readonly reason: string };

export interface PollRequest {
  readonly companyId: string;
  /** The cursor of the poll before. */
  readonly after?: string;
}

export interface Polled {
  readonly notices: readonly Notice[];
  readonly cursor: string;
  /** Whether there are more notices now. */
  readonly hasMore: boolean;
}

export interface Notice {
  /** The same in every delivery of this notice, and unique within the connection. */
  readonly id: string;
  /** The processor's own name of what happened. */
  readonly type: string;
  /** When it happened, by the processor's clock. Later notices about an object win over earlier ones. */
  readonly atMs: number;
  readonly about: NoticeSubject;
}

export type NoticeSubject =
  /** The outcome of one of our operations, which may be in doubt, or a refund that failed after it was accepted. */
  | {
      readonly kind: 'operation';
      readonly reference: string;
      readonly found: LookupOutcome;
      /** Of a void, which leaves no transaction of its own. */
      readonly charge?: NoticedCharge;
    }
  /** The funds of a charge have settled. */
  | { readonly kind: 'settled'; readonly charge: NoticedCharge }
  /** A batch has settled. It may also contain refunds, and charges that were not made here. */
  | { readonly kind: 'settled_batch'; readonly transactionIds: readonly string[] }
  /** A batch failed to settle, and the notice does not say what was in it: the processor is asked soon. */
  | { readonly kind: 'failed_batch' }
  /**
   * The processor holds funds for a charge. If the customer confirmed it and did not come back, the handle is what its capture
   * needs. If the charge is not captured, they are released.
   */
  | { readonly kind: 'authorized'; readonly charge: NoticedCharge; readonly handle?: string }
  /** The bank has decided about a card that is being saved. Also sent about other checks of cards, which need it no more. */
  | { readonly kind: 'card_set_up'; readonly reference: string; readonly found: NoticedSetUp }
  /** The held funds of an authorization were released, or it has ended. */
  | { readonly kind: 'released'; readonly charge: NoticedCharge }
  /** A capture that was accepted was refused afterwards. The funds may still be held. */
  | {
      readonly kind: 'capture_refused';
      readonly reference: string;
      readonly charge: NoticedCharge;
      readonly found: LookupOutcome;
    }
  /** An approved charge was not captured after all: the customer pays nothing. */
  | { readonly kind: 'not_captured'; readonly charge: NoticedCharge }
  | { readonly kind: 'dispute'; readonly dispute: NoticedDispute }
  /** A dispute of which the processor does not say which charge it is about. */
  | { readonly kind: 'chargeback'; readonly chargeback: NoticedChargeback }
  /** Something happened to an operation, and the processor is asked what: the notice alone proves nothing. */
  | { readonly kind: 'changed'; readonly reference: string }
  /** Kept, without an effect. */
  | { readonly kind: 'other' };

/** At least one of the two is known. */
export interface NoticedCharge {
  readonly reference: string | null;
  /** The `transaction_id` of the charge's outcome. */
  readonly transactionId: string | null;
}

/**
 * An inquiry asks for information and takes no money. `needs_response` and `under_review` hold the money back; `won`
 * gives it back to the merchant; `lost` and `accepted` give it to the cardholder.
 */
export const disputeStates = [
  'inquiry',
  'inquiry_closed',
  'needs_response',
  'under_review',
  'won',
  'lost',
  'accepted',
] as const;
export type DisputeState = (typeof disputeStates)[number];

export interface NoticedDispute extends Money {
  /** The processor's id of the dispute. */
  readonly disputeId: string;
  readonly charge: NoticedCharge;
  readonly state: DisputeState;
  readonly reason: DisputeReason;
  /** The card network's own code, for example `10.4`. */
  readonly networkReasonCode: string | null;
  /** Until when evidence can be submitted; null if none is wanted. */
  readonly evidenceDueAtMs: number | null;
}

/** What is not known is null. */
export interface NoticedChargeback {
  /** The processor's id of the chargeback. */
  readonly id: string;
  /** The date of the chargeback as `YYYY-MM-DD`, in a time zone that is not known. */
  readonly date: string | null;
  /** The first six digits of the card. */
  readonly first6: string | null;
  readonly last4: string | null;
  /** In whole units, for example `12.50`. The currency is that of the charge. */
  readonly amount: string | null;
  readonly reason: DisputeReason;
  readonly networkReasonCode: string | null;
  /** The processor's words for the reason. */
  readonly text: string | null;
}

export const disputeReasons = [
  'fraudulent',
  'product_not_received',
  'product_unacceptable',
  'subscription_canceled',
  'duplicate',
  'credit_not_processed',
  'unrecognized',
  'general',
] as const;
export type DisputeReason = (typeof disputeReasons)[number];

/** Texts of the merchant, by the question that they answer. */
export const evidenceTexts = [
  'product_description',
  'customer_communication',
  'service_date',
  'shipping_date',
  'shipping_carrier',
  'shipping_tracking_number',
  'refund_policy',
  'cancellation_policy',
  'explanation',
] as const;
export type EvidenceText = (typeof evidenceTexts)[number];

export const evidenceFiles = [
  'receipt',
  'customer_communication',
  'customer_signature',
  'shipping_documentation',
  'service_documentation',
  'refund_policy',
  'cancellation_policy',
  'other',
] as const;
export type EvidenceFileKind = (typeof evidenceFiles)[number];

export interface EvidenceFile {
  /** By which the choice of a defense names it. */
  readonly id?: string;
  readonly kind: EvidenceFileKind;
  readonly name: string;
  readonly contentType: 'application/pdf' | 'image/jpeg' | 'image/png';
  readonly content: Buffer;
}

export interface EvidenceLimits {
  /** The length of all texts together. */
  readonly textLengthMax: number;
  readonly fileBytesMax: number;
  readonly filesMax: number;
  readonly contentTypes: readonly EvidenceFile['contentType'][];
  /** Whether the merchant chooses one of the reasons that the processor offers for this dispute. */
  readonly offersReasons?: true;
}

/**
 * How much a document is needed for a reason: `required`, at least one of all `one_of`, an `alternative` to those that are
 * required, or `optional`.
 */
export const documentNeeds = ['required', 'one_of', 'alternative', 'optional'] as const;

/** A reason for which a processor defends a dispute, and the documents that it takes for it. */
export interface DefenseReason {
  /** The processor's own name, for example `GoodsWereAsDescribed`. */
  readonly code: string;
  /** The same for people. */
  readonly name: string;
  readonly documents: readonly DefenseDocument[];
}

export interface DefenseDocument {
  readonly type: string;
  readonly name: string;
  readonly need: (typeof documentNeeds)[number];
  /** Whether the processor has it already. */
  readonly isSupplied: boolean;
}

/** The reason that the merchant chose, and what is sent as each of its documents: the texts, or the file with this ID. */
export interface Defense {
  readonly reason: string;
  readonly documents: readonly { readonly type: string; readonly source: string }[];
}

/** In `source`: all texts, written into one document. */
export const textsAsDocument = 'texts';

export type DefenseReasons =
  | { readonly outcome: 'offered'; readonly reasons: readonly DefenseReason[] }
  | Exclude<DisputeOutcome, { readonly outcome: 'done' }>;

interface DisputeRequest {
  readonly companyId: string;
  /** Derived from the dispute and the operation: a repetition has no further effect. */
  readonly reference: string;
  readonly disputeId: string;
}

export interface EvidenceRequest extends DisputeRequest {
  readonly texts: Readonly<Partial<Record<EvidenceText, string>>>;
  readonly files: readonly EvidenceFile[];
  /** At a processor that offers reasons. */
  readonly defense?: Defense;
}

export type DisputeOutcome =
  | { readonly outcome: 'done'; readonly state: DisputeState }
  /** A sentence that says what the processor rejects. */
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'not_sent' | 'unknown'; readonly reason: string };

export interface DisputeOperations {
  /** The reasons that the processor offers for this dispute now. It changes nothing. */
  reasons?(request: Omit<DisputeRequest, 'reference'>): Promise<DefenseReasons>;
  submit(request: EvidenceRequest): Promise<DisputeOutcome>;
  accept(request: DisputeRequest): Promise<DisputeOutcome>;
}
