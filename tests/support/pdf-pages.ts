import { readFileSync } from 'node:fs';
import { init, type WrappedPdfiumModule } from '@embedpdf/pdfium';
import sharp from 'sharp';
import { root } from '../../scripts/release/files.ts';

/** Opens a PDF with PDFium, as Chrome does: what it shows, and what a person copies out of it. */

export interface PdfPage {
  /** As it is copied. */
  readonly text: string;
  /** What programs that read aloud say instead of some texts of the page. */
  readonly actualTexts: readonly string[];
  /** In gray, one byte for each pixel. */
  readonly picture: Picture;
}

export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

const scale = 1.5;
let opening: Promise<WrappedPdfiumModule> | undefined;

function openPdfium(): Promise<WrappedPdfiumModule> {
  opening ??= init({ wasmBinary: readFileSync(`${root}node_modules/@embedpdf/pdfium/dist/pdfium.wasm`).buffer }).then(
    (pdfium) => {
      pdfium.PDFiumExt_Init();
      return pdfium;
    },
  );
  return opening;
}

/** The types of the package leave it out. */
const memoryOf = ({ pdfium }: WrappedPdfiumModule): Uint8Array => (pdfium as unknown as { HEAPU8: Uint8Array }).HEAPU8;

export async function readPages(pdf: Buffer): Promise<PdfPage[]> {
  const lib = await openPdfium();
  const at = lib.pdfium.wasmExports.malloc(pdf.length);
  memoryOf(lib).set(pdf, at);
  const document = lib.FPDF_LoadMemDocument(at, pdf.length, '');
  const pages: PdfPage[] = [];
  for (let index = 0; index < lib.FPDF_GetPageCount(document); index += 1) {
    const page = lib.FPDF_LoadPage(document, index);
    pages.push({ text: textOf(lib, page), actualTexts: actualTextsOf(lib, page), picture: await pictureOf(lib, page) });
    lib.FPDF_ClosePage(page);
  }
  lib.FPDF_CloseDocument(document);
  lib.pdfium.wasmExports.free(at);
  return pages;
}

/** Calls a function that writes UTF-16 to a place in memory. */
function utf16(lib: WrappedPdfiumModule, bytes: number, write: (at: number) => unknown): string {
  const at = lib.pdfium.wasmExports.malloc(bytes + 2);
  write(at);
  const text = Buffer.from(memoryOf(lib).slice(at, at + bytes)).toString('utf16le');
  lib.pdfium.wasmExports.free(at);
  return text.replaceAll('\0', '');
}

function textOf(lib: WrappedPdfiumModule, page: number): string {
  const text = lib.FPDFText_LoadPage(page);
  const count = lib.FPDFText_CountChars(text);
  const found = utf16(lib, count * 2, (at) => lib.FPDFText_GetText(text, 0, count, at));
  lib.FPDFText_ClosePage(text);
  return found;
}

function actualTextsOf(lib: WrappedPdfiumModule, page: number): string[] {
  const tree = lib.FPDF_StructTree_GetForPage(page);
  const below = (element: number): string[] => {
    const bytes = lib.FPDF_StructElement_GetActualText(element, 0, 0);
    const own = bytes > 2 ? [utf16(lib, bytes, (at) => lib.FPDF_StructElement_GetActualText(element, at, bytes))] : [];
    const count = lib.FPDF_StructElement_CountChildren(element);
    const children = Array.from({ length: count }, (_, index) =>
      lib.FPDF_StructElement_GetChildAtIndex(element, index),
    );
    return [...own, ...children.filter(Boolean).flatMap(below)];
  };
  const count = lib.FPDF_StructTree_CountChildren(tree);
  const roots = Array.from({ length: count }, (_, index) => lib.FPDF_StructTree_GetChildAtIndex(tree, index));
  const found = roots.flatMap(below);
  lib.FPDF_StructTree_Close(tree);
  return found;
}

async function pictureOf(lib: WrappedPdfiumModule, page: number): Promise<Picture> {
  const width = Math.round(lib.FPDF_GetPageWidthF(page) * scale);
  const height = Math.round(lib.FPDF_GetPageHeightF(page) * scale);
  const bitmap = lib.FPDFBitmap_Create(width, height, 0);
  lib.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xff_ff_ff_ff);
  lib.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, 0);
  const at = lib.FPDFBitmap_GetBuffer(bitmap);
  const colors = Buffer.from(memoryOf(lib).slice(at, at + width * height * 4));
  lib.FPDFBitmap_Destroy(bitmap);
  const raw = { width, height, channels: 4 } as const;
  const pixels = await sharp(colors, { raw }).removeAlpha().toColourspace('b-w').raw().toBuffer();
  return { width, height, pixels };
}

export const saved = ({ width, height, pixels }: Picture): Promise<Buffer> =>
  sharp(pixels, { raw: { width, height, channels: 1 } })
    .png({ palette: true, colours: 16, effort: 10 })
    .toBuffer();

export async function openPicture(png: Buffer): Promise<Picture> {
  const { data, info } = await sharp(png).toColourspace('b-w').raw().toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, pixels: data };
}

const blockSize = 24;

/** The blocks of the page, as large as two letters, in which more than a twentieth of the picture differs. */
export function differences(one: Picture, other: Picture): string[] {
  if (one.width !== other.width || one.height !== other.height) return ['the size'];
  const counts = new Map<string, number>();
  for (const [index, pixel] of one.pixels.entries()) {
    if (Math.abs(pixel - (other.pixels[index] ?? 0)) < 96) continue;
    const x = Math.floor((index % one.width) / blockSize) * blockSize;
    const y = Math.floor(index / one.width / blockSize) * blockSize;
    counts.set(`${x},${y}`, (counts.get(`${x},${y}`) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > blockSize ** 2 / 20).map(([place]) => place);
}
