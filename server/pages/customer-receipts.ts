import type { FastifyInstance } from 'fastify';
import type { CustomerSessionRow } from '../features/customer-sessions/queries.ts';
import { admitPage, checkStillOpen, openPage, type PageDependencies, unknownPage } from '../http/page-routes.ts';
import { enter } from '../http/work.ts';
import type { RequestContext } from '../request-context.ts';

/** Leads from the customer page to the receipt of one of its payments. */
export function mountCustomerReceipts(
  app: FastifyInstance,
  dependencies: PageDependencies<CustomerSessionRow>,
  receiptUrl: (context: RequestContext, session: CustomerSessionRow, orderId: string) => Promise<string | null>,
): void {
  app.get('/customer/:token/orders/:id/receipt', { config: { rateLimit: 'own' } }, async (request, reply) => {
    await admitPage(request, reply, dependencies);
    await enter(dependencies.http.admissions, request);
    const { context, subject, params } = await openPage({ category: 'read' }, request, reply, dependencies);
    const url = await receiptUrl(context, subject, params.id ?? '');
    if (!url) throw unknownPage();
    await checkStillOpen(request, context, dependencies);
    return reply.header('Referrer-Policy', 'no-referrer').redirect(url, 303);
  });
}
