import assert from 'node:assert/strict';
import { createPlan } from '../../server/features/plans/service.ts';
import type { Plan, PlanCreate } from '../../server/features/plans/schemas.ts';
import { capture, contextOf, type OrderEvent } from './orders.ts';
import { type CallOptions, type Reply, someCustomer, type TestService } from './service.ts';
import type { Company } from '../../server/company.ts';

/** Helpers for plans, subscribers and the passing of time. */

let counter = 0;

export async function somePlan(
  service: TestService,
  overrides: Partial<PlanCreate> = {},
  company: Company = service.company,
): Promise<Plan> {
  counter += 1;
  return createPlan(contextOf(service, company), {
    name: `Tea of the month ${process.pid} ${counter}`,
    amount: 1900,
    currency: 'usd',
    billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 'signup_date' },
    ...overrides,
  });
}

export async function someSubscriber(
  service: TestService,
  number?: string,
  options: CallOptions = {},
): Promise<string> {
  const reply = await service.call('POST', '/v1/customers', { body: someCustomer(), ...options });
  assert.equal(reply.status, 201, reply.text);
  if (number !== 'none') await capture(service, reply.body.id, number, options);
  return reply.body.id;
}

export const subscribe = (
  service: TestService,
  body: Record<string, unknown>,
  options: CallOptions = {},
): Promise<Reply> => service.call('POST', '/v1/subscriptions', { body, ...options });

export async function readSubscription(
  service: TestService,
  id: string,
  options: CallOptions = {},
): Promise<Reply['body']> {
  const reply = await service.call('GET', `/v1/subscriptions/${id}`, options);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

export const advance = (
  service: TestService,
  body: Record<string, unknown>,
  options: CallOptions = {},
): Promise<Reply> => service.call('POST', '/v1/sandbox/clock/advance', { body, ...options });

/** Returns the events in order of time, including those of its orders. */
export async function allEventsOf(service: TestService, subscriptionId: string): Promise<OrderEvent[]> {
  return service.db.query<OrderEvent>(
    `SELECT type, sequence, object FROM events WHERE object_id = $1 OR object->>'subscription_id' = $1::text ORDER BY id`,
    [subscriptionId],
  );
}
