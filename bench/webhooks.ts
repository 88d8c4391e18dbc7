import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sealSecret } from '../server/features/webhooks/secrets.ts';
import { newSigningSecret } from '../server/features/webhooks/signing.ts';
import { eventIdOf, newId } from '../server/platform/ids.ts';
import { originalKeys } from '../server/platform/service-keys.ts';
import { compareCpu } from './against.ts';
import { post } from './orders.ts';
import { median } from './compare.ts';
import type { ServerProcess } from './environment.ts';
import { cpuSeconds, familyCpuSeconds, watchOthers } from './processes.ts';
import { undisturbed } from './undisturbed.ts';
import type { ClientJob } from './webhook-client.ts';
import type { ReceiverAnswer, ReceiverQuestion } from './webhook-receiver.ts';
import type { Bench, Cell, OtherTree, Report, Workload } from './workload.ts';

/** `npm run bench webhooks`: from commit to 2xx, compared with a bare client that posts the same signed bodies. */

export const start = (file: string): ChildProcess => fork(fileURLToPath(new URL(file, import.meta.url)));

export async function ask<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  const answered = once(child, 'message');
  child.send(question);
  return (await answered)[0] as Answer;
}

const sampleObject = {
  id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c',
  status: 'succeeded',
  filler: 'x'.repeat(1_100),
};

/** Events like those of a charge, each in its own transaction or many in one. */
async function insertEvents({ environment }: Pick<Bench, 'environment'>, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId(Date.now()));
  await environment.sql.query(
    `INSERT INTO events (company_id, id, type, object_id, sequence, object)
     SELECT $1, id, 'order.succeeded', id, 1, $3 FROM unnest($2::uuid[]) AS id`,
    [environment.companyId, ids, JSON.stringify(sampleObject)],
  );
  return ids;
}

/** Inserted directly, because the API allows only 50 per company. */
async function makeEndpoints({ environment }: Bench, receiver: string, count: number): Promise<void> {
  const { sql, companyId, masterSecret } = environment;
  await sql.query('DELETE FROM webhook_endpoints');
  await sql.query('DELETE FROM webhook_deliveries');
  const key = originalKeys(masterSecret)['webhook-secrets'];
  for (let made = 0; made < count; made += 1) {
    const id = newId(Date.now());
    const secret = sealSecret(key, companyId, id, newSigningSecret(randomBytes(32)));
    await sql.query(
      `INSERT INTO webhook_endpoints (company_id, id, url, enabled_events, status, api_version, secret, updated_at)
       VALUES ($1, $2, $3, '{order.*}', 'enabled', '2026-02-11', $4, now())`,
      [companyId, id, `${receiver}/${made}`, secret],
    );
  }
}

/** Node compiles code for the first 30,000 deliveries, on both sides. */
const warmUpRounds = 8;

