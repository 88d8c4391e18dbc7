/** What a processor lists of what it executed. */

export interface ListRequest {
  readonly companyId: string;
  /** By the processor's clock; the end is exclusive. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The cursor at which the previous page ended. */
  readonly after?: string;
}

/** An authorization is a charge that only holds the funds. The operations on it name it as their charge. */
export const operationKinds = ['charge', 'authorization', 'capture', 'refund', 'void'] as const;
export type OperationKind = (typeof operationKinds)[number];

/** An operation in the processor's books. */
export interface ListedOperation {
  readonly kind: OperationKind;
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
  /** The connection that listed it, which an adapter does not know. */
  readonly connectionId?: string;
}

export interface Listing {
  readonly operations: readonly ListedOperation[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
  /** The processor's clock. */
  readonly nowMs: number;
}
