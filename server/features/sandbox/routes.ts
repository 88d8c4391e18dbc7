import Type from 'typebox';
import { ApiError } from '../../errors.ts';
import { defineEffect, defineRoute, type Route } from '../../http/route.ts';
import { order } from '../orders/schemas.ts';
import { event } from '../../event-schemas.ts';
import { eventType } from '../events/service.ts';
import { advanceClock, clockAdvance, clockAdvanced, type ClockDependencies, clockReading, readClock } from './clock.ts';
import { permissionsToTrigger } from './trigger-permissions.ts';
import { triggerable, type TriggerDependencies, triggerEvent } from './trigger.ts';
import { choice } from '../../platform/choice.ts';
import type { RequestContext } from '../../request-context.ts';

/** Sandbox-only calls, which simulate what otherwise needs a cardholder, a bank or time. */

export type { ClockDependencies };

const chargebackResolve = Type.Object(
  { outcome: choice(['accepted', 'dismissed'], { title: 'ChargebackOutcome' }) },
  { additionalProperties: false, title: 'ChargebackResolve' },
);

const common = {
  tag: 'Sandbox',
  resource: 'order',
  method: 'POST',
  permission: 'orders:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: order, shape: 'resource' },
  errors: ['invalid_state_transition', 'resource_in_use'],
} as const;

const eventTrigger = Type.Object(
  {
    type: eventType,
    overrides: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'Fields of the customer or order that is created for the event.',
      }),
    ),
  },
  { additionalProperties: false, title: 'EventTrigger' },
);

function sandboxOnly(context: RequestContext): RequestContext {
  if (context.company.mode === 'sandbox') return context;
  throw new ApiError('insufficient_permissions', 'This call requires a sandbox key.');
}

export function sandboxRoutes(dependencies: TriggerDependencies & ClockDependencies): Route[] {
  const { orders } = dependencies;
  return [
    defineRoute({
      tag: 'Sandbox',
      resource: 'clock',
      method: 'GET',
      path: '/v1/sandbox/clock',
      operationId: 'getClock',
      summary: 'Retrieve the sandbox clock',
      permission: 'subscriptions:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: clockReading, shape: 'other' },
      errors: [],
      handle: ({ context }) => readClock(dependencies, sandboxOnly(context)),
    }),
    defineEffect({
      tag: 'Sandbox',
      resource: 'clock',
      method: 'POST',
      path: '/v1/sandbox/clock/advance',
      operationId: 'advanceClock',
      summary: 'Advance the sandbox clock',
      description:
        'Runs everything that is due until the new time, in order, and returns what happened: renewals, ' +
        'retries of declined charges, webhook retries, chargebacks, and expirations of card tokens and coupons.',
      permission: 'subscriptions:write',
      category: 'write',
      idempotency: 'optional',
      body: clockAdvance,
      bodyExample: { by: { months: 1 } },
      success: { status: 200, schema: clockAdvanced, shape: 'other' },
      errors: ['resource_in_use'],
      effect: ({ context, body }) => advanceClock(dependencies, sandboxOnly(context), body),
      clockAfter: ({ now }) => Date.parse(now),
    }),
    defineEffect({
      ...common,
      resource: 'event',
      path: '/v1/sandbox/events/trigger',
      operationId: 'triggerEvent',
      summary: 'Trigger an event',
      description:
        'Creates a real object and brings it into the state of the event. Requires the permissions for the objects it creates: ' +
        `\`order.created\`, for example, requires ${permissionsToTrigger('order.created')
          .map((name) => `\`${name}\``)
          .join(', ')}. ` +
        `Supported events: ${triggerable.join(', ')}.`,
      permission: 'orders:write',
      body: eventTrigger,
      bodyExample: { type: 'order.refunded' },
      success: { status: 200, schema: event, shape: 'resource' },
      // The errors of the calls that it makes with `overrides`.
      errors: [
        'email_already_exists',
        'phone_already_exists',
        'resource_already_exists',
        'resource_not_found',
        'customer_not_configured',
        'invalid_state_transition',
        'subscription_not_modifiable',
        'resource_in_use',
        'gateway_error',
      ],
      effect: ({ context, body }) => triggerEvent(context, dependencies, body.type, body.overrides ?? {}),
    }),
    defineRoute({
      ...common,
      path: '/v1/sandbox/orders/:id/chargeback',
      operationId: 'raiseChargeback',
      summary: 'Dispute an order',
      description: 'Simulates a dispute by the cardholder. The order gets the status `chargeback`.',
      handle: ({ context, params }) => orders(context).raiseChargeback(sandboxOnly(context), params.id ?? ''),
    }),
    defineRoute({
      ...common,
      path: '/v1/sandbox/orders/:id/chargeback/resolve',
      operationId: 'resolveChargeback',
      summary: 'Close a dispute',
      errors: ['invalid_state_transition'],
      description: '`accepted`: the merchant accepts the dispute. `dismissed`: the merchant wins it.',
      body: chargebackResolve,
      bodyExample: { outcome: 'dismissed' },
      handle: ({ context, params, body }) =>
        orders(context).resolveChargeback(sandboxOnly(context), params.id ?? '', body.outcome),
    }),
  ];
}
