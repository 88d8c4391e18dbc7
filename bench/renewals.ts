import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { cpuSeconds, familyCpuSeconds, residentMb, watchOthers } from './processes.ts';
import { order, seedSubscriptions, type Shop, warmUpSeconds } from './subscription-data.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/**
 * `npm run bench renewals`: subscriptions that are due in the same minute, charged by one, two and four workers. Orders right after
 * them show what one of those costs.
 */

const subscriptionsMax = 100_000;
const workerCounts = [1, 2, 4];
const orderSeconds = 8;

/** Makes all of them due within this minute. */
const makeDue = `UPDATE subscriptions SET base_at = date_trunc('minute', now()) - next_number * interval '1 month',
  due_at = date_trunc('minute', now()) WHERE company_id = $1`;

/** Finds one and counts none: counting 100,000 of them four times a second took more than half of what PostgreSQL did. */
const isUnfinished = `SELECT EXISTS (SELECT FROM subscriptions WHERE company_id = $1 AND due_at <= now())
  OR EXISTS (SELECT FROM open_transactions WHERE company_id = $1) AS unfinished`;

/** In µs. */
interface Cpu {
  readonly node: number | null;
  readonly postgres: number | null;
}

interface Run {
  readonly workers: number;
  readonly perSecond: number;
  readonly memoryMb: number;
  readonly renewal: Cpu;
  /** Of an order, right after the renewals. */
  readonly order: Cpu;
  readonly othersShare: number;
}

async function measure(bench: Bench, workers: number, count: number, shop: Shop, dataDir: string): Promise<Run> {
  const { environment, note } = bench;
  const { sql, companyId, postgresPid } = environment;
  const servers: ServerProcess[] = [];
  // All processes share the folder, because it contains the vault keys.
  const settings = { SVC_DATA_DIR: dataDir };
  for (let n = 0; n < workers; n += 1) servers.push(await environment.startService(`worker ${n + 1}`, { settings }));
  await sql.query('VACUUM ANALYZE');
  await sql.query('CHECKPOINT');
  const others = watchOthers(postgresPid);
  const cpu = (): Cpu => {
    const each = servers.map(({ pid }) => cpuSeconds(pid));
    return {
      node: each.includes(null) ? null : each.reduce((sum: number, one) => sum + (one ?? 0), 0),
      postgres: familyCpuSeconds(postgresPid),
    };
  };
  const since = (from: Cpu, done: number): Cpu => {
    const to = cpu();
    const each = (start: number | null, end: number | null): number | null =>
      start === null || end === null ? null : ((end - start) * 1e6) / done;
    return { node: each(from.node, to.node), postgres: each(from.postgres, to.postgres) };
  };
  const before = cpu();
  note(`idle: ${servers.map(({ pid }) => Math.round(residentMb(pid) ?? 0)).join()} MB`);
  await sql.query(makeDue, [companyId]);
  const startedMs = performance.now();
  let memoryMb = 0;
  for (;;) {
    const { rows } = await sql.query<{ unfinished: boolean }>(isUnfinished, [companyId]);
    memoryMb = Math.max(memoryMb, ...servers.map(({ pid }) => residentMb(pid) ?? 0));
    if (!rows[0]?.unfinished) break;
    await sleep(250);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const renewal = since(before, count);
  const othersShare = others() ?? 0;
  const [first] = servers;
  if (!first) throw new Error('no worker was started');
  await order(bench, first, shop, warmUpSeconds);
  const beforeOrders = cpu();
  const ordered = await order(bench, first, shop, orderSeconds);
  const orderCpu = since(beforeOrders, ordered.count);
  for (const server of servers) await server.stop();
  note(`${workers} workers: ${Math.round(count / seconds)} charges/s, ${Math.round(memoryMb)} MB`);
  return { workers, perSecond: count / seconds, memoryMb, renewal, order: orderCpu, othersShare };
}

const sumOf = ({ node, postgres }: Cpu): number => (node ?? Number.NaN) + (postgres ?? Number.NaN);

async function run(bench: Bench): Promise<Report> {
  const { environment, options } = bench;
  const count = Math.min(options.rows, subscriptionsMax);
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-renewals-'));
  const runs: Run[] = [];
  try {
    const shop = await seedSubscriptions(bench, count, dataDir);
    for (const workers of workerCounts) runs.push(await measure(bench, workers, count, shop, dataDir));
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  const { rows } = await environment.sql.query<{ wrong: string }>(
    `SELECT count(*) AS wrong FROM subscriptions s WHERE s.company_id = $1 AND (s.completed_cycles <> $2 OR $2 - 1 <>
       (SELECT count(*) FROM orders o WHERE o.company_id = s.company_id AND o.subscription_id = s.id AND o.status = 'succeeded'))`,
    [environment.companyId, 1 + runs.length],
  );
  const wrong = Number(rows[0]?.wrong);
  const digits = (value: number | null, places = 0): Cell => (value === null ? null : Number(value.toFixed(places)));
  const slowest = Math.min(...runs.map(({ perSecond }) => perSecond));
  const two = runs.find(({ workers }) => workers === 2)?.perSecond ?? Number.NaN;
  const ratio = median(runs.map((one) => sumOf(one.renewal) / sumOf(one.order)));
  const largest = Math.max(...runs.map(({ memoryMb }) => memoryMb));
  return {
    tables: [
      {
        title: `${count} renewals due in the same minute`,
        columns: [
          'workers',
          'charges/s',
          'memory MB',
          'CPU µs node',
          'CPU µs postgres',
          'of an order: node',
          'postgres',
          'CPU % others',
        ],
        rows: runs.map((one) => [
          one.workers,
          digits(one.perSecond),
          digits(one.memoryMb),
          digits(one.renewal.node),
          digits(one.renewal.postgres),
          digits(one.order.node),
          digits(one.order.postgres),
          digits(one.othersShare * 100),
        ]),
      },
    ],
    targets: [
      { name: 'charges/s, the slowest', wanted: '≥ 500', measured: slowest.toFixed(0), met: slowest >= 500 },
      { name: 'charges/s with two workers', wanted: '≥ 2,000', measured: two.toFixed(0), met: two >= 2_000 },
      { name: 'CPU of a renewal to an order', wanted: '≤ 1', measured: ratio.toFixed(2), met: ratio <= 1 },
      { name: 'memory of a worker', wanted: '< 300 MB', measured: `${largest.toFixed(0)} MB`, met: largest < 300 },
      { name: 'subscriptions not charged once a cycle', wanted: '0', measured: String(wrong), met: wrong === 0 },
    ],
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
