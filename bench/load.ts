import { setInterval } from 'node:timers/promises';
import type { JobResult } from './client.ts';
import { createCustomer, inTurn, newCustomer } from './customers.ts';
import { seedCustomers, someIds } from './customer-data.ts';
import { defaultRateLimits, type ServerProcess } from './environment.ts';
import { residentMb } from './processes.ts';
import type { Bench, BenchRequest, Cell, Report, Table, Target, Workload } from './workload.ts';

/** `npm run bench load`: many clients, with and without rate limits. Expects no failures and constant memory. */

const connections = 200;
const defaultSeconds = 30;
const seededRows = 100_000;
const residentMbMax = 300;
// Garbage varies between samples. "Constant" means that the last third needs at most this much more than the first.
const growthMax = 1.15;

const path = '/v1/customers';

const requests: Workload['requests'] = {
  mixed: ({ ids }) => {
    const nextId = inTurn(ids);
    const change = (): BenchRequest => {
      const { email, phone, metadata } = newCustomer();
      return { method: 'PATCH', path: `${path}/${nextId()}`, body: { email, phone, metadata } };
    };
    const read = (): BenchRequest => ({ method: 'GET', path: `${path}/${nextId()}` });
    const list = (): BenchRequest => ({ method: 'GET', path: `${path}?starting_after=${nextId()}` });
    const kinds = [createCustomer, read, list, change, read];
    let turn = 0;
    return () => (kinds[turn++ % kinds.length] ?? read)();
  },
};

interface LoadRun {
  readonly name: string;
  readonly result: JobResult;
  /** One sample per second. */
  readonly residentMb: readonly number[];
}

async function run(bench: Bench): Promise<Report> {
  const { environment } = bench;
  await seedCustomers(environment, Math.min(bench.options.rows, seededRows));
  const ids = await someIds(environment, 'customers', 20_000);
  const runs = [
    await underLoad(bench, 'default rate limits', ids, defaultRateLimits),
    await underLoad(bench, 'no rate limits', ids, {}),
  ];
  return { tables: [statusTable(runs), memoryTable(runs)], targets: runs.flatMap(targetsOf) };
}

async function underLoad(
  { environment, client, options, note }: Bench,
  name: string,
  ids: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<LoadRun> {
  const server = await environment.startService(name, { settings });
  const sampler = sampleMemory(server);
  const seconds = options.seconds ?? defaultSeconds;
  const { baseUrl } = server;
  const job = { module: import.meta.url, request: 'mixed', baseUrl, key: environment.key, connections, seconds };
  const result = await client.run({ ...job, data: { ids } });
  const samples = await sampler.stop();
  await server.stop();
  note(`${name}: ${JSON.stringify(result.statuses)}`);
  for (const [status, body] of Object.entries(result.samples)) note(`a ${status}: ${body}`);
  return { name, result, residentMb: samples };
}

function sampleMemory({ pid }: ServerProcess): { stop(): Promise<number[]> } {
  const ending = new AbortController();
  const samples: number[] = [];
  async function sample(): Promise<void> {
    for await (const _ of setInterval(1000, undefined, { signal: ending.signal })) {
      const megabytes = residentMb(pid);
      if (megabytes !== null) samples.push(megabytes);
    }
  }
  const finished = sample().catch((error: Error) => {
    if (error.name !== 'AbortError') throw error;
  });
  return {
    async stop() {
      ending.abort();
      await finished;
      return samples;
    },
  };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

function thirds({ residentMb: samples }: LoadRun): { first: number; last: number } {
  const third = Math.ceil(samples.length / 3);
  return { first: mean(samples.slice(third, 2 * third)), last: mean(samples.slice(2 * third)) };
}

function statusTable(runs: readonly LoadRun[]): Table {
  const statuses = [...new Set(runs.flatMap(({ result }) => Object.keys(result.statuses)))].toSorted();
  const rows = runs.map(({ name, result }): Cell[] => [
    name,
    Math.round(result.perSecond),
    Math.round(result.p50Ms * 10) / 10,
    Math.round(result.p99Ms * 10) / 10,
    Math.round(result.maxMs),
    ...statuses.map((status) => result.statuses[status] ?? 0),
  ]);
  const columns = ['run', 'req/s', 'p50 ms', 'p99 ms', 'max ms', ...statuses];
  return { title: `Load, ${connections} clients`, columns, rows };
}

function memoryTable(runs: readonly LoadRun[]): Table {
  const rows = runs.map(({ name, residentMb: samples }): Cell[] => {
    const at = (share: number): Cell => {
      const sample = samples[Math.max(0, Math.round(samples.length * share) - 1)];
      return sample === undefined ? null : Math.round(sample);
    };
    return [name, at(1 / 3), at(2 / 3), at(1), samples.length > 0 ? Math.round(Math.max(...samples)) : null];
  });
  const columns = ['run', 'at 1/3', 'at 2/3', 'at the end', 'max'];
  return { title: 'Resident memory of the service in MB (of 30 s: at 10 s, 20 s and 30 s)', columns, rows };
}

const expectedStatus = /^(2\d\d|429|503)$/;

function targetsOf(one: LoadRun): Target[] {
  const { name, result, residentMb: samples } = one;
  const unexpected = Object.entries(result.statuses).filter(([status]) => !expectedStatus.test(status));
  const highest = Math.max(...samples);
  const { first, last } = thirds(one);
  const statuses: Target = {
    name: `${name}, statuses other than 2xx, 429 and 503`,
    wanted: 'none',
    measured: unexpected.map(([status, count]) => `${count} × ${status}`).join(', ') || 'none',
    met: unexpected.length === 0,
  };
  if (samples.length === 0) return [statuses];
  return [
    statuses,
    {
      name: `${name}, highest resident memory`,
      wanted: `< ${residentMbMax} MB`,
      measured: `${Math.round(highest)} MB`,
      met: highest < residentMbMax,
    },
    {
      name: `${name}, memory of the last third to that of the second`,
      wanted: `< ${growthMax}`,
      measured: (last / first).toFixed(2),
      met: last / first < growthMax,
    },
  ];
}

export const workload: Workload = { module: import.meta.url, requests, run };
