import type { BrandName } from '../../platform/card-brands.ts';
import type { Opened } from './open-queries.ts';
import type { OrderRow } from './order.ts';
import { deriveReference, type Numbered } from './reference.ts';

export interface Sale {
  readonly id: string;
  /** What the processor knows it by. */
  readonly reference: string;
  readonly amount: number;
  /** The request that asked for it; none where it fell due. */
  readonly request_id: string | null;
  readonly payment_method_id: string;
  readonly card_brand: BrandName;
  readonly card_last4: string;
}

/** A sale that is about to be recorded, and what it stands for. */
export interface NewSale extends Sale {
  readonly numbered: Numbered;
}

export function saleOf(
  { company_id, total, payment_method_id, card_brand, card_last4 }: OrderRow,
  id: string,
  requestId: string | null,
  numbered: Numbered,
): NewSale {
  const reference = deriveReference(company_id, numbered);
  return { id, reference, numbered, amount: total, request_id: requestId, payment_method_id, card_brand, card_last4 };
}

/** A sale that may be sent. Those that are found again do not say what they stand for. */
export type OpenedSale = Sale & Opened & { readonly numbered?: Numbered | undefined };

/** A subscription redeems its coupon once, with its first charge. */
export function redemptionIdOf({ id, coupon, subscription_id, subscription_cycle }: OrderRow): string | undefined {
  if (coupon === null) return undefined;
  if (subscription_id === null) return id;
  return subscription_cycle === null ? subscription_id : undefined;
}
