import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, startClient } from './client.ts';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { openShop, workload as orders } from './orders.ts';
import { cpuSeconds, familyCpuSeconds, watchOthers } from './processes.ts';
import { undisturbed } from './undisturbed.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/** `npm run bench processes`: the same number of clients, over more and more API processes of one PostgreSQL. */

const processCounts = [2, 4, 8];
const commitsMax = 0.45;
const growthMax = 1.3;
/** They share the processor, so each compiles its code more slowly than one alone. */
const warmUpSecondsOfAll = 120;

export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly commits: number;
  readonly nodeCpuUs: number;
  readonly postgresCpuUs: number;
  readonly othersShare: number;
}

/** Orders of as many clients as there are processes, each at its own process. */
export async function measure(
  { environment: { sql, key, postgresPid }, options: { connections } }: Bench,
  servers: readonly ServerProcess[],
  clients: readonly Client[],
  data: Readonly<Record<string, readonly string[]>>,
  seconds: number,
): Promise<Measured> {
  await sql.query('VACUUM ANALYZE');
  await sql.query('CHECKPOINT');
  const commits = async (): Promise<number> => {
    await sql.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await sql.query<{ count: string }>('SELECT sum(xact_commit) AS count FROM pg_stat_database');
    return Number(rows[0]?.count);
  };
  const cpu = (): { node: number; postgres: number } => ({
    node: servers.reduce((sum, { pid }) => sum + (cpuSeconds(pid) ?? Number.NaN), 0),
    postgres: familyCpuSeconds(postgresPid) ?? Number.NaN,
  });
  const commitsBefore = await commits();
  const others = watchOthers(postgresPid);
  const before = cpu();
  const results = await Promise.all(
    servers.map(({ baseUrl }, index) =>
      (clients[index] as Client).run({
        module: orders.module,
        request: 'order',
        baseUrl,
        key,
        connections: connections / servers.length,
        seconds,
        data,
      }),
    ),
  );
  const after = cpu();
  const othersShare = others() ?? 0;
  for (const { statuses, count, samples } of results) {
    if (statuses['201'] !== count) throw new Error(`not all are 201: ${JSON.stringify({ statuses, samples })}`);
  }
  // PostgreSQL sessions report their statistics up to a second later.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const count = results.reduce((sum, one) => sum + one.count, 0);
  return {
    perSecond: results.reduce((sum, one) => sum + one.perSecond, 0),
    p50Ms: median(results.map((one) => one.p50Ms)),
    p99Ms: Math.max(...results.map((one) => one.p99Ms)),
    commits: ((await commits()) - commitsBefore) / count,
    nodeCpuUs: ((after.node - before.node) * 1e6) / count,
    postgresCpuUs: ((after.postgres - before.postgres) * 1e6) / count,
    othersShare,
  };
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  // All processes share the folder, because it contains the vault keys.
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-processes-'));
  const settings = { SVC_DATA_DIR: dataDir, SVC_ROLES: 'api,vault', SVC_DATABASE_POOL: '4' };
  const servers: ServerProcess[] = [];
  const clients: Client[] = [];
  const measured = processCounts.map((processes) => ({ processes, rounds: [] as Round[] }));
  try {
    for (let n = 1; n <= Math.max(...processCounts); n += 1) {
      servers.push(await environment.startService(`api ${n}`, { settings }));
      clients.push(startClient());
    }
    const [first] = servers;
    if (!first) throw new Error('no process was started');
    const { customers, products } = await openShop(first, environment.key);
    const data = { customers, products };
    await measure(bench, servers, clients, data, warmUpSecondsOfAll);
    const measureWith = async (round: number, processes: number): Promise<Measured> => {
      const some = servers.slice(0, processes);
      const result = await undisturbed(() => measure(bench, some, clients, data, options.seconds ?? 8));
      note(
        `round ${round}, ${processes} processes: ${Math.round(result.perSecond)}/s, ${result.commits.toFixed(2)} commits, ${Math.round(result.nodeCpuUs)} + ${Math.round(result.postgresCpuUs)} µs`,
      );
      return result;
    };
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const { processes, rounds } of measured) {
        const one = await measureWith(round, 1);
        rounds.push({ one, several: await measureWith(round, processes) });
      }
    }
  } finally {
    for (const client of clients) client.stop();
    for (const server of servers) await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
  return reportOf(options.connections, measured);
}

/** One process is measured right before several, because the speed of a shared host changes within minutes. */
interface Round {
  readonly one: Measured;
  readonly several: Measured;
}

function reportOf(connections: number, measured: readonly { processes: number; rounds: readonly Round[] }[]): Report {
  const middleOf = (results: readonly Measured[]) => (pick: (one: Measured) => number) => median(results.map(pick));
  const alone = measured.flatMap(({ rounds }) => rounds.map(({ one }) => one));
  const middle = [
    { processes: 1, of: middleOf(alone), growth: 1 },
    ...measured.map(({ processes, rounds }) => ({
      processes,
      of: middleOf(rounds.map(({ several }) => several)),
      growth: median(rounds.map(({ one, several }) => several.postgresCpuUs / one.postgresCpuUs)),
    })),
  ];
  const digits = (value: number, places = 0): Cell => Number(value.toFixed(places));
  return {
    tables: [
      {
        title: `Orders over ${connections} connections to several API processes`,
        columns: [
          'processes',
          'orders/s',
          'p50 ms',
          'p99 ms',
          'commits',
          'CPU µs node',
          'CPU µs postgres',
          'to one process',
          'CPU % others',
        ],
        rows: middle.map(({ processes, of, growth }) => [
          processes,
          digits(of((one) => one.perSecond)),
          digits(
            of((one) => one.p50Ms),
            1,
          ),
          digits(
            of((one) => one.p99Ms),
            1,
          ),
          digits(
            of((one) => one.commits),
            2,
          ),
          digits(of((one) => one.nodeCpuUs)),
          digits(of((one) => one.postgresCpuUs)),
          digits(growth, 2),
          digits(of((one) => one.othersShare * 100)),
        ]),
      },
    ],
    targets: middle.flatMap(({ processes, of, growth }) => {
      const commits = of((one) => one.commits);
      return [
        {
          name: `commits for each order, ${processes} processes`,
          wanted: `≤ ${commitsMax}`,
          measured: commits.toFixed(2),
          met: commits <= commitsMax,
        },
        {
          name: `PostgreSQL CPU, ${processes} processes to one`,
          wanted: `≤ ${growthMax}`,
          measured: growth.toFixed(2),
          met: growth <= growthMax,
        },
      ];
    }),
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
