import type { Template } from '../../server/customer-texts/messages.ts';
import { type Period, periodValues } from '../../server/customer-texts/periods.ts';
import { filled } from './dom.ts';

/** How often a subscription is charged, in words. */
export const periodText = (period: Period, template: Template): string => filled(template, { ...periodValues(period) });
