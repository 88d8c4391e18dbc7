import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Admissions } from './admissions.ts';
import type { RouteBase } from './route.ts';
import { enter } from './work.ts';

/**
 * Mounts routes. Every request to them takes the same steps: it is admitted before its body is read, waits until there is room
 * for it, is served, and is answered as JSON. What admits and serves it depends on who calls: keys and members
 * (`api-caller.ts`), visitors of a page (`page-caller.ts`), or users without a company (`features/users/caller.ts`).
 */

export const jsonType = 'application/json; charset=utf-8';

declare module 'fastify' {
  interface FastifyContextConfig {
    uploadField?: string;
  }
}

export interface Steps {
  /** The largest body of a route that declares none. */
  readonly bodyBytes?: number;
  /** Before the body is read: who calls, rate limits, room. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
  readonly serve: (request: FastifyRequest, reply: FastifyReply) => Promise<Served>;
  /** The error as the caller gets it. */
  readonly shownError?: (error: Error, request: FastifyRequest) => Error;
}

/** A body of JSON, or the address of another page. */
type Served = { readonly status: number; readonly body: string } | { readonly redirectTo: string };

type Mountable = Pick<RouteBase, 'method' | 'bodyBytes' | 'upload'> & { readonly path: string };

export function mountRoutes<Route extends Mountable>(
  app: FastifyInstance,
  { admissions }: { readonly admissions: Admissions },
  routes: readonly Route[],
  stepsOf: (route: Route) => Steps,
): void {
  for (const route of routes) {
    const { bodyBytes = limits.publicBodyBytes, admit, serve, shownError } = stepsOf(route);
    app.route({
      method: route.method,
      url: route.path,
      bodyLimit: route.bodyBytes ?? bodyBytes,
      config: { rateLimit: 'own', ...(route.upload && { uploadField: route.upload.field }) },
      onRequest: admit,
      handler: async (request, reply) => {
        const entering = enter(admissions, request);
        if (entering) await entering;
        const served = await serve(request, reply);
        if ('redirectTo' in served)
          return reply.header('Referrer-Policy', 'no-referrer').redirect(served.redirectTo, 303);
        return reply.code(served.status).header('Content-Type', jsonType).send(served.body);
      },
      ...(shownError && {
        errorHandler: (error: Error, request: FastifyRequest): never => {
          throw shownError(error, request);
        },
      }),
    });
  }
}

export function notJson(): ApiError {
  return new ApiError('invalid_request', 'Send the body as JSON, with the header Content-Type: application/json.');
}

/**
 * On every route: pages, user accounts and the API alike. The parser of forms accepts a form for any of them, as an empty
 * body.
 */
export function refuseForms(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    if (request.isMultipart() && !request.routeOptions.config.uploadField) throw notJson();
  });
}
