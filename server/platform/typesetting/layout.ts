import { bidi } from './bidi.ts';
import { eastAsianOrder, familiesFor, type FontFamily } from './font-families.ts';
import type { Face, Fonts, Glyph } from './fonts.ts';
import { clustersOf, wrap } from './line-breaks.ts';

/** Lays text of any script out: chooses fonts, orders mixed directions, shapes letters, breaks lines. */

export interface TextLine {
  /** The text in the order in which it is read. */
  readonly text: string;
  /** From left to right. */
  readonly runs: readonly ShapedRun[];
  readonly width: number;
  readonly ascent: number;
  readonly descent: number;
}

export interface ShapedRun {
  readonly text: string;
  readonly face: Face;
  readonly glyphs: readonly Glyph[];
  readonly width: number;
  readonly isRightToLeft: boolean;
  /** Whether the glyphs, one after the other in the direction of the run, say the text. */
  readonly isPlain: boolean;
}

/** Characters that follow each other, with one font and one level of direction. */
interface Run {
  readonly face: Face;
  readonly start: number;
  end: number;
  /** Odd from right to left. A number in Hebrew and the English word after it differ in it, because they stand apart. */
  readonly level: number;
  readonly isRightToLeft: boolean;
  /** No font has the character, so this is printed instead. */
  readonly replacement?: string;
}

export interface Style {
  readonly size: number;
  readonly isBold: boolean;
  readonly width: number;
}

const replacement = '\ufffd';
/** As far as the tallest stacks of letters reach. A name with a hundred accents on a letter must not fill the page. */
const reachMax = 1.7;
const regular = 400;
const bold = 700;
const rightToLeft =
  /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ignorable = /\p{Default_Ignorable_Code_Point}|\p{Cc}/u;

export function layouterFor(fonts: Fonts, texts: Iterable<string>): (text: string, style: Style) => TextLine[] {
  const han = eastAsianOrder(texts);
  const known = new Map<string, Choice>();
  const choose: Choose = (cluster, weight, before) => {
    const key = `${weight} ${before?.name} ${cluster}`;
    const choice = known.get(key) ?? faceFor(fonts, han, cluster, weight, before);
    if (choice) known.set(key, choice);
    return choice;
  };
  return (text, style) => layOut(choose, printable(text), style);
}

/** Chooses the font for a character as a reader sees it. It is undefined while a font has to be loaded. */
type Choose = (cluster: string, weight: number, before: Face | undefined) => Choice | undefined;

/** One line without control characters, in composed form: fonts have more composed letters than marks. */
const printable = (text: string): string =>
  text
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
    .trim();

/** Around values in a sentence of the other direction. They order the characters, and no font has a glyph for them. */
const isIsolate = (character: string): boolean => /[\u2066-\u2069]/.test(character);

function directed(marked: string) {
  const kept = Array.from({ length: marked.length }, (_, index) => index).filter(
    (index) => !isIsolate(marked.charAt(index)),
  );
  const text = kept.map((index) => marked.charAt(index)).join('');
  if (!rightToLeft.test(marked)) return { text, embedding: undefined };
  const { levels, paragraphs } = bidi.getEmbeddingLevels(marked);
  const level = paragraphs[0]?.level ?? 0;
  const embedding = {
    levels: Uint8Array.from(kept, (index) => levels[index] ?? level),
    paragraphs: [{ start: 0, end: text.length - 1, level }],
  };
  return { text, embedding };
}

function layOut(choose: Choose, marked: string, style: Style): TextLine[] {
  const weight = style.isBold ? bold : regular;
  const { text, embedding } = directed(marked);
  const runs = runsOf(text, weight, (index) => embedding?.levels[index] ?? 0, choose);
  const basis = choose('x', weight, undefined);
  // Fonts must be loaded first; then the text is laid out again.
  if (!basis || !runs) return [];
  const shaped = new Map(runs.map((run) => [run, shape(text, run)]));
  const places = placesOf(text, shaped, style.size);
  const parts = wrap(text, (start, end) => (places[end] ?? 0) - (places[start] ?? 0), style.width);
  return parts.map(([start, end]) => {
    const inLine = runs.filter((run) => run.start < end && run.end > start);
    const order =
      embedding && end > start
        ? bidi.getReorderedIndices(text, embedding, start, end - 1).slice(start, end)
        : undefined;
    const visual = order ? [...new Set(order.map((index) => runAt(inLine, index)))] : inLine;
    return lineOf(
      text,
      start,
      visual.map((run) => partOfRun(text, run, start, end, shaped)),
      basis,
      style.size,
    );
  });
}

function runAt(runs: readonly Run[], index: number): Run {
  const run = runs.find(({ start, end }) => index >= start && index < end);
  if (!run) throw new Error(`no run has the character ${index}`);
  return run;
}

type Choice = { readonly face: Face; readonly isMissing?: boolean };

function runsOf(text: string, weight: number, levelAt: (index: number) => number, choose: Choose): Run[] | undefined {
  const runs: Run[] = [];
  let isComplete = true;
  for (const { start, text: cluster } of clustersOf(text)) {
    const last = runs.at(-1);
    const choice = choose(cluster, weight, last?.face);
    isComplete &&= choice !== undefined;
    if (!choice) continue;
    const { face, isMissing } = choice;
    const end = start + cluster.length;
    const level = levelAt(start);
    if (!isMissing && last?.face === face && last.level === level && !last.replacement) last.end = end;
    else runs.push({ face, start, end, level, isRightToLeft: level % 2 === 1, ...(isMissing && { replacement }) });
  }
  return isComplete ? runs : undefined;
}

