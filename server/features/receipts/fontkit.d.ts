declare module 'fontkit' {
  /** What a receipt uses of a font. */
  export interface Font {
    hasGlyphForCodePoint(code: number): boolean;
  }
  export function create(bytes: Uint8Array): Font;
}
