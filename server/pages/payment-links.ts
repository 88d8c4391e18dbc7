import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { LinkRow } from '../features/payment-links/queries.ts';
import { isOpen, visitLink } from '../features/payment-links/service.ts';
import type { LinkDependencies } from '../features/checkout-sessions/service.ts';
import { ApiError } from '../errors.ts';
import { admitPage, openPage, type PageDependencies } from '../http/page-routes.ts';
import { enter } from '../http/work.ts';

/** The checkout page of a session that does not exist. */
const closedPath = '/checkout/closed';

/**
 * A visit of a payment link opens a checkout session and leads to its page. HEAD, with which programs check links, says
 * whether the link works and opens nothing.
 */
export function mountPaymentLinks(
  app: FastifyInstance,
  dependencies: PageDependencies<LinkRow>,
  links: LinkDependencies,
): void {
  /** Undefined if the request only asks whether the link works. */
  async function pathOf(request: FastifyRequest, reply: FastifyReply): Promise<string | undefined> {
    const { context, subject } = await openPage({ category: 'write' }, request, reply, dependencies);
    if (request.method === 'HEAD' && isOpen(subject, context.nowMs)) return undefined;
    const url = await visitLink(context, links, subject);
    if (!url) throw new ApiError('resource_not_found', 'This payment link is no longer active.');
    return new URL(url).pathname;
  }

  app.get('/pay/:token', { config: { rateLimit: 'own' } }, async (request, reply) => {
    await admitPage(request, reply, dependencies);
    await enter(dependencies.http.admissions, request);
    const path = await pathOf(request, reply).catch((error: unknown) => {
      // People get the page, which says that the link does not work; programs get the error.
      const isPerson = request.headers.accept?.includes('text/html');
      if (isPerson && error instanceof ApiError && error.code === 'resource_not_found') return closedPath;
      throw error;
    });
    reply.header('Referrer-Policy', 'no-referrer');
    return path === undefined ? reply.send() : reply.redirect(path, 303);
  });
}