interface Rate {
  readonly endpoints: number;
  readonly deliveries: number;
  readonly ours: number;
  readonly bare: number;
  /** The median of the ratios within a round. */
  readonly ratio: number;
  /** CPU time of the service and of PostgreSQL for a delivery, including the insert. */
  readonly nodeUs: number;
  readonly postgresUs: number;
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

interface Round {
  readonly ours: number;
  readonly bare: number;
  readonly nodeSeconds: number;
  readonly postgresSeconds: number;
  readonly othersShare: number;
}

interface Load {
  readonly endpoints: number;
  readonly events: number;
  readonly url: string;
}

/** Measures the service, then the bare client with as many requests. */
async function deliver(
  bench: Bench,
  { service, receiver, bareClient }: { service: ServerProcess; receiver: ChildProcess; bareClient: ChildProcess },
  { endpoints, events, url }: Load,
): Promise<Round> {
  const { postgresPid } = bench.environment;
  const deliveries = events * endpoints;
  const cpu = (): [number, number] => [
    cpuSeconds(service.pid) ?? Number.NaN,
    familyCpuSeconds(postgresPid) ?? Number.NaN,
  ];
  await ask<ReceiverAnswer>(receiver, { reset: true } satisfies ReceiverQuestion);
  const others = watchOthers(postgresPid);
  const [nodeBefore, postgresBefore] = cpu();
  await insertEvents(bench, events);
  const committedAtMs = Date.now();
  const { lastAtMs } = await ask<{ lastAtMs: number }>(receiver, { waitFor: deliveries });
  const body = JSON.stringify({ id: 'evt', type: 'order.succeeded', data: { object: sampleObject } });
  const urls = Array.from({ length: endpoints }, (_, index) => `${url}/${index}`);
  const job: ClientJob = { urls, body, count: deliveries, concurrency: 20 };
  const { perSecond } = await ask<{ perSecond: number }>(bareClient, job);
  const [nodeAfter, postgresAfter] = cpu();
  return {
    ours: deliveries / ((lastAtMs - committedAtMs) / 1_000),
    bare: perSecond,
    nodeSeconds: nodeAfter - nodeBefore,
    postgresSeconds: postgresAfter - postgresBefore,
    othersShare: others() ?? 0,
  };
}

function rateOf({ endpoints, events }: Load, rounds: readonly Round[]): Rate {
  const deliveries = events * endpoints;
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  return {
    endpoints,
    deliveries,
    ours: of(({ ours }) => ours),
    bare: of(({ bare }) => bare),
    ratio: of(({ ours, bare }) => ours / bare),
    nodeUs: Math.round((of(({ nodeSeconds }) => nodeSeconds) / deliveries) * 1e6),
    postgresUs: Math.round((of(({ postgresSeconds }) => postgresSeconds) / deliveries) * 1e6),
  };
}

/** They let it deliver to the receiver of the benchmark. */
export const serviceSettings = {
  SVC_WEBHOOK_ALLOW: '127.0.0.0/8,::1',
  SVC_WEBHOOK_CA: fileURLToPath(new URL('../tests/support/certificates/ca.pem', import.meta.url)),
  SVC_LOG_LEVEL: 'warn',
};

const againstEndpoints = 10;
const againstPerSecond = 3_000;
/** Waits until the service has recorded the last delivery. */
const recordingMs = 500;

async function runAgainst(bench: Bench, against: OtherTree): Promise<Report> {
  const receiver = start('webhook-receiver.ts');
  try {
    const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
    return await compareCpu(bench, against, {
      unit: 'webhook delivery',
      seconds: bench.options.seconds ?? 4,
      service: { settings: serviceSettings },
      async prepare({ environment, service }) {
        for (let made = 0; made < againstEndpoints; made += 1) {
          const url = `https://localhost:${port}/hook/${made}`;
          await post(service, environment.key, '/v1/webhook_endpoints', { url, enabled_events: ['order.*'] });
        }
        return async (seconds) => {
          const events = Math.round((seconds * againstPerSecond) / againstEndpoints);
          await ask<ReceiverAnswer>(receiver, { reset: true } satisfies ReceiverQuestion);
          await insertEvents({ environment }, events);
          await ask(receiver, { waitFor: events * againstEndpoints });
          await sleep(recordingMs);
          return events * againstEndpoints;
        };
      },
    });
  } finally {
    receiver.kill();
  }
}

function reportOf(rates: readonly Rate[], latencies: readonly number[]): Report {
  const p50Ms = percentile(latencies, 0.5);
  const p99Ms = percentile(latencies, 0.99);
  const rows = rates.map(({ endpoints, deliveries, ours, bare, ratio, nodeUs, postgresUs }): Cell[] => [
    endpoints,
    deliveries,
    Math.round(ours),
    Math.round(bare),
    Number(ratio.toFixed(2)),
    `${nodeUs} / ${postgresUs}`,
  ]);
  return {
    tables: [
      {
        title: 'Deliveries, from commit to 2xx',
        columns: ['endpoints', 'deliveries', 'ours/s', 'bare undici/s', 'ratio', 'CPU µs node / PostgreSQL'],
        rows,
      },
      {
        title: 'From commit to arrival at 200 events/s',
        columns: ['events', 'p50 ms', 'p99 ms', 'max ms'],
        rows: [[latencies.length, p50Ms, p99Ms, Math.max(...latencies)]],
      },
    ],
    targets: [
      ...rates.map(({ endpoints, ratio }) => ({
        name: `${endpoints} endpoints, ratio to the bare client`,
        wanted: '≥ 0.6',
        measured: ratio.toFixed(2),
        met: ratio >= 0.6,
      })),
      { name: 'commit to arrival, p50', wanted: '< 20 ms', measured: `${p50Ms} ms`, met: p50Ms < 20 },
      { name: 'commit to arrival, p99', wanted: '< 150 ms', measured: `${p99Ms} ms`, met: p99Ms < 150 },
    ],
  };
}

async function run(bench: Bench): Promise<Report> {
  if (bench.against) return runAgainst(bench, bench.against);
  const { environment, options, note } = bench;
  const service = await environment.startService('ours', {
    settings: serviceSettings,
    ...(options.profile && { profileInto: 'bench/results/profiles' }),
  });
  const receiver = start('webhook-receiver.ts');
  const bareClient = start('webhook-client.ts');
  try {
    const [{ port }] = (await once(receiver, 'message')) as [{ port: number }];
    const url = `https://localhost:${port}/hook`;
    const rates: Rate[] = [];
    for (const endpoints of [1, 10, 100]) {
      await makeEndpoints(bench, url, endpoints);
      const load = { endpoints, events: Math.max(40, Math.round((options.seconds ?? 4) * (1_000 / endpoints))), url };
      const rounds: Round[] = [];
      for (let round = 1 - warmUpRounds; round <= options.rounds; round += 1) {
        const measure = (): Promise<Round> => deliver(bench, { service, receiver, bareClient }, load);
        const measured = await (round < 1 ? measure() : undisturbed(measure));
        if (round < 1) continue;
        rounds.push(measured);
        note(`${endpoints} endpoints: ours ${Math.round(measured.ours)}/s, bare ${Math.round(measured.bare)}/s`);
      }
      rates.push(rateOf(load, rounds));
    }
    await makeEndpoints(bench, url, 1);
    const latencies = await measureLatency(bench, receiver, 200, options.seconds ?? 10);
    return reportOf(rates, latencies);
  } finally {
    receiver.kill();
    bareClient.kill();
  }
}

async function measureLatency(bench: Bench, receiver: ChildProcess, perSecond: number, seconds: number) {
  await ask<ReceiverAnswer>(receiver, { reset: true } satisfies ReceiverQuestion);
  const committed = new Map<string, number>();
  const total = perSecond * seconds;
  const startedAtMs = Date.now();
  for (let sent = 0; sent < total; sent += 1) {
    const dueMs = startedAtMs + (sent * 1_000) / perSecond;
    if (dueMs > Date.now()) await sleep(dueMs - Date.now());
    const [id = ''] = await insertEvents(bench, 1);
    committed.set(eventIdOf(id), Date.now());
  }
  const { arrived } = await ask<{ arrived: Record<string, number> }>(receiver, { waitFor: total });
  return [...committed].map(([id, atMs]) => Math.max(0, (arrived[id] ?? Number.NaN) - atMs));
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
