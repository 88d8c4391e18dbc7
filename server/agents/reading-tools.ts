import Type from 'typebox';
import { choice } from '../platform/choice.ts';
import { findEntries, type SearchEntry } from '../../pages/docs/ranking.ts';
import { declineAdvice } from '../customer-texts/decline-advice.ts';
import { declineTexts } from '../customer-texts/payments.ts';
import type { FailureCode } from '../vault/processors/processor.ts';
import { type CallApi, type Fields, read, rowsOf, ToolError } from './call.ts';
import { linkOf, type ResourceName, resourceNames, resources, rowOf } from './resources.ts';
import { defineTool, type Tool } from './tool.ts';

/** Tools that only read. Texts of customers and merchants stay in the fields of their objects; no sentence is made of them. */

const resource = choice(resourceNames, { description: 'The kind of object.' });
const id = (of: string): ReturnType<typeof Type.String> =>
  Type.String({ minLength: 1, maxLength: 100, pattern: '^[\\w-]+$', description: `The ID of the ${of}.` });

/** The kinds whose lists take `q`. */
const searched: readonly ResourceName[] = ['customers', 'orders', 'products', 'payment_links'];

const search = defineTool({
  name: 'search',
  title: 'Search',
  description:
    'Finds customers, orders, products and payment links by text: a name, an email address, an order number, an amount such as ' +
    '49.00, the last four digits of a card, an SKU. Returns the first matches of each kind with their IDs.',
  input: Type.Object({ query: Type.String({ minLength: 1, maxLength: 100 }) }, { additionalProperties: false }),
  changes: 'nothing',
  async run({ query }, { call, baseUrl }) {
    const found = await Promise.all(
      searched.map(async (name) => {
        const list = await readable(read(call, resources[name].path, { q: query, limit: 5 }));
        return [name, rowsOf(list).map((row) => rowOf(name, row, baseUrl))] as const;
      }),
    );
    return Object.fromEntries(found.filter(([, rows]) => rows.length > 0));
  },
});

/** What the key may not read is left out, and a text that one kind cannot search for finds nothing there. */
async function readable(list: Promise<Fields>): Promise<Fields> {
  try {
    return await list;
  } catch (error) {
    if (error instanceof ToolError && [400, 403].includes(Number(error.details.status))) return {};
    throw error;
  }
}

const list = defineTool({
  name: 'list',
  title: 'List objects',
  description:
    'Lists the newest objects of a kind, with their most important fields. `filters` are those of the API, for example ' +
    '{"status": "failed"} for orders or {"customer_id": "…"}; the error of an unknown filter names those that exist. ' +
    'Pass `next` of the result as `starting_after` for more.',
  input: Type.Object(
    {
      resource,
      filters: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]))),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
      starting_after: Type.Optional(Type.String({ maxLength: 255 })),
    },
    { additionalProperties: false },
  ),
  changes: 'nothing',
  async run({ resource: name, filters = {}, limit = 10, starting_after }, { call, baseUrl }) {
    const answer = await read(call, resources[name].path, { ...filters, limit, starting_after });
    const next = (answer.cursors as Fields | undefined)?.next ?? null;
    return { [name]: rowsOf(answer).map((row) => rowOf(name, row, baseUrl)), next };
  },
});

const get = defineTool({
  name: 'get',
  title: 'Get an object',
  description: 'Returns one object with all its fields and the address of its page in the dashboard.',
  input: Type.Object({ resource, id: id('object') }, { additionalProperties: false }),
  changes: 'nothing',
  async run({ resource: name, id: wanted }, { call, baseUrl }) {
    const object = await read(call, `${resources[name].path}/${wanted}`);
    return { ...object, ...linkOf(name, object, baseUrl) };
  },
});

const explainPayment = defineTool({
  name: 'explain_payment',
  title: 'Explain a payment',
  description:
    'Explains the state of an order: its charges and refunds in order, why a charge was declined, what the merchant can do, and ' +
    'what to say to the customer.',
  input: Type.Object({ order_id: id('order') }, { additionalProperties: false }),
  changes: 'nothing',
  async run({ order_id }, { call, baseUrl }) {
    const order = await read(call, `/v1/orders/${order_id}`);
    const attempts = (order.transactions ?? []) as readonly Fields[];
    const code = order.failure_code as FailureCode | null;
    return {
      order: { ...rowOf('orders', order, baseUrl), refunded_amount: order.refunded_amount },
      attempts,
      state: orderStates[String(order.status)] ?? null,
      ...(code && {
        decline: {
          code,
          retry_can_succeed: declineAdvice[code].retry,
          what_the_merchant_can_do: declineAdvice[code].next,
          what_to_say_to_the_customer: declineTexts[code],
        },
      }),
      ...(order.next_retry_at !== undefined && { next_retry_at: order.next_retry_at }),
      guide_url: `${baseUrl}/docs/orders.md`,
    };
  },
});

