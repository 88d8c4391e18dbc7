// Made by sdk/node/generate.ts from the OpenAPI document. Change the routes, and run it again.

export type BillingInterval = 'day' | 'month';

/** The day of the month to bill on; in a shorter month, its last day. The first renewal is the anchor date nearest to start + interval. Day cadences ignore it. */
export type AnchorDay = number | 'signup_date';

export interface BillingCycle {
  interval: BillingInterval;
  interval_count: number;
  anchor_day: AnchorDay;
}

export interface PlanProduct {
  product_id: string;
  name: string;
  quantity: number;
}

export type PricingTierKind = 'recurring' | 'one_time';

export interface PricingTier {
  name: string;
  amount: number;
  kind: PricingTierKind;
}

export interface Plan {
  /** The `plan_id` of subscriptions. */
  id: string;
  name: string;
  /** A short handle; it is not the `plan_id`. */
  plan_code: string;
  description: string | null;
  /** What each cycle costs, in cents. */
  amount: number;
  /** Setup fee in cents, charged with the first cycle only. */
  one_time_amount: number;
  currency: string;
  billing_cycle: BillingCycle;
  /** How many there are; 0 means without end. */
  billing_cycles: number;
  products: PlanProduct[];
  /** What the amounts are made of. */
  pricing_tiers: PricingTier[];
  /** `false` means archived: its subscriptions go on, new ones are refused. */
  active: boolean;
  created_at: string;
  updated_at: string;
}

export interface ListPlansParams {
  /** How many objects a page has. Default: `10`. */
  limit?: number | undefined;
  /** Gives the page after the object with this id. */
  starting_after?: string | undefined;
  /** Gives the page before the object with this id. */
  ending_before?: string | undefined;
  /** Order of the list, by created_at or updated_at or name or amount; `field` and `field[asc]` ascend, `-field` and `field[desc]` descend. Default: `'created_at[desc]'`. */
  sort?: 'created_at' | '-created_at' | 'created_at[asc]' | 'created_at[desc]' | 'updated_at' | '-updated_at' | 'updated_at[asc]' | 'updated_at[desc]' | 'name' | '-name' | 'name[asc]' | 'name[desc]' | 'amount' | '-amount' | 'amount[asc]' | 'amount[desc]' | undefined;
  /** A part of name, code or description. */
  search?: string | undefined;
  /** `false` lists archived plans, `true` the others. */
  active?: boolean | undefined;
  created_at?: { gt?: string | undefined; gte?: string | undefined; lt?: string | undefined; lte?: string | undefined } | undefined;
}
