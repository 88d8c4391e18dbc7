import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { ApiError } from '../errors.ts';
import { isLocal } from '../http/session-cookie.ts';
import { asset, mountAsset, scriptType, styleType, versionOf } from './assets.ts';
import type { Brand } from './brand.ts';
import { emailPolicy } from './customer-emails.ts';
import { type MailboxView, mailboxPage, type ShownMail } from './mailbox-page.ts';

/** The emails of the installation, for a machine without a mail server. Only this machine can open it. */

const searchedMax = 1_000;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; frame-src 'self'";

/** Links in an email open a new tab, which is no longer in the sandbox. Nothing else can leave it. */
const newTabs = 'allow-popups allow-popups-to-escape-sandbox';

function sendHtml(reply: FastifyReply, contentSecurityPolicy: string, html: string): FastifyReply {
  return reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', contentSecurityPolicy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
    .send(html);
}

function nothingHere(): ApiError {
  return new ApiError('resource_not_found', 'This path does not exist. The API reference is at /docs/api.');
}

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/** Every word must appear in the sender, the recipient, the subject or the text. */
function matching(mails: readonly ShownMail[], search: string, brandName: string): readonly ShownMail[] {
  const words = wordsOf(search);
  if (words.length === 0) return mails;
  return mails.filter(({ fromName = brandName, recipient, subject, body }) => {
    const text = `${fromName} ${recipient} ${subject} ${body}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const one = (value: unknown): string => (typeof value === 'string' ? value : '');

type Query = { Querystring: Readonly<Record<string, unknown>> };

/** `latestMails` is undefined if there is no mailbox. */
export function mountMailbox(
  app: FastifyInstance,
  baseUrl: string,
  brand: Brand,
  latestMails: ((count: number) => Promise<readonly ShownMail[]>) | undefined,
): void {
  const script = asset(scriptType, () => pageFile('mailbox.js'));
  const style = asset(styleType, () => pageFile('mailbox.css'));
  mountAsset(app, '/pages/mailbox.js', script);
  mountAsset(app, '/pages/mailbox.css', style);
  const mailsFor = async (request: FastifyRequest): Promise<readonly ShownMail[]> => {
    if (!latestMails || !isLocal(request)) throw nothingHere();
    return latestMails(searchedMax);
  };
  app.get<Query>('/mailbox', async (request, reply) => {
    const search = one(request.query.q).trim().slice(0, 200);
    const found = matching(await mailsFor(request), search, brand.name);
    const chosenId = one(request.query.mail);
    const chosen = found.find(({ id }) => id === chosenId);
    const view: MailboxView = {
      mails: found,
      open: chosen ?? found[0],
      isChosen: chosen !== undefined,
      search,
      asText: one(request.query.view) === 'text',
      brandName: brand.name,
      version: versionOf(script, style),
    };
    return sendHtml(reply, policy, mailboxPage(view));
  });
  app.get<{ Params: { id: string } }>('/mailbox/:id', async (request, reply) => {
    const mail = (await mailsFor(request)).find(({ id }) => id === request.params.id);
    if (mail?.html === undefined) throw nothingHere();
    const html = mail.html.replace(/<head[^>]*>/, '$&<base target="_blank">');
    return sendHtml(reply, `${emailPolicy(baseUrl, "'self'")} ${newTabs}`, html);
  });
}
