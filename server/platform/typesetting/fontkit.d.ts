declare module 'fontkit' {
  /** What the layout uses of a font. */
  export interface Font {
    readonly unitsPerEm: number;
    readonly ascent: number;
    readonly descent: number;
    hasGlyphForCodePoint(code: number): boolean;
    createSubset(): Subset;
  }
  /** The glyphs of a font that are embedded. */
  interface Subset {
    readonly glyphs: number[];
    /** Returns the place of the glyph in the subset. */
    includeGlyph(id: number): number;
  }
  export function create(bytes: Uint8Array): Font;
}
