import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { LinkDependencies } from '../features/checkout-sessions/service.ts';
import type { LinkRow } from '../features/payment-links/queries.ts';
import { type LinkState, stateOf, visitLink } from '../features/payment-links/service.ts';
import { ApiError } from '../errors.ts';
import { askedLocaleOf, withLocale } from '../http/locale.ts';
import { type PageDependencies, visitPage } from '../http/page-caller.ts';
import type { RequestContext } from '../request-context.ts';
import { sendClosedPage, wantsPage } from './closed-page.ts';

type ClosedState = Exclude<LinkState, 'open'>;

/** What programs get instead of the page. */
const closedErrors: Readonly<Record<ClosedState, () => ApiError>> = {
  sold_out: () => new ApiError('resource_not_found', 'This payment link has reached its number of payments.'),
  ended: () => new ApiError('resource_not_found', 'This payment link has ended.'),
  inactive: () => new ApiError('resource_not_found', 'This payment link is not active.'),
  unavailable: () => new ApiError('merchant_not_configured', 'This company has no payment processor.'),
};

/**
 * A visit of a payment link opens a checkout session and leads to its page. HEAD, with which programs check links, says
 * whether the link works and opens nothing; programs that fetch the link to show it open nothing either.
 */
export function mountPaymentLinks(
  app: FastifyInstance,
  dependencies: PageDependencies<LinkRow>,
  links: LinkDependencies,
): void {
  const options = { config: { rateLimit: 'own' } } as const;
  const show = async (request: FastifyRequest, reply: FastifyReply, root: Root): Promise<FastifyReply> => {
    const found = await find(request, reply, dependencies);
    if (!found) return sendClosedPage(reply, { reason: 'unknown', root });
    const { context, link } = found;
    const { locale: fallback } = context.company;
    const state = stateOf(context, link);
    if (state !== 'open') return sendState(request, reply, { context, link, reason: state, root });
    reply.header('Referrer-Policy', 'no-referrer');
    if (request.method === 'HEAD') return reply.send();
    if (isProgram(request)) return sendClosedPage(reply, { reason: 'open', context, locale: link.locale, root });
    const { pathname } = new URL(await visitLink(context, links, link));
    return reply.redirect(withLocale(pathname, { locale: askedLocaleOf(request) ?? link.locale, fallback }), 303);
  };
  app.get('/pay/:token', options, (request, reply) => show(request, reply, '..'));
  // The two parts of a readable address are its token. People may type it in capitals.
  app.get<{ Params: { company: string; slug: string } }>('/pay/:company/:slug', options, (request, reply) => {
    const { company, slug } = request.params;
    const readable = Object.assign(request, { params: { token: `${company}/${slug}`.toLowerCase() } });
    return show(readable, reply, '../..');
  });
}

/** From the folder of the page to the root of the service. */
type Root = '..' | '../..';

/** Messengers and search engines that fetch a link to show it. Cubot is a maker of phones. */
const programs = /(?<!cu)bot\b|crawler|spider|preview|facebookexternalhit|^whatsapp\//i;

/** The page that they get leads here with `?open`, so that a person who is taken for a program can pay. */
const isProgram = ({ headers, query }: FastifyRequest): boolean =>
  programs.test(headers['user-agent'] ?? '') && (query as { open?: string }).open === undefined;

/** Undefined if the page has to say that there is no such link. */
async function find(
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: PageDependencies<LinkRow>,
): Promise<{ readonly context: RequestContext; readonly link: LinkRow } | undefined> {
  try {
    const { context, subject: link } = await visitPage('write', request, reply, dependencies);
    return { context, link };
  } catch (error) {
    if (wantsPage(request) && error instanceof ApiError && error.code === 'resource_not_found') return undefined;
    throw error;
  }
}

function sendState(
  request: FastifyRequest,
  reply: FastifyReply,
  { context, link, reason, root }: { context: RequestContext; link: LinkRow; reason: ClosedState; root: Root },
): Promise<FastifyReply> {
  if (!wantsPage(request)) throw closedErrors[reason]();
  const { locale, ends_at } = link;
  return sendClosedPage(reply, { reason, context, locale, ...(ends_at && { endedAt: ends_at }), root });
}
