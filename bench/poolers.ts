import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPooler, throughPooler } from '../tests/support/pooler.ts';
import { type Measured, measure } from './api-processes.ts';
import { startClient } from './client.ts';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { openShop, workload as orders } from './orders.ts';
import { undisturbed } from './undisturbed.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/** `npm run bench poolers`: orders with and without PgBouncer, and how many connections PostgreSQL has for them. */

const warmUpSeconds = 30;

interface Way {
  readonly name: string;
  readonly server: ServerProcess;
  readonly rounds: Measured[];
}

type Shop = Awaited<ReturnType<typeof openShop>>;

/** How many processes at once are counted. */
const processCounts = [1, 4];
const clientsOfProcess = 24;
const loadedSeconds = 6;

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const { connectionString: direct } = environment;
  const folder = await mkdtemp(join(tmpdir(), 'svc-poolers-'));
  // PgBouncer does not run as root, and reads its settings from here.
  await chmod(folder, 0o711);
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const client = startClient();
  try {
    const pooled = async (mode: 'session' | 'transaction'): Promise<string> => {
      const pooler = await startPooler({ folder: join(folder, mode), serverUrl: direct, mode });
      ends.push(() => pooler.stop());
      return throughPooler(direct, pooler.port);
    };
    const settingsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      direct: {},
      session: { DATABASE_URL: await pooled('session') },
      transaction: { SVC_POOL_URL: await pooled('transaction') },
    };
    let opened: Shop | undefined;
    const shopAt = async (server: ServerProcess): Promise<Shop> => {
      opened ??= await openShop(server, environment.key);
      return opened;
    };
    const counted: Cell[][] = [];
    for (const processes of processCounts)
      for (const [name, settings] of Object.entries(settingsOf)) {
        const { idle, loaded } = await countConnections(
          bench,
          shopAt,
          name,
          { ...settings, SVC_DATA_DIR: folder },
          processes,
        );
        counted.push([name, processes, idle, loaded]);
        note(`${name}, ${processes} processes: ${idle} connections of the server at rest, ${loaded} under load`);
      }
    const ways: Way[] = [];
    for (const [name, settings] of Object.entries(settingsOf)) {
      const server = await environment.startService(name, { settings: { ...settings, SVC_DATA_DIR: folder } });
      ends.push(() => server.stop());
      ways.push({ name, server, rounds: [] });
    }
    const [first] = ways;
    if (!first) throw new Error('no process was started');
    const { customers, products } = await shopAt(first.server);
    const measured = (way: Way, seconds: number): Promise<Measured> =>
      measure(bench, [way.server], [client], { customers, products }, seconds);
    for (const way of ways) await measured(way, warmUpSeconds);
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const way of ways) {
        const result = await undisturbed(() => measured(way, options.seconds ?? 8));
        way.rounds.push(result);
        note(`round ${round}, ${way.name}: ${Math.round(result.perSecond)}/s, ${Math.round(result.postgresCpuUs)} µs`);
      }
    }
    return reportOf(ways, counted);
  } finally {
    client.stop();
    for (const end of ends.toReversed()) await end();
  }
}

/** Of PostgreSQL itself, while only these processes use it: at rest after their start, and the most during a load. */
async function countConnections(
  { environment, client }: Bench,
  shopAt: (server: ServerProcess) => Promise<Shop>,
  name: string,
  settings: Readonly<Record<string, string>>,
  processes: number,
): Promise<{ idle: number; loaded: number }> {
  const now = async (): Promise<number> => {
    const { rows } = await environment.sql.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    return rows[0]?.count ?? 0;
  };
  const servers: ServerProcess[] = [];
  try {
    for (let index = 1; index <= processes; index += 1)
      servers.push(await environment.startService(`${name}-${index}`, { settings }));
    await sleep(pauseMs);
    const idle = await now();
    let loaded = idle;
    const over = new AbortController();
    const watching = (async () => {
      for (; !over.signal.aborted; await sleep(100)) loaded = Math.max(loaded, await now());
    })();
    const load = async (): Promise<void> => {
      const [first] = servers as [ServerProcess, ...ServerProcess[]];
      const { customers, products } = await shopAt(first);
      const job = { module: orders.module, request: 'order', key: environment.key, data: { customers, products } };
      for (const { baseUrl } of servers)
        await client.run({ ...job, baseUrl, connections: clientsOfProcess, seconds: loadedSeconds });
    };
    await load().finally(() => over.abort());
    await watching;
    return { idle, loaded };
  } finally {
    for (const server of servers) await server.stop();
  }
}

const pauseMs = 6_000;

function reportOf(ways: readonly Way[], counted: readonly (readonly Cell[])[]): Report {
  const middle = ({ rounds }: Way, pick: (one: Measured) => number): number => median(rounds.map(pick));
  const [direct] = ways;
  const rows = ways.map((way) => [
    way.name,
    Math.round(middle(way, ({ perSecond }) => perSecond)),
    Math.round(middle(way, ({ nodeCpuUs }) => nodeCpuUs)),
    Math.round(middle(way, ({ postgresCpuUs }) => postgresCpuUs)),
    Number(
      (
        middle(way, ({ postgresCpuUs }) => postgresCpuUs) / middle(direct ?? way, ({ postgresCpuUs }) => postgresCpuUs)
      ).toFixed(2),
    ),
  ]);
  const columns = ['PgBouncer', 'orders/s', 'CPU µs node', 'CPU µs postgres', 'to direct'];
  return {
    tables: [
      {
        title: `Connections of the server, ${clientsOfProcess} clients of one process after the other`,
        columns: ['PgBouncer', 'processes', 'at rest', 'most under load'],
        rows: counted,
      },
      { title: 'Orders through a pooler', columns, rows },
    ],
    targets: [],
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
