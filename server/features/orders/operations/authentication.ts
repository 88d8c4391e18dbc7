import { dayMs } from '../../../platform/durations.ts';
import type { AuthenticationResult, ExternalAuthentication } from '../../../vault/processors/authentication.ts';
import { limits } from '../../../limits.ts';
import type { ChargeOutcome, KnownOutcome } from './record-outcomes.ts';

/** How the bank authenticated the customer of a charge, and what follows from it. */

/** Undefined if nothing is known of it, which is usual. */
export function authenticationOf({
  outcome,
  state,
}: Pick<ChargeOutcome, 'outcome' | 'state'>): AuthenticationResult | undefined {
  if (outcome.outcome !== 'approved' && outcome.outcome !== 'declined') return undefined;
  if (outcome.authentication) return outcome.authentication;
  return outcome.outcome === 'approved' && state.authentication ? ofExternal(state.authentication) : undefined;
}

/** The merchant has authenticated the customer itself, and the processor says nothing of it. */
function ofExternal({ eci, version }: ExternalAuthentication): AuthenticationResult {
  const status = authenticatedEcis.includes(eci)
    ? 'authenticated'
    : attemptedEcis.includes(eci)
      ? 'attempted'
      : 'unavailable';
  return { flow: null, status, liabilityShifted: null, version, eci };
}

/** Of Visa and others, and of Mastercard. */
const authenticatedEcis: readonly string[] = ['05', '02'];
const attemptedEcis: readonly string[] = ['06', '01'];

/** The card may be charged without the customer from now on. */
export const givesMandate = (outcome: KnownOutcome, authentication: AuthenticationResult | undefined): boolean =>
  outcome.outcome === 'approved' && authentication?.status === 'authenticated';

/** Whether the bank declined because it could not ask the customer. */
export const wantsCustomer = (outcome: KnownOutcome): boolean =>
  outcome.outcome === 'declined' && outcome.needsAuthentication === true;

export const confirmableUntil = (nowMs: number): Date => new Date(nowMs + limits.confirmationDays * dayMs);
