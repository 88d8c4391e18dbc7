import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { everyNode, readXml } from '../../../tests/support/xml-reader.ts';
import { textsFor } from '../../customer-texts/texts.ts';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import { srgbProfile } from '../../platform/typesetting/srgb-profile.ts';
import type { ReceiptDocument } from './document.ts';
import { renderReceipt } from './pdf.ts';

const fonts = new Fonts(undefined);
const { receipts: texts } = await textsFor('en');
const createdAtMs = Date.UTC(2026, 1, 11, 9, 33);
const eInvoice = '<?xml version="1.0" encoding="UTF-8"?>\n<invoice>Łódź</invoice>\n';

const document: ReceiptDocument = {
  locale: 'en',
  texts,
  title: 'Invoice',
  mark: null,
  subject: 'Invoice INV-2026-000042',
  paper: 'A4',
  color: '#0a7d5c',
  logo: null,
  merchantName: 'Ada & <Söhne> 株式会社 محمد',
  merchant: ['Hauptstraße 1'],
  customer: ['Grace'],
  shipTo: [],
  facts: [['Number', 'INV-2026-000042']],
  lines: [{ description: 'Tea pot', quantity: '1', unitPrice: '€49.00', amount: '€49.00' }],
  sums: [{ label: 'Total', amount: '€49.00', isStrong: true }],
  notes: [],
  createdAtMs,
};

