import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { daySeconds } from '../platform/durations.ts';
import type { Route } from './route.ts';

/** Routes that pages of any origin may call, with a publishable key. */

const exposedHeaders =
  'SVC-Request-Id, SVC-Version, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset';

export function allowAnyOrigin(reply: FastifyReply): void {
  reply.header('Access-Control-Allow-Origin', '*').header('Access-Control-Expose-Headers', exposedHeaders);
}

/** A browser sends a preflight request before it sends a key to another origin. */
export function mountPreflight(app: FastifyInstance, route: Route): void {
  // Before a body is read, which no browser sends.
  const onRequest = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    allowAnyOrigin(reply);
    return reply
      .code(204)
      .header('Access-Control-Allow-Methods', route.method)
      .header('Access-Control-Allow-Headers', 'Authorization, Content-Type, SVC-Version, X-SVC-Idempotency-Key')
      .header('Access-Control-Max-Age', String(daySeconds))
      .send();
  };
  app.options(route.path, { onRequest }, () => undefined);
}
