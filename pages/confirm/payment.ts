import type { PageMerchant } from '../shared/header.ts';

/** What the service says about the payment of the link. */
export interface Payment {
  readonly status: 'open' | 'processing' | 'confirmed' | 'ended';
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: PageMerchant;
  /** Null once it is long over. */
  readonly details: {
    readonly order_number: string;
    readonly amount: number;
    readonly currency: string;
    readonly card: { readonly brand: string; readonly last4: string };
    /** The amount is held and not charged yet. */
    readonly is_held: boolean;
  } | null;
  /** How often it was declined: two requests make one charge. */
  readonly declines: number;
  /** Why the last try failed. */
  readonly failure: string | null;
  /** Where the bank waits for the customer. */
  readonly next_action: { readonly url: string; readonly expires_at: string } | null;
}
