import { marked, type Tokens } from 'marked';
import type { Language } from './guide-programs.ts';

/**
 * Reads the samples of a guide. CONTRIBUTING.md describes how they are marked:
 *
 * - `sh run`: pasted into one shell, block after block. `sh run background`: runs until the guide ends.
 * - `js run`, `python run`, `go run`: the blocks of a guide in one language are one program, run at the place of the first block.
 * - `js file=NAME`, `html file=NAME`: saved under that name.
 * - `js file=NAME tab=Node`: saved by readers who use this language. Then each language has a reader of its own, who skips the tabs of others.
 * - `json expect`, `text expect`: the output of the previous block. JSON has at least these fields; `…` is any text.
 * - `text later`: output of a background program that appears soon.
 * - `tab=NAME`: the block and its neighbours are one sample in several languages, and print the same.
 */

export interface Step {
  readonly kind: 'shell' | 'background' | 'program' | 'file';
  readonly code: string;
  /** Of a program. */
  readonly language?: Language;
  readonly file?: string;
  readonly tab?: string;
  readonly expected: readonly Expected[];
  /** The expected output of background programs. */
  readonly later: readonly string[];
}

interface Expected {
  readonly format: 'json' | 'text';
  readonly text: string;
}

const isLanguage = (language: string): language is Language => ['js', 'python', 'go'].includes(language);

export function stepsOf(markdown: string): Step[] {
  const steps: (Step & { expected: Expected[]; later: string[] })[] = [];
  const push = (step: Omit<Step, 'expected' | 'later'>): void => void steps.push({ ...step, expected: [], later: [] });
  // The blocks that print what is expected next.
  let [count, isTab] = [0, false];
  for (const token of marked.lexer(markdown).filter(({ type }) => type !== 'space')) {
    if (token.type !== 'code') {
      // A text between two blocks ends a group of tabs.
      isTab = false;
      continue;
    }
    const { lang = '', text } = token as Tokens.Code;
    const [language = '', ...words] = lang.split(' ');
    const valueOf = (name: string): string | undefined =>
      words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
    const [file, tab] = [valueOf('file'), valueOf('tab')];
    if (words.includes('expect') || words.includes('later')) {
      const previous = steps.at(-1);
      if (!previous) throw new Error(`no block precedes this expected output:\n${text}`);
      const expected = { format: language === 'json' ? 'json' : 'text', text } as const;
      if (words.includes('later')) previous.later.push(text);
      else for (const step of steps.slice(-count)) step.expected.push(expected);
      isTab = false;
    } else if (file) {
      push({ kind: 'file', file, code: text, ...(tab && { tab }) });
      [count, isTab] = [1, false];
    } else if (words.includes('run')) {
      const kind = isLanguage(language) ? 'program' : words.includes('background') ? 'background' : 'shell';
      const joins = isTab;
      isTab = tab !== undefined;
      count = joins && isTab ? count + 1 : 1;
      push({ kind, code: text, ...(isLanguage(language) && { language }), ...(tab && { tab }) });
    }
  }
  return steps;
}

/** The tabs of the languages that have files of their own, each for another reader. Empty if one reader can do all steps. */
export const readersOf = (steps: readonly Step[]): string[] => [
  ...new Set(steps.flatMap(({ kind, tab }) => (kind === 'file' && tab ? [tab] : []))),
];

/** What a reader of these tabs does. */
export const stepsFor = (steps: readonly Step[], reader: string): Step[] =>
  steps.filter(({ tab }) => tab === undefined || tab === reader);

/** Returns how the output differs from the guide; empty if it matches. */
export function difference({ format, text }: Expected, printed: string): string {
  if (format === 'text') {
    return like(tidy(text), tidy(printed)) ? '' : `expected:\n${text}\nprinted:\n${printed}`;
  }
  let actual: unknown;
  try {
    actual = JSON.parse(printed);
  } catch {
    return `expected JSON, printed:\n${printed}`;
  }
  const where = missing(JSON.parse(text), actual, 'it');
  return where && `${where}\nprinted:\n${printed}`;
}

function missing(expected: unknown, actual: unknown, path: string): string {
  if (typeof expected === 'string' && typeof actual === 'string' && like(expected, actual)) return '';
  if (typeof expected !== 'object' || expected === null || typeof actual !== 'object' || actual === null) {
    return expected === actual ? '' : `${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`;
  }
  const parts = Object.entries(expected);
  if (Array.isArray(expected) && (!Array.isArray(actual) || actual.length !== expected.length)) {
    return `${path} has other entries than expected`;
  }
  const found = actual as Record<string, unknown>;
  return parts.map(([name, value]) => missing(value, found[name], `${path}.${name}`)).find(Boolean) ?? '';
}

/** Whether a program has printed these lines, among others. */
export const includesLines = (printed: string, lines: string): boolean =>
  like(`…${tidy(lines)}…`, printed.replaceAll(/ +$/gm, ''));

const tidy = (text: string): string => text.replaceAll(/ +$/gm, '').trim();

function like(pattern: string, text: string): boolean {
  const escaped = pattern.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('[\\s\\S]*?')}$`).test(text);
}
