import PDFDocument from 'pdfkit';
import { fill, isRightToLeft } from '../../customer-texts/messages.ts';
import type { Fonts } from '../../platform/typesetting/fonts.ts';
import { layouterFor } from '../../platform/typesetting/layout.ts';
import { linePrinter } from '../../platform/typesetting/pdf-text.ts';
import { describe } from './archive.ts';
import type { ReceiptDocument } from './document.ts';

/** Lays a receipt out as a PDF, with tags for those who have it read to them. */

const margin = 54;
const gap = 24;
const ink = '#111827';
const muted = '#4b5563';
const rule = '#d1d5db';
const paidColor = '#047857';
const body = 9.5;
const lineGap = 2;
const bottom = margin + 30;
/** More pages than the longest order needs. */
const pagesMax = 30;
/** Texts have at most 255 characters, but 255 wide ones, each on a line of its own, would not fit on a page. */
const textLinesMax = 24;
/** Three names as long as possible leave room for the order. */
const partyLinesMax = 6;

type Document = InstanceType<typeof PDFDocument>;

interface TextOptions {
  readonly width: number;
  readonly size?: number;
  readonly bold?: boolean;
  readonly color?: string;
  /** At the end of a line: on the right in most languages. */
  readonly align?: 'start' | 'end';
  /** A text that needs more lines ends with three dots. */
  readonly linesMax?: number;
  readonly tag?: 'P' | 'H1' | 'H2' | 'TH' | 'TD';
}

/** What the parts of a receipt are drawn on. */
interface Paper {
  readonly doc: Document;
  readonly width: number;
  /** In languages that are written from right to left. */
  readonly isMirrored: boolean;
  /** The left edge of what is as wide as this and begins at `x`, counted from where a line begins in the language of the receipt. */
  edgeOf(x: number, width: number): number;
  /** Writes text and returns the height it took. */
  write(text: string, x: number, y: number, options: TextOptions): number;
  sizeOf(text: string, options: TextOptions): { readonly width: number; readonly height: number };
  /** Groups what is written in it, for example as a row of a table. */
  within<Result>(tag: 'Document' | 'Table' | 'TR', draw: () => Result): Result;
  /** Lines and colors, which are not read aloud. */
  decorate(draw: () => void): void;
  picture(alt: string, draw: () => void): void;
}

export async function renderReceipt(receipt: ReceiptDocument, fonts: Fonts): Promise<Buffer> {
  for (;;) {
    const doc = newDocument(receipt);
    describe(doc, receipt);
    drawReceipt(paperOn(doc, receipt, fonts), receipt);
    if (fonts.isComplete) {
      fonts.trim();
      return bytesOf(doc);
    }
    // The texts have shown which fonts they need.
    await fonts.loadWanted();
  }
}

const newDocument = (receipt: ReceiptDocument): Document =>
  new PDFDocument({
    size: receipt.paper,
    margin,
    bufferPages: true,
    tagged: true,
    pdfVersion: '1.7',
    lang: receipt.locale,
    displayTitle: true,
    // Null keeps pdfkit from loading a font of its own, which its type does not know.
    font: null as unknown as string,
    info: { Title: receipt.subject, Author: receipt.merchantName, CreationDate: new Date(receipt.createdAtMs) },
  });

async function bytesOf(doc: Document): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => doc.on('end', resolve).on('error', reject));
  doc.on('data', (chunk: Buffer) => chunks.push(chunk));
  doc.end();
  await finished;
  return Buffer.concat(chunks);
}

