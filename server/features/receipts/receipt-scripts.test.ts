import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { before, describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { differences, openPicture, type PdfPage, readPages, saved } from '../../../tests/support/pdf-pages.ts';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import { textsFor } from '../../customer-texts/texts.ts';
import type { ReceiptDocument } from './document.ts';
import { renderReceipt } from './pdf.ts';

/**
 * Prints names in the scripts of the world. A page can have the right text and show boxes, so its picture is compared with one that
 * a person has looked at. After a change to the receipt, `SVC_UPDATE_PICTURES=1 npm test server/features/receipts/receipt-scripts.test.ts`
 * writes the pictures again. Look at each of them before you commit it: every line must show the name in its script.
 */

/** The names and words are common, with what is hard in a script: letters that join, change places, stack or carry marks. */
const samples: Readonly<Record<string, string>> = {
  Vietnamese: 'Nguyễn Thị Ánh Tuyết',
  Polish: 'Łódź, Žofie Šťastná',
  Greek: 'Παπαδοπούλου Ἀθηνᾶ',
  Cyrillic: 'Дмитрий Щёголев, Їжак Ґалаґан',
  Arabic: 'محمد الفارسي',
  Persian: 'پیمان چراغی',
  Urdu: 'ڈاکٹر ٹیپو',
  Hebrew: 'בנימין כהן',
  Devanagari: 'कृष्णमूर्ति राष्ट्रीय प्रार्थना श्री',
  Bengali: 'রবীন্দ্রনাথ ঠাকুর',
  Tamil: 'சுப்பிரமணியன் ஸ்ரீ கொள்கை',
  Thai: 'นายสมชาย ป้าน้ำ ญี่ปุ่น',
  'Simplified Chinese': '李 小龙 中国茶叶有限公司',
  'Traditional Chinese': '陳大文 香港鴻煊',
  Japanese: '株式会社さくら 田中「太郎」',
  Korean: '김철수 주식회사',
  Georgian: 'გიორგი მაისურაძე',
  Armenian: 'Արմեն Հակոբյան',
  Ethiopic: 'አማርኛ ገብረ ሥላሴ',
  Khmer: 'ភាសាខ្មែរ ស្ត្រី ព្រះ',
  Sinhala: 'ශ්‍රී ලංකා ප්‍රේමදාස',
  Gujarati: 'ગુજરાતી શ્રી ક્ષમા',
  Gurmukhi: 'ਪੰਜਾਬੀ ਸਿੰਘ ਪ੍ਰੀਤ',
  Telugu: 'తెలుగు శ్రీ రాష్ట్రం జ్ఞాన',
  Kannada: 'ಕನ್ನಡ ಶ್ರೀ ಕೃಷ್ಣ',
  Malayalam: 'മലയാളം ശ്രീ കൃഷ്ണൻ',
  Myanmar: 'မြန်မာ အောင်ဆန်းစုကြည်',
  Lao: 'ລາວ ນ້ຳ ຫຼວງພະບາງ',
  Emoji: 'Ana 🌸 Café ☕ 👩‍👩‍👧 🇩🇪 👍🏽',
  'all currencies': '€ £ ¥ ₹ ₩ ₽ ₺ ₪ ₫ ₦ ₴ ₱ ₡ ₲ ₵ ₸ ₼ ₾ ฿ ៛ ₿',
};
const mixed = [
  'محمد (VIP) 42',
  'Name محمد (VIP) 42 end',
  'חולצה כחולה (XL) 3',
  'شاي فاخر (٢٥٠ غرام) من مزرعة صغيرة في أعالي الجبال القريبة من بحيرة كبيرة',
];
const long = [
  '东方红特级大吉岭红茶礼盒装二百五十克配铸铁茶壶一把以及六只手工青瓷茶杯（限量版）',
  'ชุดของขวัญชาดาร์จีลิงชั้นพิเศษพร้อมกาน้ำชาเหล็กหล่อและถ้วยชาเซรามิกหกใบ',
  'Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenfabrikantenverband',
];
/** No font of a receipt has runes. */
const unknown = 'ᚠᚢᚦ';

const english = await textsFor('en');

const receiptWith = (descriptions: readonly string[]): ReceiptDocument => ({
  locale: 'en',
  texts: english.receipts,
  title: 'Receipt',
  mark: 'PAID',
  subject: 'Receipt R-000042',
  paper: 'A4',
  color: '#0a7d5c',
  logo: null,
  merchantName: '李小龙茶馆 Ångström',
  merchant: ['Lindenstraße 1', '10115 Berlin', 'Germany'],
  customer: ['محمد الفارسي', 'ada@example.com'],
  shipTo: ['김철수', '東京都千代田区丸の内1-1', 'Japan'],
  facts: [['Receipt number', 'R-000042']],
  lines: descriptions.map((description, index) => ({
    description,
    quantity: String(index + 1),
    unitPrice: '€1.00',
    amount: '€1.00',
  })),
  sums: [{ label: 'Total', amount: '€36.00', isStrong: true }],
  notes: ['Sandbox: no money was moved.'],
  createdAtMs: Date.UTC(2026, 10, 18),
});

const fonts = new Fonts(undefined);
let pdf: Buffer;
let pages: PdfPage[];
before(async () => {
  pdf = await renderReceipt(receiptWith([...Object.values(samples), ...mixed, ...long]), fonts);
  pages = await readPages(pdf);
});

const contentOf = (bytes: Buffer): string[] =>
  [...bytes.toString('latin1').matchAll(/\/FlateDecode\n>>\nstream\n([\s\S]*?)\nendstream/g)].map(([, stream = '']) =>
    inflateSync(Buffer.from(stream, 'latin1')).toString('latin1'),
  );

/** The glyphs of the page, and what they say. Glyph 0 is the box of a font for what it lacks. */
function printedBy(bytes: Buffer): { glyphs: string[]; replacements: number } {
  const streams = contentOf(bytes);
  const shown = streams.flatMap((stream) => [...stream.matchAll(/<([0-9a-f]+)> -?[\d.]+/g)].map(([, hex = '']) => hex));
  const glyphs = shown.flatMap((hex) => hex.match(/.{4}/g) ?? []);
  return { glyphs, replacements: streams.join('').match(/<fffd>/g)?.length ?? 0 };
}

const withoutSpaces = (text: string): string => text.normalize('NFC').replaceAll(/\s/g, '');

describe('a receipt', () => {
  it('prints every script without a box and without a replacement', () => {
    const { glyphs, replacements } = printedBy(pdf);
    assert.ok(glyphs.length > 900, `${glyphs.length}`);
    assert.ok(!glyphs.includes('0000'));
    assert.equal(replacements, 0);
  });

  it('says what it shows: copied text is the text of the order', () => {
    const copied = withoutSpaces(pages.map(({ text }) => text).join('\n'));
    const missing = Object.entries(samples).filter(([, text]) => !copied.includes(withoutSpaces(text)));
    assert.deepEqual(missing, []);
    for (const text of long) assert.ok(copied.includes(withoutSpaces(text)), text);
  });

  it('is read aloud in the order in which right-to-left text is read', () => {
    const read = pages.flatMap(({ actualTexts }) => actualTexts);
    for (const text of [...mixed, samples.Arabic ?? '', samples.Hebrew ?? '']) assert.ok(read.includes(text), text);
  });

  it('looks as it did when a person looked at it', async () => {
    assert.equal(pages.length, 2);
    for (const [index, { picture }] of pages.entries()) {
      const file = new URL(`pictures/scripts-${index + 1}.png`, import.meta.url);
      if (process.env.SVC_UPDATE_PICTURES) await writeFile(file, await saved(picture));
      assert.deepEqual(differences(picture, await openPicture(await readFile(file))), [], file.pathname);
    }
  });

  it('keeps names and descriptions on the page, however wide their characters are', async () => {
    const wide = '﷽'.repeat(255);
    const party = Array.from({ length: 6 }, () => wide);
    const bytes = await renderReceipt(
      { ...receiptWith([wide]), merchantName: wide, customer: party, shipTo: party },
      fonts,
    );
    const all = await readPages(bytes);
    assert.ok(all.length <= 3, `${all.length}`);
    assert.match(all.map(({ text }) => text).join(''), /…[^]*€36\.00/);
    // Nothing but the page number is below the foot of the text.
    for (const { picture } of all) {
      const { width, height, pixels } = picture;
      const foot = Math.ceil(height - 36 * (height / 842));
      assert.ok(pixels.subarray(foot * width).every((gray) => gray === 255));
    }
  });

  it('shows a sign for a character that no font has, and still says the character', async () => {
    const bytes = await renderReceipt(receiptWith([unknown]), fonts);
    const [page] = await readPages(bytes);
    assert.ok(page?.text.includes(unknown), page?.text);
    assert.equal(printedBy(bytes).replacements, 1);
    assert.ok(!printedBy(bytes).glyphs.includes('0000'));
  });
});
