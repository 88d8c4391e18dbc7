import { escaped } from '../platform/html.ts';

/** The document of the mailbox: a list, and the email that is open. It works without its script, which adds keys and local times. */

export interface ShownMail {
  readonly id: string;
  /** Undefined for an email of plain text. */
  readonly html: string | undefined;
  /** The name of the sender, if it is not the installation. */
  readonly fromName: string | undefined;
  readonly recipient: string;
  readonly subject: string;
  readonly body: string;
  readonly inserted_at: Date;
  readonly attachment: { readonly name: string; readonly url: string } | undefined;
}

export interface MailboxView {
  readonly mails: readonly ShownMail[];
  readonly open: ShownMail | undefined;
  /** On a phone, the list is shown until an email is chosen. */
  readonly isChosen: boolean;
  readonly search: string;
  readonly asText: boolean;
  readonly brandName: string;
  readonly version: string;
}

const texts = {
  title: 'Mailbox',
  lead: 'No mail server is set (SMTP_URL), so emails are not sent. They are all here.',
  search: 'Search mail',
  list: 'Emails',
  back: 'All emails',
  to: 'To',
  from: 'From',
  attachment: 'Attachment',
  rendered: 'Email',
  text: 'Text and links',
  views: 'Show as',
  empty: 'No emails yet',
  emptyText: 'Receipts, invitations and notices appear here as soon as the service writes them.',
  nothingFound: 'No email matches',
  clear: 'Show all emails',
  noText: 'The text was deleted when the email was sent.',
  keys: 'Next: J · Previous: K · Search: /',
} as const;

const shownMax = 200;
const excerptLength = 140;

export function mailboxPage(view: MailboxView): string {
  const { open, isChosen, brandName, search, version, mails } = view;
  const title = open && isChosen ? `${open.subject} · ${texts.title}` : texts.title;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · ${escaped(brandName)}</title>
<link rel="icon" href="/logo">
<link rel="stylesheet" href="/pages/mailbox.css?v=${version}">
<script src="/pages/mailbox.js?v=${version}" defer></script>
</head>
<body>
<main id="mailbox" class="mailbox${isChosen ? ' reading' : ''}">
<header class="top">
<a class="brand" href="/"><img src="/logo" alt="" width="24" height="24"><span>${escaped(brandName)}</span></a>
<h1>${texts.title}</h1>
<form class="search" role="search" action="/mailbox">
<input id="search" name="q" type="search" value="${escaped(search)}" placeholder="${texts.search}" aria-label="${texts.search}" maxlength="200" autocomplete="off">
</form>
</header>
<p class="lead">${texts.lead}</p>
<nav id="list" class="list" aria-label="${texts.list}">${mails.length === 0 ? nothing(view) : list(view)}</nav>
<div id="reading" class="pane">${open ? message(view, open) : ''}</div>
</main>
</body>
</html>`;
}

function nothing({ search }: MailboxView): string {
  if (search === '') return `<div class="empty"><h2>${texts.empty}</h2><p>${texts.emptyText}</p></div>`;
  return `<div class="empty"><h2>${texts.nothingFound} “${escaped(search)}”</h2><p><a href="/mailbox">${texts.clear}</a></p></div>`;
}

function addressOf({ search }: MailboxView, mail?: ShownMail, asText = false): string {
  const query = new URLSearchParams({
    ...(search && { q: search }),
    ...(mail && { mail: mail.id }),
    ...(asText && { view: 'text' }),
  }).toString();
  return escaped(query ? `/mailbox?${query}` : '/mailbox');
}

function list(view: MailboxView): string {
  const { mails, open, brandName } = view;
  const rows = mails.slice(0, shownMax).map((mail) => {
    const current = mail.id === open?.id ? ' aria-current="true"' : '';
    return `<li><a href="${addressOf(view, mail)}"${current}>
<span class="line"><b>${escaped(mail.fromName ?? brandName)}</b>${time(mail.inserted_at, 'short')}</span>
<span class="subject">${escaped(mail.subject)}</span>
<span class="excerpt">${texts.to} ${escaped(mail.recipient)} – ${escaped(excerptOf(mail))}</span></a></li>`;
  });
  const more = mails.length > shownMax ? `<p class="more">${moreText(mails.length)}</p>` : '';
  return `<ol>${rows.join('')}</ol>${more}<p class="keys">${texts.keys}</p>`;
}

const moreText = (count: number): string => `The newest ${shownMax} of ${count} emails. Search finds the others.`;

const excerptOf = ({ body }: ShownMail): string =>
  body
    .replaceAll(/https?:\/\/\S+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, excerptLength);

/** The script replaces the text by the day and time of the reader. */
function time(at: Date, kind: 'short' | 'long'): string {
  const text = at.toISOString().replace('T', ' ').slice(0, 16);
  return `<time datetime="${at.toISOString()}" data-kind="${kind}">${text} UTC</time>`;
}

/** An email with HTML is shown in a frame that runs nothing and loads nothing from elsewhere. */
function message(view: MailboxView, mail: ShownMail): string {
  const { id, recipient, subject, html, inserted_at, attachment, fromName = view.brandName } = mail;
  const asText = view.asText || html === undefined;
  const content = asText
    ? `<pre>${withLinks(mail.body) || texts.noText}</pre>`
    : `<iframe src="/mailbox/${escaped(id)}" sandbox="allow-popups allow-popups-to-escape-sandbox" title="${escaped(subject)}"></iframe>`;
  return `<article>
<a class="back" href="${addressOf(view)}">← ${texts.back}</a>
<h2 tabindex="-1">${escaped(subject)}</h2>
<dl><div><dt>${texts.from}</dt><dd>${escaped(fromName)}</dd></div><div><dt>${texts.to}</dt><dd>${escaped(recipient)}</dd></div>${attachment ? attached(attachment) : ''}</dl>
<p class="bar">${time(inserted_at, 'long')}${html === undefined ? '' : views(view, mail, asText)}</p>
${content}
</article>`;
}

const attached = ({ name, url }: NonNullable<ShownMail['attachment']>): string =>
  `<div><dt>${texts.attachment}</dt><dd><a href="${escaped(url)}" target="_blank" rel="noopener">${escaped(name)}</a></dd></div>`;

function views(view: MailboxView, mail: ShownMail, asText: boolean): string {
  const link = (isText: boolean, label: string): string =>
    `<a href="${addressOf(view, mail, isText)}"${isText === asText ? ' aria-current="true"' : ''}>${label}</a>`;
  return `<span class="views" role="group" aria-label="${texts.views}">${link(false, texts.rendered)}${link(true, texts.text)}</span>`;
}

/** Turns URLs in a text into links; everything else stays text. */
const withLinks = (text: string): string =>
  escaped(text).replaceAll(/https?:\/\/[^\s<]+/g, (link) => `<a href="${link}" rel="noreferrer">${link}</a>`);
