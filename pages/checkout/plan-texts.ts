import { filled } from '../shared/dom.ts';
import { money } from '../shared/money.ts';
import type { Quote, Session, SessionPlan } from './session.ts';
import { texts } from './texts.ts';

/** How the page says what a subscription costs. */

export function periodOf({ interval, interval_count: count }: SessionPlan): string {
  if (interval === 'day' && count === 7) return texts.perWeek;
  if (interval === 'month' && count === 12) return texts.perYear;
  if (count === 1) return interval === 'day' ? texts.perDay : texts.perMonth;
  return filled(interval === 'day' ? texts.perDays : texts.perMonths, { count });
}

/** The exact sum of the next charge. */
export function payLabel({ plan }: Session, { total: due, currency }: Quote): string {
  const total = money(due, currency);
  if (!plan) return filled(texts.payAmount, { total });
  const isUsual = due === plan.amount && plan.billing_cycles !== 1;
  return filled(isUsual ? texts.subscribeAmount : texts.subscribeToday, { total, period: periodOf(plan) });
}

export function termsOf(plan: SessionPlan, { total: due, currency }: Quote): string {
  const { billing_cycles: count } = plan;
  const values = { total: money(due, currency), amount: money(plan.amount, currency), period: periodOf(plan) };
  if (count === 1) return filled(texts.termsOnce, values);
  return count === null ? filled(texts.terms, values) : filled(texts.termsLimited, { ...values, count });
}
