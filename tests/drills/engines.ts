import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../chaos/chaos.ts';
import { type ChaosProcessor, openChaosProcessor } from '../chaos/processor.ts';
import { bundlePrograms } from '../support/bundled-programs.ts';
import { svc } from '../support/command.ts';
import { startReceiver } from '../support/receiver.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { atMost, type Drill, type DrillStage, exactly, type Figure, shown } from './drill.ts';
import { balance, compareEngines, secondsInDoubt } from './support/engine-books.ts';
import { type EngineLoad, type Loads, openLoads, type TimedReply } from './support/engine-load.ts';
import { keepMoving } from './support/engine-moves.ts';
import { enginePrograms, type Engines, startEngines } from './support/engines.ts';
import { type Fault, type PlannedFault, planFaults } from './support/faults.ts';
import { longestGap, secondsOf } from './support/gaps.ts';
import { isOfShard, isSaidRightly, type Sightings, watchEngines } from './support/sightings.ts';

/**
 * Two shards on Patroni, etcd, HAProxy and PgBouncer, with Redis and Sentinels, while companies order, renew, sell on
 * checkout pages and move. Each fault of a random order is repaired, and the books are compared, before the next one.
 */

const calmMs = 5_000;
const wantedBackSeconds = 30;
const wantedDoubtSeconds = 60;
const backMaxMs = 120_000;
const standbyMaxMs = 120_000;

export const drill: Drill = {
  summary:
    'Two shards on Patroni, etcd, HAProxy, PgBouncer and Redis Sentinel, while each of them fails in turn. `--seed N` repeats the order, `--faults kill,cut` plays some.',
  programs: enginePrograms,
  async run(stage) {
    const { note, cleanUp, seed = Date.now() % 1_000_000 } = stage;
    const random = seededRandom(seed);
    const plan = planFaults(random, stage.faults);
    note(`seed ${seed}: ${plan.map(({ fault, shard }) => `${fault.name} ${'ab'[shard]}`).join(', ')}`);
    const startedMs = performance.now();
    // They start in a third of the processor time.
    await bundlePrograms();
    const processors = await startProcessors(stage, seed);
    const receiver = await startReceiver();
    cleanUp(() => receiver.stop());
    const origins = [...processors.values()].flat().map(({ url }) => url);
    const engines = await startEngines(stage, random, { SVC_PROCESSOR_ORIGINS: origins.join() });
    const loads = await openLoads(stage, engines, processors, receiver);
    const sightings = watchEngines(engines.healthUrls, engines.metricsUrls);
    cleanUp(() => sightings.stop());
    const load = loads.start(seed);
    const moving = keepMoving(engines, loads.moving.companyId, note);
    note(`clients order after ${seconds(startedMs)} s`);
    await sleep(calmMs);

    const figures: Figure[] = [];
    for (const planned of plan) {
      figures.push(...(await play(stage, engines, loads, sightings, planned)));
      await sleep(calmMs);
    }
    const moves = await moving.stop();
    await load.stop();
    await sightings.stop();
    const books = await compareEngines(stage, loads, engines.apiUrls, receiver);
    const ended = engines.processes.flatMap(({ ownEnds }) => ownEnds);
    return [
      shown('seed', seed),
      ...figures,
      ...moves,
      exactly('processes that ended', ended.length, 0),
      ...books,
      shown('seconds in all', seconds(startedMs)),
    ];
  },
};

const seconds = (fromMs: number): number => Math.round((performance.now() - fromMs) / 1_000);

async function startProcessors({ folder, cleanUp }: DrillStage, seed: number): Promise<Map<string, ChaosProcessor[]>> {
  const ports = await freePorts(seededRandom(seed + 1), 4);
  const started = new Map<string, ChaosProcessor[]>();
  for (const shard of ['a', 'b']) {
    const own = (['acquirer', 'stripe'] as const).map((kind) =>
      openChaosProcessor(kind, { folder, name: `${kind}-${shard}`, port: ports.shift() ?? 0, seed }),
    );
    for (const processor of own) cleanUp(() => processor.killNow());
    await Promise.all(own.map((processor) => processor.start()));
    started.set(shard, own);
  }
  return started;
}