function paperOn(doc: Document, receipt: ReceiptDocument, fonts: Fonts): Paper {
  const layOut = layouterFor(fonts, textsOf(receipt));
  const print = linePrinter(doc);
  let parent: PDFKit.PDFStructureElement | undefined;
  const add = (element: PDFKit.PDFStructureElement): void => {
    if (parent) parent.add(element);
    else doc.addStructure(element);
  };
  const linesOf = (text: string, { width, size = body, bold = false, linesMax = textLinesMax }: TextOptions) => {
    const style = { size, isBold: bold, width };
    const lines = layOut(text, style);
    const shown = lines.length > linesMax ? [...lines.slice(0, linesMax - 1), ...layOut('…', style)] : lines;
    return shown.map((line) => ({ line, height: line.ascent + line.descent + lineGap }));
  };
  const isMirrored = isRightToLeft(receipt.locale);
  const edgeOf = (x: number, width: number): number => (isMirrored ? doc.page.width - x - width : x);
  return {
    doc,
    width: doc.page.width - 2 * margin,
    isMirrored,
    edgeOf,
    sizeOf(text, options) {
      const lines = linesOf(text, options);
      return {
        width: Math.max(0, ...lines.map(({ line }) => line.width)),
        height: lines.reduce((sum, { height }) => sum + height, 0),
      };
    },
    write(text, x, y, options) {
      const lines = linesOf(text, options);
      const { width, size = body, color = ink, align = 'start', tag = 'P' } = options;
      const isReadFromRight = lines.some(({ line }) => line.runs.some((run) => run.isRightToLeft));
      const isOnRight = (align === 'end') !== isMirrored;
      // Beside texts from left to right, lines from right to left begin at the same place on the right.
      const widest = isReadFromRight && !isOnRight ? Math.max(...lines.map(({ line }) => line.width)) : width;
      const left = edgeOf(x, width);
      let top = y;
      const draw = (): void => {
        doc.fontSize(size).fillColor(color);
        for (const { line, height } of lines) {
          print(line, isOnRight || isReadFromRight ? left + widest - line.width : left, top + line.ascent, size);
          top += height;
        }
      };
      // Programs that read aloud get the text in the order in which it is read.
      add(doc.struct(tag, isReadFromRight ? { actual: text } : {}, draw));
      return top - y;
    },
    within(tag, draw) {
      const element = doc.struct(tag);
      const before = parent;
      add(element);
      parent = element;
      const result = draw();
      parent = before;
      return result;
    },
    decorate(draw) {
      doc.markContent('Artifact', { type: 'Layout' });
      draw();
      doc.endMarkedContent();
    },
    picture: (alt, draw) => add(doc.struct('Figure', { alt }, draw)),
  };
}

/** The writing of the whole receipt tells the shapes of Chinese characters. */
const textsOf = ({ title, merchantName, merchant, customer, shipTo, lines }: ReceiptDocument): string[] => [
  title,
  merchantName,
  ...merchant,
  ...customer,
  ...shipTo,
  ...lines.map(({ description }) => description),
];

function drawReceipt(paper: Paper, receipt: ReceiptDocument): void {
  const { write, width } = paper;
  paper.within('Document', () => {
    let y = drawHead(paper, receipt);
    y = drawParties(paper, receipt, y) + gap;
    y = drawLines(paper, receipt, y);
    y = drawSums(paper, receipt, y);
    for (const note of receipt.notes) {
      y = onPage(paper, y, 20);
      y += write(note, margin, y, { width, color: muted }) + 4;
    }
  });
  drawFoot(paper, receipt);
}

function onPage({ doc }: Paper, y: number, height: number): number {
  if (y + height <= doc.page.height - bottom) return y;
  if (doc.bufferedPageRange().count >= pagesMax) throw new Error('a receipt has too many pages');
  doc.addPage();
  return margin;
}

function drawHead(paper: Paper, receipt: ReceiptDocument): number {
  const { doc, write, width, edgeOf, isMirrored } = paper;
  paper.decorate(() => doc.rect(0, 0, doc.page.width, 8).fill(receipt.color));
  const half = width / 2 - gap / 2;
  let left = margin;
  const { logo } = receipt;
  if (logo) {
    paper.picture(receipt.merchantName, () =>
      doc.image(Buffer.from(logo), edgeOf(margin, 160), margin, {
        fit: [160, 48],
        align: isMirrored ? 'right' : undefined,
      }),
    );
    left += 48 + 8;
  }
  left += write(receipt.merchantName, margin, left, { width: half, size: 13, bold: true, linesMax: partyLinesMax });
  const right = margin + width / 2 + gap / 2;
  let y = margin;
  y += write(receipt.title, right, y, { width: half, size: 18, bold: true, align: 'end', tag: 'H1' }) + 8;
  for (const [label, value] of receipt.facts) {
    const labelHeight = write(label, right, y, { width: half / 2, color: muted });
    y += Math.max(labelHeight, write(value, right + half / 2, y, { width: half / 2, align: 'end' })) + 2;
  }
  return Math.max(left, y) + gap;
}

