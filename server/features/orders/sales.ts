import type { BrandName } from '../../platform/card-brands.ts';
import type { Opened } from './open-queries.ts';
import type { OrderRow } from './order.ts';
import { deriveReference, type Numbered } from './reference.ts';

export interface Sale {
  readonly id: string;
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
  id: string,
  requestId: string | null,
  numbered: Numbered,
): NewSale {
  const reference = deriveReference(company_id, numbered);
  return { id, reference, numbered, amount: total, request_id: requestId, payment_method_id, card_brand, card_last4 };
}

/** A sale whose intent is recorded, so that it may be sent. A sale loaded from the database has no subject. */
export type OpenedSale = Sale & Opened & { readonly numbered?: Numbered | undefined };

/** A subscription redeems its coupon once, with its first charge. */
export function redemptionIdOf({ id, coupon, subscription_id, subscription_cycle }: OrderRow): string | undefined {
  if (coupon === null) return undefined;
  if (subscription_id === null) return id;
  return subscription_cycle === null ? subscription_id : undefined;
}
