import type Stripe from 'stripe';
import type { ExchangeRequest } from '../exchange.ts';
import { get, post, referenceName } from './requests.ts';

/** Our requests about SetupIntents, which check a card, and save it if they have a customer. */

const expandedSetup = ['payment_method', 'latest_attempt'];

/** The customer of a card that is saved, who is on one of our pages. */
export interface SavedSetup {
  readonly customer: string;
  readonly returnUrl: string;
  readonly startsSeries: boolean;
}

export function createSetupIntent(reference: string, paymentMethod: string, saved?: SavedSetup): ExchangeRequest {
  const body = {
    payment_method: paymentMethod,
    allowed_payment_method_types: ['card'],
    confirm: true,
    usage: 'off_session',
    metadata: { [referenceName]: reference },
    expand: expandedSetup,
    ...(saved && {
      customer: saved.customer,
      return_url: saved.returnUrl,
      payment_method_options: {
        card: {
          request_three_d_secure: 'any',
          setup_credential_usage: saved.startsSeries ? 'recurring' : 'unscheduled',
        },
      },
    }),
  } satisfies Stripe.SetupIntentCreateParams;
  return post(['setup_intents'], body, reference);
}

export function getSetupIntent(setup: string): ExchangeRequest {
  return get(['setup_intents', setup], { expand: expandedSetup } satisfies Stripe.SetupIntentRetrieveParams);
}

/** Without a key, as the cancellation of a payment. */
export function cancelSetupIntent(setup: string): ExchangeRequest {
  const body = { cancellation_reason: 'abandoned', expand: expandedSetup } satisfies Stripe.SetupIntentCancelParams;
  return post(['setup_intents', setup, 'cancel'], body);
}
