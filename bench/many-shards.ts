import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { familyCpuSeconds, watchOthers } from './processes.ts';
import { fullBed, type ShardBed, startShardBed } from './shard-bed.ts';
import { watchConnections } from './shard-connections.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/** `npm run bench many-shards`: how long `svc` commands take with 200 shards, and how many connections they open. */

const root = fileURLToPath(new URL('..', import.meta.url));

const commands: readonly string[] = [
  'migrate',
  'status',
  'shards list',
  'companies list',
  'doctor --all-shards',
  'companies rebalance --dry-run',
];

interface Ran {
  readonly seconds: number;
  readonly code: number;
  readonly output: string;
  readonly mostConnections: number;
  readonly postgresSeconds: number;
}

async function svc(bed: ShardBed, words: readonly string[]): Promise<Ran> {
  const connections = await watchConnections(bed);
  const cpu = (): number => bed.postgresPids.reduce((sum, pid) => sum + (familyCpuSeconds(pid) ?? 0), 0);
  const cpuBefore = cpu();
  const startedMs = performance.now();
  const child = spawn(process.execPath, ['cli/svc.ts', ...words], {
    cwd: root,
    env: { ...process.env, ...bed.settings },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number];
  const seconds = (performance.now() - startedMs) / 1000;
  const postgresSeconds = cpu() - cpuBefore;
  await connections.stop();
  return { seconds, code, output, mostConnections: connections.most(), postgresSeconds };
}

const rounded = (value: number): number => Number(value.toFixed(1));

async function run({ note }: Bench): Promise<Report> {
  const bed = await startShardBed({ ...fullBed, note });
  try {
    const rows: Cell[][] = [];
    const measure = async (name: string): Promise<Ran> => {
      const others = watchOthers(bed.postgresPids[0] ?? 0);
      const ran = await svc(bed, name.split(' '));
      if (ran.code !== 0) throw new Error(`svc ${name} ended with ${ran.code}: ${ran.output.slice(0, 2_000)}`);
      const lines = ran.output.trim().split('\n').length;
      rows.push([
        `svc ${name}`,
        rounded(ran.seconds),
        rounded(ran.postgresSeconds),
        ran.mostConnections,
        lines,
        Math.round((others() ?? 0) * 100),
      ]);
      note(`svc ${name}: ${ran.seconds.toFixed(1)} s, ${ran.mostConnections} connections`);
      return ran;
    };
    for (const command of commands) await measure(command);
    const shard = [...bed.shards.keys()].at(-1) ?? '';
    await svc(bed, ['shards', 'drain', shard]);
    const moved = await measure('companies rebalance --apply');
    await svc(bed, ['shards', 'undrain', shard]);
    const moves = moved.output.match(/ -> /g)?.length ?? 0;
    const columns = ['', 'seconds', 'CPU s postgres', 'most connections', 'lines', 'CPU % others'];
    const title = `Commands with ${bed.shards.size} shards on ${bed.postgresPids.length} servers; ${moves} accounts moved, ${Math.round((moves * 60) / moved.seconds)} a minute`;
    return { tables: [{ title, columns, rows }], targets: [] };
  } finally {
    await bed.stop();
  }
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
