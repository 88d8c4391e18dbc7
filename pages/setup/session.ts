import type { PageMerchant } from '../shared/header.ts';

/** What the service says about a session that saves a card. */
export interface Setup {
  readonly status: 'open' | 'at_bank' | 'completed' | 'expired' | 'unavailable';
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: PageMerchant;
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string } | null;
  readonly card_brands: readonly string[];
  /** The bank wants to confirm the card. */
  readonly bank_url: string | null;
  /** The card that was saved. */
  readonly card: { readonly brand: string; readonly last4: string } | null;
  readonly cancel_url: string | null;
  readonly success_url: string | null;
}
