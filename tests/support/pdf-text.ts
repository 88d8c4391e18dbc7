import { inflateSync } from 'node:zlib';

/** Reads the text of a PDF as a program that extracts text does, with the tables that lead from glyphs to characters. */

function streamsOf(pdf: Buffer): string[] {
  return [...pdf.toString('latin1').matchAll(/stream\r?\n([\s\S]*?)\r?\nendstream/g)].map(([, bytes = '']) => {
    const raw = Buffer.from(bytes, 'latin1');
    try {
      return inflateSync(raw).toString('latin1');
    } catch {
      return raw.toString('latin1');
    }
  });
}

const charactersOf = (hex: string): string => Buffer.from(hex, 'hex').swap16().toString('utf16le');

/** Which characters each glyph of a font stands for. */
function glyphsOf(table: string): Map<number, string> {
  const glyphs = new Map<number, string>();
  for (const [, first = '', list = ''] of table.matchAll(/<([0-9a-f]+)>\s*<[0-9a-f]+>\s*\[([^\]]*)\]/gi)) {
    for (const [place, [, hex = '']] of [...list.matchAll(/<([0-9a-f\s]+)>/gi)].entries()) {
      glyphs.set(Number.parseInt(first, 16) + place, charactersOf(hex.replaceAll(/\s/g, '')));
    }
  }
  return glyphs;
}

/** Returns the text once for each font in the file, because a text does not say which of them it uses. */
export function textOfPdf(pdf: Buffer): string {
  const streams = streamsOf(pdf);
  const fonts = streams.filter((stream) => stream.includes('beginbfrange')).map(glyphsOf);
  const shown = streams.flatMap((stream) =>
    [...stream.matchAll(/\[([^\]]*)\]\s*TJ/g)].map(([, parts = '']) =>
      [...parts.matchAll(/<([0-9a-f]+)>/gi)].map(([, hex = '']) => hex).join(''),
    ),
  );
  const read = (glyphs: Map<number, string>, hex: string): string =>
    (hex.match(/.{4}/g) ?? []).map((code) => glyphs.get(Number.parseInt(code, 16)) ?? '').join('');
  return fonts.map((glyphs) => shown.map((hex) => read(glyphs, hex)).join('\n')).join('\n');
}
