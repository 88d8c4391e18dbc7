import { decimalText } from '../server/platform/currencies.ts';
import { ask } from './api.ts';
import { styled } from './colors.ts';
import { UsageError } from './command-error.ts';
import type { Flags } from './options.ts';
import { table } from './table.ts';

/** `orders list` and the like: the newest objects of a company, from the API. */

type Row = Readonly<Record<string, unknown>>;

interface Resource {
  readonly path: string;
  /** Fields of the object, from left to right. `total` and `amount` are shown with their currency. */
  readonly columns: readonly string[];
}

export const resources: Readonly<Record<string, Resource>> = {
  orders: { path: '/v1/orders', columns: ['id', 'order_number', 'status', 'total', 'created_at'] },
  customers: { path: '/v1/customers', columns: ['id', 'email', 'first_name', 'last_name', 'created_at'] },
  products: { path: '/v1/products', columns: ['id', 'name', 'active', 'created_at'] },
  subscriptions: { path: '/v1/subscriptions', columns: ['id', 'status', 'customer_id', 'plan_id', 'created_at'] },
  transactions: { path: '/v1/transactions', columns: ['id', 'type', 'status', 'amount', 'order_id', 'created_at'] },
  coupons: { path: '/v1/coupons', columns: ['id', 'name', 'active', 'created_at'] },
  events: { path: '/v1/events', columns: ['id', 'type', 'created_at'] },
  'webhook-endpoints': { path: '/v1/webhook_endpoints', columns: ['id', 'url', 'status', 'created_at'] },
};

export const listCommand =
  (name: string) =>
  async (_words: readonly string[], flags: Flags): Promise<string> => {
    const { path, columns } = resources[name] as Resource;
    const { limit = '20' } = flags;
    if (!/^([1-9]\d?|100)$/.test(limit)) throw new UsageError('--limit must be a whole number from 1 to 100.');
    const page = (await ask(flags, 'GET', `${path}?limit=${limit}`, undefined)) as { readonly data: readonly Row[] };
    if (flags.json) return `${JSON.stringify(page.data)}\n`;
    // A field that this version of the API does not have is left out.
    const shown = columns.filter((column) => page.data.some((row) => row[column] !== undefined));
    const cells = page.data.map((row) => shown.map((column) => cell(row, column)));
    const [head = '', ...lines] = table(shown, cells, `No ${name.replace('-', ' ')}.`).split('\n');
    return [lines.length > 1 ? styled('bold', head) : head, ...lines].join('\n');
  };

function cell(row: Row, column: string): string {
  const value = row[column];
  const { currency } = row;
  if (typeof value === 'number' && typeof currency === 'string') {
    return `${decimalText(value, currency)} ${currency.toUpperCase()}`;
  }
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}

interface ListedEndpoint {
  readonly id: string;
  readonly url: string;
}

/** `events resend EVENT`: sends an event to an endpoint again, also if it was delivered. */
export async function resendCommand([, event]: readonly string[], flags: Flags): Promise<string> {
  if (!event) throw new UsageError('The ID of the event is missing. Use events resend EVENT, for example evt_019c….');
  const endpoint = flags.endpoint ?? (await onlyEndpoint(flags));
  const path = `/v1/webhook_endpoints/${encodeURIComponent(endpoint)}/events/${encodeURIComponent(event)}/replay`;
  const delivery = await ask(flags, 'POST', path, { force: true });
  return flags.json ? `${JSON.stringify(delivery)}\n` : `The event ${event} will be sent again to ${endpoint}.\n`;
}

async function onlyEndpoint(flags: Flags): Promise<string> {
  const { data } = (await ask(flags, 'GET', '/v1/webhook_endpoints?limit=100', undefined)) as {
    data: ListedEndpoint[];
  };
  const [only, ...others] = data;
  if (!only) throw new UsageError('The company has no webhook endpoint. `svc listen` forwards events without one.');
  if (others.length === 0) return only.id;
  const all = data.map(({ id, url }) => `  ${id}  ${url}`).join('\n');
  throw new UsageError(`Choose an endpoint with --endpoint:\n${all}`);
}
