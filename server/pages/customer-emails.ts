import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { fill, isRightToLeft } from '../customer-texts/messages.ts';
import { textsFor } from '../customer-texts/texts.ts';
import { ApiError } from '../errors.ts';
import {
  type EmailLinks,
  isUnsubscribeLink,
  readPreviewLink,
  stopOptionalEmails,
  writePreview,
} from '../features/customer-emails/service.ts';
import { profileOf } from '../features/profile/service.ts';
import { localeOfRequest } from '../http/locale.ts';
import { escaped } from '../platform/html.ts';
import { isUuid } from '../platform/ids.ts';
import type { LinkQuery } from '../platform/signed-links.ts';
import type { RequestContext } from '../request-context.ts';

interface EmailPageDependencies extends EmailLinks {
  /** Undefined if there is no such company. */
  readonly contextOf: (companyId: string, requestId: string) => Promise<RequestContext | undefined>;
}

const style = `
  :root { font: var(--text-reading)/1.5 var(--font); color: var(--ink); background: var(--canvas); }
  body { max-width: 32rem; margin: 15vh auto; padding: 0 1.25rem; }
  h1 { font-size: var(--text-title); }
  button { font: inherit; font-weight: 600; padding: .6rem 1.2rem; border-radius: 8px; border: 0; background: var(--accent); color: var(--on-accent); cursor: pointer; }
  button:focus-visible { outline: 2px solid var(--accent-ink); outline-offset: 2px; }`;

function sendHtml(reply: FastifyReply, policy: string, page: string): FastifyReply {
  return reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Robots-Tag', 'noindex')
    .header('Cache-Control', 'no-store')
    .send(page);
}

/** Shows an email as it is, without scripts, forms and links that lead anywhere. */
export const emailPolicy = (baseUrl: string, ancestors: string): string =>
  `default-src 'none'; style-src 'unsafe-inline'; img-src 'self' ${new URL(baseUrl).origin}; base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}; sandbox`;

/** The pages that links in emails lead to, and the preview of an email for the dashboard. */
export function mountCustomerEmails(app: FastifyInstance, dependencies: EmailPageDependencies): void {
  mountPreview(app, dependencies);
  // A parser for forms, which no other route of the service takes.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 1024 }, (_request, _body, done) => done(null));
    mountUnsubscribe(scope, dependencies);
  });
}

type PreviewPath = { Params: { company: string; kind: string; order: string }; Querystring: LinkQuery };

function mountPreview(app: FastifyInstance, dependencies: EmailPageDependencies): void {
  app.get<PreviewPath>('/email-previews/:company/:kind/:order', async (request, reply) => {
    const { company, kind, order } = request.params;
    const wanted = isUuid(company) ? readPreviewLink(dependencies, company, kind, order, request.query) : undefined;
    const context = wanted && (await dependencies.contextOf(company, request.id));
    if (!context) throw new ApiError('invalid_request', 'This preview has expired. Open it again in the dashboard.');
    const { html } = await writePreview(context, dependencies, wanted);
    return sendHtml(reply, emailPolicy(dependencies.baseUrl, "'self'"), html);
  });
}

type UnsubscribePath = { Params: { company: string; customer: string }; Querystring: LinkQuery };

/**
 * Opening the link only asks, because programs that check mails open every link. The button sends the same POST as a mail program
 * that knows RFC 8058.
 */
function mountUnsubscribe(app: FastifyInstance, dependencies: EmailPageDependencies): void {
  const path = '/unsubscribe/:company/:customer';
  const policy =
    "default-src 'none'; style-src 'unsafe-inline'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
  const page = (reply: FastifyReply, locale: string, title: string, content: string): FastifyReply =>
    sendHtml(
      reply,
      policy,
      `<!doctype html><html lang="${locale}" dir="${isRightToLeft(locale) ? 'rtl' : 'ltr'}"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><style>${pageFile('tokens.css')}${style}</style><main><h1>${escaped(title)}</h1>${content}</main></html>`,
    );
  const wordsOf = async (request: FastifyRequest<UnsubscribePath>, context: RequestContext | undefined) => {
    const locale = localeOfRequest(request, { fallback: context?.company.locale });
    return { locale, stop: (await textsFor(locale)).emails.stop };
  };
  const paragraph = (text: string): string => `<p>${escaped(text)}</p>`;
  const contextOf = async (request: FastifyRequest<UnsubscribePath>): Promise<RequestContext | undefined> => {
    const { company, customer } = request.params;
    if (!isUuid(company) || !isUuid(customer)) return undefined;
    if (!isUnsubscribeLink(dependencies, company, customer, request.query)) return undefined;
    return dependencies.contextOf(company, request.id);
  };
  app.get<UnsubscribePath>(path, async (request, reply) => {
    const context = await contextOf(request);
    const { locale, stop } = await wordsOf(request, context);
    if (!context) return page(reply.code(400), locale, stop.title, paragraph(stop.invalid));
    const { display_name: merchant } = await profileOf(context.db, context.company);
    const form = `<form method="post"><button>${escaped(stop.confirm)}</button></form>`;
    return page(reply, locale, stop.title, paragraph(fill(stop.ask, { merchant }, locale)) + form);
  });
  app.post<UnsubscribePath>(path, async (request, reply) => {
    const context = await contextOf(request);
    const { locale, stop } = await wordsOf(request, context);
    if (!context) return page(reply.code(400), locale, stop.title, paragraph(stop.invalid));
    await stopOptionalEmails(context.db, context.company.id, request.params.customer);
    const { display_name: merchant } = await profileOf(context.db, context.company);
    return page(reply, locale, stop.title, paragraph(fill(stop.done, { merchant }, locale)));
  });
}
