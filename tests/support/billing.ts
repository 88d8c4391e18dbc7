import assert from 'node:assert/strict';
import type { PlanCreate } from '../../server/features/plans/schemas.ts';
import { pauseSubscription } from '../../server/features/subscriptions/service.ts';
import { contextOf } from './orders.ts';
import type { Reply, TestService } from './service.ts';
import { advance, allEventsOf, somePlan, someSubscriber, subscribe } from './subscriptions.ts';
import type { Company } from '../../server/company.ts';
import type { RequestContext } from '../../server/request-context.ts';

/** A merchant with its own clock, a plan and a customer. */
export interface Scene {
  readonly key: string;
  readonly company: Company;
  readonly plan_id: string;
  readonly customer_id: string;
}

export const dayMs = 86_400_000;
export const everyDays = (interval_count: number): PlanCreate['billing_cycle'] => ({
  interval: 'day',
  interval_count,
  anchor_day: 'signup_date',
});

/** Card numbers with the behaviour that the contract and the decisions define. */
export const cards = {
  declined: '4000000000000002',
  noFunds: '4000000000009995',
  expired: '4000000000000069',
  declinesAfterFirst: '4000009999000341',
  declinesFirst: '4000009999003220',
  answerLost: '4000009999007070',
  neverArrives: '4000009999007071',
  refundRejected: '4000009999005126',
  good: '5555555555554444',
} as const;

export async function openScene(service: TestService, plan: Partial<PlanCreate> = {}, number?: string): Promise<Scene> {
  const { key, sandbox } = await service.createMerchant();
  const { id } = await somePlan(service, plan, sandbox);
  return { key, company: sandbox, plan_id: id, customer_id: await someSubscriber(service, number, { key }) };
}

export const create = (
  service: TestService,
  { key, plan_id, customer_id }: Scene,
  more: Record<string, unknown> = {},
): Promise<Reply> => subscribe(service, { plan_id, customer_id, ...more }, { key });

export async function created(
  service: TestService,
  at: Scene,
  more: Record<string, unknown> = {},
  status = 'active',
): Promise<Reply['body']> {
  const reply = await create(service, at, more);
  assert.deepEqual([reply.status, reply.body.status], [201, status], reply.text);
  return reply.body;
}

/** Returns the orders, oldest first. */
export async function ordersOf(service: TestService, { key, customer_id }: Scene): Promise<Reply['body'][]> {
  const path = `/v1/orders?customer_id=${customer_id}&sort=created_at&limit=100`;
  return (await service.call('GET', path, { key })).body.data;
}

/** Adds another card of the customer. */
export async function addCard(
  service: TestService,
  { key, customer_id }: Scene,
  number: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const card = { number, exp_month: '12', exp_year: '2040', cvc: '999' };
  const reply = await service.call('POST', '/capture', { key, body: { customer_id, card, ...more } });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

export const day = (iso: string): string => iso.slice(0, 10);
export const later = (iso: string, ms: number): string => new Date(Date.parse(iso) + ms).toISOString();

export async function clockOf(service: TestService, key: string): Promise<string> {
  return (await service.call('GET', '/v1/sandbox/clock', { key })).body.now;
}

export async function moveTo(service: TestService, key: string, to: string): Promise<Reply['body']> {
  const reply = await advance(service, { to }, { key });
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

/** A request context with the company's clock, like a request of the dashboard. */
export async function operator(service: TestService, { company, key }: Scene): Promise<RequestContext> {
  return { ...contextOf(service, company), nowMs: Date.parse(await clockOf(service, key)) };
}

export async function typesOf(service: TestService, subscriptionId: string): Promise<string[]> {
  return (await allEventsOf(service, subscriptionId)).map(({ type }) => type);
}

/** Creates one subscription in each status. */
export async function inEachStatus(service: TestService): Promise<Record<string, [Scene, string]>> {
  const day1 = { billing_cycle: everyDays(1) };
  const made = async (number?: string, more = {}, status = 'active'): Promise<[Scene, string]> => {
    const at = await openScene(service, day1, number);
    return [at, (await created(service, at, more, status)).id];
  };
  const active = await made();
  const paused = await made();
  await pauseSubscription(await operator(service, paused[0]), paused[1]);
  const canceled = await made();
  const path = `/v1/subscriptions/${canceled[1]}`;
  await service.call('DELETE', path, { key: canceled[0].key });
  const completed = await made(undefined, { billing_cycles: 1 });
  await advance(service, { by: { days: 1, hours: 1 } }, completed[0]);
  const past_due = await made(cards.declinesAfterFirst);
  await advance(service, { by: { days: 1, hours: 1 } }, past_due[0]);
  const failed = await made(cards.declined, {}, 'failed');
  return { active, paused, canceled, completed, past_due, failed };
}
