import { ApiError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { createdAt } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { type EventRow, newEvent } from '../events/service.ts';
import type { PaymentMethodRow } from './queries.ts';
import type { PaymentMethod } from './schemas.ts';

/** Saved cards as the API shows them, in answers, events and errors. */

export function toWire(row: Omit<PaymentMethodRow, 'listed'>): PaymentMethod {
  return {
    id: row.id,
    type: 'card',
    customer_id: row.customer_id,
    is_default: row.is_default,
    card: {
      brand: row.brand,
      last4: row.last4,
      exp_month: row.exp_month,
      exp_year: row.exp_year,
      fingerprint: row.fingerprint,
    },
    billing_details: row.billing_details,
    mandate: row.mandated_at ? { created_at: row.mandated_at.toISOString() } : null,
    created_at: createdAt(row.id),
  };
}

/** A card has two events in its life; these are their sequence numbers. */
const attachedSequence = 1;
export const detachedSequence = 2;

export function attachedEvent(
  { company, nowMs, requestId }: RequestContext,
  row: Omit<PaymentMethodRow, 'listed'>,
): EventRow {
  return newEvent(company.id, nowMs, 'payment_method.attached', toWire(row), attachedSequence, requestId);
}

export const tooManyCards = (): ApiError =>
  new ApiError(
    'invalid_request',
    `A customer can have at most ${limits.paymentMethods} cards. Remove one that is no longer needed.`,
  );

export const noLongerStored = (): ApiError =>
  new ApiError('invalid_request', 'The vault no longer has this card. Capture it again.', { param: 'card_token' });
