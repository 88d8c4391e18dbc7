import type { FastifyInstance, FastifyReply } from 'fastify';
import { pageFile } from '../../pages/page-files.ts';
import { ApiError } from '../errors.ts';
import { emailPolicy } from './customer-emails.ts';
import { escaped } from '../platform/html.ts';
import { isLocal } from '../http/session-cookie.ts';

/** A page without script that shows the emails kept when no mail server is set. */

export interface ShownMail {
  readonly id: string;
  /** Undefined for an email of plain text. */
  readonly html: string | undefined;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly inserted_at: Date;
}

const style = `
  :root { font: 0.9375rem/1.6 var(--font); color: var(--ink); background: var(--canvas); }
  body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
  h1 { font-size: var(--text-title); }
  h2 { font-size: var(--text-section); }
  a { color: var(--accent-ink); }
  article { border: 1px solid var(--line); border-radius: 10px; padding: 0 1.25rem; margin: 1rem 0; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
  small { color: var(--muted); }
  iframe { width: 100%; height: 44rem; border: 0; border-radius: 8px; background: #fff; }
  a:focus-visible { outline: 2px solid var(--accent-ink); outline-offset: 2px; }`;

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src 'self'";

function sendPage(reply: FastifyReply, title: string, content: string): FastifyReply {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<link rel="icon" href="/logo"><style>${pageFile('tokens.css')}${style}</style><main><h1>${escaped(title)}</h1>${content}</main></html>`;
  return reply
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
    .send(page);
}

function nothingHere(): ApiError {
  return new ApiError('resource_not_found', 'This path does not exist. The API reference is at /docs/api.');
}

/** Turns URLs in a text into links; everything else stays text. */
function withLinks(text: string): string {
  return escaped(text).replaceAll(/https?:\/\/[^\s<]+/g, (link) => `<a href="${link}" rel="noreferrer">${link}</a>`);
}

/** An email with HTML is shown in a frame that runs nothing; its text is below it. */
function shownMail({ id, recipient, subject, body, html, inserted_at }: ShownMail): string {
  const title = `<h2>${escaped(subject)}</h2><p><small>to ${escaped(recipient)}, ${inserted_at.toISOString()}</small></p>`;
  const text = `<pre>${withLinks(body)}</pre>`;
  if (html === undefined) return `<article>${title}${text}</article>`;
  const frame = `<iframe src="/mailbox/${escaped(id)}" sandbox loading="lazy" title="${escaped(subject)}"></iframe>`;
  return `<article>${title}${frame}<details><summary>Text and links</summary>${text}</details></article>`;
}

const shownMax = 100;

/** `latestMails` is undefined if mails are sent: then there is no mailbox. */
export function mountMailbox(
  app: FastifyInstance,
  baseUrl: string,
  latestMails: ((count: number) => Promise<readonly ShownMail[]>) | undefined,
): void {
  app.get('/mailbox', async (request, reply) => {
    if (!latestMails || !isLocal(request)) throw nothingHere();
    const shown = (await latestMails(shownMax)).map(shownMail);
    const intro =
      '<p>No mail server is configured (<code>SMTP_URL</code>), so emails are not sent. This page shows them, newest first.</p>';
    return sendPage(reply, 'Mailbox', intro + (shown.join('') || '<p>No emails yet.</p>'));
  });
  app.get<{ Params: { id: string } }>('/mailbox/:id', async (request, reply) => {
    if (!latestMails || !isLocal(request)) throw nothingHere();
    const mail = (await latestMails(shownMax)).find(({ id }) => id === request.params.id);
    if (mail?.html === undefined) throw nothingHere();
    return reply
      .header('Content-Type', 'text/html; charset=utf-8')
      .header('Content-Security-Policy', emailPolicy(baseUrl, "'self'"))
      .header('Referrer-Policy', 'no-referrer')
      .header('Cache-Control', 'no-store')
      .send(mail.html);
  });
}
