import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { ApiError } from '../errors.ts';

/** Pages without script: mails that nobody sends, and the invitation that a mail leads to. */

export interface ShownMail {
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly inserted_at: Date;
}

export interface ShownInvitation {
  readonly company_name: string;
  readonly first_name: string;
  readonly email: string;
  readonly role_name: string;
  readonly status: 'pending' | 'active' | 'blocked';
  readonly expired: boolean;
}

export interface MailPageOptions {
  /** Undefined where mails are sent: then there is no mailbox. */
  readonly mailbox: (() => Promise<readonly ShownMail[]>) | undefined;
  readonly invitation: (token: string) => Promise<ShownInvitation | undefined>;
  readonly accept: (token: string) => Promise<boolean>;
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; }
  article { border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 8px; padding: 0 1.25rem; margin: 1rem 0; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
  small { opacity: .75; }
  button { font: inherit; padding: .5rem 1.25rem; border-radius: 6px; border: 0; background: #2451b3; color: #fff; cursor: pointer; }
  button:focus-visible, a:focus-visible { outline: 3px solid #7aa2ff; outline-offset: 2px; }`;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? '');

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

function sendPage(reply: FastifyReply, title: string, content: string, status = 200): FastifyReply {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)}</title>
<style>${style}</style><main><h1>${escaped(title)}</h1>${content}</main></html>`;
  return reply
    .code(status)
    .header('Content-Type', 'text/html; charset=utf-8')
    .header('Content-Security-Policy', policy)
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'no-store')
    .send(page);
}

/** Whoever sits at the machine. A name that was pointed at it from outside does not count. */
function isLocal(request: FastifyRequest): boolean {
  const isLoopback = (text: string): boolean => ipaddr.isValid(text) && ipaddr.process(text).range() === 'loopback';
  const host = request.hostname.replaceAll(/^\[|\]$/g, '');
  return isLoopback(request.ip) && (host === 'localhost' || isLoopback(host));
}

function nothingHere(): ApiError {
  return new ApiError('resource_not_found', 'There is nothing at this path. The API reference is at /docs/api.');
}

/** Addresses in a text become links; everything else stays text. */
function withLinks(text: string): string {
  return escaped(text).replaceAll(/https?:\/\/[^\s<]+/g, (link) => `<a href="${link}" rel="noreferrer">${link}</a>`);
}

export async function mountMailPages(app: FastifyInstance, options: MailPageOptions): Promise<void> {
  const { mailbox, invitation, accept } = options;
  app.get('/mailbox', async (request, reply) => {
    if (!mailbox || !isLocal(request)) throw nothingHere();
    const mails = await mailbox();
    const shown = mails.map(
      ({ recipient, subject, body, inserted_at }) =>
        `<article><h2>${escaped(subject)}</h2><p><small>to ${escaped(recipient)}, ${inserted_at.toISOString()}</small></p>` +
        `<pre>${withLinks(body)}</pre></article>`,
    );
    const intro = '<p>There is no mail server (<code>SMTP_URL</code>), so mails are kept here. Newest first.</p>';
    return sendPage(reply, 'Mailbox', intro + (shown.join('') || '<p>No mails yet.</p>'));
  });

  await app.register(async (scope) => {
    // The form has one button and no fields.
    scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
      done(null, undefined),
    );
    scope.get<{ Params: { token: string } }>('/invitations/:token', async (request, reply) =>
      showInvitation(reply, await invitation(request.params.token)),
    );
    scope.post<{ Params: { token: string } }>('/invitations/:token', async (request, reply) => {
      const { token } = request.params;
      if (await accept(token)) {
        return sendPage(reply, 'Welcome', '<p>You have accepted the invitation and are part of the team now.</p>');
      }
      return showInvitation(reply, await invitation(token));
    });
  });
}

function showInvitation(reply: FastifyReply, found: ShownInvitation | undefined): FastifyReply {
  if (!found) return sendPage(reply, 'No such invitation', '<p>This link is not complete, or not valid.</p>', 404);
  const { company_name, first_name, email, role_name, status, expired } = found;
  if (status === 'active') {
    return sendPage(reply, 'Already accepted', `<p>You are in the team of ${escaped(company_name)}.</p>`);
  }
  if (status === 'blocked' || expired) {
    const text = '<p>This invitation is no longer valid. Ask for a new one.</p>';
    return sendPage(reply, 'No longer valid', text, 410);
  }
  return sendPage(
    reply,
    `Join ${company_name}`,
    `<p>Hello ${escaped(first_name)}, you are invited to the team of <b>${escaped(company_name)}</b> as
     <b>${escaped(role_name)}</b>, with the address ${escaped(email)}.</p>
     <form method="post"><button>Accept the invitation</button></form>`,
  );
}
