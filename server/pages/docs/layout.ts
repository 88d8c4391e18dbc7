import { brotliCompress, constants, gzip } from 'node:zlib';
import { promisify } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageFile } from '../../../pages/page-files.ts';
import { publishedNames } from '../../package-names.ts';
import { escaped } from '../../platform/html.ts';
import { acceptedEncoding } from '../../http/compression.ts';
import { asset, scriptType, styleType, versionOf } from '../assets.ts';

/** The frame of the guides and of the API reference, and how both are sent. */

export const docsStyle = asset(styleType, () => pageFile('docs.css'));
export const docsScript = asset(scriptType, () => publishedNames(pageFile('docs.js')));
export const themeScript = asset(scriptType, () => pageFile('theme.js'));

export const docsPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Entry {
  readonly address: string;
  readonly title: string;
}

interface Page {
  readonly brandName: string;
  readonly site: 'guides' | 'reference';
  readonly title: string;
  readonly navigation: string;
  readonly content: string;
  /** Below the title: what the page does, and how long it takes. */
  readonly lead?: string;
  /** The headings of the page. */
  readonly contents?: string;
  readonly previous?: Entry | undefined;
  readonly next?: Entry | undefined;
}

export const isCurrent = (yes: boolean, what = 'page'): string => (yes ? ` aria-current="${what}"` : '');

const sites = { guides: 'Guides', reference: 'API reference' } as const;

interface Frame {
  readonly brandName: string;
  readonly title: string;
  readonly bodyClass: string;
  readonly links: string;
  readonly body: string;
}

/** The document with its head and the top bar, which is the same as that of the dashboard. */
export function docsFrame({ brandName, title, bodyClass, links, body }: Frame): string {
  const version = versionOf(docsStyle, docsScript, themeScript);
  const name = escaped(brandName);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · ${name}</title>
<link rel="icon" href="/logo">
<link rel="preload" href="/fonts/inter-latin-5.3.0.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="/docs/docs.css?v=${version}">
<script src="/docs/theme.js?v=${version}"></script>
<script src="/docs/docs.js?v=${version}" defer></script>
</head>
<body class="${bodyClass}">
<a class="skip" href="#content">Skip to content</a>
${links && `<header class="bar">\n${links}\n</header>`}
${body}
</body>
</html>
`;
}

/** The script says more about the key once there is one. */
const samplesNote =
  '<p id="samples-note" class="samples-note" role="status">What you copy has the address of this installation and, if you are signed in, a key of your sandbox that lasts an hour.</p>';

export function docsPage(page: Page): string {
  const { brandName, site, title, navigation, content, contents = '', lead = '' } = page;
  const note = /\bSVC_KEY\b|<div class="tabs"/.test(content) ? samplesNote : '';
  return docsFrame({
    brandName,
    title: title === sites[site] ? title : `${title} · ${sites[site]}`,
    bodyClass: site,
    links: `<a class="menu" href="#navigation">Menu</a>
${brandLink(brandName)}
<nav class="sites" aria-label="Sites"><a href="/">Dashboard</a><a href="/docs"${isCurrent(site === 'guides', 'true')}>Guides</a><a href="/docs/api/"${isCurrent(site === 'reference', 'true')}>API reference</a></nav>
<button class="search" type="button" aria-keyshortcuts="Control+K" hidden><span>Search…</span><kbd>Ctrl K</kbd></button>
<button class="theme" type="button" hidden>Dark</button>`,
    body: `<div class="columns">
<nav id="navigation" class="rail" aria-label="${sites[site]}">${navigation}</nav>
<main id="content" tabindex="-1">
${content.replace('</h1>', () => `</h1>${lead}${note}`)}
${neighbours(page)}</main>
${contents}
</div>`,
  });
}

export const brandLink = (brandName: string, address = '/docs'): string =>
  `<a class="brand" href="${address}"><img src="/logo" alt="" width="28" height="28"><span>${escaped(brandName)}</span></a>`;

function neighbours({ previous, next }: Page): string {
  if (!previous && !next) return '';
  const link = (entry: Entry | undefined, label: string): string =>
    entry ? `<a href="${entry.address}"><small>${label}</small>${escaped(entry.title)}</a>` : '<span></span>';
  return `<nav class="neighbours" aria-label="Previous and next">${link(previous, 'Previous')}${link(next, 'Next')}</nav>\n`;
}

export interface Shown {
  readonly contentType: string;
  readonly body: Buffer;
}

export const htmlType = 'text/html; charset=utf-8';
export const shown = (contentType: string, text: string): Shown => ({ contentType, body: Buffer.from(text) });

const compress = {
  br: (bytes: Buffer): Promise<Buffer> =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
  gzip: (bytes: Buffer): Promise<Buffer> => promisify(gzip)(bytes),
};
const compressed = new WeakMap<Shown, Map<string, Promise<Buffer>>>();

/** Compressed once and in another thread, because payments go through this one. */
export async function sendDocs(request: FastifyRequest, reply: FastifyReply, page: Shown): Promise<FastifyReply> {
  const encoding = page.contentType.startsWith('image/') ? undefined : acceptedEncoding(request);
  reply
    .header('Content-Type', page.contentType)
    .header('Content-Security-Policy', docsPolicy)
    .header('Referrer-Policy', 'no-referrer')
    .header('Vary', 'Accept-Encoding')
    .header('Cache-Control', 'public, max-age=60');
  if (!encoding) return reply.send(page.body);
  const known = compressed.get(page) ?? new Map<string, Promise<Buffer>>();
  compressed.set(page, known);
  const body = known.get(encoding) ?? compress[encoding](page.body);
  known.set(encoding, body);
  return reply.header('Content-Encoding', encoding).send(await body);
}
