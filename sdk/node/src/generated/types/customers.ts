// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

import type { PaymentMethod } from './payment-methods.ts';
import type { Subscription } from './subscriptions.ts';

export interface ShippingAddressInput {
  name?: string | null | undefined;
  line1?: string | null | undefined;
  line2?: string | null | undefined;
  city?: string | null | undefined;
  state?: string | null | undefined;
  postal_code?: string | null | undefined;
  country?: string | null | undefined;
  phone?: string | null | undefined;
}

/** Free-form JSON values of your own: at most 50 keys of up to 40 characters, nested at most 5 levels, 16 KiB in all. */
export type Metadata = Record<string, unknown>;

export interface CustomerCreate {
  email: string;
  first_name: string;
  last_name: string;
  /** International format: `+` and the country code. Returned in E.164, without spaces. Unique per merchant. */
  phone: string;
  company?: string | null | undefined;
  shipping_address?: ShippingAddressInput | null | undefined;
  /** Labels of your own; the list can be filtered by them. Default: `[]`. */
  tags?: readonly string[] | undefined;
  metadata?: Metadata | null | undefined;
}

export interface ShippingAddress {
  /** The shipping-address id. */
  id: string;
  name: string | null;
  line1: string | null;
  line2: string | null;
  city: string | null;
  state: string | null;
  postal_code: string | null;
  country: string | null;
  phone: string | null;
}

export interface Customer {
  id: string;
  email: string;
  first_name: string;
  last_name: string;
  /** International format: `+` and the country code. Returned in E.164, without spaces. Unique per merchant. */
  phone: string;
  company: string | null;
  shipping_address: ShippingAddress | null;
  default_payment_method_id: string | null;
  /** With `expand=payment_methods`. */
  payment_methods?: PaymentMethod[];
  /** With `expand=subscriptions`. */
  subscriptions?: Subscription[];
  /** Labels of your own; the list can be filtered by them. */
  tags: string[];
  metadata: Metadata;
  /** True for a customer that was deleted but has order history. */
  deleted: boolean;
  deleted_at: string | null;
  created_at: string;
  updated_at: string;
}

/** Free-form JSON values of your own: at most 50 keys of up to 40 characters, nested at most 5 levels, 16 KiB in all. Merged key by key; a key set to null is removed; null clears it. */
export type MetadataPatch = Record<string, unknown>;

export interface CustomerUpdate {
  email?: string | undefined;
  first_name?: string | undefined;
  last_name?: string | undefined;
  /** International format: `+` and the country code. Returned in E.164, without spaces. Unique per merchant. */
  phone?: string | undefined;
  company?: string | null | undefined;
  shipping_address?: ShippingAddressInput | null | undefined;
  /** Labels of your own; the list can be filtered by them. */
  tags?: readonly string[] | undefined;
  metadata?: MetadataPatch | null | undefined;
}

export interface DeletedCustomer {
  id: string;
  deleted: true;
  message: string;
}

export interface CustomerExpansions {
  payment_methods: PaymentMethod[];
  subscriptions: Subscription[];
}

export interface ListCustomersParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or updated_at; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'updated_at' | '-updated_at' | 'updated_at[asc]' | 'updated_at[desc]' | undefined;
  /** Exactly this e-mail address; upper and lower case are the same. */
  email?: string | undefined;
  /** Beginnings of words in name, e-mail address and company. */
  q?: string | undefined;
  /** Customers that have all of these tags. */
  tags?: string | readonly string[] | undefined;
  /** `true` lists deleted customers too. Default: `false`. */
  deleted?: boolean | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
