import type { AccountRefusal } from './account-refusal.ts';
import type { Secret } from '../../platform/secret.ts';
import type { CardNumber } from '../card-number.ts';
import type { FailureCode } from './failure-codes.ts';
import type { AuthenticationResult, ExternalAuthentication, NeedsCustomer, Presence } from './authentication.ts';
import type { Listing, ListRequest, OperationKind } from './listing.ts';
import type { DisputeOperations, NoticeDelivery, Polled, PollRequest, Reception } from './notices.ts';
import type { EndSetUp, ResumeSetUp, SetUpOutcome, SetUpRequest } from './setup.ts';

export type { AuthenticationResult, NeedsCustomer, Presence } from './authentication.ts';
export { type ListedOperation, type Listing, type ListRequest, type OperationKind, operationKinds } from './listing.ts';
export { type FailureCode, failureCodes, failureGroups, failureReasons, noCodeReason } from './failure-codes.ts';

/**
 * A processor charges cards. An adapter reports only what it knows: a lost answer is `unknown`, and only `lookup` or a
 * notice resolves it. Every operation carries our own reference, which is derived from its purpose and stored before
 * the call. An outcome describes only this one call. Everything optional may be left out by an adapter.
 */
export interface Processor {
  /**
   * Creates the object that a charge will use, without moving money. Its handle is stored before `charge` is called,
   * so that a lost answer can be resolved. Sent again with the same reference, it returns the same handle.
   */
  prepare?(request: ChargeRequest): Promise<Preparation>;
  /**
   * With `authorizesOnly` it holds the funds, for `capture`. An adapter that answers `needs_customer` has `resume`, and does so
   * only if the request has `presence`.
   */
  charge(request: ChargeRequest): Promise<Outcome>;
  /**
   * Takes the held funds of an authorization, at most once; the rest is released. Undefined if the processor has no
   * authorizations: then no charge with `authorizesOnly` is sent to it.
   */
  capture?(request: CaptureRequest): Promise<Outcome>;
  /** `approved` means that the refund was accepted; whether the money was returned is known when it has settled. */
  refund(request: RefundRequest): Promise<Outcome>;
  /** Cancels a charge that has not settled, or an authorization that was not captured. */
  void(request: VoidRequest): Promise<Outcome>;
  /**
   * Releases the funds that are held for a charge which will not be captured. A captured charge is not changed. Returns
   * false if the processor did not accept it, and it has to be repeated.
   */
  release?(request: ReleaseRequest): Promise<boolean>;
  /**
   * Returns the outcome of a reference. It moves no money, but may cancel what has not moved any. So it ends a charge whose
   * customer is still at the bank: nothing can be paid under its reference afterwards.
   */
  lookup(request: LookupRequest): Promise<LookupOutcome>;
  /**
   * Continues a charge that was answered with `needs_customer`, while the customer has time: after the browser came back, and
   * now and then meanwhile, since a browser can be closed. What the browser brought is only a hint: the processor is asked. What
   * the bank has confirmed is completed; what waits for the customer is left to wait. It may be called any number of
   * times, also at once. An adapter with `prepare` may answer `prepared`: the bank has confirmed, and a lookup with the handle,
   * which is stored before, completes the charge.
   */
  resume?(request: ResumeRequest): Promise<ResumeOutcome | Prepared>;
  /** Saves a card without a payment. The bank may ask the customer, and then allows charges without the customer. */
  setUp?(request: SetUpRequest): Promise<SetUpOutcome>;
  /** Continues to save a card, as `resume` continues a charge. */
  resumeSetUp?(request: ResumeSetUp): Promise<SetUpOutcome>;
  /** Gives up a card for which the customer was asked. What was confirmed before is saved. */
  endSetUp?(request: EndSetUp): Promise<SetUpOutcome>;
  /**
   * Lists the operations of a period, in the order of execution, page by page. Fails if the processor does not
   * answer. Undefined if a processor has no such list: then a restored database finds only operations whose
   * references it can derive.
   */
  list?(request: ListRequest): Promise<Listing>;
  /** Checks a card and its CVC without charging it. The CVC exists only during this call. */
  verify?(request: VerifyRequest): Promise<Verification>;
  /** Removes a card that the processor saved. Returns false if it has to be repeated. Only such an adapter saves cards. */
  removeSaved?(token: string): Promise<boolean>;
  /** Reads what the processor sent to the notice URL, after checking its signature. */
  receive?(delivery: NoticeDelivery): Reception;
  /** Asks for notices, at a processor that does not send them. */
  poll?(request: PollRequest): Promise<Polled>;
  /** Answers disputes. */
  readonly disputes?: DisputeOperations;
  /** Makes a harmless call with the credentials of the connection. */
  test?(): Promise<ConnectionTest>;
  /**
   * What makes the processor execute an operation only once: our reference for all time (the default), a key for a
   * time, or nothing. Without the reference, a service that was restored from a backup looks up a charge before it
   * sends it.
   */
  readonly onceBy?: 'reference' | 'key' | 'nothing';
  /**
   * What finds an operation after a lost answer: our reference (the default), the handle of `prepare`, or only a notice.
   */
  readonly findsBy?: 'reference' | 'handle' | 'notice';
  /** The ids of first charges are those of the processor, and not of the card network: no other processor knows them. */
  readonly reportsOwnIds?: true;
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

/** Fields without a value are null. */
export interface Billing {
  readonly name: string | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly line1: string | null;
  readonly line2: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly postalCode: string | null;
  /** Two letters, ISO 3166-1. */
  readonly country: string | null;
}

/** Who started a charge with a stored card, and which charge of this card it is. */
export interface CredentialUse {
  readonly initiator: 'customer' | 'merchant';
  /** `subsequent` is a renewal on its date; `unscheduled` is any other charge after the first. */
  readonly sequence: 'first' | 'subsequent' | 'unscheduled';
  /** The card network's id of the first charge or verification, here or at another connection, if it is known. */
  readonly networkTransactionId: string | null;
  /** The customer agrees to a series of charges, and this is the first one. */
  readonly startsSeries?: boolean;
}

/** How a processor knows a card that the customer agreed to keep. The vault stores it for the adapter, sealed. */
export interface CardAtProcessor {
  /** Names the card at this connection, and never changes: what is created for it twice under this name is one object. */
  readonly name: string;
  /** What the adapter kept last; undefined if it has kept nothing. */
  readonly token: string | undefined;
  /** Whether the processor may have forgotten a key that was derived from the name when the card was new. */
  readonly isOld: boolean;
  /** Returns false if the card was deleted meanwhile: then nothing must be left at the processor. */
  keep(token: string): Promise<boolean>;
}

interface Sending {
  readonly companyId: string;
  /** At most 64 characters of `A-Z a-z 0-9 -`, which every processor accepts. */
  readonly reference: string;
  /**
   * The processor must not execute it after this time: only then does "not found" mean "never happened". An adapter
   * whose processor cannot check this sends nothing after this time.
   */
  readonly validUntilMs: number;
}

/** A security code that may be erased, in which case it is undefined. */
export interface HeldCode {
  reveal(): string | undefined;
}

export interface ChargeRequest extends Money, Sending {
  readonly card: ProcessorCard;
  /** Only with the first charge of a card, if its payment was announced at the capture. It exists only during this call. */
  readonly cvc?: HeldCode;
  /** Only holds the funds, until they are captured or released. */
  readonly authorizesOnly?: boolean;
  /** In the sandbox: the time by the company's clock. */
  readonly companyTimeMs?: number;
  readonly credential?: CredentialUse;
  readonly billing?: Billing;
  /** To whom the goods are sent. Adapters send it where their processor takes it, because banks approve more then. */
  readonly shipping?: Omit<Billing, 'email'>;
  /** The public IP address of the customer, who is present. Never the one of the merchant's server. */
  readonly customerIp?: string;
  /** The customer can be led to the bank. Without it, the charge is never answered with `needs_customer`. */
  readonly presence?: Presence;
  /** The merchant has authenticated the customer itself. */
  readonly authentication?: ExternalAuthentication;
  /** In the sandbox: the company wants cards to authenticate. */
  readonly authenticates?: boolean;
  /** The handle that `prepare` returned. */
  readonly handle?: string;
  /** For an adapter with `removeSaved`, if the customer agreed to keep the card. */
  readonly savedCard?: CardAtProcessor;
}

/** How to find the charge that an operation refers to. */
interface OfCharge {
  readonly chargeReference: string;
  /** The processor's id of the charge: the `transaction_id` of its outcome. */
  readonly chargeTransactionId?: string;
}

export interface RefundRequest extends Money, Sending, OfCharge {}

/** The charge is the authorization, and the money at most what it holds. */
export interface CaptureRequest extends Money, Sending, OfCharge {}

export interface VoidRequest extends Sending, OfCharge {
  /** The charge is an authorization that was not captured. */
  readonly ofAuthorization?: boolean;
  /** The money of the charge, for processors that void a captured charge by a full refund. */
  readonly charged?: Money;
}

export interface ReleaseRequest {
  readonly companyId: string;
  readonly reference: string;
  /** The processor's id of the authorization. */
  readonly transactionId: string;
}

export interface LookupRequest extends Partial<OfCharge> {
  readonly companyId: string;
  readonly reference: string;
  /** The content that was sent under the reference, if known: an operation with other content is a `conflict`. */
  readonly sent?: Money & { readonly last4: string | null };
  /** The card of a charge, if it is still stored; a processor with its own books does not need it. */
  readonly card?: ProcessorCard;
  /** The handle that was stored before the charge was sent. */
  readonly handle?: string;
  /** What is looked up; undefined for a charge of which only the reference is known. */
  readonly kind?: OperationKind;
  /** Of a void: whether its charge is an authorization that was not captured. */
  readonly ofAuthorization?: boolean;
  /** How long ago the operation was first sent, if known. */
  readonly ageMs?: number;
}

export interface ResumeRequest extends LookupRequest {
  /** What the answer `needs_customer` asked to keep. */
  readonly customerHandle?: string;
  /** The parameters with which the browser came back. Anyone can invent them. Undefined if it did not. */
  readonly returned?: Readonly<Record<string, string>>;
  /** The handle of a notice that the processor holds funds for this charge, although the customer did not come back. */
  readonly noticedHandle?: string;
}

export const isOfCharge = ({ kind, chargeReference }: LookupRequest): boolean =>
  kind === 'charge' || kind === 'authorization' || (kind === undefined && chargeReference === undefined);

/**
 * Without a handle nothing was sent that could move money, with any failure. `unknown` means that the processor may have
 * prepared the charge, for which it may hold funds of the cardholder.
 */
export type Preparation = Prepared | Exclude<Outcome, { outcome: 'approved' }>;

export interface Prepared {
  readonly outcome: 'prepared';
  readonly handle: string;
}

export interface VerifyRequest extends Sending {
  readonly card: ProcessorCard;
  readonly cvc: Secret<string>;
  readonly billing?: Billing;
}

export type Verification =
  | {
      readonly outcome: 'verified' | 'declined';
      readonly avsResult: string | null;
      readonly cvvResult: string | null;
      readonly networkTransactionId: string | null;
    }
  | ({ readonly outcome: 'unknown'; readonly reason: string } & AccountRefusal);

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

export const noResponse: ProcessorResponse = {
  transaction_id: null,
  authorization_code: null,
  avs_result: null,
  cvv_result: null,
  response_code: null,
  response_text: null,
};

export type Outcome =
  | ({
      readonly outcome: 'approved';
      readonly response: ProcessorResponse;
      /** Whether the funds have settled, if the processor reports it. */
      readonly settled?: boolean;
      /** The card network's id of this charge, for later charges with the same card. */
      readonly networkTransactionId?: string;
      /** The customer paid without a security code, so the account does not insist on one. Set by the vault. */
      readonly paidWithoutCode?: boolean;
      /** A sandbox charge that will be disputed. */
      readonly chargebackAfterMs?: number;
      /** Of an authorization: until when it can be captured, by the processor's clock, if the processor says so. */
      readonly captureBeforeMs?: number;
      readonly authentication?: AuthenticationResult;
    } & Executed)
  | ({
      readonly outcome: 'declined';
      readonly response: ProcessorResponse;
      readonly failureCode: FailureCode;
      readonly failureReason: string;
      /** The processor failed, not the card's bank: another processor may approve the charge. */
      readonly isProcessorFault?: boolean;
      /** The processor itself blocked the payment, for example because of its risk: no bank or card network has seen it. */
      readonly isUnseenByBank?: boolean;
      /** Of a capture, and of the void of an authorization: it has ended, or was released before. No funds are held. */
      readonly isOver?: boolean;
      /** The account takes no charge without the security code, which stored cards do not have. */
      readonly wantsSecurityCode?: boolean;
      /** What of the account or of its key the processor refuses: a sentence of the connector, without any text of an answer. */
      readonly rejection?: string;
      /**
       * The processor rejected the credentials of a request, and this call executed nothing. If no earlier call did, the
       * same operation may be sent again, here or elsewhere. What was prepared stays prepared, for the next call here.
       */
      readonly refusesCredentials?: boolean;
      /** The bank wants the customer to confirm the payment, and could not ask. */
      readonly needsAuthentication?: boolean;
      readonly authentication?: AuthenticationResult;
    } & Executed)
  /** Only of a charge with `presence`. */
  | NeedsCustomer
  /** Another operation has this reference: the requested operation was not executed and never will be under it. */
  | ({
      readonly outcome: 'conflict';
      /** Whether the other operation was approved; undefined if the processor does not report it. */
      readonly approved?: boolean;
    } & Executed)
  /** Rejected, because the processor's clock is past the validity of the request. */
  | { readonly outcome: 'expired'; readonly nowMs?: number }
  /** No money can have moved: no byte was sent, or the processor confirmed that the prepared object is cancelled. */
  | {
      readonly outcome: 'not_sent';
      readonly reason: string;
      /** The charge was given up, so this reference can never be executed. */
      readonly isFinal?: boolean;
      readonly failureCode?: FailureCode;
      /** For the merchant. Without it, the usual one of the code. */
      readonly failureReason?: string;
      /** The card was declined too often, and is sent again from then on. No connection is tried. Set by the vault. */
      readonly retryAtMs?: number;
    }
  /** The processor may have received the request, and may have executed it. */
  | {
      readonly outcome: 'unknown';
      readonly reason: string;
      /** The vault broke the connection, so a part of this service may have stopped before it sent the operation. */
      readonly isInterrupted?: boolean;
      /** The processor has no answer to this lookup, now or later. Set by the vault. */
      readonly isUnanswerable?: boolean;
      /** The processor rejected the credentials of this call. An earlier call may have executed the operation. */
      readonly refusesCredentials?: boolean;
    };

export type LookupOutcome =
  | Exclude<Outcome, { outcome: 'not_sent' | 'expired' | 'needs_customer' }>
  /**
   * `atMs` is the time of the lookup by the processor's clock; undefined if the processor does not report it. With
   * `isFinal` the operation can never be executed, so the time does not matter. `isSafeToRepeat` is set by the vault: the
   * processor executes a reference only once for all time, so the same one may be sent again.
   */
  | {
      readonly outcome: 'not_found';
      readonly atMs?: number;
      readonly isFinal?: boolean;
      readonly isSafeToRepeat?: boolean;
    };

/** The customer may still be at the bank, or the bank has not decided. */
export type ResumeOutcome = LookupOutcome | { readonly outcome: 'needs_customer' };

/** The result of a harmless call with the credentials of a connection. */
export type ConnectionTest =
  | {
      readonly outcome: 'works';
      /** The name of the account at the processor. */
      readonly account: string;
      /** What tells this account from every other; undefined if the processor does not report it. */
      readonly accountId?: string;
      /** A sentence for the same person: what the account needs besides, or may need. */
      readonly advice?: string;
      /** False if the credentials are for the processor's test mode. */
      readonly livemode: boolean;
      /** The connections of the company that have these credentials; set by the vault. */
      readonly sameAs?: readonly string[];
    }
  /** A sentence for the person who enters the credentials: what is wrong, and what would be right. */
  | { readonly outcome: 'fails'; readonly problem: string };