function drawParties({ doc, write, width }: Paper, receipt: ReceiptDocument, from: number): number {
  const { from: merchant, billedTo, shipTo } = receipt.texts;
  const parties = [
    [merchant, receipt.merchant],
    [billedTo, receipt.customer],
    [shipTo, receipt.shipTo],
  ] as const;
  // Two columns keep their place when one of them is empty.
  const columns = receipt.shipTo.length > 0 ? 3 : 2;
  const columnWidth = (width - (columns - 1) * gap) / columns;
  const bottoms = parties.map(([title, lines], index) => {
    const x = margin + index * (columnWidth + gap);
    let y = from;
    if (lines.length > 0) y += write(title, x, y, { width: columnWidth, bold: true, color: muted, tag: 'H2' }) + 3;
    for (const line of lines) {
      if (y > doc.page.height / 2) break;
      y += write(line, x, y, { width: columnWidth, linesMax: partyLinesMax }) + 1;
    }
    return y;
  });
  return Math.max(...bottoms);
}

function drawLines(paper: Paper, { lines, texts: names }: ReceiptDocument, from: number): number {
  const { doc, width } = paper;
  const widths = { quantity: 45, unitPrice: 100, amount: 100 };
  const first = width - widths.quantity - widths.unitPrice - widths.amount;
  const places = [
    { x: margin, width: first - 10, align: 'start' },
    { x: margin + first, width: widths.quantity, align: 'end' },
    { x: margin + first + widths.quantity, width: widths.unitPrice, align: 'end' },
    { x: margin + width - widths.amount, width: widths.amount, align: 'end' },
  ] as const;
  const row = (texts: readonly string[], y: number, options: Partial<TextOptions>): number =>
    paper.within('TR', () =>
      Math.max(
        ...places.map(({ x, ...place }, index) => paper.write(texts[index] ?? '', x, y, { ...place, ...options })),
      ),
    );
  const line = (y: number): void =>
    paper.decorate(() =>
      doc
        .moveTo(margin, y)
        .lineTo(margin + width, y)
        .lineWidth(0.5)
        .stroke(rule),
    );
  return paper.within('Table', () => {
    let y = onPage(paper, from, 60);
    const { item, quantity, unitPrice, amount } = names;
    y += row([item, quantity, unitPrice, amount], y, { bold: true, color: muted, tag: 'TH' }) + 5;
    line(y);
    for (const { description, ...rest } of lines) {
      y = onPage(paper, y + 7, paper.sizeOf(description, places[0]).height + 8);
      y += row([description, rest.quantity, rest.unitPrice, rest.amount], y, { tag: 'TD' }) + 5;
      line(y);
    }
    return y + 12;
  });
}

function drawSums(paper: Paper, { sums, mark }: ReceiptDocument, from: number): number {
  const { write, width } = paper;
  const x = margin + width / 2;
  const amountWidth = 90;
  let y = from;
  for (const { label, amount, isStrong = false } of sums) {
    y = onPage(paper, y, 34);
    const labelHeight = write(label, x, y, { width: width / 2 - amountWidth - 5, bold: isStrong });
    const amountPlace = { width: amountWidth, align: 'end', bold: isStrong } as const;
    y += Math.max(labelHeight, write(amount, margin + width - amountWidth, y, amountPlace)) + 5;
  }
  const markBottom = mark ? drawMark(paper, mark, Math.min(from, y)) : 0;
  return Math.max(y, markBottom) + gap / 2;
}

/** Draws the mark, for example PAID, in a frame beside the sums, and returns where the frame ends. */
function drawMark({ doc, write, sizeOf, decorate, edgeOf }: Paper, mark: string, y: number): number {
  const place = { width: 200, size: 13, bold: true, color: paidColor } as const;
  const { width, height } = sizeOf(mark, place);
  const frame = { width: width + 24, height: height + 6 };
  write(mark, margin + 12, y + 4, place);
  decorate(() =>
    doc.roundedRect(edgeOf(margin, frame.width), y, frame.width, frame.height, 4).lineWidth(1.5).stroke(place.color),
  );
  return y + frame.height;
}

function drawFoot({ doc, write, width }: Paper, { texts, locale }: ReceiptDocument): void {
  const { count } = doc.bufferedPageRange();
  for (let index = 0; index < count; index += 1) {
    doc.switchToPage(index);
    const y = doc.page.height - margin;
    write(fill(texts.page, { page: index + 1, count }, locale), margin, y, {
      width,
      size: 8,
      color: muted,
      align: 'end',
    });
  }
}
