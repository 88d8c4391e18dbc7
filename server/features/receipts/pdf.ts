import { readFile } from 'node:fs/promises';
import { create, type Font } from 'fontkit';
import PDFDocument from 'pdfkit';
import { receiptTexts } from '../../customer-texts.ts';
import { programFolder } from '../../platform/program-folder.ts';
import type { ReceiptDocument } from './document.ts';

/** Lays a receipt out as a PDF. The fonts are embedded with only the characters that are used. */

const margin = 54;
const gap = 24;
const ink = '#111827';
const muted = '#4b5563';
const rule = '#d1d5db';
const body = 9.5;
const bottom = margin + 30;
/** More pages than the longest order needs. */
const pagesMax = 30;

type Document = InstanceType<typeof PDFDocument>;

interface TextOptions {
  readonly width: number;
  readonly size?: number;
  readonly bold?: boolean;
  readonly color?: string;
  readonly align?: 'left' | 'right';
}

interface Fonts {
  readonly regular: Font;
  readonly bold: Font;
  /** Has characters that the built-in fonts lack. */
  readonly other?: Font;
}

/** Parsing a font takes longer than a receipt, so it is done once. */
export async function loadFonts(otherFile: string | undefined): Promise<Fonts> {
  const [regular, bold, other] = await Promise.all([
    readFile(new URL('server/fonts/DejaVuSans.ttf', programFolder)),
    readFile(new URL('server/fonts/DejaVuSans-Bold.ttf', programFolder)),
    otherFile === undefined ? undefined : readFile(otherFile),
  ]);
  return { regular: create(regular), bold: create(bold), ...(other && { other: create(other) }) };
}

export async function renderReceipt(receipt: ReceiptDocument, fonts: Fonts): Promise<Buffer> {
  const doc = new PDFDocument({
    size: receipt.paper,
    margin,
    bufferPages: true,
    lang: 'en-US',
    displayTitle: true,
    // Null keeps pdfkit from loading a font of its own, which its type does not know.
    font: null as unknown as string,
    info: { Title: receipt.subject, Author: receipt.merchantName, CreationDate: new Date(receipt.createdAtMs) },
  });
  const chunks: Buffer[] = [];
  const finished = new Promise<void>((resolve, reject) => doc.on('end', resolve).on('error', reject));
  doc.on('data', (chunk: Buffer) => chunks.push(chunk));
  for (const [name, font] of Object.entries(fonts)) doc.registerFont(name, font);
  draw(doc, receipt, writerOn(doc, fonts));
  doc.end();
  await finished;
  return Buffer.concat(chunks);
}

type Write = (text: string, x: number, y: number, options: TextOptions) => number;

/** Returns a function that writes text and returns the height it took. */
function writerOn(doc: Document, fonts: Fonts): Write {
  return (text, x, y, { width, size = body, bold = false, color = ink, align = 'left' }) => {
    const main = bold ? 'bold' : 'regular';
    const runs = runsOf(text, (code) => {
      if (fonts[main].hasGlyphForCodePoint(code)) return main;
      return fonts.other?.hasGlyphForCodePoint(code) ? 'other' : undefined;
    });
    doc.fontSize(size).fillColor(color).font(main);
    const options = { width, align, lineGap: 2 } as const;
    const height = doc.heightOfString(runs.map((run) => run.text).join('') || ' ', options);
    for (const [index, run] of runs.entries()) {
      const isLast = index === runs.length - 1;
      doc.font(run.font);
      if (index === 0) doc.text(run.text, x, y, { ...options, continued: !isLast });
      else doc.text(run.text, { ...options, continued: !isLast });
    }
    return height;
  };
}

const invisible = /[\p{Cc}\p{Cf}\p{M}]/u;

/** Splits a text by the fonts that have its characters. One that no font has is printed as a question mark. */
function runsOf(text: string, fontOf: (code: number) => string | undefined): { font: string; text: string }[] {
  const runs: { font: string; text: string }[] = [];
  for (const sign of text.replaceAll(/[\r\n\t]+/g, ' ')) {
    const font = fontOf(sign.codePointAt(0) ?? 0);
    if (font === undefined && invisible.test(sign)) continue;
    const last = runs.at(-1);
    const shown = font === undefined ? '?' : sign;
    const used = font ?? fontOf(63) ?? 'regular';
    if (last?.font === used) last.text += shown;
    else runs.push({ font: used, text: shown });
  }
  return runs;
}

function draw(doc: Document, receipt: ReceiptDocument, write: Write): void {
  const width = doc.page.width - 2 * margin;
  let y = drawHead(doc, receipt, write, width);
  y = drawParties(receipt, write, width, y) + gap;
  y = drawLines(doc, receipt, write, width, y);
  y = drawSums(doc, receipt, write, width, y);
  for (const note of receipt.notes) {
    y = onPage(doc, y, 20);
    y += write(note, margin, y, { width, color: muted }) + 4;
  }
  drawFoot(doc, write, width);
}

