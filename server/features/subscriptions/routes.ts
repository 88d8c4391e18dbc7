import type { OfCompany } from '../../request-context.ts';
import { ApiError } from '../../errors.ts';
import { createdAtFilters, listSchema } from '../../http/lists.ts';
import {
  cardBrandsParameter,
  choicesParameter,
  currenciesParameter,
  integerParameter,
  textParameter,
  uuidParameter,
  monthsParameter,
} from '../../http/query-parameters.ts';
import { defineList, definePhased, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import {
  canceledSubscription,
  subscription,
  subscriptionCreate,
  subscriptionStatus,
  subscriptionUpdate,
  upcomingBills,
} from './schemas.ts';
import { planChange, planChangePreview, planChangeRequest, renewalItemCreate } from './change-schemas.ts';
import {
  cancelSubscription,
  changeSubscription,
  getSubscription,
  getSubscriptions,
  lockedSubscription,
  addRenewalItem,
  previewChange,
  removeRenewalItem,
  type Subscriptions,
  undoChange,
  upcomingBillsOf,
} from './service.ts';

const common = { tag: 'Subscriptions', resource: 'subscription' } as const;
const reads = { permission: 'subscriptions:read', category: 'read', idempotency: 'none', method: 'GET' } as const;
const writes = { permission: 'subscriptions:write', category: 'write', idempotency: 'optional' } as const;
const fields = { name: 'subscriptions', schema: subscription };
const one = { status: 200, schema: subscription, shape: 'resource' } as const;
const upcomingDefault = 10;
const changeExample = { plan_id: '019c4c1e-a000-7b00-8c11-2d3e4f506172', when: 'now', proration: 'difference' };

function notThereYet(what: 'pause' | 'resume'): Route {
  return defineRoute({
    ...common,
    ...writes,
    method: 'POST',
    path: `/v1/subscriptions/:id/${what}`,
    operationId: `${what}Subscription`,
    summary: `${what === 'pause' ? 'Pause' : 'Resume'} a subscription`,
    description:
      'Not available in the API: always returns 501 `not_implemented`. Use the dashboard or the `svc` command.',
    success: null,
    errors: ['not_implemented'],
    handle: async ({ context, params }) => {
      await getSubscription(context, params.id ?? '', new Set());
      throw new ApiError(
        'not_implemented',
        `Subscriptions cannot be ${what}d through the API. Use the dashboard or the svc command.`,
      );
    },
  });
}

export function subscriptionRoutes(subscriptions: OfCompany<Subscriptions>): Route[] {
  return [
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/subscriptions',
      operationId: 'createSubscription',
      summary: 'Create a subscription and charge its first cycle',
      description:
        'Charges the first cycle immediately, or at 00:00 UTC of `start_date`. A declined card is not an error: the ' +
        'subscription has the status `failed`. 502 `gateway_error` means that the outcome is unknown: repeat the request with ' +
        'the same idempotency key. For a weekly cycle, use the interval `day` with `interval_count` 7; for a ' +
        'quarterly cycle, `month` with 3; for an annual cycle, `month` with 12.',
      body: subscriptionCreate,
      bodyExample: {
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        plan_id: '019c4c1e-a000-7b00-8c11-2d3e4f506172',
      },
      success: { ...one, status: 201 },
      errors: [
        'resource_not_found',
        'invalid_request',
        'customer_not_configured',
        'merchant_not_configured',
        'resource_in_use',
        'gateway_error',
        'restore_in_progress',
      ],
      phased: ({ context, body }, key) => subscriptions(context).create(context, body, key),
    }),
    defineList({
      ...common,
      path: '/v1/subscriptions',
      operationId: 'listSubscriptions',
      summary: 'List subscriptions',
      permission: 'subscriptions:read',
      fields,
      expand: { customer: 'customers:read', plan: 'plans:read', consents: 'subscriptions:read' },
      sorts: [],
      filters: {
        q: textParameter(
          limits.searchLength,
          'Only subscriptions of a customer with these words in name, email or company, to a plan with this text in its name or ' +
            'code, or with a card with these last four digits.',
        ),
        customer_id: uuidParameter('Filters by customer.'),
        plan_id: uuidParameter('Only subscriptions with this plan.'),
        status: choicesParameter(subscriptionStatus, 'statuses'),
        currency: currenciesParameter,
        card_brand: cardBrandsParameter,
        card_expires: monthsParameter(
          'Only subscriptions whose card expires in one of these months, for example 2026-11.',
        ),
        ...createdAtFilters,
      },
      success: {
        status: 200,
        schema: listSchema('SubscriptionList', subscription, '/v1/subscriptions'),
        shape: 'list',
      },
      errors: [],
      handle: ({ context, query, page, expand }) => getSubscriptions(context, query, page, expand),
    }),
    defineRoute({
      ...common,
      ...reads,
      path: '/v1/subscriptions/:id',
      operationId: 'getSubscription',
      summary: 'Retrieve a subscription',
      fields,
      expand: { customer: 'customers:read', plan: 'plans:read', consents: 'subscriptions:read' },
      version: subscriptionUpdate,
      success: one,
      errors: [],
      handle: ({ context, params, expand }) => getSubscription(context, params.id ?? '', expand),
    }),
    defineRoute({
      ...common,
      ...reads,
      path: '/v1/subscriptions/:id/upcoming',
      operationId: 'listUpcomingBills',
      summary: 'Preview upcoming payments',
      description: 'Returns the next dates and amounts. Empty if there are no more payments.',
      parameters: {
        count: integerParameter(1, limits.upcomingMax, 'Number of payments.', upcomingDefault),
      },
      success: { status: 200, schema: upcomingBills, shape: 'other' },
      errors: [],
      handle: ({ context, params, query }) => upcomingBillsOf(context, params.id ?? '', query.count ?? upcomingDefault),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: '/v1/subscriptions/:id',
      operationId: 'updateSubscription',
      summary: 'Update a subscription',
      description:
        'Only for `active` and `paused` subscriptions. Changing `billing_cycle` charges nothing now. New dates are calculated from the ' +
        'start of the current period, and the next payment is on the first of them that is in the future.',
      body: subscriptionUpdate,
      bodyExample: { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 1 } },
      success: one,
      errors: ['subscription_not_modifiable', 'invalid_request', 'resource_in_use'],
      current: ({ context, params }) => lockedSubscription(context, params.id ?? ''),
      handle: ({ context, params, body }) => changeSubscription(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: '/v1/subscriptions/:id',
      operationId: 'cancelSubscription',
      summary: 'Cancel a subscription',
      description: 'Cancels immediately. This cannot be undone. A charge in progress is not canceled.',
      success: { status: 200, schema: canceledSubscription, shape: 'resource' },
      errors: ['already_canceled', 'subscription_completed'],
      handle: ({ context, params }) => cancelSubscription(context, params.id ?? ''),
    }),
    definePhased({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/subscriptions/:id/change_plan',
      operationId: 'changePlan',
      summary: 'Change the plan or the quantity of a subscription',
      description:
        'With `when: renewal`, from the next cycle on. With `when: now`, the difference for the rest of the period is charged; preview ' +
        'it first. A declined card is not an error: the plan is as before, and `order` is the failed order. 502 `gateway_error` means ' +
        'that the outcome is unknown: repeat the request with the same idempotency key.',
      body: planChangeRequest,
      bodyExample: changeExample,
      success: { status: 201, schema: planChange, shape: 'resource' },
      errors: [
        'resource_not_found',
        'subscription_not_modifiable',
        'invalid_request',
        'merchant_not_configured',
        'resource_in_use',
        'gateway_error',
        'restore_in_progress',
      ],
      phased: ({ context, params, body }, key) =>
        subscriptions(context).changePlan(context, params.id ?? '', body, key),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      permission: 'subscriptions:read',
      category: 'read',
      idempotency: 'none',
      audit: 'none',
      path: '/v1/subscriptions/:id/change_plan/preview',
      operationId: 'previewPlanChange',
      summary: 'Preview a change of plan',
      description: 'Returns what the change would charge and credit now, and the next three renewals. Nothing changes.',
      body: planChangeRequest,
      bodyExample: changeExample,
      success: { status: 200, schema: planChangePreview, shape: 'other' },
      errors: ['resource_not_found', 'subscription_not_modifiable', 'resource_in_use'],
      handle: ({ context, params, body }) => previewChange(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/subscriptions/:id/change_plan/undo',
      operationId: 'undoPlanChange',
      summary: 'Take back a scheduled change of plan',
      success: one,
      errors: [{ code: 'invalid_state_transition', status: 400 }],
      handle: ({ context, params }) => undoChange(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path: '/v1/subscriptions/:id/renewal_items',
      operationId: 'addRenewalItem',
      summary: 'Add a product to the next renewal',
      description:
        'For add-ons, or for usage that you have counted. The product is charged once, with the next cycle, at its price now. A coupon ' +
        'of the subscription does not apply to it.',
      body: renewalItemCreate,
      bodyExample: { product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 2 },
      success: { ...one, status: 201 },
      errors: ['resource_not_found', 'subscription_not_modifiable'],
      handle: ({ context, params, body }) => addRenewalItem(context, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'DELETE',
      path: '/v1/subscriptions/:id/renewal_items/:item_id',
      operationId: 'removeRenewalItem',
      summary: 'Remove a product from the next renewal',
      success: one,
      errors: ['resource_not_found'],
      handle: ({ context, params }) => removeRenewalItem(context, params.id ?? '', params.item_id ?? ''),
    }),
    notThereYet('pause'),
    notThereYet('resume'),
  ];
}
