import type { FailureCode, Processor, ProcessorCard } from './processor.ts';

/** What an adapter tells the conformance suite about itself. */

export interface ConformanceSubject {
  readonly processor: Processor;
  readonly companyId?: string;
  /** A card whose charges are approved. */
  approvedCard(): Promise<ProcessorCard>;
  /** A card whose next charge is declined, and the reason. */
  declinedCard(): Promise<{ card: ProcessorCard; failureCode: FailureCode }>;
  /** How long later authorizations can be captured, in milliseconds. */
  holdFor?(ms: number): Promise<void>;
  /** Makes later operations settle at once, if settlement takes days. */
  settleAtOnce?(): Promise<void>;
  /** How often this reference was executed, by the books of the processor. */
  executions?(reference: string): Promise<number>;
  /** How the processor breaks its next answer, if it can. */
  readonly faults?: {
    next(fault: string): Promise<void>;
    /** The same adapter, which gives up soon. */
    readonly hasty: Processor;
    /** Before the name of a fault: the steps of a charge to which it can apply. Without them, the last one. */
    readonly steps?: readonly string[];
  };
}

export interface ConformanceOptions {
  /** Whether the processor itself adds up refunds and voids, instead of leaving that to our ledger. */
  readonly keepsBooks?: boolean;
  /** Whether its times are exact, and its list contains the operations that it refused; otherwise not checked here. */
  readonly isExact?: boolean;
  /** Whether it holds funds for a later capture. A strict one itself refuses what is wrong, and at once. */
  readonly authorizes?: 'strictly' | 'leniently';
  /** Whether a charge can be voided only until it settles. */
  readonly voidsUntilSettled?: boolean;
  /** Whether it shows the authorization code only if the account was set up for it. */
  readonly hidesAuthorizationCode?: boolean;
  /** The faults that the subject can produce: each is tried with a charge, a refund and a void, or with a lookup. */
  readonly broken?: { readonly operations: readonly string[]; readonly lookups: readonly string[] };
  /** The same processor when it does not answer, if it runs outside this process. */
  readonly unreachable?: () => Promise<Processor>;
}
