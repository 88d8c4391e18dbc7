import { noResponse, type CaptureRequest, type Outcome, type VoidRequest } from '../processor.ts';
import type { Change, Client } from './client.ts';
import type { Authorization } from './handle.ts';
import type { AdyenAmount } from './money.ts';
import { cancelOf, captureOf, keyOf, modificationReferenceOf } from './requests.ts';

/**
 * Authorizations that are captured later. Their captures and cancellations have references of their own, with a prefix that
 * tells their notices from those of a charge, which Adyen captures under the reference of the charge.
 */

/** The authorization stands: its answer said so, and was stored as its handle. Adyen does not say until when. */
export function heldOutcomeOf(authorization: Authorization): Outcome {
  const { pspReference, networkTransactionId, authorization_code, avs_result, cvv_result } = authorization;
  const { authentication } = authorization;
  const response = { ...noResponse, transaction_id: pspReference, authorization_code, avs_result, cvv_result };
  return {
    outcome: 'approved',
    response: { ...response, response_text: 'Authorised' },
    ...(networkTransactionId && { networkTransactionId }),
    ...(authentication && { authentication }),
  };
}

interface ChangeWanted extends Pick<CaptureRequest & VoidRequest, 'reference'> {
  readonly payment: string;
  /** An earlier request with this key may have been executed. */
  readonly isRepeat: boolean;
}

export function laterCapture(
  { merchantAccount }: Client,
  { reference, payment, isRepeat }: ChangeWanted,
  amount: AdyenAmount,
): Change {
  const own = modificationReferenceOf('capture', reference);
  return {
    path: ['payments', payment, 'captures'],
    body: captureOf(merchantAccount, own, amount),
    sent: { merchantAccount, key: keyOf(reference), reference: own, payment, amount, isRepeat },
  };
}

/** Adyen cancels only what is not captured. */
export function releaseChange({ merchantAccount }: Client, { reference, payment, isRepeat }: ChangeWanted): Change {
  const own = modificationReferenceOf('void', reference);
  return {
    path: ['payments', payment, 'cancels'],
    body: cancelOf(merchantAccount, own),
    sent: { merchantAccount, key: keyOf(reference), reference: own, payment, isRepeat },
  };
}
