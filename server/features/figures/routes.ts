import Type from 'typebox';
import { choiceParameter, listParameter, type QueryParameter, textParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { formatMessages } from '../../http/formats.ts';
import { limits } from '../../limits.ts';
import { isUuid } from '../../platform/ids.ts';
import { creditOwed } from '../credit/schemas.ts';
import { sumCredit } from '../credit/service.ts';
import { getAttention } from './attention.ts';
import { intervals, ranges } from './period.ts';
import { getCustomerSummaries, getCustomerValue } from './customer-value.ts';
import { attention, customerSummaries, customerValue, statistics } from './schemas.ts';
import { getStatistics } from './service.ts';

const common = {
  tag: 'Overview',
  resource: 'statistics',
  method: 'GET',
  category: 'read',
  idempotency: 'none',
  permission: null,
  mayUseReplica: true,
  errors: [],
} as const;

/** The previous period of an earlier date could begin before dates do. */
const firstDate = '1970-01-01';
const isDate = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && isCalendarDate(text);
const isCalendarDate = (text: string): boolean => {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
};

const dateParameter = (description: string): QueryParameter<string> => ({
  schema: Type.String({ format: 'date' }),
  description,
  parse: ([text = '', ...more]) =>
    more.length === 0 && isDate(text) && text >= firstDate
      ? { value: text }
      : { problem: `must be a date from ${firstDate} on, for example 2026-02-11` },
});

const customers = listParameter(
  (text) => (isUuid(text) ? undefined : formatMessages.uuid),
  `At most ${limits.pageSizeMax} customers, separated by commas.`,
  Type.String({ format: 'uuid' }),
);
const customersParameter: QueryParameter<string[]> = {
  ...customers,
  parse: (texts) => {
    const read = customers.parse(texts);
    const isTooLong = 'value' in read && read.value.length > limits.pageSizeMax;
    return isTooLong ? { problem: `must name at most ${limits.pageSizeMax} customers` } : read;
  },
};

/** Used only by the dashboard. */
export function figureRoutes(brokenConnections: () => readonly string[]): Route[] {
  return [
    defineRoute({
      ...common,
      path: '/dashboard/statistics',
      operationId: 'getStatistics',
      summary: 'Retrieve figures of a period',
      parameters: {
        range: choiceParameter(ranges, 'The period, if `from` and `to` are not set.', '30d'),
        from: dateParameter('The first day, in the time zone of the company.'),
        to: dateParameter('The last day. Default: today, by the clock of the company.'),
        interval: choiceParameter(intervals, 'The length of a bucket. Default: one that fits the period.'),
        currency: textParameter(3, 'Default: the currency with the highest volume.'),
      },
      success: { status: 200, schema: statistics, shape: 'other' },
      handle: ({ context, query }) => getStatistics(context, query),
    }),
    defineRoute({
      ...common,
      path: '/dashboard/credit',
      operationId: 'getCreditOwed',
      summary: 'Retrieve what the company owes its customers as credit',
      permission: 'credit:read',
      success: { status: 200, schema: creditOwed, shape: 'other' },
      handle: ({ context }) => sumCredit(context),
    }),
    defineRoute({
      ...common,
      path: '/dashboard/attention',
      operationId: 'listAttention',
      summary: 'List what needs attention',
      success: { status: 200, schema: attention, shape: 'other' },
      handle: ({ context }) => getAttention(context, brokenConnections),
    }),
    defineRoute({
      ...common,
      resource: 'customer',
      path: '/dashboard/customers/:id/value',
      operationId: 'getCustomerValue',
      summary: 'Retrieve what a customer has paid',
      permission: 'customers:read',
      success: { status: 200, schema: customerValue, shape: 'other' },
      errors: ['resource_not_found'],
      handle: ({ context, params }) => getCustomerValue(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      resource: 'customer',
      path: '/dashboard/customer_summaries',
      operationId: 'listCustomerSummaries',
      summary: 'List what customers have ordered and paid',
      permission: 'orders:read',
      parameters: { customer_id: customersParameter },
      success: { status: 200, schema: customerSummaries, shape: 'other' },
      handle: ({ context, query }) => getCustomerSummaries(context, query.customer_id ?? []),
    }),
  ];
}