function faceFor(
  fonts: Fonts,
  han: readonly FontFamily[],
  cluster: string,
  weight: number,
  before: Face | undefined,
): Choice | undefined {
  const codes = Array.from(cluster)
    .filter((sign) => !ignorable.test(sign))
    .map((sign) => sign.codePointAt(0) ?? 0);
  const [base] = codes;
  if (base === undefined) return before ? { face: before } : faceFor(fonts, han, 'x', weight, before);
  const has = (face: Face, wanted: readonly number[]): boolean =>
    wanted.every((code) => face.font.hasGlyphForCodePoint(code));
  const inFamilies = familiesFor(cluster, before?.family, han).map((family) => () => fonts.find(family, base, weight));
  const candidates: Face[] = [];
  for (const find of [...inFamilies, () => fonts.operatorFace(), () => fonts.lastFace()]) {
    const face = find();
    if (face === null) return undefined;
    if (face && has(face, codes)) return { face };
    if (face) candidates.push(face);
  }
  const withoutMarks = candidates.find((face) => has(face, [base]));
  if (withoutMarks) return { face: withoutMarks };
  const face = candidates.find((each) => has(each, [replacement.codePointAt(0) ?? 0]));
  if (!face) throw new Error('no font has the replacement character');
  return { face, isMissing: true };
}

function shape(text: string, { face, start, end, isRightToLeft, replacement: shown }: Run): Glyph[] {
  const glyphs = face.shape(shown ?? text.slice(start, end), isRightToLeft);
  const reach = reachMax * face.font.unitsPerEm;
  // A mark that the font lacks is left out, and one that would be printed over the lines above or below.
  return glyphs
    .filter(({ id, advance, top, bottom }) => id !== 0 && (advance > 0 || (top <= reach && -bottom <= reach)))
    .map((glyph) => ({ ...glyph, start: glyph.start + start }));
}

/** How far from the start of the text each character begins, if it were one line. */
function placesOf(text: string, shaped: ReadonlyMap<Run, readonly Glyph[]>, size: number): number[] {
  const widths = Array.from({ length: text.length }, () => 0);
  for (const [{ face }, glyphs] of shaped) {
    const scale = size / face.font.unitsPerEm;
    for (const { start, advance } of glyphs) widths[start] = (widths[start] ?? 0) + advance * scale;
  }
  const places = [0];
  for (const [index, width] of widths.entries()) places.push((places[index] ?? 0) + width);
  return places;
}

type RunWithGlyphs = Run & { readonly glyphs: Glyph[] };

/** Letters at a line's end may join differently, so a run that is broken is shaped again. */
function partOfRun(text: string, run: Run, from: number, to: number, shaped: ReadonlyMap<Run, Glyph[]>): RunWithGlyphs {
  if (run.start >= from && run.end <= to) return { ...run, glyphs: shaped.get(run) ?? [] };
  const part = { ...run, start: Math.max(run.start, from), end: Math.min(run.end, to) };
  return { ...part, glyphs: shape(text, part) };
}

function lineOf(text: string, start: number, runs: readonly RunWithGlyphs[], basis: Choice, size: number): TextLine {
  const shaped = runs.map((run) => shapedRun(text, run, size));
  // The font of most texts gives the height of a line. Only letters that reach beyond it need more.
  const { ascent, descent } = basis.face;
  const reach = runs.flatMap(({ face, glyphs }) =>
    glyphs.map(({ top, bottom }) => {
      const { unitsPerEm } = face.font;
      return [Math.min(top / unitsPerEm, reachMax), Math.min(-bottom / unitsPerEm, reachMax)] as const;
    }),
  );
  return {
    text: text.slice(
      start,
      runs.reduce((last, { end }) => Math.max(last, end), start),
    ),
    runs: shaped,
    width: shaped.reduce((sum, { width }) => sum + width, 0),
    ascent: Math.max(ascent, ...reach.map(([above]) => above)) * size,
    descent: Math.max(descent, ...reach.map(([, below]) => below)) * size,
  };
}

function shapedRun(
  text: string,
  { face, glyphs, start, end, isRightToLeft, replacement: shown }: RunWithGlyphs,
  size: number,
): ShapedRun {
  const said = text.slice(start, end);
  // Some programs sort the glyphs of a line by their place, which moves marks.
  const isInLine = ({ text: own, x, y, advance }: Glyph): boolean => own !== '' && x === 0 && y === 0 && advance > 0;
  const isPlain = glyphs.every(isRightToLeft ? ({ text: own }) => own !== '' : isInLine);
  return {
    text: said,
    face,
    glyphs,
    width: (glyphs.reduce((sum, { advance }) => sum + advance, 0) * size) / face.font.unitsPerEm,
    isRightToLeft,
    isPlain: isPlain && shown === undefined && textOf(glyphs, isRightToLeft) === said,
  };
}

const textOf = (glyphs: readonly Glyph[], isRightToLeft: boolean): string =>
  (isRightToLeft ? glyphs.toReversed() : glyphs).map(({ text }) => text).join('');
