// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type CardBrand = 'amex' | 'diners' | 'jcb' | 'discover' | 'unionpay' | 'mastercard' | 'maestro' | 'visa' | 'unknown';

export interface Card {
  brand: CardBrand;
  last4: string;
  exp_month: number;
  exp_year: number;
  /** The same card of the same merchant has the same value. */
  fingerprint: string;
}

export interface BillingAddress {
  line1?: string | null;
  line2?: string | null;
  city?: string | null;
  state?: string | null;
  postal_code?: string | null;
  country?: string | null;
}

/** Required by the processor for some cards. */
export interface BillingDetails {
  name?: string | null;
  email?: string | null;
  phone?: string | null;
  address?: BillingAddress | null;
}

export interface PaymentMethod {
  id: string;
  type: 'card';
  customer_id: string;
  /** Used for new orders and subscriptions when none is given. */
  is_default: boolean;
  card: Card;
  billing_details: BillingDetails | null;
  created_at: string;
}

export interface CardInput {
  /** 12 to 19 digits; spaces and hyphens are ignored. */
  number: string;
  /** 1 to 12. */
  exp_month: string;
  /** Two or four digits. */
  exp_year: string;
  /** 3 or 4 digits. Checked and forgotten; it is never stored. */
  cvc: string;
}

export interface CardTokenCreate {
  card: CardInput;
  billing_details?: BillingDetails | null | undefined;
}

export interface TokenCard {
  brand: CardBrand;
  last4: string;
  exp_month: number;
  exp_year: number;
}

export interface CardToken {
  /** Single use, valid 15 minutes. */
  id: string;
  card: TokenCard;
  expires_at: string;
}

export interface CardCapture {
  customer_id: string;
  card: CardInput;
  /** Default: `false`. */
  set_as_default?: boolean | undefined;
  /** Repoints the subscriptions of the customer to this card. Default: `false`. */
  update_subscriptions?: boolean | undefined;
  billing_details?: BillingDetails | null | undefined;
}

export interface PaymentMethodAttach {
  card_token: string;
  /** Default: `false`. */
  set_as_default?: boolean | undefined;
  /** Repoints the subscriptions of the customer to this card. Default: `false`. */
  update_subscriptions?: boolean | undefined;
  billing_details?: BillingDetails | null | undefined;
}

export interface PaymentMethodUpdate {
  /** Makes this card the default. `false` is refused for the default card: one card always is it. */
  set_as_default?: boolean | undefined;
  /** Moves the active, paused and past due subscriptions of the customer to this card. Those that are past due are charged at once. */
  update_subscriptions?: boolean | undefined;
}

export interface PaymentMethodDelete {
  replacement_payment_method_id?: string | undefined;
}

export interface DeletedPaymentMethod {
  id: string;
  deleted: true;
  message: string;
}

export interface ListPaymentMethodsParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | undefined;
}
