import assert from 'node:assert/strict';
import type { PlanCreate } from '../../server/features/plans/schemas.ts';
import { created, dayMs, everyDays, later, moveTo, openScene, type Scene } from './billing.ts';
import type { Reply, TestService } from './service.ts';
import { somePlan } from './subscriptions.ts';

/** Helpers for changes of plan. */

export interface Subscribed extends Scene {
  readonly id: string;
  /** When the current period began. */
  readonly start: string;
}

/** A subscription of $30.00 for thirty days, which are a whole number of cents a day. */
export async function subscribed(
  service: TestService,
  plan: Partial<PlanCreate> = {},
  number?: string,
  more: Record<string, unknown> = {},
): Promise<Subscribed> {
  const at = await openScene(service, { amount: 3000, billing_cycle: everyDays(30), ...plan }, number);
  const { id, current_period_start } = await created(service, at, more);
  return { ...at, id, start: current_period_start };
}

export const otherPlan = async (
  service: TestService,
  { company }: Scene,
  plan: Partial<PlanCreate> = {},
): Promise<string> => (await somePlan(service, { amount: 6000, billing_cycle: everyDays(30), ...plan }, company)).id;

/** Days after the start of the period, and a moment more: the clock of a sandbox ticks. */
export const pass = (service: TestService, { key, start }: Subscribed, days: number): Promise<Reply['body']> =>
  moveTo(service, key, later(start, days * dayMs + 1000));

export const onDay = ({ start }: Subscribed, days: number): string => later(start, days * dayMs);

export const post = (
  service: TestService,
  { key, id }: Subscribed,
  path: string,
  body: Record<string, unknown> = {},
  idempotencyKey?: string,
): Promise<Reply> =>
  service.call('POST', `/v1/subscriptions/${id}/${path}`, { key, body, ...(idempotencyKey && { idempotencyKey }) });

export const change = (
  service: TestService,
  at: Subscribed,
  body: Record<string, unknown>,
  idempotencyKey?: string,
): Promise<Reply> => post(service, at, 'change_plan', { when: 'now', ...body }, idempotencyKey);

export const preview = (service: TestService, at: Subscribed, body: Record<string, unknown>): Promise<Reply> =>
  post(service, at, 'change_plan/preview', { when: 'now', ...body });

export async function changed(
  service: TestService,
  at: Subscribed,
  body: Record<string, unknown>,
  status = 'applied',
): Promise<Reply['body']> {
  const reply = await change(service, at, body);
  assert.deepEqual([reply.status, reply.body.status], [201, status], reply.text);
  return reply.body;
}

export const amountsOf = ({ lines }: Reply['body']): Record<string, number> =>
  Object.fromEntries(lines.map(({ type, amount }: { type: string; amount: number }) => [type, amount]));
