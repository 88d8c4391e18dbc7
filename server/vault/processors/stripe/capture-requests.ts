import type Stripe from 'stripe';
import type { ExchangeRequest } from '../exchange.ts';
import { expandedCharge, post } from './requests.ts';

/** The name under which a payment that was captured later keeps the reference of its capture. */
export const captureName = 'svc_capture';

/** Takes the amount, and releases what is left of the authorization. */
export function captureIntent(intent: string, reference: string, amount: number): ExchangeRequest {
  const body = {
    amount_to_capture: amount,
    metadata: { [captureName]: reference },
    expand: expandedCharge,
  } satisfies Stripe.PaymentIntentCaptureParams;
  return post(['payment_intents', intent, 'capture'], body, reference);
}