const orderStates: Readonly<Record<string, string>> = {
  pending:
    'The charge has not ended. If its answer was lost, the service asks the processor until the outcome is known.',
  succeeded: 'The customer has paid.',
  failed: 'The charge was declined or not sent. Nothing was taken from the card.',
  refunded: 'The whole amount was refunded.',
  partially_refunded: 'A part of the amount was refunded.',
  refund_failed: 'The processor rejected the refund. The customer still has the charge.',
  voided: 'The charge was voided before it settled. The customer does not pay.',
  chargeback: 'The cardholder disputes the charge. The merchant can respond with evidence.',
  chargeback_accepted: 'The dispute ended in favor of the cardholder.',
  chargeback_dismissed: 'The dispute ended in favor of the merchant.',
};

const timeline = defineTool({
  name: 'customer_timeline',
  title: 'Timeline of a customer',
  description: 'Shows a customer with their orders, subscriptions and cards, newest first.',
  input: Type.Object({ customer_id: id('customer') }, { additionalProperties: false }),
  changes: 'nothing',
  async run({ customer_id }, { call, baseUrl }) {
    const customer = await read(call, `/v1/customers/${customer_id}`);
    const of = async (name: ResourceName): Promise<readonly Fields[]> =>
      rowsOf(await readable(read(call, resources[name].path, { customer_id, limit: 20 })));
    const [orders, subscriptions, cards] = await Promise.all([
      of('orders'),
      of('subscriptions'),
      readable(read(call, `/v1/customers/${customer_id}/payment_methods`)).then(rowsOf),
    ]);
    const steps = [
      ...orders.map((one) => ({ at: one.created_at, kind: 'order', ...rowOf('orders', one, baseUrl) })),
      ...subscriptions.map((one) => ({
        at: one.created_at,
        kind: 'subscription',
        ...rowOf('subscriptions', one, baseUrl),
      })),
      ...cards.map(({ id: card_id, card, is_default, created_at }) => ({
        at: created_at,
        kind: 'card',
        id: card_id,
        card,
        is_default,
      })),
    ];
    return {
      customer: rowOf('customers', customer, baseUrl),
      timeline: steps.toSorted((one, other) => String(other.at).localeCompare(String(one.at))),
    };
  },
});

const searchGuides = defineTool({
  name: 'search_guides',
  title: 'Search the guides',
  description:
    'Finds sections of the guides and calls of the API reference by words. Returns titles, the beginning of the text, and ' +
    'addresses; read a whole guide with `read_guide`.',
  input: Type.Object({ query: Type.String({ minLength: 1, maxLength: 200 }) }, { additionalProperties: false }),
  changes: 'nothing',
  async run({ query }, { call, baseUrl }) {
    const found = findEntries(await sections(call), query).slice(0, 8);
    return {
      sections: found.map(({ title, detail, address, text }) => ({
        title,
        in: detail,
        url: `${baseUrl}${address}`,
        text: text.slice(0, 400),
      })),
    };
  },
});

async function sections(call: CallApi): Promise<SearchEntry[]> {
  const { status, body } = await call({ method: 'GET', path: '/docs/search.json' });
  if (status !== 200) throw new ToolError('The guides cannot be read.', { status });
  return body as SearchEntry[];
}

const guidePartChars = 12_000;

const readGuide = defineTool({
  name: 'read_guide',
  title: 'Read a guide',
  description:
    'Returns a guide as markdown, in parts of 12,000 characters. `name` is the end of its address, for example "webhooks" or ' +
    '"quickstart". Pass `next_offset` of the result as `offset` for the next part.',
  input: Type.Object(
    {
      name: Type.String({ maxLength: 100, pattern: '^[a-z0-9/-]+$' }),
      offset: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    { additionalProperties: false },
  ),
  changes: 'nothing',
  async run({ name, offset = 0 }, { call }) {
    const { status, body } = await call({ method: 'GET', path: `/docs/${name}.md` });
    if (status !== 200) throw new ToolError('This guide does not exist. Use search_guides to find one.', { status });
    const [text, end] = [String(body), offset + guidePartChars];
    return { markdown: text.slice(offset, end), next_offset: end < text.length ? end : null };
  },
});

export const readingTools: readonly Tool[] = [search, list, get, explainPayment, timeline, searchGuides, readGuide];
