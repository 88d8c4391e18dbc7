import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPooler, throughPooler } from '../tests/support/pooler.ts';
import { type Measured, measure } from './api-processes.ts';
import { startClient } from './client.ts';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { openShop } from './orders.ts';
import { undisturbed } from './undisturbed.ts';
import type { Bench, Report, Workload } from './workload.ts';

/** `npm run bench poolers`: orders with and without PgBouncer, and how many connections PostgreSQL has for them. */

const warmUpSeconds = 30;

interface Way {
  readonly name: string;
  readonly server: ServerProcess;
  readonly rounds: Measured[];
  connections: number;
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const { connectionString: direct, sql } = environment;
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
    const connectionsNow = async (): Promise<number> => {
      const { rows } = await sql.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      );
      return rows[0]?.count ?? 0;
    };
    const ways: Way[] = [];
    for (const [name, settings] of Object.entries(settingsOf)) {
      const server = await environment.startService(name, { settings: { ...settings, SVC_DATA_DIR: folder } });
      ends.push(() => server.stop());
      ways.push({ name, server, rounds: [], connections: 0 });
    }
    const [first] = ways;
    if (!first) throw new Error('no process was started');
    const { customers, products } = await openShop(first.server, environment.key);
    const measured = (way: Way, seconds: number): Promise<Measured> =>
      measure(bench, [way.server], [client], { customers, products }, seconds);
    for (const way of ways) {
      const before = await connectionsNow();
      await measured(way, warmUpSeconds);
      way.connections = (await connectionsNow()) - before;
    }
    for (let round = 1; round <= options.rounds; round += 1) {
      for (const way of ways) {
        const result = await undisturbed(() => measured(way, options.seconds ?? 8));
        way.rounds.push(result);
        note(`round ${round}, ${way.name}: ${Math.round(result.perSecond)}/s, ${Math.round(result.postgresCpuUs)} µs`);
      }
    }
    return reportOf(ways);
  } finally {
    client.stop();
    for (const end of ends.toReversed()) await end();
  }
}

function reportOf(ways: readonly Way[]): Report {
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
    way.connections,
  ]);
  const columns = [
    'PgBouncer',
    'orders/s',
    'CPU µs node',
    'CPU µs postgres',
    'to direct',
    'more connections under load',
  ];
  return { tables: [{ title: 'Orders through a pooler', columns, rows }], targets: [] };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
