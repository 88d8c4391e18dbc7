import { type Client, type JobResult, startClient } from './client.ts';
import { median } from './compare.ts';
import { type Cores, describeCores, keepOn, splitCores } from './cores.ts';
import { openShop, workload as orders } from './orders.ts';
import { undisturbed } from './undisturbed.ts';
import { cpuSeconds, watchOthers } from './processes.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/**
 * `npm run bench overload`: five times as many orders as the service can take. What counts is how many of them succeed in time, to
 * the best it does without overload, and how soon the others hear that they should come later.
 */

const overload = 5;
/** As many clients as there are requests under way when each waits for its answer as long as it can. */
const clients = 2_500;
const patienceMs = 5_000;
const bestConnections = 32;
const goodputMin = 0.9;
const refusalMsMax = 100;
const shoppers = 100;

interface Round {
  readonly best: number;
  readonly offered: number;
  readonly goodput: number;
  readonly beyond: JobResult;
  /** CPU of the service for an order, and for a refusal. */
  readonly orderUs: number;
  readonly refusalUs: number;
  /** CPU of a Node server that does nothing but refuse, for a refusal. */
  readonly leastUs: number;
  /** Of the machine, to other programs. */
  readonly othersShare: number;
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const seconds = options.seconds ?? 8;
  const server = await environment.startService('ours', {
    ...(options.profile && { profileInto: 'bench/results/profiles' }),
  });
  const { customers, products } = await openShop(server, environment.key, shoppers);
  const cores = splitCores(note);
  if (cores) keepOn(cores.measured, server.pid, environment.postgresPid);
  const client: Client = startClient(cores?.generator);
  const refusing = await environment.startRefusingServer();
  if (cores) keepOn(cores.measured, refusing.pid);
  const job = {
    module: orders.module,
    request: 'order',
    baseUrl: server.baseUrl,
    key: environment.key,
    patienceMs,
    data: { customers, products },
  };
  await client.run({ ...job, connections: bestConnections, seconds: 3 });
  await client.run({ ...job, connections: clients, perSecond: 3_000, seconds: 3 });
  const rounds: Round[] = [];
  async function measure(): Promise<Round> {
    const others = watchOthers(environment.postgresPid);
    const cpuAtFirst = cpuSeconds(server.pid) ?? 0;
    const alone = await client.run({ ...job, connections: bestConnections, seconds });
    const best = (alone.statuses['201'] ?? 0) / seconds;
    const perSecond = Math.round(overload * best);
    const cpuBefore = cpuSeconds(server.pid) ?? 0;
    const beyond = await client.run({ ...job, connections: clients, perSecond, seconds });
    const succeeded = beyond.byStatus['201']?.count ?? 0;
    const orderUs = ((cpuBefore - cpuAtFirst) * 1e6) / alone.count;
    const cpuUs = ((cpuSeconds(server.pid) ?? 0) - cpuBefore) * 1e6;
    const refusalUs = (cpuUs - succeeded * orderUs) / (beyond.statuses['503'] ?? 1);
    const goodput = succeeded / seconds;
    const leastUs = await refuseAll(perSecond);
    if (beyond.samples.broken) note(beyond.samples.broken);
    note(`best ${Math.round(best)}/s, at ${perSecond}/s ${Math.round(goodput)}/s, ${JSON.stringify(beyond.statuses)}`);
    return { best, offered: perSecond, goodput, beyond, orderUs, refusalUs, leastUs, othersShare: others() ?? 0 };
  }
  async function refuseAll(perSecond: number): Promise<number> {
    const bare = { ...job, baseUrl: refusing.baseUrl, connections: clients, perSecond };
    await client.run({ ...bare, seconds: 1 });
    const before = cpuSeconds(refusing.pid) ?? 0;
    const { count } = await client.run({ ...bare, seconds: 3 });
    return (((cpuSeconds(refusing.pid) ?? 0) - before) * 1e6) / count;
  }
  for (let round = 1; round <= options.rounds; round += 1) rounds.push(await undisturbed(measure));
  client.stop();
  return report(rounds, cores);
}

function report(rounds: readonly Round[], cores: Cores | undefined): Report {
  const ratios = rounds.map(({ goodput, best }) => goodput / best);
  const reached = ratios.filter((ratio) => ratio >= goodputMin).length;
  const refusalMs = median(rounds.map(({ beyond }) => beyond.byStatus['503']?.p95Ms ?? 0));
  const late = rounds.reduce((sum, { beyond }) => sum + (beyond.statuses.late ?? 0) + (beyond.statuses.broken ?? 0), 0);
  const rows = rounds.map(
    ({ best, offered, goodput, beyond, orderUs, refusalUs, leastUs, othersShare }, index): Cell[] => [
      index + 1,
      Math.round(best),
      offered,
      Math.round(goodput),
      Number((goodput / best).toFixed(2)),
      Math.round(beyond.byStatus['201']?.p50Ms ?? 0),
      Math.round(beyond.byStatus['201']?.p99Ms ?? 0),
      beyond.statuses['503'] ?? 0,
      Math.round(beyond.byStatus['503']?.p50Ms ?? 0),
      Math.round(beyond.byStatus['503']?.p95Ms ?? 0),
      (beyond.statuses.late ?? 0) + (beyond.statuses.broken ?? 0),
      Math.round(beyond.generatorLagP95Ms),
      Math.round(orderUs),
      Math.round(refusalUs),
      Math.round(leastUs),
      Number(attainable(best, leastUs).toFixed(2)),
      Math.round(othersShare * 100),
    ],
  );
  return {
    tables: [
      {
        title: `Orders at ${overload} times the best rate, ${clients} connections, ${patienceMs / 1000} s of patience; ${describeCores(cores)}`,
        columns: [
          'round',
          'best/s',
          'offered/s',
          'succeeded/s',
          'ratio',
          'p50 ms',
          'p99 ms',
          '503s',
          '503 p50',
          '503 p95',
          'late',
          'generator lag p95',
          'CPU µs order',
          'CPU µs refusal',
          'CPU µs bare refusal',
          'attainable',
          'CPU % others',
        ],
        rows,
      },
    ],
    targets: [
      {
        name: 'orders that succeed, to the best',
        wanted: `≥ ${goodputMin} in every round`,
        measured: `in ${reached} of ${rounds.length} rounds, median ${median(ratios).toFixed(2)}`,
        met: reached === rounds.length,
      },
      {
        name: 'p95 of the refusals',
        wanted: `≤ ${refusalMsMax} ms`,
        measured: `${refusalMs.toFixed(1)} ms`,
        met: refusalMs <= refusalMsMax,
      },
      { name: 'requests without an answer in time', wanted: '0', measured: String(late), met: late === 0 },
    ],
  };
}

/**
 * The ratio with refusals that cost no more than Node's own HTTP server: what is left of the core that the service shares
 * with PostgreSQL after refusing the others.
 */
function attainable(best: number, leastUs: number): number {
  const cost = (leastUs * best) / 1e6;
  return Math.max(0, (1 - overload * cost) / (1 - cost));
}

export const workload: Workload = { module: import.meta.url, requests: orders.requests, rounds: 5, run };
