import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../server/platform/database.ts';
import { drain, freePorts } from '../chaos/chaos.ts';
import { newDiary, runClient } from '../chaos/client.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { openChaosProcessor } from '../chaos/processor.ts';
import { openShops, prepareCompany } from '../chaos/shops.ts';
import { supervise } from '../chaos/supervised.ts';
import { verify } from '../chaos/verify.ts';
import { atMost, type Drill, exactly, type Figure, shown } from './drill.ts';
import { startEtcd } from './support/etcd.ts';
import { type PatroniCluster, patroniPrograms, startPatroniCluster } from './support/patroni.ts';
import { longestGap, secondsOf } from './support/gaps.ts';
import { ordersAt, statusOf, until } from './support/probes.ts';

/**
 * An API process and a worker run under load, on two PostgreSQL servers under Patroni behind HAProxy. The primary is
 * killed together with its Patroni, a switchover follows, and finally the standby is killed. The service is not
 * restarted.
 */

const clients = 4;
const thinkMs = 1_000;
const loadMs = 10_000;
const wantedBackSeconds = 30;
const wantedUnreadySeconds = 5;
const electionMaxMs = 90_000;
const standbyMaxMs = 120_000;
const drainMaxMs = 120_000;

/** Observations of the service, with their times. */
interface Sightings {
  /** The times at which an order was acknowledged. */
  readonly writes: number[];
  readonly readiness: { readonly atMs: number; readonly ready: boolean }[];
}

export const drill: Drill = {
  summary: 'The primary of a Patroni cluster is killed under load; then a switchover; then the standby is killed.',
  programs: patroniPrograms,
  async run(stage) {
    const { folder, note, cleanUp } = stage;
    const seed = Date.now() % 1_000_000;
    const ports = await freePorts(seededRandom(seed), 10);
    const [acquirerPort, apiPort, healthPort, proxy, etcdClient, etcdPeer, ...ofMembers] = ports as [
      number,
      number,
      number,
      number,
      number,
      number,
      ...number[],
    ];
    const [one = 0, other = 0, oneRest = 0, otherRest = 0] = ofMembers;
    note('a cluster of two servers starts');
    const address = '127.0.0.1';
    const etcd = await startEtcd({ ...stage, address, ports: [[etcdClient, etcdPeer]] });
    const cluster = await startPatroniCluster(stage, {
      name: 'svc',
      place: { address },
      proxy: { address, port: proxy },
      etcd,
      members: [
        { postgres: one, rest: oneRest },
        { postgres: other, rest: otherRest },
      ],
    });
    const acquirer = openChaosProcessor('acquirer', { folder, port: acquirerPort, seed });
    cleanUp(() => acquirer.killNow());
    await acquirer.start();
    const environment = {
      DATABASE_URL: cluster.connectionString,
      SVC_MASTER_SECRET: 'the master secret of a drill of failover',
      SVC_DATA_DIR: join(folder, 'data'),
      SVC_LOG_LEVEL: 'warn',
      SVC_RATE_LIMIT_GLOBAL: 'off',
      SVC_RATE_LIMIT_READ: 'off',
      SVC_RATE_LIMIT_WRITE: 'off',
      SVC_RATE_LIMIT_CAPTURE: 'off',
    };
    const { apiKey } = await prepareCompany(environment, acquirer);
    const roles = {
      API: { SVC_ROLES: 'api,vault', PORT: String(apiPort) },
      worker: { SVC_ROLES: 'worker,vault', SVC_HEALTH_PORT: String(healthPort) },
    };
    const services = Object.entries(roles).map(([name, role]) =>
      supervise(name, { ...environment, ...role }, join(folder, `${name}.log`)),
    );
    for (const service of services) cleanUp(() => service.stop());
    await Promise.all(services.map((service) => service.waitUntilReady()));
    const url = `http://127.0.0.1:${apiPort}`;
    const shops = await openShops(url, apiKey, clients + 1);
    const [probing = '', ...ordering] = shops.customerIds;

    const stopped = new AbortController();
    const abandoned = new AbortController();
    const diary = newDiary();
    const sightings: Sightings = { writes: [], readiness: [] };
    const load = [
      ...ordering.map((customerId, index) =>
        runClient({
          urls: [url],
          apiKey,
          customerId,
          goods: shops.goods,
          random: seededRandom(seed + index),
          diary,
          thinkMs,
          stopped: stopped.signal,
          abandoned: abandoned.signal,
        }),
      ),
      repeatedly(stopped.signal, async () => {
        const key = randomUUID();
        await until(async () => abandoned.signal.aborted || (await ordersAt(url, shops, probing, key, diary)));
        sightings.writes.push(performance.now());
      }),
      repeatedly(stopped.signal, async () => {
        const urls = [`${url}/readyz`, `http://127.0.0.1:${healthPort}/readyz`];
        const statuses = await Promise.all(urls.map((each) => statusOf(each).catch(() => 0)));
        sightings.readiness.push({ atMs: performance.now(), ready: statuses.every((status) => status === 200) });
      }),
    ];
    note(`${clients} clients order`);
    await sleep(loadMs);

    const first = await cluster.primary();
    note(`${first}, the primary, is killed`);
    const killed = await outage(cluster, first, sightings, () => cluster.kill(first));
    await sleep(loadMs);
    note(`${first} starts again`);
    cluster.start(first);
    await cluster.waitForStandby(standbyMaxMs);
    note(`it is the synchronous standby; switchover to it`);
    const second = await cluster.primary();
    const switched = await outage(cluster, second, sightings, () => cluster.switchover(second, first));
    await cluster.waitForStandby(standbyMaxMs);
    note(`${second}, the standby, is killed`);
    const aloneMs = performance.now();
    await cluster.kill(second);
    await sleep(2 * loadMs);
    const alone = longestGap(sightings.writes, aloneMs, performance.now());

    stopped.abort();
    const giveUp = setTimeout(() => abandoned.abort(), drainMaxMs);
    await Promise.all(load);
    clearTimeout(giveUp);
    const db = openDatabase({
      connectionString: cluster.connectionString,
      poolSize: 2,
      applicationName: 'drill',
      onError: () => undefined,
    });
    cleanUp(() => db.close());
    await drain(db, { urls: [url], shops: [shops] }, performance.now() + drainMaxMs);
    const { violations, totals } = await verify(db, await acquirer.journal(), diary);
    for (const violation of violations) note(violation);
    const restarts = services.flatMap(({ ownEnds }) => ownEnds);

    return [
      shown('orders', totals.ordersInLedger),
      shown('answers that said "repeat"', [...diary.passing].map(([name, count]) => `${name} ${count}`).join(', ')),
      ...figuresOf('killed', killed),
      ...figuresOf('switchover', switched),
      atMost('standby killed: no order acknowledged for', secondsOf(alone), wantedBackSeconds, ' s'),
      exactly('processes that ended', restarts.length, 0),
      exactly('promises broken in the books', violations.length, 0),
    ];
  },
};