function onPage(doc: Document, y: number, height: number): number {
  if (y + height <= doc.page.height - bottom) return y;
  if (doc.bufferedPageRange().count >= pagesMax) throw new Error('a receipt has too many pages');
  doc.addPage();
  return margin;
}

function drawHead(doc: Document, receipt: ReceiptDocument, write: Write, width: number): number {
  doc.rect(0, 0, doc.page.width, 8).fill(receipt.color);
  const half = width / 2 - gap / 2;
  let left = margin;
  if (receipt.logo) {
    doc.image(Buffer.from(receipt.logo), margin, margin, { fit: [160, 48] });
    left += 48 + 8;
  }
  left += write(receipt.merchantName, margin, left, { width: half, size: 13, bold: true });
  const right = margin + width / 2 + gap / 2;
  let y = margin;
  y += write(receipt.title, right, y, { width: half, size: 18, bold: true, align: 'right' }) + 8;
  for (const [label, value] of receipt.facts) {
    const labelHeight = write(label, right, y, { width: half / 2, color: muted });
    y += Math.max(labelHeight, write(value, right + half / 2, y, { width: half / 2, align: 'right' })) + 2;
  }
  return Math.max(left, y) + gap;
}

function drawParties(receipt: ReceiptDocument, write: Write, width: number, from: number): number {
  const half = width / 2 - gap / 2;
  const column = (title: string, lines: readonly string[], x: number): number => {
    let y = from;
    if (lines.length > 0) y += write(title, x, y, { width: half, bold: true, color: muted }) + 3;
    for (const line of lines) y += write(line, x, y, { width: half }) + 1;
    return y;
  };
  const left = column(receiptTexts.from, receipt.merchant, margin);
  const right = column(receiptTexts.billedTo, receipt.customer, margin + width / 2 + gap / 2);
  return Math.max(left, right);
}

function drawLines(doc: Document, { lines }: ReceiptDocument, write: Write, width: number, from: number): number {
  const widths = { quantity: 45, unitPrice: 100, amount: 100 };
  const first = width - widths.quantity - widths.unitPrice - widths.amount;
  const places = [
    { x: margin, width: first - 10, align: 'left' },
    { x: margin + first, width: widths.quantity, align: 'right' },
    { x: margin + first + widths.quantity, width: widths.unitPrice, align: 'right' },
    { x: margin + width - widths.amount, width: widths.amount, align: 'right' },
  ] as const;
  const row = (texts: readonly string[], y: number, options: Partial<TextOptions>): number =>
    Math.max(
      ...places.map((place, index) =>
        write(texts[index] ?? '', place.x, y, { width: place.width, align: place.align, ...options }),
      ),
    );
  const line = (y: number): void => {
    doc
      .moveTo(margin, y)
      .lineTo(margin + width, y)
      .lineWidth(0.5)
      .stroke(rule);
  };
  let y = onPage(doc, from, 60);
  const { item, quantity, unitPrice, amount } = receiptTexts;
  y += row([item, quantity, unitPrice, amount], y, { bold: true, color: muted }) + 5;
  line(y);
  for (const { description, ...rest } of lines) {
    doc.font('regular').fontSize(body);
    const height = doc.heightOfString(description || ' ', { width: first - 10, lineGap: 2 });
    y = onPage(doc, y + 7, height + 8);
    y += row([description, rest.quantity, rest.unitPrice, rest.amount], y, {}) + 5;
    line(y);
  }
  return y + 12;
}

function drawSums(doc: Document, { sums }: ReceiptDocument, write: Write, width: number, from: number): number {
  const x = margin + width / 2;
  const amountWidth = 90;
  let y = from;
  for (const { label, amount, isStrong = false } of sums) {
    y = onPage(doc, y, 34);
    const labelHeight = write(label, x, y, { width: width / 2 - amountWidth - 5, bold: isStrong });
    const amountPlace = { width: amountWidth, align: 'right', bold: isStrong } as const;
    y += Math.max(labelHeight, write(amount, margin + width - amountWidth, y, amountPlace)) + 5;
  }
  return y + gap / 2;
}

function drawFoot(doc: Document, write: Write, width: number): void {
  const { count } = doc.bufferedPageRange();
  for (let index = 0; index < count; index += 1) {
    doc.switchToPage(index);
    // Otherwise text below the margin begins a new page.
    doc.page.margins.bottom = 0;
    const y = doc.page.height - margin;
    write(receiptTexts.page(index + 1, count), margin, y, { width, size: 8, color: muted, align: 'right' });
  }
}
