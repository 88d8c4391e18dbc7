import type { Fields } from './call.ts';

/** What tools can read, and the few fields of each that a list needs. `get` returns the whole object. */

interface Resource {
  readonly path: string;
  /** Fields of a row. */
  readonly columns: readonly string[];
  /** Its page in the dashboard, before the ID. */
  readonly page?: string;
}

export const resources = {
  customers: {
    path: '/v1/customers',
    columns: ['id', 'email', 'first_name', 'last_name', 'company', 'created_at'],
    page: '/customers/',
  },
  orders: {
    path: '/v1/orders',
    columns: ['id', 'order_number', 'status', 'total', 'currency', 'customer_id', 'failure_code', 'created_at'],
    page: '/orders/',
  },
  transactions: {
    path: '/v1/transactions',
    columns: ['id', 'type', 'status', 'amount', 'currency', 'order_id', 'failure_code', 'created_at'],
    page: '/transactions/',
  },
  subscriptions: {
    path: '/v1/subscriptions',
    columns: ['id', 'status', 'customer_id', 'plan_id', 'next_billing_at', 'created_at'],
    page: '/subscriptions/',
  },
  products: { path: '/v1/products', columns: ['id', 'name', 'sku', 'active', 'created_at'], page: '/products/' },
  plans: { path: '/v1/plans', columns: ['id', 'name', 'amount', 'currency', 'status', 'created_at'], page: '/plans/' },
  coupons: { path: '/v1/coupons', columns: ['id', 'name', 'kind', 'active', 'created_at'], page: '/coupons/' },
  payment_links: {
    path: '/v1/payment_links',
    columns: ['id', 'name', 'url', 'active', 'created_at'],
    page: '/payment-links/',
  },
  events: {
    path: '/v1/events',
    columns: ['id', 'type', 'delivery_status', 'created_at'],
    page: '/developers/events/',
  },
  webhook_endpoints: {
    path: '/v1/webhook_endpoints',
    columns: ['id', 'url', 'status', 'enabled_events', 'created_at'],
    page: '/developers/webhooks/',
  },
} as const satisfies Readonly<Record<string, Resource>>;

export type ResourceName = keyof typeof resources;
export const resourceNames = Object.keys(resources) as ResourceName[];

const resourceOf = (name: ResourceName): Resource => resources[name];

/** A row of a list: its important fields, and its page in the dashboard. */
export function rowOf(name: ResourceName, object: Fields, baseUrl: string): Fields {
  const { columns } = resourceOf(name);
  const shown = columns.filter((column) => object[column] !== undefined && object[column] !== null);
  return { ...Object.fromEntries(shown.map((column) => [column, object[column]])), ...linkOf(name, object, baseUrl) };
}

export function linkOf(name: ResourceName, { id }: Fields, baseUrl: string): Fields {
  const { page } = resourceOf(name);
  return page && typeof id === 'string' ? { dashboard_url: `${baseUrl}${page}${id}` } : {};
}
