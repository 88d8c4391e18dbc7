import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { Marked, Token, Tokens } from 'marked';
import { programFolder } from '../../platform/program-folder.ts';
import { escaped } from '../../platform/html.ts';
import { codeBlock, type Sample, sampleTabs } from './highlight.ts';
import { docsPage, type Entry, isCurrent } from './layout.ts';

/** Writes the guides: docs/README.md is the index, and also the navigation of all guides. */

export const guidesFolder = new URL('docs/', programFolder);

export const readGuide = (file: string): string => readFileSync(new URL(file, guidesFolder), 'utf8');

/** `cards.md` is at `/docs/cards`, a folder's README at the folder. */
export function pathOf(file: string): string {
  return file
    .replaceAll('\\', '/')
    .replace(/\.md$/, '')
    .replace(/(^|\/)README$/, '');
}

export const guideAddress = (path: string): string => (path === '' ? '/docs' : `/docs/${path}`);

export type Files = ReadonlyMap<string, string>;

export interface Group {
  readonly title: string;
  readonly entries: readonly { readonly path: string; readonly title: string; readonly about: string }[];
}

/** Returns the headings of the index, each with the guides it links to. */
export function groupsOf(index: readonly Token[], files: Files): Group[] {
  const groups: { title: string; entries: { path: string; title: string; about: string }[] }[] = [];
  for (const token of index) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ title: plainText([token]), entries: [] });
    if (token.type !== 'table') continue;
    for (const [cell, about] of (token as Tokens.Table).rows) {
      const link = cell?.tokens.find((one) => one.type === 'link') as Tokens.Link | undefined;
      const path = link && pathOf(link.href);
      if (!link || path === undefined || !files.has(path)) continue;
      groups.at(-1)?.entries.push({ path, title: link.text, about: about ? plainText(about.tokens) : '' });
    }
  }
  return groups.filter(({ entries }) => entries.length > 0);
}

interface Surroundings {
  readonly read: (file: string) => string;
  readonly files: Files;
  readonly groups: readonly Group[];
  readonly brandName: string;
}

export function guidePage(markdown: Marked, file: string, { read, files, groups, brandName }: Surroundings): string {
  const { title, content, headings, minutes } = rendered(markdown, read(file), file, files);
  const here = pathOf(file);
  const about = groups.flatMap(({ entries }) => entries).find(({ path }) => path === here)?.about;
  const all: readonly Entry[] = groups.flatMap(({ entries }) =>
    entries.map(({ path, title: name }) => ({ address: guideAddress(path), title: name })),
  );
  const position = all.findIndex(({ address }) => address === guideAddress(here));
  const navigation = groups.map(
    (group) =>
      `<h2>${escaped(group.title)}</h2><ul>${group.entries
        .map(
          ({ path, title: name }) =>
            `<li><a href="${guideAddress(path)}"${isCurrent(path === here)}>${escaped(name)}</a>`,
        )
        .join('')}</ul>`,
  );
  return docsPage({
    brandName,
    site: 'guides',
    title,
    navigation: navigation.join(''),
    content,
    lead: leadOf(about, minutes),
    contents: here === '' ? '' : contentsOf(headings),
    previous: all[position - 1],
    next: position < 0 && here !== '' ? undefined : all[position + 1],
  });
}

/** The index says what each guide is about. Pages that it does not list have no such line. */
const leadOf = (about: string | undefined, minutes: number): string =>
  about === undefined ? '' : `<p class="lead">${escaped(about)}. <span>${minutes} min</span></p>`;

const wordsPerMinute = 220;
const minutesPerSample = 0.5;

/** How long a reader takes who reads the text and tries the samples. */
function minutesOf(tokens: readonly Token[]): number {
  const samples = tokens.filter(
    (token) => token.type === 'code' && /^(sh|js)\b/.test((token as Tokens.Code).lang ?? ''),
  );
  const words = tokens.filter(({ type }) => type !== 'code').reduce((sum, { raw }) => sum + raw.split(/\s+/).length, 0);
  return Math.max(1, Math.round(words / wordsPerMinute + samples.length * minutesPerSample));
}

function contentsOf(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return '';
  const items = shown.map(
    ({ id, text, depth }) => `<li${depth === 3 ? ' class="inner"' : ''}><a href="#${id}">${escaped(text)}</a>`,
  );
  return `<nav class="contents" aria-labelledby="contents"><h2 id="contents">On this page</h2><ul>${items.join('')}</ul></nav>`;
}

interface Heading {
  readonly id: string;
  readonly text: string;
  readonly depth: number;
}

interface Rendered {
  readonly title: string;
  readonly content: string;
  readonly headings: readonly Heading[];
  readonly minutes: number;
}

