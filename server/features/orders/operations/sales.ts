import type { OperationKind } from '../../../vault/processors/processor.ts';
import type { BrandName } from '../../../platform/card-brands.ts';
import type { Opened, OpenTransaction } from './open-queries.ts';
import type { ChargeCause } from './operation-moves.ts';
import { cardPart, isFirstCharge, type OrderRow, type TransactionSummary } from '../order.ts';
import { deriveReference, type Numbered, recordedSubject } from './reference.ts';

export interface Sale {
  readonly id: string;
  /** An `auth` holds the funds, and is captured later. */
  readonly type: 'sale' | 'auth';
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

type ForSale = Pick<NewSale, 'id' | 'cause' | 'request_id' | 'numbered'> & Partial<Pick<NewSale, 'type'>>;

export function saleOf(order: OrderRow, { id, type = 'sale', cause, request_id, numbered }: ForSale): NewSale {
  const { company_id, payment_method_id, card_brand, card_last4 } = order;
  const reference = deriveReference(company_id, numbered);
  const subject = recordedSubject(numbered);
  const card = { payment_method_id, card_brand, card_last4 };
  return { id, type, cause, subject, reference, numbered, amount: cardPart(order), request_id, ...card };
}

/** A sale whose intent is recorded, so that it may be sent. One with an idempotency key that was loaded has no subject. */
export type OpenedSale = Sale & Opened & { readonly numbered?: Numbered | undefined };

/** An open operation is loaded with its cause, which for a charge or an authorization is that of a charge. */
export type OpenSale = OpenTransaction & { readonly type: Sale['type']; readonly cause: ChargeCause };

export const isOpenSale = (open: OpenTransaction): open is OpenSale =>
  (open.type === 'sale' || open.type === 'auth') && open.cause !== 'capture';

/** How people and processors call an open operation. */
export function kindOf(open: Pick<OpenTransaction, 'type' | 'cause'>): OperationKind {
  if (open.cause === 'capture') return 'capture';
  if (open.type === 'auth') return 'authorization';
  return open.type === 'sale' ? 'charge' : open.type;
}

/** A subscription redeems its coupon once, with its first charge. */
export function redemptionIdOf(order: OrderRow): string | undefined {
  if (order.coupon === null) return undefined;
  if (order.subscription_id === null) return order.id;
  return isFirstCharge(order) ? order.subscription_id : undefined;
}

/** When it is decided whether the coupon is used: with an authorization at the capture, which may be days later. */
export const decidedWhen = ({ type }: Pick<Sale, 'type'>): 'soon' | 'later' => (type === 'auth' ? 'later' : 'soon');

/** How a retry ends that was interrupted before it was sent. */
export const notRetried = {
  failureCode: 'issuer_unavailable',
  failureReason: 'The service was interrupted before the retry was made.',
} as const;

/** Whether this retry was interrupted and never made, so that its request makes it when it is repeated. */
export const isNotRetried = ({ failure_reason }: Pick<TransactionSummary, 'failure_reason'>): boolean =>
  failure_reason === notRetried.failureReason;

/** Why a charge failed that the bank wanted to confirm. The processors report it in the same words. */
export const notConfirmedReason = 'The customer did not confirm the payment with the bank.';
