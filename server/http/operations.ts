import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { ClockWatch } from '../platform/clock-watch.ts';
import { type Components, PlainProblem } from '../platform/components.ts';
import { type DatabasePool, isUnwritable } from '../platform/database.ts';
import { isDiskFull } from '../platform/disk-full.ts';
import { withinTime } from '../platform/in-time.ts';
import type { Metrics } from '../platform/metrics.ts';
import { isMigrated } from '../platform/migrations.ts';
import { boundStrangers, strangerTimeouts } from '../platform/stranger-connections.ts';
import { withoutSchemas } from '../platform/without-schemas.ts';

/** A part of readiness: throws with the problem if requests would fail. */
export interface ReadinessCheck {
  readonly name: string;
  check(): Promise<void>;
}

/** Shorter than the timeout of any load balancer. */
const readinessMs = 2_000;

/** Checks each pool, since each has its own connections, which may be dead. */
export const poolCheck = (name: string, pool: DatabasePool): ReadinessCheck => ({
  name: `the connections "${name}" do not respond`,
  check: () => pool.ping(readinessMs),
});

/** Comes before the checks of the pools, because an operator reads its problem first. */
export const databaseCheck = (db: DatabasePool): ReadinessCheck => ({
  name: 'the database does not respond',
  async check() {
    // The ping comes first, so that queries do not pile up in a pool that gets no answer.
    await db.ping(readinessMs).catch((error: unknown) => {
      if (!isUnwritable(error)) throw error;
      throw new PlainProblem('the database does not accept writes', { cause: error });
    });
    if (!(await isMigrated((text) => db.query(text)))) throw new PlainProblem('the database is not migrated');
  },
});

/**
 * Several shards: the process is ready while one of them is, because the others' companies must not fail with it.
 * `/readyz` and the metrics show which is away.
 */
export function anyShard(shards: readonly (() => readonly ReadinessCheck[])[]): readonly ReadinessCheck[] {
  const [only] = shards;
  if (only && shards.length === 1) return only();
  return [
    {
      name: 'no shard responds',
      async check() {
        await Promise.any(shards.map((checks) => Promise.all(checks().map(({ check }) => check()))));
      },
    },
  ];
}

/** Sessions, signatures and certificates use the clock of the process. */
export const clockCheck = (clocks: Pick<ClockWatch, 'problem'>): ReadinessCheck => ({
  get name() {
    return clocks.problem() ?? 'the clock';
  },
  async check() {
    const problem = clocks.problem();
    if (problem !== undefined) throw new Error(problem);
  },
});

