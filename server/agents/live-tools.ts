import Type, { type Static, type TObject } from 'typebox';
import { amountText, dateText } from '../customer-texts/formats.ts';
import type { Question } from '../features/agent-approvals/asking.ts';
import { type Fields, read, rowsOf, ToolError } from './call.ts';
import { rowOf } from './resources.ts';
import { lastRefund } from './sandbox-tools.ts';
import type { Annotated, Toolbox } from './tool.ts';

/**
 * Tools that change live objects. None of them acts before a person has read its question and approved. A question has our words,
 * amounts, dates and numbers only: a text that a customer typed could make the person approve something else.
 */

/** What is approved. The amount is always named, so that the call does exactly what the question says. */
type Plan = Pick<Question, 'tool' | 'object_id' | 'question' | 'amount' | 'currency' | 'request'>;

export interface LiveTool extends Annotated {
  readonly name: Question['tool'];
  readonly plan: (input: never, toolbox: Toolbox) => Promise<Plan>;
  readonly shown: (answer: Fields, baseUrl: string) => Fields;
}

const defineLiveTool = <Input extends TObject>(
  tool: Omit<LiveTool, 'input' | 'plan'> & {
    readonly input: Input;
    readonly plan: (input: Static<Input>, toolbox: Toolbox) => Promise<Plan>;
  },
): LiveTool => tool;

const closed = { additionalProperties: false } as const;
const id = (description: string): ReturnType<typeof Type.String> =>
  Type.String({ pattern: '^[0-9a-fA-F-]{36}$', description });
const approval_id = Type.Optional(
  id('The approval of this call, after a person has approved it. All other arguments must be as before.'),
);

const refusal = (message: string): ToolError => new ToolError(message, { code: 'invalid_state_transition' });
const money = (amount: unknown, currency: unknown): string =>
  `${amountText(Number(amount), String(currency))} ${String(currency).toUpperCase()}`;

const asks =
  'A person approves it first: the client asks its user, or the result has an approval_id and the page where a member of the ' +
  'team approves it. Then repeat the call with the approval_id.';

const refundOrder = defineLiveTool({
  name: 'refund_order',
  title: 'Refund an order (live)',
  description: `Refunds real money of an order: what is left of it, or \`amount\` in the smallest unit of the currency. ${asks}`,
  input: Type.Object(
    { order_id: id('The ID of the order.'), amount: Type.Optional(Type.Integer({ minimum: 1 })), approval_id },
    closed,
  ),
  destructive: true,
  reachesOut: true,
  async plan({ order_id, amount: wanted }, { call }) {
    const order = await read(call, `/v1/orders/${order_id}`);
    const { id: object_id, total, currency, status } = order;
    const refunded = Number(order.refunded_amount);
    const left = Number(total) - refunded;
    if (!['succeeded', 'partially_refunded'].includes(String(status)) || left === 0) {
      throw refusal(`An order with the status ${String(status)} cannot be refunded.`);
    }
    const amount = wanted ?? left;
    if (amount > left) throw refusal(`At most ${left} of this order can be refunded.`);
    const before = refunded === 0 ? '' : ` ${money(refunded, currency)} of it was refunded before.`;
    return {
      tool: 'refund_order',
      object_id: String(object_id),
      question: `Refund ${money(amount, currency)} of order ${String(order.order_number)}. The order is over ${money(total, currency)}.${before}`,
      amount,
      currency: String(currency),
      request: { method: 'POST', path: `/v1/orders/${String(object_id)}/refund`, body: { amount } },
    };
  },
  shown: (order, baseUrl) => ({
    ...rowOf('orders', order, baseUrl),
    refunded_amount: order.refunded_amount,
    refund: lastRefund(order),
  }),
});

/** What a retry of a rejected refund sends again. */
function amountOfRejected({ transactions, total, refunded_amount }: Fields): number {
  const refunds = ((transactions ?? []) as readonly Fields[]).filter(({ type }) => type === 'refund');
  const rejected = refunds.findLast(({ status }) => status === 'failed');
  return Math.min(Number(rejected?.amount), Number(total) - Number(refunded_amount));
}

const retryOrder = defineLiveTool({
  name: 'retry_order',
  title: 'Retry a failed order (live)',
  description: `Charges the card of a failed order again, or sends a rejected refund again, with real money. ${asks}`,
  input: Type.Object({ order_id: id('The ID of the order.'), approval_id }, closed),
  destructive: true,
  reachesOut: true,
  async plan({ order_id }, { call }) {
    const order = await read(call, `/v1/orders/${order_id}`);
    const { id: object_id, currency, status, order_number } = order;
    const isCharge = status === 'failed';
    const amount = isCharge ? Number(order.total) : amountOfRejected(order);
    if (!isCharge && (status !== 'refund_failed' || Number.isNaN(amount))) {
      throw refusal(`An order with the status ${String(status)} cannot be retried.`);
    }
    const sum = money(amount, currency);
    return {
      tool: 'retry_order',
      object_id: String(object_id),
      question: isCharge
        ? `Charge ${sum} to the card of order ${String(order_number)} again. The charge before failed.`
        : `Refund ${sum} of order ${String(order_number)} again. The processor rejected the refund before.`,
      amount,
      currency: String(currency),
      request: { method: 'POST', path: `/v1/orders/${String(object_id)}/retry` },
    };
  },
  shown: (order, baseUrl) => rowOf('orders', order, baseUrl),
});

const cancelSubscription = defineLiveTool({
  name: 'cancel_subscription',
  title: 'Cancel a subscription (live)',
  description: `Cancels a subscription at once. This cannot be undone, and refunds nothing. ${asks}`,
  input: Type.Object({ subscription_id: id('The ID of the subscription.'), approval_id }, closed),
  destructive: true,
  isIdempotent: true,
  async plan({ subscription_id }, { call }) {
    const { id: object_id, status } = await read(call, `/v1/subscriptions/${subscription_id}`);
    if (['canceled', 'completed'].includes(String(status))) throw refusal(`This subscription is ${String(status)}.`);
    const [next] = rowsOf(await read(call, `/v1/subscriptions/${String(object_id)}/upcoming`, { count: 1 }));
    const missed = next
      ? ` The next payment, ${money(next.total, next.currency)} on ${dateText(String(next.date))}, is not made.`
      : '';
    return {
      tool: 'cancel_subscription',
      object_id: String(object_id),
      question: `Cancel subscription ${String(object_id)} now. This cannot be undone, and no money is refunded.${missed}`,
      amount: null,
      currency: null,
      request: { method: 'DELETE', path: `/v1/subscriptions/${String(object_id)}` },
    };
  },
  shown: (subscription, baseUrl) => rowOf('subscriptions', subscription, baseUrl),
});

export const liveTools: readonly LiveTool[] = [refundOrder, retryOrder, cancelSubscription];
