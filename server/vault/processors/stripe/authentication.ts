import { ownEntry } from '../../../platform/own-entry.ts';
import { type AuthenticationResult, type CustomerAction, redirectTo, shiftsLiability } from '../authentication.ts';
import type { Card, NextAction } from './objects.ts';

/** What Stripe says about the authentication of the customer by the bank (3D Secure). */

const statuses: Readonly<Record<string, AuthenticationResult['status']>> = {
  authenticated: 'authenticated',
  attempt_acknowledged: 'attempted',
  exempted: 'exempted',
  failed: 'failed',
  not_supported: 'unavailable',
  processing_error: 'unavailable',
  data_share_only: 'unavailable',
};

/** Of an attempt that the card network does not recognize. */
const withoutShift = ['00', '07'];

interface Authenticated {
  readonly authentication?: AuthenticationResult;
}

/** Empty if the bank was not asked about the customer. */
export function authenticationIn(card: Card | undefined): Authenticated {
  const {
    authentication_flow,
    electronic_commerce_indicator: eci = null,
    result,
    version = null,
  } = card?.three_d_secure ?? {};
  const status = ownEntry(statuses, result ?? '');
  if (!status) return {};
  const flow =
    authentication_flow === 'challenge' || authentication_flow === 'frictionless' ? authentication_flow : null;
  const liabilityShifted = shiftsLiability(status) && !withoutShift.includes(eci ?? '');
  return { authentication: { flow, status, liabilityShifted, version, eci } };
}

/** The customer was asked and did not confirm. */
export const authenticationFailed: Authenticated = {
  authentication: { flow: 'challenge', status: 'failed', liabilityShifted: false, version: null, eci: null },
};

export const redirectIn = (action: NextAction | undefined): CustomerAction | undefined =>
  action?.type === 'redirect_to_url' ? redirectTo(action.redirect_to_url?.url) : undefined;