/** Causes a fault, waits until its shard works again, and repairs what is left. */
async function play(
  { note }: DrillStage,
  engines: Engines,
  loads: Loads,
  sightings: Sightings,
  { fault, shard: place }: PlannedFault,
): Promise<Figure[]> {
  const missing = fault.missing?.(engines);
  if (missing !== undefined) return [shown(fault.title, `not played: ${missing}`)];
  const concerned = loads.all[place] as EngineLoad;
  const { shard } = concerned;
  const title = fault.concerns === 'shard' ? `${fault.name} (${shard.name})` : fault.name;
  note(`${fault.title}${fault.concerns === 'shard' ? `, shard ${shard.name}` : ''}`);
  const startedMs = performance.now();
  const { endedMs, repair } = await fault.strike(engines, shard);
  const backMs = await firstOrder(concerned, endedMs);
  await repair?.();
  const repairedMs = performance.now();
  const [doubtSeconds, readySeconds, ...areWhole] = await Promise.all([
    secondsInDoubt(concerned.db, 2 * wantedDoubtSeconds * 1_000),
    readyAgain(sightings, fault, fault.maySay ? repairedMs : endedMs),
    ...engines.shards.map(({ cluster }) =>
      cluster.waitForStandby(standbyMaxMs).then(
        () => true,
        () => false,
      ),
    ),
  ]);
  const doctor = await svc({ ...engines.environment }, 'doctor', '--all-shards');
  if (doctor.code !== 0) note(`svc doctor: ${doctor.stdout}${doctor.stderr}`);
  const { lost, doubled } = await balance(loads.all);
  const untilMs = performance.now();
  const writes = concerned.replies.filter(({ isOrder }) => isOrder).map(({ atMs }) => atMs);
  const gap = secondsOf(longestGap(writes, startedMs, untilMs));
  note(`${title}: lost ${lost}, doubled ${doubled}, longest gap ${gap.toFixed(1)} s, ${seconds(startedMs)} s in all`);
  const spared = loads.all.filter((load) => fault.concerns === 'shared' || load !== concerned);
  return [
    exactly(`${title}: lost`, lost, 0),
    exactly(`${title}: doubled`, doubled, 0),
    shown(`${title}: longest gap`, `${gap.toFixed(1)} s`),
    atMost(`${title}: orders back after`, (backMs - endedMs) / 1_000, wantedBackSeconds, ' s'),
    atMost(`${title}: all processes ready after`, readySeconds, wantedBackSeconds, ' s'),
    atMost(`${title}: in doubt afterwards for`, doubtSeconds, wantedDoubtSeconds, ' s'),
    ...failed(
      `${title}: failed requests of ${fault.concerns === 'shared' ? 'both shards' : 'the other shard'}`,
      spared,
      [startedMs, untilMs],
    ),
    ...said(title, fault, shard.name, sightings, [startedMs, untilMs]),
    exactly(`${title}: all members run again`, areWhole.every(Boolean), true),
    exactly(`${title}: svc doctor --all-shards`, doctor.code, 0),
  ];
}

/** When an order is acknowledged that began after a time. */
async function firstOrder({ replies }: EngineLoad, afterMs: number): Promise<number> {
  const deadlineMs = performance.now() + backMaxMs;
  for (;;) {
    const found = replies.find(({ isOrder, fromMs }) => isOrder && fromMs > afterMs);
    if (found) return found.atMs;
    if (performance.now() > deadlineMs) return Infinity;
    await sleep(50);
  }
}

/** The seconds from a time until no process misses a part, neither at `/readyz` nor in its metrics. */
async function readyAgain(
  { readiness, alerts }: Sightings,
  { concerns, says }: Fault,
  afterMs: number,
): Promise<number> {
  // On a busy machine, Redis and the vault take longer than the service waits for them.
  const isMeant = (one: string): boolean =>
    isOfShard(one) || (concerns === 'shared' && [says?.readyz, says?.alert].includes(one));
  const deadlineMs = performance.now() + backMaxMs;
  // Asked after this moment, so that the answer is not from before the outage was noticed.
  const askedMs = performance.now();
  const clearedMs = (seen: typeof readiness): number | undefined => {
    const last = seen.findLast(({ away }) => away.some(isMeant));
    const next = seen.find(({ atMs }) => atMs > Math.max(last?.atMs ?? 0, afterMs));
    return next && (seen.at(-1)?.atMs ?? 0) > askedMs + calmMs ? next.atMs : undefined;
  };
  for (;;) {
    const [ready, calm] = [clearedMs(readiness), clearedMs(alerts)];
    if (ready !== undefined && calm !== undefined) return (Math.max(ready, calm) - afterMs) / 1_000;
    if (performance.now() > deadlineMs) return Infinity;
    await sleep(100);
  }
}

type Window = readonly [fromMs: number, toMs: number];

function failed(name: string, loads: readonly EngineLoad[], [fromMs, toMs]: Window): Figure[] {
  const during: TimedReply[] = loads.flatMap(({ replies }) =>
    replies.filter((reply) => reply.atMs > fromMs && reply.atMs < toMs),
  );
  const problems = Map.groupBy(
    during.flatMap(({ problem }) => problem ?? []),
    (problem) => problem,
  );
  const count = [...problems.values()].reduce((sum, { length }) => sum + length, 0);
  const answers = [...problems].map(([problem, { length }]) => `${length} × ${problem}`).join('; ');
  return [
    { ...exactly(name, count, 0), value: `${count} of ${during.length}` },
    ...(count > 0 ? [shown('their answers', answers)] : []),
  ];
}

/** The processes name what is away, and no shard that is there. */
function said(
  title: string,
  fault: Fault,
  shard: string,
  { readiness, alerts }: Sightings,
  [fromMs, toMs]: Window,
): Figure[] {
  const seen = (all: typeof readiness): string[] => {
    const during = all.filter(({ atMs }) => atMs > fromMs && atMs < toMs).flatMap(({ away }) => away);
    return [...new Set(during)].toSorted();
  };
  const concerned = fault.concerns === 'shard' ? shard : undefined;
  const expected = (what: string | undefined): string | undefined =>
    what === undefined || concerned === undefined ? what : `${what} ${concerned}`;
  return [
    [`${title}: /readyz names`, seen(readiness), expected(fault.says?.readyz)] as const,
    [`${title}: alerts`, seen(alerts), expected(fault.says?.alert)] as const,
  ].map(([name, found, wanted]) => ({
    name,
    value: found.join(', ') || 'nothing',
    wanted: [wanted, 'no other shard'].filter(Boolean).join(', '),
    met: isSaidRightly(
      found.filter((one) => !fault.maySay?.includes(one.split(' ')[0] ?? '')),
      wanted,
      concerned,
    ),
  }));
}
