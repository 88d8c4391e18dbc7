import type { OwnText } from '../shared/dom.ts';
import type { PageMerchant } from '../shared/header.ts';

/** What the service says about a checkout session, and what the page sends. */

export interface Line {
  readonly product_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly image_url: string | null;
  readonly unit_amount: number;
  readonly quantity: number;
  readonly quantity_min: number;
  readonly quantity_max: number;
  readonly total: number;
}

export interface SessionPlan {
  readonly name: string;
  readonly amount: number;
  readonly one_time_amount: number;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly billing_cycles: number | null;
}

export interface Quote {
  readonly lines: readonly Line[];
  readonly currency: string;
  readonly subtotal: number;
  readonly discount: number;
  readonly total: number;
  readonly coupon: { readonly code: string } | null;
  /** Price, period and renewal of a subscription; null if nothing renews. */
  readonly renewal: string | null;
}

interface SavedCard {
  readonly id: string;
  readonly brand: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly is_default: boolean;
}

export interface Result {
  readonly order_number: string;
  /** `held`: the card is not charged yet. `released`: it never will be. */
  readonly state: 'paid' | 'held' | 'released';
  /** What the merchant says after a payment. */
  readonly thank_you: OwnText | null;
  readonly total: number;
  readonly currency: string;
  readonly card: { readonly brand: string; readonly last4: string } | null;
  readonly receipt_url: string | null;
  /** Where the email with the receipt goes. A sandbox keeps it. */
  readonly receipt_email: { readonly to: string; readonly state: 'sent' | 'mailbox' | 'kept' } | null;
}

interface Merchant extends PageMerchant {
  /** The button of an order says that the order obliges to pay. */
  readonly names_duty: boolean;
}

export interface Proof {
  readonly challenge: string;
  readonly difficulty: number;
}

/** Once the session is over, it has no prices any more: `currency` is null. */
export interface Session extends Omit<Quote, 'currency'> {
  readonly currency: string | null;
  readonly status: 'open' | 'processing' | 'completed' | 'expired' | 'unavailable';
  readonly mode: 'payment' | 'subscription';
  readonly capture: 'automatic' | 'manual';
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: Merchant;
  readonly plan: SessionPlan | null;
  readonly allow_coupons: boolean;
  readonly collect: readonly ('shipping' | 'company')[];
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string } | null;
  /** The texts to which the customer agrees, besides `renewal`. They are sent back as they were shown. */
  readonly agreement: {
    readonly terms: (OwnText & { readonly url: string }) | null;
    readonly save_card: string;
  } | null;
  readonly saved_cards: readonly SavedCard[];
  /** The brands whose marks are shown. */
  readonly card_brands: readonly string[];
  /** The number of the next payment. */
  readonly attempt: number;
  /** Why the last payment was declined. */
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** Only in the answer to a payment: nothing was charged. */
  readonly notice: 'total_changed' | null;
  readonly cancel_url: string | null;
  readonly success_url: string | null;
  /** The bank wants to confirm the payment in progress. `is_own`: it is the one that this request asked for. */
  readonly next_action: { readonly url: string; readonly expires_at: string; readonly is_own: boolean } | null;
  readonly result: Result | null;
  readonly proof: Proof | null;
}

/** What banks ask about a browser that pays. */
interface BrowserReport {
  readonly language: string;
  readonly color_depth: number;
  readonly screen_height: number;
  readonly screen_width: number;
  readonly time_zone_offset: number;
}

export interface Payment {
  readonly attempt: number;
  readonly total: number;
  readonly quantities?: readonly { readonly product_id: string; readonly quantity: number }[];
  readonly coupon_code?: string;
  readonly card_token?: string;
  readonly payment_method_id?: string;
  readonly save_card?: boolean;
  readonly agreed?: { readonly terms?: string; readonly renewal?: string; readonly save_card?: string };
  readonly customer?: Readonly<Record<string, string>>;
  readonly shipping?: Readonly<Record<string, string | null>>;
  readonly proof?: { readonly challenge: string; readonly answer: string };
  readonly browser?: BrowserReport;
}
