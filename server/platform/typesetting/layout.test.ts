import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { readySlices, unpackSlice } from './font-files.ts';
import { Fonts } from './fonts.ts';
import { layouterFor, type TextLine } from './layout.ts';
import { clustersOf } from './line-breaks.ts';

const fonts = new Fonts(undefined);
const width = 120;

async function linesOf(text: string): Promise<TextLine[]> {
  for (;;) {
    const lines = layouterFor(fonts, [text])(text, { size: 10, isBold: false, width });
    if (fonts.isComplete) return lines;
    await fonts.loadWanted();
  }
}

const long = [
  '东方红特级大吉岭红茶礼盒装二百五十克配铸铁茶壶一把以及六只手工青瓷茶杯（限量版）',
  '桜の紅茶「ダージリン」ギフトボックスと鉄瓶のセットで湯呑みが六つ付きます',
  'ชุดของขวัญชาดาร์จีลิงชั้นพิเศษพร้อมกาน้ำชาเหล็กหล่อและถ้วยชาเซรามิกหกใบ',
  'ប្រអប់អំណោយតែដាជីលីងពិសេសជាមួយកំសៀវដែកនិងពែងសេរ៉ាមិចប្រាំមួយ',
  'مجموعة هدايا شاي دارجيلنغ الفاخر مع إبريق من الحديد الزهر (٢٥٠ غرام) وستة أكواب',
  'क्षत्रियराष्ट्रीयप्रार्थनाकृष्णमूर्तिज्ञानेश्वरक्षत्रियराष्ट्रीयप्रार्थना',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrikantenverband',
  '👩‍👩‍👧🇩🇪👍🏽👩‍👩‍👧🇩🇪👍🏽👩‍👩‍👧🇩🇪👍🏽👩‍👩‍👧🇩🇪👍🏽👩‍👩‍👧🇩🇪👍🏽',
];

describe('the layout of text', () => {
  let laidOut: (readonly [text: string, lines: TextLine[]])[];
  before(async () => {
    laidOut = [];
    for (const text of long) laidOut.push([text, await linesOf(text)]);
  });

  it('keeps long texts of every script within their column', () => {
    for (const [text, lines] of laidOut) {
      assert.ok(lines.length > 1, text);
      for (const line of lines) assert.ok(line.width <= width, `${line.width}: ${line.text}`);
    }
  });

  it('loses no character, and breaks no character that a reader sees', () => {
    for (const [text, lines] of laidOut) {
      assert.equal(
        lines
          .map((line) => line.text)
          .join('')
          .replaceAll(' ', ''),
        text.replaceAll(' ', ''),
      );
      const whole = new Set(clustersOf(text).map((cluster) => cluster.text));
      for (const line of lines)
        for (const cluster of clustersOf(line.text)) assert.ok(whole.has(cluster.text), line.text);
    }
  });

  it('breaks Thai between words', async () => {
    const [, lines = []] = laidOut.find(([text]) => text.startsWith('ชุด')) ?? [];
    const words = Array.from(
      new Intl.Segmenter('th', { granularity: 'word' }).segment(long[2] ?? ''),
      ({ index }) => index,
    );
    let end = 0;
    for (const line of lines.slice(0, -1)) assert.ok(words.includes((end += line.text.length)), line.text);
  });

  it('orders mixed directions as they are read', async () => {
    const visual = async (text: string): Promise<string[]> => {
      const [line] = await linesOf(text);
      return line?.runs.map((run) => run.text.trim()).filter(Boolean) ?? [];
    };
    assert.deepEqual(await visual('محمد (VIP) 42'), ['42', ')', 'VIP', '(', 'محمد']);
    assert.deepEqual(await visual('No. 7 محمد علي end'), ['No. 7', 'علي', 'محمد', 'end']);
    assert.deepEqual(await visual('Shirt أزرق 42 red'), ['Shirt', '42', 'أزرق', 'red']);
  });

  it('prints brackets from right to left as their mirror image', async () => {
    const glyphsOf = async (text: string): Promise<number[]> =>
      (await linesOf(text)).flatMap(({ runs }) => runs.flatMap(({ glyphs }) => glyphs.map(({ id }) => id)));
    const [opening] = await glyphsOf('(');
    assert.equal((await glyphsOf('(م')).at(-1), (await glyphsOf(')')).at(0));
    assert.notEqual((await glyphsOf('(م')).at(-1), opening);
  });

  it('keeps a line low, with any marks on a letter', async () => {
    const [line] = await linesOf(`Z${'\u0300\u0323\u0308'.repeat(80)}algo`);
    assert.ok(line && line.ascent + line.descent < 40, `${line?.ascent}`);
  });

  it('prints no mark outside of its line', async () => {
    for (const text of [`a${'\u0301'.repeat(254)}`, `ก${'\u0e49'.repeat(254)}`, `ב${'\u05b8\u0323'.repeat(127)}`]) {
      const [line] = await linesOf(text);
      assert.ok(line);
      const marks = line.runs.flatMap(({ face, glyphs }) =>
        glyphs.map((glyph) => ({ ...glyph, of: face.font.unitsPerEm })),
      );
      assert.ok(marks.length > 1, text);
      for (const { top, bottom, of } of marks) {
        assert.ok((top / of) * 10 <= line.ascent && (-bottom / of) * 10 <= line.descent, `${top} ${bottom}`);
      }
    }
  });

  it('takes one line for text without characters to print', async () => {
    assert.deepEqual((await linesOf(' \u200b\n')).length, 1);
    assert.equal((await linesOf('a\nb\u0007'))[0]?.text, 'a b');
  });
});

it('the fonts in server/fonts are those of the package; SVC_UPDATE_FONTS=1 writes them', async () => {
  for (const { family, slice, weight, file } of readySlices) {
    const unpacked = await unpackSlice(family, slice, weight);
    if (process.env.SVC_UPDATE_FONTS) await writeFile(file, unpacked);
    assert.ok((await readFile(file)).equals(unpacked), file.pathname);
  }
});
