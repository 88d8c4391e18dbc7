import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Marked, Token, Tokens } from 'marked';
import { ApiError } from '../errors.ts';
import { programFolder } from '../platform/program-folder.ts';
import { escaped } from '../platform/html.ts';

/**
 * The guides: `/docs` shows docs/README.md, `/docs/cards` docs/cards.md. The index is also the side navigation. The
 * list of files is read once and only those are opened, so that no path of a request becomes a path on the disk.
 */

const folder = new URL('docs/', programFolder);
const styleFile = new URL('server/pages/guides.css', programFolder);

const contentSecurityPolicy =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function mountGuides(app: FastifyInstance): void {
  let guides: Promise<Guides> | undefined;
  const show = async (path: string, reply: FastifyReply): Promise<FastifyReply> => {
    guides ??= openGuides();
    const { contentType, body } = (await guides).find(path) ?? nothingHere();
    return reply
      .header('Content-Type', contentType)
      .header('Content-Security-Policy', contentSecurityPolicy)
      .header('Referrer-Policy', 'no-referrer')
      .header('Cache-Control', 'public, max-age=60')
      .send(body);
  };
  app.get('/docs', (_request, reply) => show('', reply));
  app.get('/docs/', (_request, reply) => reply.redirect('/docs'));
  app.get<{ Params: { '*': string } }>('/docs/*', (request, reply) => show(request.params['*'], reply));
}

function nothingHere(): never {
  throw new ApiError('resource_not_found', 'This guide does not exist. /docs lists all guides.');
}

interface Shown {
  readonly contentType: string;
  readonly body: string | Buffer;
}

interface Guides {
  /** Finds a page by the path after `/docs/`. */
  find(path: string): Shown | undefined;
}

/** Loads the guides on first use. */
async function openGuides(): Promise<Guides> {
  const { Marked } = await import('marked');
  const markdown = new Marked();
  const files = new Map(globSync(['**/*.md', 'pictures/*.png'], { cwd: folder }).map((file) => [pathOf(file), file]));
  const style = readFileSync(styleFile, 'utf8');
  const version = createHash('sha256').update(style).digest('hex').slice(0, 12);
  const navigation = navigationOf(markdown.lexer(read('README.md')), files);
  const shown = new Map<string, Shown>([['guides.css', { contentType: 'text/css; charset=utf-8', body: style }]]);
  return {
    find(path) {
      const file = files.get(path);
      if (file && !shown.has(path)) {
        const body = file.endsWith('.png')
          ? readFileSync(new URL(file, folder))
          : page(markdown, file, { files, navigation, version });
        shown.set(path, { contentType: file.endsWith('.png') ? 'image/png' : 'text/html; charset=utf-8', body });
      }
      return shown.get(path);
    },
  };
}

const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');

/** `cards.md` is at `/docs/cards`, a folder's README at the folder. */
function pathOf(file: string): string {
  return file
    .replaceAll('\\', '/')
    .replace(/\.md$/, '')
    .replace(/(^|\/)README$/, '');
}

const addressOf = (path: string): string => (path === '' ? '/docs' : `/docs/${path}`);

type Files = ReadonlyMap<string, string>;

interface Group {
  readonly title: string;
  readonly entries: readonly { readonly path: string; readonly title: string }[];
}

/** Returns the headings of the index, each with the guides it links to. */
function navigationOf(index: readonly Token[], files: Files): Group[] {
  const groups: { title: string; entries: { path: string; title: string }[] }[] = [];
  for (const token of index) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ title: plainText([token]), entries: [] });
    if (token.type !== 'table') continue;
    for (const [cell] of (token as Tokens.Table).rows) {
      const link = cell?.tokens.find((one) => one.type === 'link') as Tokens.Link | undefined;
      const path = link && pathOf(link.href);
      if (link && path !== undefined && files.has(path)) groups.at(-1)?.entries.push({ path, title: link.text });
    }
  }
  return groups.filter(({ entries }) => entries.length > 0);
}

interface Surroundings {
  readonly files: Files;
  readonly navigation: readonly Group[];
  readonly version: string;
}

