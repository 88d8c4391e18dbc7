import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Metrics } from '../platform/metrics.ts';
import type { RequestSpan, Tracing } from '../platform/telemetry/tracing.ts';
import type { Vault } from './vault.ts';

/** What a vault in a process of its own shows of itself. */

export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  const spans = new WeakMap<FastifyRequest, RequestSpan>();
  app.addHook('preHandler', (request, _reply, done) => {
    const { method, headers, routeOptions } = request;
    const span = tracing.startRequestSpan({ method, route: routeOptions.url, headers });
    spans.set(request, span);
    span.run(done);
  });
  app.addHook('onResponse', async (request, reply) => spans.get(request)?.end(reply.statusCode));
}

/** The endpoints for operators, as those of the other processes. */
export function mountProbes(app: FastifyInstance, vault: Vault, metrics: Metrics | undefined): void {
  app.get('/healthz', async (_request, reply) => reply.send({ status: 'ok', now_ms: await vault.nowMs() }));
  app.get('/readyz', async (_request, reply) => {
    const { problem, processorProblem } = await vault.health();
    const components = { database: problem ? 'down' : 'up', processor: processorProblem ? 'down' : 'up' };
    if (problem) {
      const message = `Not ready: ${problem}.`;
      return reply.code(503).header('Retry-After', '1').send({ status: 'not ready', message, components });
    }
    const message = 'Degraded: a processor does not answer.';
    return reply.send({
      status: processorProblem ? 'degraded' : 'ready',
      ...(processorProblem && { message }),
      components,
    });
  });
  if (metrics) {
    app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  }
}
