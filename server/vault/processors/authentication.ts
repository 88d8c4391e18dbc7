/** How a bank authenticates the customer of a payment (3-D Secure). */

/** The customer waits on one of our pages, which can lead to the bank and take the customer back. */
export interface Presence {
  /** Our page. The processor adds parameters to it. */
  readonly returnUrl: string;
  readonly userAgent: string;
  readonly acceptHeader: string;
  readonly browser?: BrowserDetails;
  /** In the sandbox: the address of its bank at this installation. */
  readonly sandboxBankUrl?: string;
}

/** What banks ask about a browser. The page reports it, so it may be missing or wrong. */
export interface BrowserDetails {
  readonly language: string;
  readonly colorDepth: number;
  readonly screenHeight: number;
  readonly screenWidth: number;
  readonly timeZoneOffsetMinutes: number;
}

/** The customer has to be led there. The page can only follow a link, so no form and no script of others is needed. */
export interface CustomerAction {
  readonly kind: 'redirect';
  readonly url: string;
}

/** What a merchant with a 3-D Secure server of its own sends with an order. It is passed on and not stored. */
export interface ExternalAuthentication {
  readonly cavv: string;
  readonly eci: string;
  readonly directoryServerId: string;
  readonly version: string;
}

export const authenticationFlows = ['challenge', 'frictionless'] as const;

/** How the bank authenticated the customer, as far as the processor reports it. */
export interface AuthenticationResult {
  /** Whether the customer was asked. */
  readonly flow: (typeof authenticationFlows)[number] | null;
  readonly status: 'authenticated' | 'attempted' | 'exempted' | 'failed' | 'unavailable';
  /** Whether the bank, and not the merchant, bears the loss of a fraud. */
  readonly liabilityShifted: boolean | null;
  readonly version: string | null;
  readonly eci: string | null;
}

/**
 * The bank wants to ask the customer, who is present. Nothing was executed yet. What follows is heard by `resume`, `lookup` and
 * notices only: the charge is not sent again.
 */
export interface NeedsCustomer {
  readonly outcome: 'needs_customer';
  readonly action: CustomerAction;
  /** What `resume` needs beside the reference; at most 4096 characters. It is stored sealed. */
  readonly handle?: string;
  /** When the processor ends it by itself, by its clock, if that is sooner than after half an hour. */
  readonly expiresAtMs?: number;
}

export const authenticationStatuses = [
  'authenticated',
  'attempted',
  'exempted',
  'failed',
  'unavailable',
] as const satisfies readonly AuthenticationResult['status'][];

/** The card network grants the shift of liability for an authentication and for an attempt. */
export const shiftsLiability = (status: AuthenticationResult['status']): boolean =>
  status === 'authenticated' || status === 'attempted';

/** For the merchant, of a charge that the customer did not confirm. */
export const notConfirmedReason = 'The customer did not confirm the payment with the bank.';

/** For the merchant, of a charge without the customer. */
export const wantsCustomerReason =
  'The card’s bank wants the customer to confirm the payment (3D Secure), and the customer was not there.';

/** Undefined if a browser cannot be led there. */
export function redirectTo(url: string | null | undefined): CustomerAction | undefined {
  const isWeb = url && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  return isWeb ? { kind: 'redirect', url } : undefined;
}
