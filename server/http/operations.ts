import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { ApiError } from '../errors.ts';
import type { DatabasePool } from '../platform/database.ts';
import { createMetrics, type Metrics, type OpenTransactions } from '../platform/metrics.ts';
import { isMigrated } from '../platform/migrations.ts';
import type { Vault } from '../vault/vault.ts';

/** What an operator asks: alive, ready, how is it doing. */
export function mountOperations(
  app: FastifyInstance,
  db: DatabasePool,
  vault: Pick<Vault, 'isReady'>,
  metrics: Metrics,
): void {
  app.get('/healthz', (_request, reply) => sendJson(reply, { status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const applied = await db.query<{ name: string }>('SELECT name FROM schema_migrations');
    if (!(await isMigrated(applied))) throw new ApiError('service_unavailable', 'The database is not migrated yet.');
    // A vault that is away stops charges only, and is away for every process: reads go on, so this process stays ready.
    return sendJson(reply, { status: 'ready', vault: (await vault.isReady()) ? 'ready' : 'unreachable' });
  });

  app.get('/metrics', async (_request, reply) =>
    reply.header('Content-Type', metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
}

/** The same three for a process that does not serve the API. */
export function healthServer(
  db: DatabasePool,
  vault: Pick<Vault, 'isReady'>,
  openTransactions: () => Promise<OpenTransactions>,
): FastifyInstance {
  const app = Fastify({ logger: false });
  app.setErrorHandler((_error, _request, reply) => sendJson(reply.code(503), { status: 'not ready' }));
  mountOperations(app, db, vault, createMetrics(db, vault, openTransactions));
  return app;
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
