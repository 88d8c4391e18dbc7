import { filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import { periodText } from '../shared/periods.ts';
import type { Quote, Session, SessionPlan } from './session.ts';
import { texts } from './texts.ts';

/** How the page says what is charged, and when. */

export const periodOf = (plan: SessionPlan): string => periodText(plan, texts.period);

const priceOf = (plan: SessionPlan, currency: string): string =>
  filled(texts.price, { amount: money(plan.amount, currency), period: periodOf(plan) });

/** The exact sum of the next charge. */
export function payLabel({ plan, capture, merchant }: Session, { total: due, currency }: Quote): string {
  // The law allows no other words on the button.
  if (merchant.names_duty && (plan || due > 0)) return texts.orderWithDuty;
  const total = money(due, currency);
  if (!plan) return filled(capture === 'manual' ? texts.placeOrder : texts.payAmount, { total });
  const isUsual = due === plan.amount && plan.billing_cycles !== 1;
  return filled(isUsual ? texts.subscribeAmount : texts.subscribeToday, { total, price: priceOf(plan, currency) });
}

/** Nothing for a payment that is charged at once. */
export function termsOf({ plan, capture, merchant }: Session, quote: Quote): string | null {
  if (plan) return quote.renewal ?? filled(texts.termsOnce, { total: money(quote.total, quote.currency) });
  if (quote.total === 0) return null;
  if (capture === 'automatic') {
    return merchant.names_duty ? filled(texts.orderTotal, { total: money(quote.total, quote.currency) }) : null;
  }
  return filled(texts.heldTerms, { total: money(quote.total, quote.currency), merchant: merchant.name });
}
