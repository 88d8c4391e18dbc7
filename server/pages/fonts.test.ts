import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { create } from 'fontkit';
import { programFolder } from '../platform/program-folder.ts';

const root = new URL('.', programFolder);
const read = (path: string): Buffer => readFileSync(new URL(path, root));

/** The faces of font.css: the file, and whether a browser takes a character from it. */
function facesOf(style: string): { file: string; covers: (codePoint: number) => boolean }[] {
  return [...style.matchAll(/url\("\/fonts\/([^"]+)"\)[^]*?unicode-range:([^;]+);/g)].map(
    ([, file = '', ranges = '']) => {
      const spans = ranges.split(',').map((range) =>
        range
          .trim()
          .slice(2)
          .split('-')
          .map((hex) => Number.parseInt(hex, 16)),
      );
      return {
        file,
        covers: (codePoint) => spans.some(([from = 0, to = from]) => codePoint >= from && codePoint <= to),
      };
    },
  );
}

test('the fonts of the pages have every character of the guides and of the texts, also arrows', () => {
  const faces = facesOf(read('pages/shared/font.css').toString()).map((face) => ({
    ...face,
    font: create(read(`server/fonts/${face.file}`)),
  }));
  assert.equal(faces.length, 2);
  const paths = globSync(['docs/*.md', 'docs/processors/*.md', 'dashboard/src/texts/*.ts', 'pages/*/texts.ts'], {
    cwd: root,
  });
  const missing = new Set<string>();
  for (const path of paths) {
    // U+FFFD stands for what no font has.
    for (const character of new Set(
      read(path)
        .toString()
        .replaceAll(/[\s\uFFFD]/g, ''),
    )) {
      const codePoint = character.codePointAt(0) ?? 0;
      const face = faces.find(({ covers }) => covers(codePoint));
      if (!face?.font.hasGlyphForCodePoint(codePoint)) missing.add(`${path}: ${character} U+${codePoint.toString(16)}`);
    }
  }
  assert.deepEqual([...missing], []);
});
