import type PDFDocument from 'pdfkit';
import { bidi } from './bidi.ts';
import type { Face, Glyph } from './fonts.ts';
import type { ShapedRun, TextLine } from './layout.ts';

/** Prints lines of text into a PDF. pdfkit embeds the fonts, with only the characters in use. */

type Document = InstanceType<typeof PDFDocument>;

/** Glyphs of one font that are printed at once. */
interface Piece {
  readonly face: Face;
  readonly glyphs: Glyph[];
  readonly isRightToLeft: boolean;
}

interface Span {
  readonly pieces: Piece[];
  /** For programs that copy or search the page, if the glyphs do not tell it. */
  text?: string;
}

/** Returns a function that prints a line, the letters standing at the given height. */
export function linePrinter(doc: Document): (line: TextLine, x: number, baseline: number, size: number) => void {
  const printed = new Map<Face, { piece: Piece }>();
  const print = (piece: Piece, x: number, baseline: number): void => {
    const { face } = piece;
    const known = printed.get(face) ?? { piece };
    known.piece = piece;
    if (!printed.has(face)) doc.registerFont(face.name, asFontOfPdfkit(face, known) as never);
    printed.set(face, known);
    // Features make pdfkit lay out the text at once. What the text is does not matter: it has been shaped.
    doc.font(face.name).text('x', x, baseline, { features: [], lineBreak: false, baseline: 'alphabetic' });
  };
  return (line, x, baseline, size) => {
    let left = x;
    for (const { pieces, text } of spansOf(line.runs)) {
      if (text !== undefined) doc.markContent('Span', { actual: text });
      for (const piece of pieces) {
        if (piece.glyphs.length > 0) print(piece, left, baseline);
        left += (advanceOf(piece.glyphs) * size) / piece.face.font.unitsPerEm;
      }
      if (text !== undefined) doc.endMarkedContent();
    }
  };
}

const advanceOf = (glyphs: readonly Glyph[]): number => glyphs.reduce((sum, { advance }) => sum + advance, 0);

/** Chrome leaves these out of a text that it is given. */
const isBeyondBasicPlane = (text: string): boolean => /[\u{10000}-\u{10ffff}]/u.test(text);

function spansOf(runs: readonly ShapedRun[]): Span[] {
  const spans: Span[] = [];
  let open: { span: Span; text: string } | undefined;
  for (const run of runs) {
    if (run.isRightToLeft || (run.isPlain && isBeyondBasicPlane(run.text))) {
      open = undefined;
      spans.push(...(run.isPlain ? [{ pieces: [pieceOf(run, run.glyphs)] }] : lettersOf(run)));
      continue;
    }
    // The whole text at once: Chrome sorts the letters of a line by their place, and would repeat the text of a part of them.
    if (!open) spans.push((open = { span: { pieces: [] }, text: '' }).span);
    open.span.pieces.push(pieceOf(run, run.glyphs));
    open.text += run.text;
    if (!run.isPlain || open.span.text !== undefined) open.span.text = open.text;
  }
  return spans;
}

const pieceOf = ({ face, isRightToLeft }: ShapedRun, glyphs: readonly Glyph[]): Piece => ({
  face,
  glyphs: [...glyphs],
  isRightToLeft,
});

/**
 * From right to left, programs that copy text expect the glyphs from left to right and turn them around. They would turn a given
 * text around, too, so only a single letter gets one.
 */
function lettersOf(run: ShapedRun): Span[] {
  if (run.glyphs.length === 1) return [{ pieces: [pieceOf(run, run.glyphs)], text: run.text }];
  const spans: Span[] = [];
  for (const letter of Map.groupBy(run.glyphs, ({ start }) => start).values()) {
    const last = spans.at(-1);
    if (letter.length > 1)
      spans.push({ pieces: [pieceOf(run, letter)], text: letter.map(({ text }) => text).join('') });
    else if (last && last.text === undefined) last.pieces[0]?.glyphs.push(...letter);
    else spans.push({ pieces: [pieceOf(run, letter)] });
  }
  return spans;
}

/** A font has fewer glyphs. */
const glyphsMax = 65_536;

/** pdfkit asks a font for the glyphs of a text. This one answers with those that HarfBuzz has chosen. */
function asFontOfPdfkit({ name, font }: Face, printed: { readonly piece: Piece }): object {
  const numbers = numbersOfGlyphs();
  const layout = (): object => {
    const { glyphs, isRightToLeft } = printed.piece;
    return {
      glyphs: glyphs.map(({ id, width, text }) => {
        const shown = isRightToLeft ? mirrored(text) : text;
        const codePoints = Array.from(shown, (sign) => sign.codePointAt(0) ?? 0);
        return { id: numbers(id, shown), advanceWidth: width, codePoints };
      }),
      // pdfkit changes the positions.
      positions: glyphs.map(({ advance, x, y }) => ({ xAdvance: advance, yAdvance: 0, xOffset: x, yOffset: y })),
      advanceWidth: advanceOf(glyphs),
    };
  };
  const createSubset = (): object => {
    const subset = font.createSubset();
    const include = subset.includeGlyph.bind(subset);
    const places = new Map<number, number>();
    subset.includeGlyph = (number) => {
      if (number < glyphsMax) return include(number);
      const place = places.get(number) ?? subset.glyphs.push(number % glyphsMax) - 1;
      places.set(number, place);
      return place;
    };
    return subset;
  };
  return Object.create(font, {
    postscriptName: { value: name },
    layout: { value: layout },
    createSubset: { value: createSubset },
  });
}

/** A glyph of a PDF says always the same text, so a glyph that says another is embedded a second time. */
function numbersOfGlyphs(): (id: number, text: string) => number {
  const texts = new Map<number, string[]>();
  return (id, text) => {
    const known = texts.get(id) ?? [];
    if (!known.includes(text)) texts.set(id, [...known, text]);
    const index = known.indexOf(text);
    return id + glyphsMax * (index < 0 ? known.length : index);
  };
}

/** A bracket from right to left says what it looks like: programs that copy text turn it around with the letters. */
const mirrored = (text: string): string => bidi.getMirroredCharacter(text) ?? text;
