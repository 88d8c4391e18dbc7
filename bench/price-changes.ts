import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../server/platform/ids.ts';
import type { ServerProcess } from './environment.ts';
import { watchOthers } from './processes.ts';
import { seedSubscriptions } from './subscription-data.ts';
import type { Bench, Report, Workload } from './workload.ts';

/** `npm run bench price-changes`: 100,000 subscribers move to another plan, with one worker, and with two that are killed again and again. */

const subscriptionsMax = 100_000;
const mostSeconds = 120;
const kills = 20;

const newPlan = `INSERT INTO plans (company_id, id, name, plan_code, amount, one_time_amount, currency, interval, interval_count,
    billing_cycles, pricing_tiers, active, updated_at)
  SELECT company_id, $3::uuid, name, 'tea-' || $3::text, amount + 100, one_time_amount, currency, interval, interval_count, billing_cycles,
    pricing_tiers, active, now()
  FROM plans WHERE company_id = $1 AND id = $2`;

const newPriceChange = `INSERT INTO price_changes (company_id, id, request_id, plan_id, to_plan_id)
  VALUES ($1, $2, 'bench', $3, $4)`;

/** A step is left until nothing is waiting. */
const isUnfinished = `SELECT EXISTS (SELECT FROM price_changes WHERE company_id = $1 AND next_step_at IS NOT NULL) AS unfinished`;

/** Each subscription has one change scheduled, that of this price change, and one event about it. */
const countWrong = `SELECT count(*) AS wrong FROM subscriptions s
  LEFT JOIN price_change_subscriptions m ON m.company_id = s.company_id AND m.change_id = $2 AND m.subscription_id = s.id
  LEFT JOIN (
    SELECT object_id, count(*) AS times FROM events
    WHERE company_id = $1 AND type = 'subscription.change_scheduled' AND id > $2 GROUP BY 1
  ) e ON e.object_id = s.id
  WHERE s.company_id = $1 AND ((s.scheduled_change ->> 'id')::uuid IS DISTINCT FROM m.scheduled_id OR m.state <> 'scheduled'
    OR m.state IS NULL OR e.times IS DISTINCT FROM 1)`;

interface Run {
  readonly workers: number;
  readonly killed: number;
  readonly seconds: number;
  readonly wrong: number;
  readonly othersShare: number;
}

async function move(
  { environment, note }: Bench,
  { dataDir, planId }: { readonly dataDir: string; readonly planId: string },
  { workers, killMost }: { readonly workers: number; readonly killMost: number },
): Promise<Run> {
  const { sql, companyId, postgresPid } = environment;
  const started = (name: string): Promise<ServerProcess> =>
    environment.startService(name, { settings: { SVC_DATA_DIR: dataDir } });
  const servers = Array.from({ length: workers }, (_, n) => started(`worker ${n + 1}`));
  await Promise.all(servers);
  await sql.query('VACUUM ANALYZE');
  await sql.query('CHECKPOINT');
  const toPlanId = randomUUID();
  await sql.query(newPlan, [companyId, planId, toPlanId]);
  const id = newId(Date.now());
  const others = watchOthers(postgresPid);
  const startedMs = performance.now();
  await sql.query(newPriceChange, [companyId, id, planId, toPlanId]);
  let killed = 0;
  for (;;) {
    await sleep(250);
    const { rows } = await sql.query<{ unfinished: boolean }>(isUnfinished, [companyId]);
    if (!rows[0]?.unfinished) break;
    if (killed === killMost) continue;
    const place = killed % servers.length;
    const victim = await servers[place];
    if (!victim) continue;
    process.kill(victim.pid, 'SIGKILL');
    await victim.stop();
    killed += 1;
    // The next one is killed while this one starts.
    servers[place] = started(`worker ${place + 1}, after ${killed} kills`);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const othersShare = others() ?? 0;
  for (const server of servers) await (await server).stop();
  const { rows } = await sql.query<{ wrong: string }>(countWrong, [companyId, id]);
  note(`${workers} workers, ${killed} kills: ${seconds.toFixed(1)} s`);
  await sql.query('UPDATE subscriptions SET scheduled_change = NULL WHERE company_id = $1', [companyId]);
  return { workers, killed, seconds, wrong: Number(rows[0]?.wrong), othersShare };
}

async function run(bench: Bench): Promise<Report> {
  const count = Math.min(bench.options.rows, subscriptionsMax);
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-price-changes-'));
  const runs: Run[] = [];
  try {
    const at = { dataDir, planId: (await seedSubscriptions(bench, count, dataDir)).planId };
    runs.push(await move(bench, at, { workers: 1, killMost: 0 }));
    runs.push(await move(bench, at, { workers: 2, killMost: kills }));
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  const slowest = Math.max(...runs.map(({ seconds }) => seconds));
  const killed = Math.max(...runs.map((one) => one.killed));
  const wrong = runs.reduce((sum, one) => sum + one.wrong, 0);
  return {
    tables: [
      {
        title: `${count} subscribers move to another plan`,
        columns: ['workers', 'kills', 'seconds', 'a second', 'CPU % others'],
        rows: runs.map((one) => [
          one.workers,
          one.killed,
          Number(one.seconds.toFixed(1)),
          Math.round(count / one.seconds),
          Math.round(one.othersShare * 100),
        ]),
      },
    ],
    targets: [
      {
        name: 'seconds',
        wanted: `< ${mostSeconds}`,
        measured: slowest.toFixed(1),
        met: slowest < mostSeconds,
      },
      { name: 'kills', wanted: String(kills), measured: String(killed), met: killed === kills },
      { name: 'subscriptions not changed exactly once', wanted: '0', measured: String(wrong), met: wrong === 0 },
    ],
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
