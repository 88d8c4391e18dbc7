import { declineTexts, notChargedTexts } from '../../customer-texts/payments.ts';
import { ApiError } from '../../errors.ts';
import type { FailureCode } from '../../vault/processors/processor.ts';

/** For a decline by its code, or for a payment that was refused before anything was charged. */
export function customerReason(why: FailureCode | ApiError): string {
  if (!(why instanceof ApiError)) return declineTexts[why];
  if (why.param === 'total') return notChargedTexts.total;
  if (why.param === 'coupon_code') return notChargedTexts.coupon_code;
  return notChargedTexts.other;
}
