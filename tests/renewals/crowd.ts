import assert from 'node:assert/strict';
import type { Plan, PlanCreate } from '../../server/features/plans/schemas.ts';
import type { TestService } from '../support/service.ts';
import { somePlan, someSubscriber, subscribe } from '../support/subscriptions.ts';
import type { Company } from '../../server/company.ts';

/** Subscribers of every kind: all cadences and ends, with cards that always succeed, always fail, or answer late. */

const cadences: readonly (readonly [share: number, Partial<PlanCreate>])[] = [
  [40, {}],
  [10, { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 31 } }],
  [8, { billing_cycle: { interval: 'month', interval_count: 1, anchor_day: 1 }, one_time_amount: 700 }],
  [10, { billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 'signup_date' } }],
  [5, { billing_cycle: { interval: 'month', interval_count: 12, anchor_day: 'signup_date' } }],
  [10, { billing_cycle: { interval: 'day', interval_count: 14, anchor_day: 'signup_date' } }],
  [7, { billing_cycle: { interval: 'day', interval_count: 30, anchor_day: 'signup_date' } }],
  [10, { billing_cycles: 12, one_time_amount: 500 }],
];

const cards: readonly (readonly [share: number, string])[] = [
  [78, '4242424242424242'],
  // Succeeds once, then has insufficient funds: retried, replaced by another card, or failed for good.
  [12, '4000009999000341'],
  // Declined once: the first order is retried manually.
  [8, '4000009999003220'],
  // The answer is lost each time.
  [2, '4000009999007070'],
];

function chosen<Choice>(choices: readonly (readonly [number, Choice])[], at: number): Choice {
  let left = at % choices.reduce((sum, [share]) => sum + share, 0);
  for (const [share, choice] of choices) {
    if (left < share) return choice;
    left -= share;
  }
  throw new Error('nothing to choose');
}

export interface Crowd {
  readonly company: Company;
  readonly key: string;
  readonly plans: readonly Plan[];
}

export async function openCrowd(service: TestService): Promise<Crowd> {
  const { sandbox, key } = await service.createMerchant();
  const plans: Plan[] = [];
  for (const [, fields] of cadences) plans.push(await somePlan(service, fields, sandbox));
  return { company: sandbox, key, plans };
}

/** Creates more subscriptions, on the current day of the company. */
export async function subscribeSome(service: TestService, crowd: Crowd, from: number, count: number): Promise<void> {
  const { key, plans } = crowd;
  const lanes = 8;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = from + lane; n < from + count; n += lanes) {
        const customer_id = await someSubscriber(service, chosen(cards, n * 37), { key });
        const place = chosen(
          cadences.map(([share], index) => [share, index] as const),
          n * 53,
        );
        const reply = await subscribe(service, { customer_id, plan_id: plans[place]?.id }, { key });
        // A lost answer is not an error of the test: the subscription appears when its outcome is known.
        assert.ok([201, 502].includes(reply.status), reply.text);
      }
    }),
  );
}
