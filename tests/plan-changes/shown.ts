import assert from 'node:assert/strict';
import type { Reply } from '../support/service.ts';
import type { Lines, ModelOrder } from './model.ts';

/** What the service shows, in the form of the model. */

export const refused = ({ status, body, text }: Reply, param: string, code = 400): void =>
  assert.deepEqual([status, body.error?.param], [code, param], text);

export function linesOf({ lines }: Reply['body']): Lines {
  const amountOf = (wanted: string): number => {
    const line = lines.find(({ type }: { type: string }) => type === wanted);
    return line ? Math.abs(line.amount) : 0;
  };
  return { charge: amountOf('charge'), discount: amountOf('discount'), credit: amountOf('credit') };
}

export const shownOrder = (order: Reply['body']) => ({
  subtotal: order.subtotal,
  discount: order.discount_amount,
  total: order.total,
  cycle: order.subscription_cycle,
  refunded: order.refunded_amount,
  credit: order.credit_applied,
  creditRefunded: order.credit_refunded,
  card: order.captured_amount,
  failed: order.status === 'failed',
});

export const modelOrder = (order: ModelOrder) => {
  const { subtotal, discount, total, cycle, refunded, credit, creditRefunded, state } = order;
  const card = state === 'declined' ? 0 : total - credit;
  const failed = state === 'declined';
  return { subtotal, discount, total, cycle, refunded, credit, creditRefunded, card, failed };
};
