import type { JobResult } from './client.ts';
import type { ServerProcess } from './environment.ts';
import { cpuSeconds, familyCpuSeconds, watchOthers } from './processes.ts';
import { undisturbed } from './undisturbed.ts';
import type { Bench, Cell, Table } from './workload.ts';

/**
 * Measures several candidates alternately, so that other load on the machine affects all of them. The others are compared
 * with the first candidate.
 */

export interface Candidate {
  readonly name: string;
  readonly server: ServerProcess;
  readonly request: string;
  readonly data?: Readonly<Record<string, readonly string[]>>;
}

export interface Comparison {
  readonly title: string;
  readonly module: string;
  readonly candidates: readonly Candidate[];
  readonly connections: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

export interface Measured {
  readonly name: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Median over the rounds of this rate divided by the rate of the first candidate in the same round. */
  readonly ratio: number;
  readonly ratioRange: readonly [number, number];
  /** The same for the median latencies. */
  readonly latencyRatio: number;
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  /** Share of the machine that other programs used. Shows how reliable the other numbers are. */
  readonly othersShare: number | null;
}

export interface Compared {
  readonly title: string;
  readonly measured: readonly Measured[];
  readonly errors: Readonly<Record<string, number>>;
}

interface Round extends JobResult, Pick<Measured, 'serverCpuUs' | 'postgresCpuUs' | 'othersShare'> {}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export async function compare(bench: Bench, comparison: Comparison): Promise<Compared> {
  const { candidates, warmUpSeconds, seconds } = comparison;
  const rounds = candidates.map((): Round[] => []);
  const errors: Record<string, number> = {};
  for (const candidate of candidates) await measure(bench, comparison, candidate, warmUpSeconds);
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    for (const [index, candidate] of candidates.entries()) {
      const result = await undisturbed(() => measure(bench, comparison, candidate, seconds));
      rounds[index]?.push(result);
      countErrors(bench, candidate, result, errors);
    }
  }
  const first = rounds[0] ?? [];
  const measured = candidates.map(({ name }, index) => summarise(name, rounds[index] ?? [], first));
  for (const one of measured) bench.note(`${comparison.title}: ${describe(one)}`);
  return { title: comparison.title, measured, errors };
}

async function measure(
  { environment, client }: Bench,
  { module, connections }: Comparison,
  { server, request, data = {} }: Candidate,
  seconds: number,
): Promise<Round> {
  const serverBefore = cpuSeconds(server.pid);
  const postgresBefore = familyCpuSeconds(environment.postgresPid);
  const othersShare = watchOthers(environment.postgresPid);
  const job = { module, request, baseUrl: server.baseUrl, key: environment.key, connections, seconds, data };
  const result = await client.run(job);
  const each = (before: number | null, after: number | null): number | null =>
    before === null || after === null ? null : ((after - before) * 1e6) / result.count;
  return {
    ...result,
    serverCpuUs: each(serverBefore, cpuSeconds(server.pid)),
    postgresCpuUs: each(postgresBefore, familyCpuSeconds(environment.postgresPid)),
    othersShare: othersShare(),
  };
}

function countErrors(bench: Bench, candidate: Candidate, result: JobResult, errors: Record<string, number>): void {
  for (const [status, count] of Object.entries(result.statuses)) {
    if (status.startsWith('2')) continue;
    const name = `${candidate.name} ${status}`;
    if (!(name in errors)) bench.note(`unexpected ${name}: ${result.samples[status]}`);
    errors[name] = (errors[name] ?? 0) + count;
  }
}

function medianOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : median(known);
}

function summarise(name: string, rounds: readonly Round[], first: readonly Round[]): Measured {
  const ratios = rounds.map(({ perSecond }, index) => perSecond / (first[index]?.perSecond ?? Number.NaN));
  return {
    name,
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
    ratio: median(ratios),
    ratioRange: [Math.min(...ratios), Math.max(...ratios)],
    latencyRatio: median(rounds.map(({ p50Ms }, index) => p50Ms / (first[index]?.p50Ms ?? Number.NaN))),
    serverCpuUs: medianOrNull(rounds.map(({ serverCpuUs }) => serverCpuUs)),
    postgresCpuUs: medianOrNull(rounds.map(({ postgresCpuUs }) => postgresCpuUs)),
    othersShare: medianOrNull(rounds.map(({ othersShare }) => othersShare)),
  };
}

const fixed = (value: number, digits: number): number => Number(value.toFixed(digits));

function describe({ name, perSecond, p50Ms, p99Ms, ratio }: Measured): string {
  return `${name} ${Math.round(perSecond)}/s, p50 ${fixed(p50Ms, 2)} ms, p99 ${fixed(p99Ms, 2)} ms, ratio ${fixed(ratio, 2)}`;
}

const columns = [
  'case',
  'server',
  'req/s',
  'p50 ms',
  'p99 ms',
  'ratio',
  'range',
  'CPU µs node',
  'CPU µs postgres',
  'CPU % others',
];

export function comparisonTable(title: string, compared: readonly Compared[]): Table {
  const rows = compared.flatMap(({ title: name, measured }) =>
    measured.map((one): Cell[] => [
      name,
      one.name,
      Math.round(one.perSecond),
      fixed(one.p50Ms, 2),
      fixed(one.p99Ms, 2),
      fixed(one.ratio, 2),
      one.ratioRange.map((ratio) => ratio.toFixed(2)).join('–'),
      one.serverCpuUs && Math.round(one.serverCpuUs),
      one.postgresCpuUs && Math.round(one.postgresCpuUs),
      one.othersShare && fixed(one.othersShare * 100, 0),
    ]),
  );
  return { title, columns, rows };
}
