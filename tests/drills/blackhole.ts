import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../server/platform/database.ts';
import { drain, freePorts } from '../chaos/chaos.ts';
import { newDiary, runClient } from '../chaos/client.ts';
import { openChaosPostgres } from '../chaos/postgres.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { openChaosProcessor } from '../chaos/processor.ts';
import { openShops, prepareCompany } from '../chaos/shops.ts';
import { supervise } from '../chaos/supervised.ts';
import { verify } from '../chaos/verify.ts';
import { startFreezingProxy } from '../support/freezing-proxy.ts';
import { atMost, type Drill, exactly, shown } from './drill.ts';
import { ordersAt, statusOf, until } from './support/probes.ts';

/**
 * Two API processes and a worker run under load, with the usual timeouts, until the network to the database stops
 * carrying packets. Connections are neither closed nor refused. After the pause the name of the database points to a
 * server that answers, as after the failover of a managed database.
 */

const clients = 20;
const loadMs = 10_000;
const pauseMs = 10_000;
const wantedBackSeconds = 30;
const drainMaxMs = 120_000;
const program = fileURLToPath(new URL('../../server/main.ts', import.meta.url));

export const drill: Drill = {
  summary: 'The network to the database drops every packet; the name moves after 10 s.',
  programs: [],
  async run({ folder, note, cleanUp }) {
    const seed = Date.now() % 1_000_000;
    const [databasePort = 0, acquirerPort = 0, ...apiPorts] = await freePorts(seededRandom(seed), 5);
    const stoppingPort = apiPorts.pop() ?? 0;
    const acquirer = openChaosProcessor('acquirer', { folder, port: acquirerPort, seed });
    cleanUp(() => acquirer.killNow());
    const postgres = await openChaosPostgres(folder, databasePort);
    cleanUp(() => postgres.killNow());
    await Promise.all([postgres.start(), acquirer.start()]);
    const proxy = await startFreezingProxy(postgres.connectionString);
    cleanUp(() => proxy.stop());
    const environment = {
      SVC_MASTER_SECRET: 'the master secret of a drill of packet loss',
      SVC_DATA_DIR: join(folder, 'data'),
      SVC_LOG_LEVEL: 'warn',
      SVC_RATE_LIMIT_GLOBAL: 'off',
      SVC_RATE_LIMIT_READ: 'off',
      SVC_RATE_LIMIT_WRITE: 'off',
      SVC_RATE_LIMIT_CAPTURE: 'off',
    };
    const direct = { ...environment, DATABASE_URL: postgres.connectionString };
    const { apiKey } = await prepareCompany(direct, acquirer);
    const frozen = { ...environment, DATABASE_URL: proxy.through(postgres.connectionString) };
    const api = (port: number): NodeJS.ProcessEnv => ({ ...frozen, SVC_ROLES: 'api,vault', PORT: String(port) });
    const services = [
      ...apiPorts.map((port, index) => supervise(`API ${index + 1}`, api(port), join(folder, `api-${index + 1}.log`))),
      supervise('worker', { ...frozen, SVC_ROLES: 'worker,vault' }, join(folder, 'worker.log')),
    ];
    for (const service of services) cleanUp(() => service.stop());
    await Promise.all(services.map((service) => service.waitUntilReady()));
    const urls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
    const shops = await openShops(urls[0] ?? '', apiKey, clients);

    const stopped = new AbortController();
    const abandoned = new AbortController();
    const diary = newDiary();
    const load = shops.customerIds.map((customerId, index) =>
      runClient({
        urls,
        apiKey,
        customerId,
        goods: shops.goods,
        random: seededRandom(seed + index),
        diary,
        thinkMs: 200,
        stopped: stopped.signal,
        abandoned: abandoned.signal,
      }),
    );
    note(`${clients} clients order`);
    await sleep(loadMs);

    note('no packet passes');
    proxy.accept(false);
    proxy.freeze();
    const frozenAtMs = performance.now();
    const unready = Promise.all(urls.map((url) => until(async () => (await statusOf(`${url}/readyz`)) === 503)));
    const readyMeanwhile = countReady(urls, frozenAtMs + 5_000, frozenAtMs + pauseMs);
    await unready;
    const unreadyMs = performance.now() - frozenAtMs;
    await sleep(frozenAtMs + pauseMs - performance.now());

    note('the name leads to a server that answers');
    proxy.accept(true);
    const movedAtMs = performance.now();
    const since = (): number => (performance.now() - movedAtMs) / 1_000;
    const writesBack = await Promise.all(
      urls.map(async (url, index) => {
        const key = randomUUID();
        await until(() => ordersAt(url, shops, shops.customerIds[index] ?? '', key, diary));
        return since();
      }),
    );
    await Promise.all(urls.map((url) => until(async () => (await statusOf(`${url}/readyz`)) === 200)));
    const readyBack = since();
    await sleep(loadMs);
    const restarts = services.flatMap(({ ownEnds }) => ownEnds).length;

    stopped.abort();
    const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
    await Promise.all(load);
    clearTimeout(giveUp);
    const db = openDatabase({
      connectionString: postgres.connectionString,
      poolSize: 2,
      applicationName: 'drill',
      onError: () => undefined,
    });
    cleanUp(() => db.close());
    await drain(db, { urls, shops: [shops] }, performance.now() + drainMaxMs);
    const { violations, totals } = await verify(db, await acquirer.journal(), diary);
    for (const violation of violations) note(violation);

    note('a process is stopped while no packet passes');
    const stop = await stopWhileFrozen(api(stoppingPort), apiKey, () => {
      proxy.accept(false);
      proxy.freeze();
    });

    return [
      shown('orders', totals.ordersInLedger),
      shown('answers that said "repeat"', [...diary.passing].map(([name, count]) => `${name} ${count}`).join(', ')),
      atMost('readiness false after', unreadyMs / 1_000, 5, ' s'),
      exactly('answers "ready" meanwhile', await readyMeanwhile, 0),
      ...writesBack.map((seconds, index) =>
        atMost(`API ${index + 1}: writes back after the name moved`, seconds, wantedBackSeconds, ' s'),
      ),
      atMost('ready again after the name moved', readyBack, wantedBackSeconds, ' s'),
      exactly('processes that ended', restarts, 0),
      exactly('promises broken in the books', violations.length, 0),
      exactly('exit code of a stop meanwhile', stop.code ?? 'killed', 0),
      atMost('that stop took', stop.seconds, 10, ' s'),
    ];
  },
};

/** Counts how often a process reports that it is ready between these times. */
async function countReady(urls: readonly string[], fromMs: number, untilMs: number): Promise<number> {
  let count = 0;
  await sleep(fromMs - performance.now());
  while (performance.now() < untilMs - 1_000) {
    const statuses = await Promise.all(urls.map((url) => statusOf(`${url}/readyz`).catch(() => 0)));
    count += statuses.filter((status) => status === 200).length;
    await sleep(250);
  }
  return count;
}

async function stopWhileFrozen(
  environment: NodeJS.ProcessEnv,
  apiKey: string,
  freeze: () => void,
): Promise<{ code: number | null; seconds: number }> {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await until(async () => output.includes('"body":"ready"'));
  freeze();
  // Some requests wait for the database when the signal arrives.
  const url = `http://127.0.0.1:${environment.PORT}/v1/customers`;
  const waiting = Array.from({ length: 5 }, () =>
    fetch(url, { headers: { authorization: `Bearer ${apiKey}` } }).catch(() => 0),
  );
  await sleep(500);
  const startedMs = performance.now();
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  await Promise.all(waiting);
  return { code, seconds: (performance.now() - startedMs) / 1_000 };
}