/** The objects of a PDF: what each says, and its stream. */
class Pdf {
  readonly #text: string;
  constructor(bytes: Buffer) {
    this.#text = bytes.toString('latin1');
  }
  objects(pattern: RegExp): string[] {
    return [...this.#text.matchAll(/^\d+ 0 obj\n([\s\S]*?)\nendobj/gm)]
      .map(([, content = '']) => content)
      .filter((content) => pattern.test(content.split('stream\n')[0] ?? ''));
  }
  object(reference: string | undefined): string {
    const [, content] = new RegExp(`^${reference?.trim()} obj\\n([\\s\\S]*?)\\nendobj`, 'm').exec(this.#text) ?? [];
    assert.ok(content !== undefined, `there is no object ${reference}`);
    return content;
  }
  get catalog(): string {
    const [one, ...more] = this.objects(/\/Type \/Catalog/);
    assert.ok(one && more.length === 0);
    return one;
  }
  get trailer(): string {
    return /trailer\n<<([\s\S]*?)>>/.exec(this.#text)?.[1] ?? '';
  }
}

const referenceIn = (content: string, name: string): string =>
  new RegExp(`/${name} \\[?(\\d+ 0) R`).exec(content)?.[1] ?? `with ${name}`;

function streamOf(content: string): Buffer {
  const [, stream = ''] = /stream\n([\s\S]*)\nendstream/.exec(content) ?? [];
  const bytes = Buffer.from(stream, 'latin1');
  return content.includes('/FlateDecode') ? inflateSync(bytes) : bytes;
}

/** The metadata without the marks around it, which are no elements. */
const metadataOf = (pdf: Pdf): string => {
  const content = pdf.object(referenceIn(pdf.catalog, 'Metadata'));
  assert.doesNotMatch(content, /\/Filter/);
  const text = streamOf(content).toString('utf8');
  return /<x:xmpmeta[\s\S]*<\/x:xmpmeta>/.exec(text)?.[0] ?? '';
};

describe('a PDF with an e-invoice', () => {
  let pdf: Pdf;
  before(async () => {
    const pixel = { width: 60, height: 20, channels: 4, background: { r: 200, g: 30, b: 30, alpha: 0.4 } } as const;
    const logo = await sharp({ create: pixel }).png({ palette: true }).toBuffer();
    pdf = new Pdf(await renderReceipt({ ...document, logo, eInvoice }, fonts));
  });

  it('carries the XML as an alternative of the document', () => {
    const spec = pdf.object(referenceIn(pdf.catalog, 'AF'));
    for (const part of ['/Type /Filespec', '/AFRelationship /Alternative', '/F (factur-x.xml)', '/UF (factur-x.xml)']) {
      assert.ok(spec.includes(part), `${part} is missing in ${spec}`);
    }
    const file = pdf.object(/\/EF <<\n\/F (\d+ 0) R/.exec(spec)?.[1]);
    assert.match(file, /\/Subtype \/text#2Fxml/);
    assert.match(file, /\/ModDate \(D:20260211093300Z\)/);
    assert.equal(streamOf(file).toString('utf8'), eInvoice);
    const names = pdf.object(referenceIn(pdf.catalog, 'Names'));
    assert.match(names, /\/EmbeddedFiles[\s\S]*\(factur-x\.xml\) \d+ 0 R/);
  });

  it('says what it is, to people, to archives and to programs that read invoices', () => {
    const metadata = readXml(`<?xml version="1.0" encoding="UTF-8"?>\n${metadataOf(pdf)}`);
    const said = (name: string): string[] =>
      everyNode(metadata)
        .filter((node) => node.name === name)
        .map((node) =>
          everyNode(node)
            .map(({ text }) => text.trim())
            .join(''),
        );
    assert.deepEqual([said('pdfaid:part'), said('pdfaid:conformance')], [['3'], ['B']]);
    assert.deepEqual(said('fx:ConformanceLevel'), ['EN 16931']);
    assert.deepEqual([said('fx:DocumentFileName'), said('fx:DocumentType')], [['factur-x.xml'], ['INVOICE']]);
    assert.deepEqual(said('dc:title'), [document.subject]);
    assert.deepEqual(said('dc:creator'), [document.merchantName]);
    assert.deepEqual(said('xmp:CreateDate'), ['2026-02-11T09:33:00Z']);
    const explained = said('pdfaProperty:name').map((name) => `fx:${name}`);
    const used = everyNode(metadata).flatMap(({ name }) => (name.startsWith('fx:') ? [name] : []));
    assert.deepEqual(explained, used);
  });

  it('says what its colors mean, and has all that it needs', () => {
    const intent = pdf.object(referenceIn(pdf.catalog, 'OutputIntents'));
    assert.match(intent, /\/S \/GTS_PDFA1/);
    const profile = pdf.object(referenceIn(intent, 'DestOutputProfile'));
    assert.match(profile, /\/N 3/);
    assert.deepEqual(streamOf(profile), srgbProfile());
    const fontsUsed = pdf.objects(/\/Type \/FontDescriptor/);
    assert.ok(fontsUsed.length >= 3);
    for (const font of fontsUsed) assert.match(font, /\/FontFile[23]? \d+ 0 R/);
    assert.match(pdf.trailer, /\/ID \[/);
    assert.doesNotMatch(pdf.trailer, /\/Encrypt/);
    assert.deepEqual(pdf.objects(/\/(JavaScript|Launch|DeviceCMYK)\b/), []);
  });

  it('is as large as one without, apart from the profile and the XML', async () => {
    const [plain, archive] = [
      await renderReceipt(document, fonts),
      await renderReceipt({ ...document, eInvoice }, fonts),
    ];
    assert.ok(archive.length - plain.length < 12_000, `${archive.length} and ${plain.length} bytes`);
  });
});

describe('a PDF without an e-invoice', () => {
  it('has the same description, and does not claim to be an archive', async () => {
    const pdf = new Pdf(await renderReceipt(document, fonts));
    const metadata = metadataOf(pdf);
    readXml(`<?xml version="1.0" encoding="UTF-8"?>\n${metadata}`);
    assert.match(metadata, /Ada &amp; &lt;Söhne&gt;/);
    assert.doesNotMatch(metadata, /pdfaid|fx:/);
    assert.doesNotMatch(pdf.catalog, /OutputIntents|\/AF /);
    assert.deepEqual(pdf.objects(/\/EmbeddedFile/), []);
  });
});

describe('the profile of sRGB', () => {
  it('has a header and tags that lie inside of it', () => {
    const profile = srgbProfile();
    assert.equal(profile.readUInt32BE(0), profile.length);
    assert.equal(profile.toString('latin1', 36, 40), 'acsp');
    const count = profile.readUInt32BE(128);
    const tags = Array.from({ length: count }, (_, index) => {
      const at = 132 + index * 12;
      return {
        name: profile.toString('latin1', at, at + 4),
        offset: profile.readUInt32BE(at + 4),
        length: profile.readUInt32BE(at + 8),
      };
    });
    assert.deepEqual(tags.map(({ name }) => name).toSorted(), [
      'bTRC',
      'bXYZ',
      'cprt',
      'desc',
      'gTRC',
      'gXYZ',
      'rTRC',
      'rXYZ',
      'wtpt',
    ]);
    for (const { offset, length } of tags) assert.ok(offset % 4 === 0 && offset + length <= profile.length);
  });
});
