import { setImmediate } from 'node:timers/promises';
import type { Marked, Token, Tokens } from 'marked';
import { type Files, type Group, guideAddress, plainText, uniqueId } from './guide-pages.ts';
import type { ReadGuide } from './guide-texts.ts';
import type { ReferenceEntry } from './reference-pages.ts';

/** What the search of the docs looks in: the sections of the guides and the calls of the API. A browser loads it on first use. */

export interface SearchEntry {
  readonly title: string;
  readonly detail: string;
  readonly address: string;
  readonly text: string;
}

/** Reads one guide at a time, so that other requests are not held up. */
export async function searchEntries(
  markdown: Marked,
  read: ReadGuide,
  groups: readonly Group[],
  files: Files,
  reference: readonly ReferenceEntry[],
): Promise<SearchEntry[]> {
  const entries: SearchEntry[] = [];
  for (const { path, title } of groups.flatMap((group) => group.entries)) {
    const file = files.get(path);
    if (file) entries.push(...sectionsOf(markdown.lexer(read(file)), guideAddress(path), title));
    await setImmediate();
  }
  return [...entries, ...reference.map(({ address, title, detail, text }) => ({ title, detail, address, text }))];
}

function sectionsOf(tokens: readonly Token[], address: string, guide: string): SearchEntry[] {
  const taken = new Map<string, number>();
  const sections: { title: string; detail: string; address: string; text: string }[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') {
      const text = plainText([token]);
      const id = uniqueId(text, taken);
      const isTitle = (token as Tokens.Heading).depth === 1;
      sections.push({
        title: isTitle ? guide : text,
        detail: isTitle ? 'Guide' : guide,
        address: isTitle ? address : `${address}#${id}`,
        text: '',
      });
    } else {
      const section = sections.at(-1);
      if (section) section.text = `${section.text} ${textOf(token)}`.replaceAll(/\s+/g, ' ').trim();
    }
  }
  return sections;
}

/** Samples are left out, because the words in them would be found everywhere. */
function textOf(token: Token): string {
  if (token.type === 'code' || token.type === 'html' || token.type === 'space') return '';
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' ')).join(' ');
  }
  if (token.type === 'list') return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
  return plainText([token]);
}