async function problemsOf(checks: readonly ReadinessCheck[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(checks.map(({ check }) => withinTime(check(), readinessMs + 500)));
  return outcomes.flatMap((outcome, index) => {
    if (outcome.status !== 'rejected') return [];
    const { reason } = outcome as { reason: unknown };
    // Other errors are shown as the name of their check.
    const problem = reason instanceof PlainProblem ? reason.message : (checks[index]?.name ?? '');
    return [isDiskFull(reason) ? `${problem} (the disk is full)` : problem];
  });
}

export interface Operations {
  /** Asked each time, because a role that starts later adds its connections. */
  readonly checks: () => readonly ReadinessCheck[];
  readonly components: Pick<Components, 'used' | 'states'>;
  readonly metrics: Metrics;
  readonly clocks: Pick<ClockWatch, 'expired'>;
  /** How many companies wait for what after a restore. */
  readonly restores: { isRestored(): boolean; waiting(): Readonly<Partial<Record<string, number>>> };
  /** Whether each shard responds; empty if there is one. */
  readonly shards?: () => Promise<Readonly<Record<string, boolean>>>;
  /** The shards whose writes wait for a synchronous standby. */
  readonly blocked?: () => Promise<readonly string[]>;
}

/** Endpoints for operators: liveness, readiness and metrics. */
export function mountOperations(app: FastifyInstance, operations: Operations): void {
  const { checks, components, metrics, clocks, restores } = operations;
  const { shards = async () => ({}), blocked = async () => [] } = operations;
  // All checks of a load balancer come from one address.
  const options = { config: { rateLimit: 'paced' } } as const;
  const readiness = shared(() => Promise.all([problemsOf(checks()), blocked(), components.used()]));
  const figures = shared(() => metrics.text());
  app.get('/healthz', options, (_request, reply) => sendJson(reply, { status: 'ok' }));

  app.get('/readyz', options, async (_request, reply) => {
    const [problems, waiting] = await readiness();
    const parts = [...components.states()];
    const states = parts.map(([name, problem]) => [name, problem === undefined] as const);
    const shown = (each: readonly (readonly [string, boolean])[]): object =>
      Object.fromEntries(each.map(([name, isUp]) => [name, isUp ? 'up' : 'down']));
    if (problems.length > 0) return sendNotReady(reply, `Not ready: ${problems.join(', ')}.`, shown(states));
    const shardStates: readonly (readonly [string, boolean])[] = Object.entries(await shards());
    const away = parts.flatMap(([, problem]) => problem ?? []);
    // Without the vault only charges stop, without the object store only uploads, and the part is away for every
    // process: the process still serves the rest, so it stays ready.
    // Reads work while writes wait for a standby, at every process.
    const isDegraded =
      restores.isRestored() || waiting.length > 0 || [...states, ...shardStates].some(([, isUp]) => !isUp);
    return sendJson(reply, {
      status: isDegraded ? 'degraded' : 'ready',
      ...(away.length > 0 && { message: `Degraded: ${away.join(', ')}.` }),
      components: shown(states),
      ...(shardStates.length > 0 && { shards: shown(shardStates) }),
      ...(waiting.length > 0 && {
        standby: `writes wait for a synchronous standby (shard ${waiting.join(', ')}); svc doctor says what to do`,
      }),
      // Requests that are repeated with the processor's time succeed, so this is only a warning.
      ...(clocks.expired().recently && { clocks: 'a processor rejected requests as expired' }),
      ...(restores.isRestored() && { restored: restoredText(restores.waiting()) }),
    });
  });

  app.get('/metrics', options, async (_request, reply) =>
    reply.header('Content-Type', metrics.contentType).send(await figures()),
  );
}

function restoredText(waiting: Readonly<Partial<Record<string, number>>>): string {
  const counts = Object.entries(waiting).map(([what, count]) => `${count} for ${what.replace('_', ' ')}`);
  const companies = counts.length > 0 ? ` (companies that wait: ${counts.join(', ')})` : '';
  return `restored from a backup: live charges are closed until they are compared with the processors${companies}`;
}

/** How long the answers of these endpoints are shared. */
export const sharedMs = 200;

/**
 * Shares one result between concurrent callers and for a moment after: these endpoints are public and query the
 * database.
 */
function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let last: Promise<Result> | undefined;
  return () => {
    last ??= work().finally(() => {
      setTimeout(() => {
        last = undefined;
      }, sharedMs).unref();
    });
    return last;
  };
}

/** The same three endpoints for a process that does not serve the API. */
export function healthServer(operations: Operations): FastifyInstance {
  const app = Fastify({
    logger: false,
    http: strangerTimeouts,
    requestTimeout: strangerTimeouts.headersTimeout,
    bodyLimit: 1,
    ...withoutSchemas,
  });
  boundStrangers(app.server);
  app.setErrorHandler((error: Error, _request, reply) => sendNotReady(reply, error.message, {}));
  mountOperations(app, operations);
  return app;
}

/** The same shape in every role: a vault sends it too. */
function sendNotReady(reply: FastifyReply, message: string, components: object): FastifyReply {
  return sendJson(reply.code(503).header('Retry-After', '1'), { status: 'not ready', message, components });
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
