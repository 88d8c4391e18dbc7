import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { median } from './compare.ts';
import type { Bench, Report, Workload } from './workload.ts';

/** `npm run bench start`: from the command to `/readyz`, of the sources and of the release, on a PostgreSQL that is migrated. */

const root = fileURLToPath(new URL('..', import.meta.url));
const startsOfEach = 10;
const targetMs = 400;

async function unpackRelease(folder: string): Promise<string> {
  execFileSync(process.execPath, ['scripts/release.ts', '--preview', '--without-extras', '--out', folder], {
    cwd: root,
  });
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked);
  const [archive = ''] = globSync('svc-*.tar.gz', { cwd: folder });
  execFileSync('tar', ['xzf', archive, '--strip-components=1', '-C', unpacked], { cwd: folder });
  return join(unpacked, 'bin', 'svc');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

async function startMs({ environment }: Bench, command: readonly string[], folder: string): Promise<number> {
  const port = await freePort();
  const [program = '', ...args] = command;
  const startedAtMs = performance.now();
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      ...process.env,
      SVC_NODE: process.execPath,
      DATABASE_URL: environment.connectionString,
      SVC_MASTER_SECRET: environment.masterSecret.reveal().toString(),
      SVC_DATA_DIR: join(folder, 'data'),
      HOST: '127.0.0.1',
      PORT: String(port),
    },
    stdio: 'ignore',
  });
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${child.exitCode}`);
    await sleep(5);
  }
  const tookMs = performance.now() - startedAtMs;
  child.kill();
  await once(child, 'exit');
  return tookMs;
}

async function run(bench: Bench): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-start-'));
  try {
    const release = [await unpackRelease(folder), 'start'];
    const sources = [process.execPath, join(root, 'server', 'main.ts')];
    await startMs(bench, sources, folder);
    const times: Record<'sources' | 'release', number[]> = { sources: [], release: [] };
    for (let round = 0; round < startsOfEach; round += 1) {
      times.sources.push(await startMs(bench, sources, folder));
      times.release.push(await startMs(bench, release, folder));
    }
    const releaseMs = median(times.release);
    return {
      tables: [
        {
          title: `Start, ${startsOfEach} of each in turn`,
          columns: ['', 'median ms', 'least ms', 'most ms'],
          rows: Object.entries(times).map(([name, all]) => [
            name,
            ...[median(all), Math.min(...all), Math.max(...all)].map(Math.round),
          ]),
        },
      ],
      targets: [
        {
          name: 'start of the release',
          wanted: `< ${targetMs} ms`,
          measured: `${Math.round(releaseMs)} ms`,
          met: releaseMs < targetMs,
        },
      ],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
