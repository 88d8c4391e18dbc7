import { dayMs } from '../../platform/durations.ts';
import type { Order } from '../orders/schemas.ts';
import type { EmailKind, Occasion } from './content.ts';

const sampleReceipt = { number: 'R-000042', url: '#' };

/** What would have happened to this order, for a preview of the email about it. */
export function previewOf(kind: EmailKind, order: Order, nowMs: number): Occasion {
  const name = order.items[0]?.name ?? order.order_number;
  const card = order.payment_method;
  const { total: amount, currency } = order;
  const inDays = (days: number): Date => new Date(nowMs + days * dayMs);
  const nextMonth = inDays(30);
  switch (kind) {
    case 'order_receipt':
    case 'renewal_receipt':
      return { kind, order, receipt: sampleReceipt };
    case 'refund_receipt': {
      const refund = order.transactions.find(({ type }) => type === 'refund');
      return { kind, order, refund: refund ?? { amount, created_at: order.created_at }, receipt: sampleReceipt };
    }
    case 'payment_failed': {
      const failureCode = order.failure_code ?? 'insufficient_funds';
      return { kind, name, amount, currency, card, failureCode, nextAttemptAt: inDays(3).toISOString() };
    }
    case 'final_notice':
      return { kind, name, card };
    case 'card_expiring':
      return { kind, card, year: nextMonth.getUTCFullYear(), month: nextMonth.getUTCMonth() + 1 };
    case 'subscription_canceled':
      return { kind, name };
    case 'upcoming_renewal':
      return { kind, name, amount, currency, card, at: inDays(7).toISOString() };
  }
}
