import LineBreaker from 'linebreak';

/** Where a line of text may end. */

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const words = new Intl.Segmenter('en', { granularity: 'word' });

export const clustersOf = (text: string): { readonly start: number; readonly text: string }[] =>
  Array.from(graphemes.segment(text), ({ index, segment }) => ({ start: index, text: segment }));

/** These scripts put no spaces between words, so a dictionary finds them. */
const withoutSpaces = /[\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;

function breaksOf(text: string): number[] {
  const found = new Set<number>();
  const breaker = new LineBreaker(text);
  for (let next = breaker.nextBreak(); next; next = breaker.nextBreak()) found.add(next.position);
  if (withoutSpaces.test(text)) {
    for (const { index, segment } of words.segment(text)) {
      if (index > 0 && withoutSpaces.test(text[index - 1] ?? '') && withoutSpaces.test(segment[0] ?? ''))
        found.add(index);
    }
  }
  return [...found].toSorted((one, other) => one - other);
}

type Part = readonly [start: number, end: number];

/** Breaks a text into lines. What has no place to break is broken between the characters that a reader sees. */
export function wrap(text: string, widthOf: (start: number, end: number) => number, width: number): Part[] {
  const whole = partOf(text, 0, text.length);
  if (widthOf(...whole) <= width) return [whole];
  const breaks = breaksOf(text);
  const emergency = clustersOf(text).map(({ start, text: cluster }) => start + cluster.length);
  const parts: Part[] = [];
  for (let start = 0; start < text.length; ) {
    const fits = (end: number): boolean => end > start && widthOf(...partOf(text, start, end)) <= width;
    const first = emergency.find((end) => end > start) ?? text.length;
    const end = breaks.findLast(fits) ?? emergency.findLast(fits) ?? first;
    parts.push(partOf(text, start, end));
    start = end;
  }
  return parts;
}

/** Spaces at the end of a line take no room. */
const partOf = (text: string, start: number, end: number): Part => [
  start,
  start + text.slice(start, end).trimEnd().length,
];