export function rendered(markdown: Marked, text: string, file: string, files: Files): Rendered {
  const read = markdown.lexer(text);
  const tokens = withTabs(read);
  const heading = tokens.find((token) => token.type === 'heading');
  const headings: Heading[] = [];
  const content = markdown.parser(tokens, { renderer: rendererFor(markdown, file, files, headings) });
  const minutes = minutesOf(read);
  return { title: heading ? plainText([heading]) : 'Guides', content, headings, minutes };
}

const tabOf = (token: Token): string | undefined =>
  token.type === 'code' ? /\btab=(\S+)/.exec((token as Tokens.Code).lang ?? '')?.[1] : undefined;

/** Joins blocks that follow each other and have a `tab`: the same step in several languages. */
function withTabs(tokens: readonly Token[]): Token[] {
  const joined: Token[] = [];
  let tabs: Sample[] = [];
  for (const token of [...tokens, { type: 'end', raw: '' }]) {
    const name = tabOf(token);
    if (name) {
      const { lang = '', text } = token as Tokens.Code;
      tabs.push({ name, language: lang.split(' ')[0] ?? '', code: text });
    } else if (token.type !== 'space' || tabs.length === 0) {
      if (tabs.length > 0) joined.push({ type: 'html', raw: '', text: '', tabs });
      tabs = [];
      if (token.type !== 'end') joined.push(token);
    }
  }
  return joined;
}

function rendererFor(
  markdown: Marked,
  file: string,
  files: Files,
  headings: Heading[],
): InstanceType<typeof Marked.prototype.Renderer> {
  const renderer = new markdown.Renderer();
  const usualTable = renderer.table.bind(renderer);
  // The corner of a table names no column, so it is no header.
  const tableOf = (token: Tokens.Table): string => usualTable(token).replaceAll(/<th([^>]*)><\/th>/g, '<td$1></td>');
  const taken = new Map<string, number>();
  // Our own texts contain no HTML except comments: anything else that looks like HTML is text.
  renderer.html = (token) => {
    const { tabs } = token as { readonly tabs?: readonly Sample[] };
    if (tabs) return sampleTabs(tabs);
    return token.text.startsWith('<!--') ? '' : escaped(token.text);
  };
  renderer.heading = ({ tokens, depth }) => {
    const text = plainText(tokens);
    const id = uniqueId(text, taken);
    headings.push({ id, text, depth });
    const anchor = `<a class="anchor" href="#${id}" aria-label="Link to: ${escaped(text)}">#</a>`;
    return `<h${depth} id="${id}">${renderer.parser.parseInline(tokens)}${depth === 1 ? '' : ` ${anchor}`}</h${depth}>\n`;
  };
  renderer.code = ({ text, lang = '' }) => {
    const [language = '', ...words] = lang.split(' ');
    const saved = words.find((word) => word.startsWith('file='))?.slice('file='.length);
    const isAnswer = words.includes('expect') || words.includes('later');
    return `${codeBlock(text, language, saved ?? (isAnswer ? 'Output' : undefined))}\n`;
  };
  renderer.table = (token) =>
    file === 'README.md' ? cardsOf(token, renderer) : `<div class="scroll" tabindex="0">${tableOf(token)}</div>\n`;
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

/** The index of the guides: each row of its tables is a card. */
function cardsOf({ rows }: Tokens.Table, renderer: InstanceType<typeof Marked.prototype.Renderer>): string {
  const cards = rows.map(([name, about]) => {
    const link = renderer.parser.parseInline(name?.tokens ?? []);
    const text = renderer.parser.parseInline(about?.tokens ?? []);
    return `<li>${link.replace('</a>', '')}<span>${text}</span></a>`;
  });
  return `<ul class="cards">${cards.join('')}</ul>\n`;
}

/** Returns the URL of a relative link from one guide to another, or to a picture. */
function targetOf(href: string, file: string, files: Files): string | undefined {
  const [name = '', anchor] = href.split('#');
  const path = pathOf(posix.normalize(posix.join(posix.dirname(file), name)).replace(/\/$/, ''));
  return files.has(path) ? guideAddress(path) + (anchor ? `#${anchor}` : '') : undefined;
}

function inRepository(href: string, file: string): string {
  return posix.normalize(posix.join('docs', posix.dirname(file), href));
}

/** The same ids as on GitHub, so that a link to a section works in both places. */
export function uniqueId(text: string, taken: Map<string, number>): string {
  const id = text
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
  const before = taken.get(id) ?? 0;
  taken.set(id, before + 1);
  return before === 0 ? id : `${id}-${before}`;
}

export function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : 'text' in token ? token.text : ''))
    .join('');
}
