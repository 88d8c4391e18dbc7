import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { openShop, post, workload as orders } from './orders.ts';
import { cpuSeconds, residentMb, watchOthers } from './processes.ts';
import type { SeededCompany } from './shard-data.ts';
import { watchConnections } from './shard-connections.ts';
import { fullBed, type ShardBed, startShardBed } from './shard-bed.ts';
import { ask, serviceSettings, start } from './webhooks.ts';
import type { Bench, Report, Target, Workload } from './workload.ts';

/** `npm run bench shard-process`: what one process with all roles costs with 200 shards: its start, its rest, and its orders. */

const starts = 3;
/** After a start, and after requests, jobs run on some shards; on new data also those of a day. */
const quiet = { windowSeconds: 20, cpu: 6, mostSeconds: 900 };
const restSeconds = 180;
const limits = { startSeconds: 10, restCpu: 3, residentMb: 300, connections: 200, orderRatio: 1.05 };

interface Rest {
  readonly cpu: number;
  readonly megabytes: number;
  readonly connections: number;
}

async function run(bench: Bench): Promise<Report> {
  const bed = await startShardBed({ ...fullBed, note: bench.note });
  const ends: (() => unknown)[] = [() => bed.stop()];
  try {
    const startSeconds: number[] = [];
    for (let round = 1; round < starts; round += 1) {
      const { server, seconds } = await startWith(bench, bed.settings);
      startSeconds.push(seconds);
      await server.stop();
    }
    const { server, seconds } = await startWith(bench, bed.settings);
    startSeconds.push(seconds);
    const rest = await atRest(bench, bed, server);
    const metrics = await readMetrics(server);
    const webhooks = await subscribeShards(bed, server);
    ends.push(webhooks.end);
    await untilQuiet(bench, server);
    const first = await firstRequests(bed, server);
    const delivered = await webhooks.measure();
    await webhooks.end();
    await untilQuiet(bench, server);
    const many = await ordersOn(bench, bed, server);
    await server.stop();
    const few = await startWith(bench, settingsOfOne(bed));
    const one = await ordersOn(bench, bed, few.server);
    await few.server.stop();
    return reportOf(bed, startSeconds, rest, { ...first, delivered, metrics }, { many, one });
  } finally {
    for (const end of ends) await end();
  }
}

async function startWith(
  { environment, note }: Bench,
  settings: ShardBed['settings'],
): Promise<{ server: ServerProcess; seconds: number }> {
  const startedMs = performance.now();
  const server = await environment.startService('shards', { settings: { ...serviceSettings, ...settings } });
  const seconds = (performance.now() - startedMs) / 1000;
  note(`ready after ${seconds.toFixed(1)} s, ${(cpuSeconds(server.pid) ?? 0).toFixed(1)} s of its CPU time`);
  return { server, seconds };
}

async function untilQuiet({ note }: Bench, { pid }: ServerProcess): Promise<void> {
  const startedMs = performance.now();
  let seconds = 0;
  for (
    let cpu = 100;
    cpu > quiet.cpu && seconds < quiet.mostSeconds;
    seconds = (performance.now() - startedMs) / 1000
  ) {
    const before = cpuSeconds(pid) ?? 0;
    await sleep(quiet.windowSeconds * 1000);
    cpu = (((cpuSeconds(pid) ?? 0) - before) / quiet.windowSeconds) * 100;
  }
  note(`its shards rest after ${Math.round(seconds)} s`);
}

async function atRest(bench: Bench, bed: ShardBed, server: ServerProcess): Promise<Rest> {
  const { note } = bench;
  const { pid } = server;
  await untilQuiet(bench, server);
  const before = cpuSeconds(pid) ?? Number.NaN;
  const others = watchOthers(bed.postgresPids[0] ?? 0);
  const watched = await watchConnections(bed);
  await sleep(restSeconds * 1000);
  await watched.stop();
  const connections = watched.most();
  const cpu = (((cpuSeconds(pid) ?? Number.NaN) - before) / restSeconds) * 100;
  const megabytes = residentMb(pid) ?? Number.NaN;
  note(
    `at rest ${cpu.toFixed(1)} % CPU, ${Math.round(megabytes)} MB, at most ${connections} connections; others used ${Math.round((others() ?? 0) * 100)} %`,
  );
  return { cpu, megabytes, connections };
}

const farCompany = (bed: ShardBed): SeededCompany => {
  const company = bed.companies.at(-1);
  if (!company) throw new Error('the bed has no company');
  return company;
};

/** The first request to shards that rest, and the second to the same ones. */
async function firstRequests(bed: ShardBed, { baseUrl }: ServerProcess): Promise<{ first: number; second: number }> {
  const companies = [...new Map(bed.companies.map((one) => [one.shard, one])).values()].slice(20, 40);
  const took = async (): Promise<number> => {
    const all: number[] = [];
    for (const { key } of companies) {
      const startedMs = performance.now();
      const response = await fetch(`${baseUrl}/v1/orders?limit=10`, { headers: { authorization: `Bearer ${key}` } });
      if (!response.ok) throw new Error(await response.text());
      await response.arrayBuffer();
      all.push(performance.now() - startedMs);
    }
    return median(all);
  };
  return { first: await took(), second: await took() };
}

