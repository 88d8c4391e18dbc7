import type { FastifyInstance, FastifyReply } from 'fastify';
import { ApiError } from '../errors.ts';
import type { DatabasePool } from '../platform/database.ts';
import type { Metrics } from '../platform/metrics.ts';
import { isMigrated } from '../platform/migrations.ts';

/** What an operator asks: alive, ready, how is it doing. */
export function mountOperations(app: FastifyInstance, db: DatabasePool, metrics: Metrics): void {
  app.get('/healthz', (_request, reply) => sendJson(reply, { status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    const applied = await db.query<{ name: string }>('SELECT name FROM schema_migrations');
    if (!(await isMigrated(applied))) throw new ApiError('service_unavailable', 'The database is not migrated yet.');
    return sendJson(reply, { status: 'ready' });
  });

  app.get('/metrics', async (_request, reply) =>
    reply.header('Content-Type', metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
}

function sendJson(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('Content-Type', 'application/json; charset=utf-8').send(JSON.stringify(body));
}
