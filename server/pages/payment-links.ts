import type { FastifyInstance } from 'fastify';
import type { LinkRow } from '../features/payment-links/queries.ts';
import { visitLink } from '../features/payment-links/service.ts';
import type { LinkDependencies } from '../features/checkout-sessions/service.ts';
import { ApiError } from '../errors.ts';
import { takeFromAddress } from '../http/limiting.ts';
import { openPage, type PageDependencies } from '../http/page-routes.ts';
import { checkRoom, enter } from '../http/work.ts';

/** A visit of a payment link opens a checkout session and leads to its page. */
export function mountPaymentLinks(
  app: FastifyInstance,
  dependencies: PageDependencies<LinkRow>,
  links: LinkDependencies,
): void {
  const { http } = dependencies;
  app.get('/pay/:token', { config: { rateLimit: 'own' } }, async (request, reply) => {
    await takeFromAddress(request, reply, http);
    checkRoom(http.admission, request);
    await enter(http.admission, request);
    const { context, subject } = await openPage({ category: 'write' }, request, reply, dependencies);
    const url = await visitLink(context, links, subject);
    if (!url) throw new ApiError('resource_not_found', 'This payment link is no longer active.');
    return reply.header('Referrer-Policy', 'no-referrer').redirect(new URL(url).pathname, 303);
  });
}
