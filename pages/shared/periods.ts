import type { Template } from '../../server/customer-texts/messages.ts';
import { filled } from './dom.ts';

/** How often a subscription is charged, in words. */

interface Period {
  readonly interval: 'day' | 'month';
  readonly interval_count: number;
}

/** Seven days are a week, and twelve months are a year. */
export function periodText({ interval, interval_count: count }: Period, template: Template): string {
  const isWeek = interval === 'day' && count === 7;
  const isYear = interval === 'month' && count === 12;
  return filled(template, { interval: isWeek ? 'week' : isYear ? 'year' : interval, count });
}
