import { declineTexts } from '../../customer-texts.ts';
import { ApiError } from '../../errors.ts';
import type { FailureCode } from '../../vault/processors/processor.ts';

/** For a decline by its code, or for a payment that was refused before anything was charged. */
export function customerReason(why: FailureCode | ApiError): string {
  if (!(why instanceof ApiError)) return declineTexts[why];
  if (why.param === 'total') return 'The price has changed. You were not charged. Check the new total.';
  if (why.param === 'coupon_code') return 'The code cannot be used any more. You were not charged.';
  return 'This shop cannot take the payment now. You were not charged.';
}
