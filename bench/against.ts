import { resolve } from 'node:path';
import type { Environment, ServerProcess, ServiceOptions } from './environment.ts';
import { median } from './compare.ts';
import { cpuSeconds, familyCpuSeconds, watchOthers } from './processes.ts';
import { undisturbed, warmUpSeconds } from './undisturbed.ts';
import type { Bench, Cell, OtherTree, Report } from './workload.ts';

/**
 * `--against COMMIT`: compares the CPU time of one unit of work in this tree and in another. Each has its own database. They
 * alternate, so that other load on the machine affects both.
 */

export interface Side {
  readonly environment: Environment;
  readonly service: ServerProcess;
  /** The root of its tree. */
  readonly root: string;
}

export interface Work {
  /** For example `order`. */
  readonly unit: string;
  readonly service?: ServiceOptions;
  readonly seconds: number;
  /** Called once for each side. The returned function works for some seconds and returns the number of units. */
  readonly prepare: (side: Side) => Promise<(seconds: number) => Promise<number>>;
}

interface Cpu {
  readonly node: number;
  readonly postgres: number;
  readonly total: number;
}

interface Round {
  readonly before: Cpu;
  readonly now: Cpu;
}

const thisRoot = resolve(import.meta.dirname, '..');
const ratioMax = 1.05;

export async function compareCpu(bench: Bench, against: OtherTree, work: Work): Promise<Report> {
  const before = await openSide(await against.startEnvironment(), against.root, 'before', work);
  const now = await openSide(bench.environment, thisRoot, 'now', work);
  const rounds: Round[] = [];
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    // The first one alternates too.
    const first = round % 2 === 0 ? await now.measure() : undefined;
    const result = { before: await before.measure(), now: first ?? (await now.measure()) };
    rounds.push(result);
    bench.note(`round ${round}: ${describe(result.before)} before, ${describe(result.now)} now`);
  }
  return report(work.unit, rounds);
}

const describe = ({ node, postgres }: Cpu): string => `${Math.round(node)} + ${Math.round(postgres)} µs`;

async function openSide(environment: Environment, root: string, name: string, work: Work) {
  // Otherwise it would affect some measurements and not others.
  await environment.sql.query('ALTER SYSTEM SET autovacuum = off');
  await environment.sql.query('SELECT pg_reload_conf()');
  const service = await environment.startService(name, work.service);
  const run = await work.prepare({ environment, service, root });
  await run(warmUpSeconds);

  async function measureOnce(): Promise<{ cpu: Cpu; othersShare: number }> {
    await environment.sql.query('VACUUM ANALYZE');
    await environment.sql.query('CHECKPOINT');
    const read = (): [number, number] => [
      cpuSeconds(service.pid) ?? Number.NaN,
      familyCpuSeconds(environment.postgresPid) ?? Number.NaN,
    ];
    const others = watchOthers(environment.postgresPid);
    const [nodeBefore, postgresBefore] = read();
    const count = await run(work.seconds);
    const [nodeAfter, postgresAfter] = read();
    const node = ((nodeAfter - nodeBefore) * 1e6) / count;
    const postgres = ((postgresAfter - postgresBefore) * 1e6) / count;
    return { cpu: { node, postgres, total: node + postgres }, othersShare: others() ?? 0 };
  }

  return { measure: async (): Promise<Cpu> => (await undisturbed(measureOnce)).cpu };
}

function quartiles(values: readonly number[]): [number, number] {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return [at(0.25), at(0.75)];
}

function report(unit: string, rounds: readonly Round[]): Report {
  const rows = (['node', 'postgres', 'total'] as const).map((part): Cell[] => {
    const ratios = rounds.map(({ before, now }) => now[part] / before[part]);
    const range = (values: readonly number[]): string => values.map((value) => value.toFixed(3)).join('–');
    return [
      { node: 'Node', postgres: 'PostgreSQL', total: 'both' }[part],
      Math.round(median(rounds.map(({ before }) => before[part]))),
      Math.round(median(rounds.map(({ now }) => now[part]))),
      Number(median(ratios).toFixed(3)),
      range(quartiles(ratios)),
      range([Math.min(...ratios), Math.max(...ratios)]),
    ];
  });
  const ratio = median(rounds.map(({ before, now }) => now.total / before.total));
  return {
    tables: [
      {
        title: `CPU for each ${unit}, ${rounds.length} rounds in turn`,
        columns: ['', 'µs before', 'µs now', 'ratio', 'half of the rounds', 'all rounds'],
        rows,
      },
    ],
    targets: [
      {
        name: `CPU for each ${unit}, to before`,
        wanted: `≤ ${ratioMax}`,
        measured: ratio.toFixed(3),
        met: ratio <= ratioMax,
      },
    ],
  };
}
