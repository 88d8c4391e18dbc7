import { readFile } from 'node:fs/promises';
import { create, type Font } from 'fontkit';
import type * as HarfBuzz from 'harfbuzzjs';
import { programFolder } from '../program-folder.ts';
import type { FontFamily } from './font-families.ts';
import { readSlice, sliceOf } from './font-files.ts';

/** A font in one weight that is ready to print: a slice of a family, or a file. */
export interface Face {
  readonly name: string;
  readonly family: FontFamily | undefined;
  readonly font: Font;
  /** Above and below the line on which letters stand, for a size of 1. */
  readonly ascent: number;
  readonly descent: number;
  shape(text: string, isRightToLeft: boolean): Glyph[];
}

/** In units of the font. */
export interface Glyph {
  readonly id: number;
  /** Where the text of the glyph begins. */
  readonly start: number;
  /** What the glyph says. Of several that say a text together, one says it. */
  readonly text: string;
  /** How far the ink reaches above and below the line on which letters stand. */
  readonly top: number;
  readonly bottom: number;
  readonly width: number;
  readonly advance: number;
  readonly x: number;
  readonly y: number;
}

/** Two weights of the usual receipt, and the characters of some hundred Chinese names. */
const facesMax = 120;

/**
 * Fonts are loaded when a text first needs them. A layout that lacks some notes them; load them, then lay out again.
 */
export class Fonts {
  readonly #faces = new Map<string, Face>();
  readonly #wanted = new Map<string, () => Promise<Face>>();
  readonly #operatorFile: string | undefined;

  constructor(operatorFile: string | undefined) {
    this.#operatorFile = operatorFile;
  }

  /** A file of the operator that is no font is reported by the first receipt, not by the first that needs it. */
  static async open(operatorFile: string | undefined): Promise<Fonts> {
    const fonts = new Fonts(operatorFile);
    fonts.operatorFace();
    await fonts.loadWanted();
    return fonts;
  }

  /** The part of a family that has the character. It is undefined if there is none, and null if it must be loaded first. */
  find(family: FontFamily, code: number, weight: number): Face | null | undefined {
    const slice = sliceOf(family, code);
    if (slice === undefined) return undefined;
    const name = `${family.package}-${slice}-${weight}`;
    return this.#get(name, async () => openFace(name, await readSlice(family.package, slice, weight), family));
  }

  /** Prints what no other font has: signs, and letters of rare scripts. */
  lastFace(): Face | null {
    const file = new URL('server/fonts/DejaVuSans.ttf', programFolder);
    return this.#get('dejavu', async () => openFace('dejavu', await readFile(file)));
  }

  operatorFace(): Face | null | undefined {
    const file = this.#operatorFile;
    return file === undefined
      ? undefined
      : this.#get('operator', async () => openFace('operator', await readFile(file)));
  }

  #get(name: string, load: () => Promise<Face>): Face | null {
    const face = this.#faces.get(name);
    if (!face) {
      this.#wanted.set(name, load);
      return null;
    }
    // The map is in the order of use.
    this.#faces.delete(name);
    this.#faces.set(name, face);
    return face;
  }

  get isComplete(): boolean {
    return this.#wanted.size === 0;
  }

  async loadWanted(): Promise<void> {
    for (const [name, load] of this.#wanted) this.#faces.set(name, await load());
    this.#wanted.clear();
  }

  /** Forgets the fonts that were not used for the longest time. */
  trim(): void {
    for (const name of this.#faces.keys()) {
      if (this.#faces.size <= facesMax) return;
      this.#faces.delete(name);
    }
  }
}

let harfBuzz: Promise<typeof HarfBuzz> | undefined;

async function openFace(name: string, bytes: Uint8Array, family?: FontFamily): Promise<Face> {
  harfBuzz ??= import('harfbuzzjs');
  const hb = await harfBuzz;
  const font = create(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const shaper = new hb.Font(new hb.Face(new hb.Blob(bytes)));
  const features = family?.without?.map((tag) => new hb.Feature(tag, 0));
  const buffer = new hb.Buffer();
  const shape = (text: string, isRightToLeft: boolean): Glyph[] => {
    buffer.reset();
    // A mark keeps its own text, apart from that of its letter.
    buffer.setClusterLevel(hb.ClusterLevel.MONOTONE_CHARACTERS);
    buffer.addText(text);
    buffer.guessSegmentProperties();
    buffer.setDirection(isRightToLeft ? hb.Direction.RTL : hb.Direction.LTR);
    buffer.setFlags(hb.BufferFlag.REMOVE_DEFAULT_IGNORABLES);
    hb.shape(shaper, buffer, features);
    const infos = buffer.getGlyphInfos();
    const positions = buffer.getGlyphPositions();
    const glyphs = infos.map(({ codepoint: id, cluster }, index) => {
      const { xAdvance: advance = 0, xOffset: x = 0, yOffset: y = 0 } = positions[index] ?? {};
      const { yBearing = 0, height = 0 } = shaper.glyphExtents(id) ?? {};
      const ink = { top: y + yBearing, bottom: y + yBearing + height };
      return { id, start: cluster, width: shaper.glyphHAdvance(id), advance, x, y, ...ink };
    });
    return withTexts(text, glyphs);
  };
  const { ascent, descent, unitsPerEm } = font;
  return { name, family, font, ascent: ascent / unitsPerEm, descent: -descent / unitsPerEm, shape };
}

/** Glyphs that cannot be separated begin at the same character. Of a letter and its dots, the letter says the text. */
function withTexts(text: string, glyphs: readonly Omit<Glyph, 'text'>[]): Glyph[] {
  const starts = [...new Set(glyphs.map(({ start }) => start))].toSorted((one, other) => one - other);
  const ends = new Map(starts.map((start, index) => [start, starts[index + 1] ?? text.length]));
  const speakers = new Map(glyphs.map((glyph) => [glyph.start, glyph]));
  for (const glyph of glyphs.toReversed()) if (glyph.advance > 0) speakers.set(glyph.start, glyph);
  return glyphs.map((glyph) => ({
    ...glyph,
    text: speakers.get(glyph.start) === glyph ? text.slice(glyph.start, ends.get(glyph.start)) : '',
  }));
}
