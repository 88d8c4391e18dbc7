import { readAmount } from './amounts.ts';
import type { Query } from './api.ts';
import type { Filters } from './data.ts';
import { brandName, words } from './format.ts';
import { common } from './texts/common.ts';
import { lists } from './texts/lists.ts';
import { createdAtQuery, daysOf, hasDays, type Now } from './list-days.ts';
import type { Choice } from './components/fields.tsx';

/** Filters of lists as data: how each is shown, and which parameters of the API it becomes. Their values are in the address. */

/** What the name of an object is made from. */
interface Named {
  readonly name?: string;
  readonly first_name?: string;
  readonly last_name?: string;
}

export type Filter =
  | {
      readonly kind: 'choices';
      readonly name: string;
      readonly label: string;
      readonly choices: readonly Choice[];
      /** Only one value at a time. */
      readonly single?: boolean;
    }
  | { readonly kind: 'amount'; readonly name: string; readonly label: string }
  | { readonly kind: 'text'; readonly name: string; readonly label: string; readonly placeholder?: string }
  | {
      readonly kind: 'object';
      readonly name: string;
      readonly label: string;
      readonly path: string;
      /** The search parameter of the API. Without it, the first hundred objects are offered. */
      readonly searchBy?: string;
      readonly textOf: (object: Named) => string;
    }
  | { readonly kind: 'dates'; readonly label: string };

/** The names in the address that belong to a filter. */
export function namesOf(filter: Filter): string[] {
  if (filter.kind === 'dates') return ['date', 'from', 'to'];
  return filter.kind === 'amount' ? [`${filter.name}_from`, `${filter.name}_to`] : [filter.name];
}

export const isSet = (filter: Filter, address: Filters): boolean =>
  filter.kind === 'dates' ? hasDays(address) : namesOf(filter).some((name) => address[name]);

/** Amounts are written in the one currency that is chosen, otherwise with two decimals. */
export function filterCurrency({ currency }: Filters): string {
  return currency && !currency.includes(',') ? currency : 'usd';
}

export function queryOf(filters: readonly Filter[], address: Filters, now: Now): Query {
  const parts = filters.map((filter): Query => {
    if (filter.kind === 'dates') return createdAtQuery(daysOf(address, now), now.zone);
    if (filter.kind !== 'amount') return { [filter.name]: address[filter.name] };
    const bound = (text: string | undefined): number | undefined =>
      text ? readAmount(text, filterCurrency(address)).amount : undefined;
    return {
      [`${filter.name}[gte]`]: bound(address[`${filter.name}_from`]),
      [`${filter.name}[lte]`]: bound(address[`${filter.name}_to`]),
    };
  });
  return Object.assign({}, ...parts) as Query;
}

const currencyCodes = 'usd eur gbp aud brl cad chf dkk inr jpy mxn nok nzd pln sek sgd'.split(' ');
const brands = ['visa', 'mastercard', 'amex', 'discover', 'diners', 'jcb', 'unionpay', 'maestro'];

/** Filters that several lists have. */
export const datesFilter: Filter = { kind: 'dates', label: lists.date };

export const choicesOf = (values: readonly string[]): Choice[] =>
  values.map((value) => ({ value, label: words(value) }));

export const statusFilter = (values: readonly string[]): Filter => ({
  kind: 'choices',
  name: 'status',
  label: common.status,
  choices: choicesOf(values),
});

export const currencyFilter: Filter = {
  kind: 'choices',
  name: 'currency',
  label: common.currency,
  choices: currencyCodes.map((value) => ({ value, label: value.toUpperCase() })),
};

export const brandFilter: Filter = {
  kind: 'choices',
  name: 'card_brand',
  label: lists.cardBrand,
  choices: brands.map((value) => ({ value, label: brandName(value) })),
};

/** Two months, as `YYYY-MM`: those in which a card expires soon. */
export function expiringMonths(nowMs: number): string {
  const now = new Date(nowMs);
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
  return [now, next].map((one) => one.toISOString().slice(0, 7)).join(',');
}

export const cardExpiresFilter: Filter = {
  kind: 'text',
  name: 'card_expires',
  label: lists.cardExpires,
  placeholder: lists.cardExpiresExample,
};

export const failureFilter: Filter = {
  kind: 'choices',
  name: 'failure_code',
  label: lists.failureReason,
  choices: choicesOf(lists.failureCodes),
};

const nameOf = ({ name = '' }: Named): string => name;

export const personOf = ({ first_name = '', last_name = '' }: Named): string => `${first_name} ${last_name}`;

export const customerFilter: Filter = {
  kind: 'object',
  name: 'customer_id',
  label: common.customer,
  path: '/v1/customers',
  searchBy: 'q',
  textOf: personOf,
};

export const productFilter: Filter = {
  kind: 'object',
  name: 'product_id',
  label: lists.product,
  path: '/v1/products',
  searchBy: 'q',
  textOf: nameOf,
};

export const planFilter: Filter = {
  kind: 'object',
  name: 'plan_id',
  label: lists.plan,
  path: '/v1/plans',
  searchBy: 'search',
  textOf: nameOf,
};

export const couponFilter: Filter = {
  kind: 'object',
  name: 'coupon_id',
  label: lists.coupon,
  path: '/v1/coupons',
  searchBy: 'q',
  textOf: nameOf,
};
