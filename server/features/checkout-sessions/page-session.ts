import type { BrandName } from '../../platform/card-brands.ts';
import type { OwnText } from '../profile/service.ts';
import type { Proof } from './card-testing.ts';
import type { Failure, SessionRow } from './queries.ts';
import type { Line } from './quote.ts';

/** What the service says to the checkout page. */

export interface Merchant {
  readonly name: string;
  readonly logo_url: string | null;
  readonly color: string | null;
  readonly support_email: string | null;
  /** How customers reach the merchant, in its own words. */
  readonly support: OwnText | null;
  /** Whether the button of an order says that the order obliges to pay, as the law of the merchant's country asks. */
  readonly names_duty: boolean;
}

/** What the customer agrees to by ordering, and by the box below a new card. The page sends back the texts that it showed. */
export interface Agreement {
  readonly terms: (OwnText & { readonly url: string }) | null;
  readonly save_card: string;
}

export interface ShownReceipt {
  readonly receipt_url: string | null;
  /** Null if there is no email with the receipt. `kept`: a sandbox does not send it. */
  readonly receipt_email: { readonly to: string; readonly state: 'sent' | 'mailbox' | 'kept' } | null;
}

interface SavedCard {
  readonly id: string;
  readonly brand: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly is_default: boolean;
}

export interface Result extends ShownReceipt {
  readonly order_number: string;
  /** `held`: the card is not charged yet. `released`: it never will be. */
  readonly state: 'paid' | 'held' | 'released';
  /** The words of the merchant, unless the payment was released. */
  readonly thank_you: OwnText | null;
  readonly total: number;
  readonly currency: string;
  readonly card: { readonly brand: string; readonly last4: string };
}

/** The bank of the customer wants to confirm the payment. */
export interface ShownAction {
  /** Where the page leads. */
  readonly url: string;
  readonly expires_at: string;
  /** Whether the request that is answered began this payment, or is the same: then the page leads there at once. */
  readonly is_own: boolean;
}

export interface PageSession {
  /** An unavailable session sells something that is no longer sold. */
  readonly status: 'open' | 'processing' | 'completed' | 'expired' | 'unavailable';
  readonly mode: SessionRow['mode'];
  readonly capture: SessionRow['capture'];
  readonly livemode: boolean;
  /** With test accounts of processors. */
  readonly rehearsal: boolean;
  readonly merchant: Merchant;
  readonly lines: readonly (Line & { readonly image_url: string | null })[];
  readonly plan: object | null;
  readonly currency: string | null;
  readonly subtotal: number;
  readonly discount: number;
  readonly total: number;
  readonly coupon: { readonly code: string } | null;
  /** Price, period and renewal of a subscription. Null if nothing renews. */
  readonly renewal: string | null;
  readonly agreement: Agreement | null;
  readonly allow_coupons: boolean;
  readonly collect: SessionRow['collect'];
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string } | null;
  readonly saved_cards: readonly SavedCard[];
  /** The brands whose marks the page shows. */
  readonly card_brands: readonly BrandName[];
  readonly attempt: number;
  readonly failure: Failure | null;
  readonly notice: 'total_changed' | null;
  readonly cancel_url: string | null;
  readonly success_url: string | null;
  readonly next_action: ShownAction | null;
  readonly result: Result | null;
  /** What the page must compute before the next payment. */
  readonly proof: Proof | null;
}