interface Requests {
  readonly first: number;
  readonly second: number;
  readonly delivered: number;
  readonly metrics: { readonly kilobytes: number; readonly milliseconds: number };
}

/** Endpoints on some shards, which rest again before an event is delivered to them. */
async function subscribeShards(
  bed: ShardBed,
  server: ServerProcess,
): Promise<{ measure: () => Promise<number>; end: () => Promise<void> }> {
  const receiver = start('webhook-receiver.ts');
  const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
  const companies = [...new Map(bed.companies.map((one) => [one.shard, one])).values()].slice(60, 70);
  const endpoints: { readonly key: string; readonly id: string }[] = [];
  for (const { key } of companies) {
    const endpoint = { url: `https://localhost:${port}/`, enabled_events: ['customer.created'] };
    endpoints.push({ key, id: String((await post(server, key, '/v1/webhook_endpoints', endpoint)).id) });
  }
  return {
    async measure() {
      const took: number[] = [];
      for (const { key } of companies) {
        await ask(receiver, { reset: true });
        const startedAtMs = Date.now();
        await post(server, key, '/v1/customers', {
          first_name: 'Ada',
          last_name: 'Reed',
          email: `ada-${randomUUID()}@example.com`,
          phone: `+1555${randomInt(1_000_000, 9_999_999)}`,
        });
        const { lastAtMs } = await ask<{ lastAtMs: number }>(receiver, { waitFor: 1 });
        took.push(lastAtMs - startedAtMs);
      }
      return median(took);
    },
    /** An endpoint without a receiver would keep its shard at work, also in the next run. */
    async end() {
      for (const { key, id } of endpoints.splice(0)) {
        const headers = { authorization: `Bearer ${key}` };
        await fetch(`${server.baseUrl}/v1/webhook_endpoints/${id}`, { method: 'DELETE', headers }).catch(
          () => undefined,
        );
      }
      receiver.kill();
    },
  };
}

async function readMetrics({ baseUrl }: ServerProcess): Promise<Requests['metrics']> {
  const startedMs = performance.now();
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return { kilobytes: text.length / 1000, milliseconds: performance.now() - startedMs };
}

/** Only the shard of the company that orders, beside the control plane. */
function settingsOfOne(bed: ShardBed): ShardBed['settings'] {
  const { shard } = farCompany(bed);
  return { ...bed.settings, SVC_SHARDS: `${shard}=${bed.shards.get(shard)}` };
}

let shops: Promise<Awaited<ReturnType<typeof openShop>>> | undefined;

/** The median time of an order of one client after the other on one shard, in milliseconds. */
async function ordersOn({ client, note, options }: Bench, bed: ShardBed, server: ServerProcess): Promise<number> {
  const { key } = farCompany(bed);
  shops ??= openShop(server, key, 10, randomInt(1_000_000, 9_000_000));
  const { customers, products } = await shops;
  const job = { module: orders.module, request: 'order', key, data: { customers, products }, baseUrl: server.baseUrl };
  await client.run({ ...job, connections: 4, seconds: 10 });
  const { p50Ms, statuses } = await client.run({ ...job, connections: 1, seconds: options.seconds ?? 20 });
  note(`orders on one shard: ${p50Ms.toFixed(2)} ms (${JSON.stringify(statuses)})`);
  return p50Ms;
}

function reportOf(
  bed: ShardBed,
  startSeconds: readonly number[],
  rest: Rest,
  requests: Requests,
  { many, one }: { readonly many: number; readonly one: number },
): Report {
  const startMedian = median(startSeconds);
  const ratio = many / one;
  const targets: Target[] = [
    target('start', startMedian, limits.startSeconds, 's'),
    target('CPU at rest', rest.cpu, limits.restCpu, '%'),
    target('memory at rest', rest.megabytes, limits.residentMb, 'MB'),
    target('connections at rest', rest.connections, limits.connections, ''),
    target('order with all shards, to two shards', ratio, limits.orderRatio, '×'),
  ];
  const rows = [
    ['start, s', rounded(startMedian)],
    ['CPU at rest, %', rounded(rest.cpu)],
    ['memory at rest, MB', Math.round(rest.megabytes)],
    ['most connections at rest', rest.connections],
    ['first request to a shard that rests, ms', rounded(requests.first)],
    ['the next one, ms', rounded(requests.second)],
    ['webhook of the first event on a shard that rests, ms', rounded(requests.delivered)],
    ['/metrics, kB', rounded(requests.metrics.kilobytes)],
    ['/metrics, ms', rounded(requests.metrics.milliseconds)],
    ['order with all shards, ms', rounded(many)],
    ['order with two shards, ms', rounded(one)],
  ];
  const title = `One process with all roles, ${bed.shards.size} shards on ${bed.postgresPids.length} servers, ${bed.companies.length} sandbox companies`;
  return { tables: [{ title, columns: ['', 'measured'], rows }], targets };
}

const rounded = (value: number): number => Number(value.toFixed(2));

const target = (name: string, value: number, most: number, unit: string): Target => ({
  name,
  wanted: `≤ ${most} ${unit}`.trim(),
  measured: `${rounded(value)} ${unit}`.trim(),
  met: value <= most,
});

export const workload: Workload = { module: import.meta.url, requests: {}, run };
