import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../../server/platform/database.ts';
import type { Shops } from '../../chaos/shops.ts';
import { svc } from '../../support/command.ts';
import { exactly, type Figure, shown } from '../drill.ts';

/** Subscriptions of companies that fall due again and again, on whichever shard the companies are. */

const everyMs = 700;
const terms = {
  name: 'Tea of a drill',
  amount: 1900,
  currency: 'usd',
  billing_cycle: { interval: 'day', interval_count: 1, anchor_day: 'signup_date' },
};

/** Each customer of the shop subscribes to a daily plan. */
export async function subscribeAll(
  { url, environment }: { readonly url: string; readonly environment: Readonly<Record<string, string>> },
  companyId: string,
  { apiKey, customerIds }: Shops,
): Promise<void> {
  const { code, stdout, stderr } = await svc(
    { ...environment },
    'plans',
    'create',
    JSON.stringify(terms),
    '--company',
    companyId,
    '--json',
  );
  if (code !== 0) throw new Error(`svc plans create: ${stderr}`);
  const { id: plan_id } = JSON.parse(stdout) as { id: string };
  for (const customer_id of customerIds) {
    const response = await fetch(`${url}/v1/subscriptions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-svc-idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ customer_id, plan_id }),
    });
    if (response.status !== 201) throw new Error(`a subscription: ${response.status} ${await response.text()}`);
  }
}

/** Moves the next charge of each subscription to now: a renewal, or the retry of a declined one. */
const makeDue = `UPDATE subscriptions s SET due_at = now(),
    next_retry_at = CASE WHEN status = 'past_due' THEN now() END,
    start_at = start_at - shift, base_at = base_at - shift,
    current_period_start = current_period_start - shift, current_period_end = current_period_end - shift
  FROM (SELECT company_id, id, CASE WHEN status = 'active' THEN interval '1 day' ELSE interval '0' END AS shift
    FROM subscriptions WHERE company_id = $1 AND status IN ('active', 'past_due') AND due_at > now() + interval '1 minute'
      AND NOT EXISTS (SELECT 1 FROM company_fences f WHERE f.company_id = $1)) next
  WHERE s.company_id = next.company_id AND s.id = next.id RETURNING s.id, s.status`;

export interface Renewing {
  /** Returns the figures once every due subscription has been charged. */
  stop(deadlineMs: number): Promise<Figure[]>;
}

export function keepRenewing(companyIds: readonly string[], shards: readonly Queryable[]): Renewing {
  /** How often the worker had to begin a cycle of each subscription. */
  const cycles = new Map<string, number>();
  let [stopped, retries] = [false, 0];

  async function renew(db: Queryable, companyId: string): Promise<void> {
    // A shard that the company leaves refuses the change: then nothing has become due.
    const rows = await db.query<{ id: string; status: string }>(makeDue, [companyId]).catch(() => []);
    for (const { id, status } of rows) {
      if (status === 'active') cycles.set(id, (cycles.get(id) ?? 0) + 1);
      else retries += 1;
    }
  }

  const running = (async () => {
    while (!stopped) {
      for (const companyId of companyIds) for (const db of shards) await renew(db, companyId);
      await sleep(everyMs);
    }
  })();

  async function isIdle(): Promise<boolean> {
    const open = `SELECT 1 FROM subscriptions WHERE company_id = ANY($1) AND status IN ('active', 'past_due')
      AND coalesce(due_at <= now(), true) LIMIT 1`;
    return (await Promise.all(shards.map((db) => db.query(open, [companyIds])))).every((rows) => rows.length === 0);
  }

  return {
    async stop(deadlineMs) {
      stopped = true;
      await running;
      while (performance.now() < deadlineMs && !(await isIdle())) await sleep(250);
      const counts = await Promise.all(
        shards.map((db) =>
          db.query<{ id: string; orders: number }>(
            `SELECT subscription_id AS id, count(*)::integer AS orders FROM orders
             WHERE company_id = ANY($1) AND subscription_id IS NOT NULL GROUP BY 1`,
            [companyIds],
          ),
        ),
      );
      const found = new Map(counts.flat().map(({ id, orders }) => [id, orders]));
      // The first order of a subscription is not a renewal.
      const wrong = [...cycles].filter(([id, count]) => found.get(id) !== count + 1);
      return [
        shown(
          'renewals',
          [...cycles.values()].reduce((sum, count) => sum + count, 0),
        ),
        shown('retries of declined renewals', retries),
        exactly('subscriptions with a cycle that is missing or billed twice', wrong.length, 0),
      ];
    },
  };
}
