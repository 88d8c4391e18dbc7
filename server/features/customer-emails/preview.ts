import { dayMs } from '../../platform/durations.ts';
import type { Order } from '../orders/schemas.ts';
import type { PlanCharge } from '../subscriptions/service.ts';
import type { EmailKind, Occasion } from './content.ts';

const sampleReceipt = { number: 'R-000042', url: '#' };

/** What would have happened to this order, for a preview of the email about it. */
export function previewOf(kind: EmailKind, order: Order, plan: PlanCharge | null, nowMs: number): Occasion {
  const name = plan?.name ?? order.items[0]?.name ?? order.order_number;
  const card = order.payment_method;
  const { total: amount, currency } = order;
  const inDays = (days: number): Date => new Date(nowMs + days * dayMs);
  const nextMonth = inDays(30);
  const refund = order.transactions.find(({ type }) => type === 'refund') ?? { amount, created_at: order.created_at };
  const failureCode = order.failure_code ?? 'insufficient_funds';
  const receipt = sampleReceipt;
  const occasions: { readonly [Kind in EmailKind]: Occasion & { readonly kind: Kind } } = {
    order_receipt: { kind: 'order_receipt', order, plan, receipt },
    renewal_receipt: { kind: 'renewal_receipt', order, plan, receipt },
    refund_receipt: { kind: 'refund_receipt', order, refund, receipt },
    payment_failed: {
      kind: 'payment_failed',
      name,
      amount,
      currency,
      card,
      failureCode,
      nextAttemptAt: inDays(3).toISOString(),
    },
    final_notice: { kind: 'final_notice', name, card },
    card_expiring: {
      kind: 'card_expiring',
      card,
      year: nextMonth.getUTCFullYear(),
      month: nextMonth.getUTCMonth() + 1,
    },
    subscription_canceled: { kind: 'subscription_canceled', name },
    upcoming_renewal: { kind: 'upcoming_renewal', name, amount, currency, card, at: inDays(7).toISOString() },
  };
  return occasions[kind];
}
