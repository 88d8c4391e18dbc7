import type { PageMerchant } from '../shared/header.ts';

/** What the service says about the customer of the link. */

export interface AccountMerchant extends PageMerchant {
  /** The law of its country names the words of a button that orders. */
  readonly names_duty: boolean;
}

interface OfferedPlan {
  readonly id: string;
  readonly name: string;
  /** Of one seat. */
  readonly amount: number;
  readonly currency: string;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly when: 'now' | 'renewal';
}

/** What a change of plan charges. */
export interface PlanPreview {
  readonly at: string;
  readonly when: 'now' | 'renewal';
  readonly lines: readonly {
    readonly type: 'charge' | 'discount' | 'credit';
    readonly description: string;
    readonly amount: number;
  }[];
  /** What the credit of the customer pays now. */
  readonly credit_applied: number;
  readonly amount_due: number;
  /** What is added to the credit of the customer. */
  readonly credit_amount: number;
  readonly next: { readonly date: string; readonly total: number } | null;
}

export interface AccountSubscription {
  readonly id: string;
  readonly name: string;
  readonly plan_id: string;
  readonly quantity: number;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
  readonly card: { readonly brand: string; readonly last4: string };
  readonly current_period_end: string | null;
  readonly next_payment: { readonly date: string; readonly total: number } | null;
  readonly scheduled: { readonly name: string; readonly quantity: number; readonly can_undo: boolean } | null;
  /** A change of plan is being charged. */
  readonly changing: boolean;
  /** What it can be changed to. */
  readonly offer: {
    readonly plans: readonly OfferedPlan[];
    readonly seats_max: number | null;
  } | null;
  readonly overdue: {
    readonly total: number;
    readonly declines: number;
    readonly in_progress: boolean;
    /** The bank wants to confirm the payment in progress. */
    readonly bank_url: string | null;
    /** The bank wants to confirm the payment: the page for that. */
    readonly confirm_url: string | null;
  } | null;
  readonly ends_at: string | null;
  /** It is paused until a date, on which the total is charged. */
  readonly pause: { readonly until: string; readonly total: number; readonly paid_until: string | null } | null;
  readonly can_continue: boolean;
  /** The days until which it can be paused. */
  readonly pause_dates: { readonly first: string; readonly last: string; readonly total: number } | null;
  /** A new subscription like this one, which has ended. */
  readonly again: {
    readonly name: string;
    readonly quantity: number;
    readonly amount: number;
    readonly total: number;
    readonly currency: string;
    readonly interval: 'day' | 'month';
    readonly interval_count: number;
  } | null;
  readonly can_end_renewal: boolean;
  readonly can_keep_renewal: boolean;
  readonly can_cancel: boolean;
}

interface AccountCard {
  readonly id: string;
  readonly brand: string;
  readonly last4: string;
  readonly exp_month: number;
  readonly exp_year: number;
  readonly is_default: boolean;
}

export interface AccountPayment {
  readonly id: string;
  readonly order_number: string;
  readonly created_at: string;
  readonly description: string;
  readonly status: string;
  readonly total: number;
  readonly refunded_amount: number;
  readonly currency: string;
  readonly has_receipt: boolean;
  readonly documents: readonly {
    readonly id: string;
    readonly kind: 'invoice' | 'credit_note';
    readonly number: string;
  }[];
  readonly confirm_url: string | null;
}

export interface Payments {
  readonly items: readonly AccountPayment[];
  readonly next: string | null;
}

export interface Account {
  readonly livemode: boolean;
  readonly rehearsal: boolean;
  readonly merchant: AccountMerchant;
  readonly headline: string | null;
  readonly return_url: string | null;
  readonly allow_update_card: boolean;
  readonly customer: { readonly email: string; readonly first_name: string; readonly last_name: string };
  readonly subscriptions: readonly AccountSubscription[];
  readonly cards: readonly AccountCard[];
  /** A card that is being saved: the bank wants to confirm it. */
  readonly card_at_bank: { readonly bank_url: string } | null;
  readonly credit: readonly { readonly currency: string; readonly amount: number }[];
  readonly payments: Payments;
  /** The outcome of the change of plan, or of the new subscription, that was just requested. */
  readonly change?: {
    readonly status: 'applied' | 'scheduled' | 'declined' | 'superseded';
    readonly confirm_url: string | null;
  };
}