async function repeatedly(stopped: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!stopped.aborted) {
    await work();
    await sleep(250);
  }
}

interface Outage {
  readonly withoutPrimary: number;
  readonly withoutWrites: number;
  readonly writesBack: number;
  readonly unreadyAfter: number;
  readonly readyMeanwhile: number;
  readonly readyBack: number;
}

/** All results are in seconds, except the count. */
async function outage(
  cluster: PatroniCluster,
  primary: string,
  { writes, readiness }: Sightings,
  strike: () => Promise<void>,
): Promise<Outage> {
  const startedMs = performance.now();
  const striking = strike();
  const deadline = AbortSignal.timeout(electionMaxMs);
  const reached = new AbortController();
  while (!reached.signal.aborted && !deadline.aborted) {
    // A slow check must not delay the next one.
    void cluster.reachablePrimary().then(
      (name) => name !== primary && reached.abort(),
      () => undefined,
    );
    await sleep(200);
  }
  const reachableMs = performance.now();
  deadline.throwIfAborted();
  await striking;
  const isBack = (): boolean => writes.some((atMs) => atMs > reachableMs);
  const isReady = (): boolean => readiness.some(({ atMs, ready }) => ready && atMs > reachableMs);
  const patience = AbortSignal.timeout(electionMaxMs);
  await until(async () => patience.aborted || (isBack() && isReady()));

  const firstAfter = (times: readonly number[], ms: number): number => times.find((atMs) => atMs > ms) ?? Infinity;
  const backMs = firstAfter(writes, reachableMs);
  const longest = longestGap(writes, startedMs, backMs);
  // The service may reach the new primary a moment before this drill does.
  const seenMs = Math.min(longest.endMs, reachableMs) - 1_000;
  const meanwhile = readiness.filter(({ atMs }) => atMs > longest.startMs && atMs < seenMs);
  // A process that never reported it was wrong all the time.
  const unreadyMs = meanwhile.find(({ ready }) => !ready)?.atMs ?? longest.endMs;
  const readyTimes = readiness.filter(({ ready }) => ready).map(({ atMs }) => atMs);
  return {
    withoutPrimary: (reachableMs - startedMs) / 1_000,
    withoutWrites: secondsOf(longest),
    writesBack: (backMs - reachableMs) / 1_000,
    unreadyAfter: (unreadyMs - longest.startMs) / 1_000,
    readyMeanwhile: meanwhile.filter(({ atMs, ready }) => ready && atMs > unreadyMs).length,
    readyBack: (firstAfter(readyTimes, reachableMs) - reachableMs) / 1_000,
  };
}

function figuresOf(round: string, seen: Outage): Figure[] {
  return [
    shown(`${round}: new primary reachable after`, `${seen.withoutPrimary.toFixed(1)} s`),
    shown(`${round}: no order acknowledged for`, `${seen.withoutWrites.toFixed(1)} s`),
    atMost(`${round}: readiness false after`, seen.unreadyAfter, wantedUnreadySeconds, ' s'),
    exactly(`${round}: answers "ready" until the new primary is reachable`, seen.readyMeanwhile, 0),
    atMost(`${round}: writes back after the new primary is reachable`, seen.writesBack, wantedBackSeconds, ' s'),
    atMost(`${round}: ready again after the new primary is reachable`, seen.readyBack, wantedBackSeconds, ' s'),
  ];
}
