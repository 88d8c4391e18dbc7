import type { BrandName } from '../../../platform/card-brands.ts';
import type { Opened, OpenTransaction } from './open-queries.ts';
import type { ChargeCause } from './operation-moves.ts';
import type { OrderRow, TransactionSummary } from '../order.ts';
import { deriveReference, type Numbered, recordedSubject } from './reference.ts';

export interface Sale {
  readonly id: string;
  readonly cause: ChargeCause;
  /** What its reference is derived from, as it is recorded. */
  readonly subject: readonly string[];
  /** The reference at the processor. */
  readonly reference: string;
  readonly amount: number;
  /** The request that created it; null for a scheduled charge. */
  readonly request_id: string | null;
  readonly payment_method_id: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
}

/** A sale to be recorded, with the subject of its reference. */
export interface NewSale extends Sale {
  readonly numbered: Numbered;
}

export function saleOf(
  { company_id, total, payment_method_id, card_brand, card_last4 }: OrderRow,
  { id, cause, request_id, numbered }: Pick<NewSale, 'id' | 'cause' | 'request_id' | 'numbered'>,
): NewSale {
  const reference = deriveReference(company_id, numbered);
  const subject = recordedSubject(numbered);
  const card = { payment_method_id, card_brand, card_last4 };
  return { id, cause, subject, reference, numbered, amount: total, request_id, ...card };
}

/** A sale whose intent is recorded, so that it may be sent. One with an idempotency key that was loaded has no subject. */
export type OpenedSale = Sale & Opened & { readonly numbered?: Numbered | undefined };

/** An open operation is loaded with its cause, which for a sale is that of a charge. */
export type OpenSale = OpenTransaction & { readonly cause: ChargeCause };

export const isOpenSale = (open: OpenTransaction): open is OpenSale => open.type === 'sale';

/** A subscription redeems its coupon once, with its first charge. */
export function redemptionIdOf({ id, coupon, subscription_id, subscription_cycle }: OrderRow): string | undefined {
  if (coupon === null) return undefined;
  if (subscription_id === null) return id;
  return subscription_cycle === null ? subscription_id : undefined;
}

/** How a retry ends that was interrupted before it was sent. */
export const notRetried = {
  failureCode: 'issuer_unavailable',
  failureReason: 'The service was interrupted before the retry was made.',
} as const;

/** Whether this retry was interrupted and never made, so that its request makes it when it is repeated. */
export const isNotRetried = ({ failure_reason }: Pick<TransactionSummary, 'failure_reason'>): boolean =>
  failure_reason === notRetried.failureReason;
