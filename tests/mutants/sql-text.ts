/**
 * Takes SQL apart as far as the list of mutants needs it: where the conditions of a text are, and what AND and OR connect in
 * them. Works on a copy of the text in which everything between quotes is blank, so that all positions stay.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Token extends Span {
  readonly word: string;
  /** How many parentheses and CASEs are around it. */
  readonly depth: number;
}

const words = /[()]|\b(?:CASE|END|WHERE|AND|OR|GROUP|ORDER|LIMIT|RETURNING|ON|FOR|OFFSET|UNION|DO)\b/g;
const opening = new Set(['(', 'CASE']);
const closing = new Set([')', 'END']);
/** What can follow a condition. */
const after = new Set(['GROUP', 'ORDER', 'LIMIT', 'RETURNING', 'ON', 'FOR', 'OFFSET', 'UNION', 'DO']);

/** Blanks what is between single quotes, and `holes`. */
export function blanked(text: string, holes: readonly Span[]): string {
  let copy = text;
  for (const { start, end } of holes) copy = copy.slice(0, start) + '_'.repeat(end - start) + copy.slice(end);
  return copy.replaceAll(/'[^']*'/g, (quoted) => '_'.repeat(quoted.length));
}

function tokensOf(text: string): Token[] {
  let depth = 0;
  return [...text.matchAll(words)].map(({ 0: word, index }) => {
    if (closing.has(word)) depth -= 1;
    const token = { word, depth, start: index, end: index + word.length };
    if (opening.has(word)) depth += 1;
    return token;
  });
}

/** The conditions after each WHERE. A text without one may be a condition itself: then AND connects its parts. */
export function conditionsOf(text: string): Span[] {
  const tokens = tokensOf(text);
  const endOf = (start: number, depth: number): number =>
    tokens.find((one) => one.start >= start && (one.depth < depth || (one.depth === depth && after.has(one.word))))
      ?.start ?? text.length;
  const found = tokens
    .filter(({ word }) => word === 'WHERE')
    .map(({ end, depth }) => ({ start: end, end: endOf(end, depth) }));
  const isPart = tokens.some(({ word, depth }) => word === 'AND' && depth === 0);
  const isWhole = tokens.some(({ word, depth }) => word === 'WHERE' && depth === 0);
  return isPart && !isWhole ? [{ start: 0, end: endOf(0, 0) }, ...found] : found;
}

function trimmed(text: string, { start, end }: Span): Span {
  const inner = text.slice(start, end);
  return {
    start: start + (inner.length - inner.trimStart().length),
    end: end - (inner.length - inner.trimEnd().length),
  };
}

function partsBy(word: 'AND' | 'OR', text: string, { start, end }: Span): Span[] {
  const tokens = tokensOf(text.slice(start, end)).filter((one) => one.word === word && one.depth === 0);
  const starts = [start, ...tokens.map((one) => start + one.end)];
  const ends = [...tokens.map((one) => start + one.start), end];
  return starts
    .map((from, index) => trimmed(text, { start: from, end: ends[index] ?? end }))
    .filter((part) => part.end > part.start);
}

export interface Term extends Span {
  /** What it is when it is taken out: true beside AND, false beside OR. */
  readonly without: boolean;
}

/** The parts of a condition, also those that OR connects in parentheses. */
export function termsOf(text: string, condition: Span): Term[] {
  const choices = partsBy('OR', text, condition);
  if (choices.length > 1) return choices.map((part) => ({ ...part, without: false }));
  return partsBy('AND', text, condition).flatMap((part) => [{ ...part, without: true }, ...choicesIn(text, part)]);
}

function choicesIn(text: string, { start, end }: Span): Term[] {
  const closed = tokensOf(text.slice(start, end)).find(({ word, depth }) => word === ')' && depth === 0);
  if (text[start] !== '(' || closed?.end !== end - start) return [];
  const choices = partsBy('OR', text, { start: start + 1, end: end - 1 });
  return choices.length > 1 ? choices.map((part) => ({ ...part, without: false })) : [];
}
