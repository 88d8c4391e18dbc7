import type { FastifyInstance, FastifyReply } from 'fastify';
import { ApiError } from '../errors.ts';
import { escaped } from './html.ts';
import { isLocal } from '../http/session-cookie.ts';

/** A page without script that shows the emails kept when no mail server is set. */

export interface ShownMail {
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly inserted_at: Date;
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
  article { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 8px; padding: 0 1.25rem; margin: 1rem 0; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
  small { opacity: .75; }
  a:focus-visible { outline: 3px solid #7aa2ff; outline-offset: 2px; }`;

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function sendPage(reply: FastifyReply, title: string, content: string): FastifyReply {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<style>${style}</style><main><h1>${escaped(title)}</h1>${content}</main></html>`;
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

/** Undefined if mails are sent: then there is no mailbox. */
export function mountMailbox(
  app: FastifyInstance,
  latestMails: (() => Promise<readonly ShownMail[]>) | undefined,
): void {
  app.get('/mailbox', async (request, reply) => {
    if (!latestMails || !isLocal(request)) throw nothingHere();
    const shown = (await latestMails()).map(
      ({ recipient, subject, body, inserted_at }) =>
        `<article><h2>${escaped(subject)}</h2><p><small>to ${escaped(recipient)}, ${inserted_at.toISOString()}</small></p>` +
        `<pre>${withLinks(body)}</pre></article>`,
    );
    const intro =
      '<p>No mail server is configured (<code>SMTP_URL</code>), so emails are not sent. This page shows them, newest first.</p>';
    return sendPage(reply, 'Mailbox', intro + (shown.join('') || '<p>No emails yet.</p>'));
  });
}