function page(markdown: Marked, file: string, { files, navigation, version }: Surroundings): string {
  const { title, content } = rendered(markdown, read(file), file, files);
  const here = pathOf(file);
  const groups = navigation.map(
    (group) =>
      `<h2>${escaped(group.title)}</h2><ul>${group.entries
        .map(
          ({ path, title: name }) => `<li><a href="${addressOf(path)}"${current(path === here)}>${escaped(name)}</a>`,
        )
        .join('')}</ul>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(here === '' ? title : `${title} · Guides`)}</title>
<link rel="stylesheet" href="/docs/guides.css?v=${version}">
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header><a href="/docs"${current(here === '')}>Guides</a><a href="/docs/api">API reference</a><a class="all" href="#guides">All guides</a></header>
<main id="content">
${content}</main>
<nav id="guides" aria-label="Guides">${groups.join('')}</nav>
</body>
</html>
`;
}

export function rendered(
  markdown: Marked,
  text: string,
  file: string,
  files: Files,
): { readonly title: string; readonly content: string } {
  const tokens = markdown.lexer(text);
  const heading = tokens.find((token) => token.type === 'heading');
  const content = markdown.parser(tokens, { renderer: rendererFor(markdown, file, files) });
  return { title: heading ? plainText([heading]) : 'Guides', content };
}

const current = (yes: boolean): string => (yes ? ' aria-current="page"' : '');

function rendererFor(markdown: Marked, file: string, files: Files): InstanceType<typeof Marked.prototype.Renderer> {
  const renderer = new markdown.Renderer();
  const usual = { table: renderer.table.bind(renderer) };
  const taken = new Map<string, number>();
  // Our own texts contain no HTML except comments: anything else that looks like HTML is text.
  renderer.html = ({ text }) => (text.startsWith('<!--') ? '' : escaped(text));
  renderer.heading = ({ tokens, depth }) => {
    const plain = plainText(tokens);
    const id = uniqueId(plain, taken);
    const anchor = `<a class="anchor" href="#${id}" aria-label="Link to: ${escaped(plain)}">#</a>`;
    return `<h${depth} id="${id}">${renderer.parser.parseInline(tokens)}${depth === 1 ? '' : ` ${anchor}`}</h${depth}>\n`;
  };
  renderer.code = ({ text, lang = '' }) => {
    const [language = ''] = lang.split(' ');
    return `<pre tabindex="0"><code${language && ` class="language-${escaped(language)}"`}>${escaped(text)}\n</code></pre>\n`;
  };
  renderer.table = (token) => `<div class="scroll" tabindex="0">${usual.table(token)}</div>\n`;
  renderer.checkbox = ({ checked }) => (checked ? '☑ ' : '☐ ');
  renderer.link = ({ href, tokens }) => {
    const text = renderer.parser.parseInline(tokens);
    if (/^(https?:\/\/|#|\/)/.test(href)) return `<a href="${escaped(href)}">${text}</a>`;
    const target = targetOf(href, file, files);
    // Files outside of docs/ are not served: the page shows their path instead.
    return target
      ? `<a href="${escaped(target)}">${text}</a>`
      : `${text} (<code>${escaped(inRepository(href, file))}</code>)`;
  };
  renderer.image = ({ href, text }) => {
    const target = targetOf(href, file, files);
    return target ? `<img src="${escaped(target)}" alt="${escaped(text)}" loading="lazy">` : escaped(text);
  };
  return renderer;
}

/** Returns the URL of a relative link from one guide to another, or to a picture. */
function targetOf(href: string, file: string, files: Files): string | undefined {
  const [name = '', anchor] = href.split('#');
  const path = pathOf(posix.normalize(posix.join(posix.dirname(file), name)).replace(/\/$/, ''));
  return files.has(path) ? addressOf(path) + (anchor ? `#${anchor}` : '') : undefined;
}

function inRepository(href: string, file: string): string {
  return posix.normalize(posix.join('docs', posix.dirname(file), href));
}

/** The same ids as on GitHub, so that a link to a section works in both places. */
function uniqueId(text: string, taken: Map<string, number>): string {
  const id = text
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const before = taken.get(id) ?? 0;
  taken.set(id, before + 1);
  return before === 0 ? id : `${id}-${before}`;
}

function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : 'text' in token ? token.text : ''))
    .join('');
}
