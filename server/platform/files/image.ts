import { open, readFile, writeFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { default as Sharp, Metadata } from 'sharp';
import { createSemaphore } from '../semaphore.ts';
import { withoutMetadata } from './image-metadata.ts';
import { StorageError } from './storage-error.ts';

type ImageFormat = 'jpeg' | 'png' | 'gif';

export interface ImageFacts {
  format: ImageFormat;
  contentType: string;
  /** Without a dot. */
  extension: string;
  /** The size as a viewer displays it, after the rotation that a camera notes in a JPEG. */
  width: number;
  height: number;
  sizeBytes: number;
}

export interface ImageProblem {
  /** A sentence for the person who uploaded the file. */
  problem: string;
}

interface Outline {
  format: ImageFormat;
  frames: number;
  /** The canvas size of a GIF, which the decoder ignores if the frames differ from it. */
  width: number;
  height: number;
}

type Walked = Omit<Outline, 'format'> & {
  /** The position where the image ends, which should be the end of the file. */
  end: number;
};

/** Returns bytes from `position`: at least `minBytes`, or as many as the file still has. */
type ReadAt = (position: number, minBytes: number) => Promise<Buffer>;

const formats: Record<ImageFormat, { name: string; contentType: string; extension: string }> = {
  jpeg: { name: 'JPEG', contentType: 'image/jpeg', extension: 'jpg' },
  png: { name: 'PNG', contentType: 'image/png', extension: 'png' },
  gif: { name: 'GIF', contentType: 'image/gif', extension: 'gif' },
};

const pixelsMax = 50_000_000;
// Progressive JPEGs, interlaced PNGs and GIF canvases are held in memory as a whole (up to 8 bytes per pixel) while
// they are decoded; other images are decoded a few rows at a time.
const bufferedPixelsMax = 25_000_000;
// All other images need memory per row.
const sidePixelsMax = 20_000;
const framesMax = 1000;
const decodeTimeoutSeconds = 20;
// Each decode occupies a core, and one of the four threads of libuv's pool, which files and DNS need too. While others
// wait, decodes use a third of the time.
const decodesAtOnceMax = availableParallelism() < 4 ? 1 : 2;
const decodeRest = 2;
const waitingMax = 100;

const headBytes = 512;
const windowBytes = 64 * 1024;
const paddingBytesMax = 4096;
const paddingBytes = new Set([0x00, 0x0a, 0x0d, 0x20]);

const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const advice = 'send JPEG, PNG or GIF.';

let loaded: Promise<typeof Sharp> | undefined;

/** Loads the decoder with the first picture: most processes never decode one. */
export function decoder(): Promise<typeof Sharp> {
  loaded ??= loadDecoder();
  return loaded;
}

async function loadDecoder(): Promise<typeof Sharp> {
  const { default: sharp } = await import('sharp');
  sharp.cache(false);
  sharp.concurrency(1);
  // This process never starts another decoder (SVG, TIFF, HEIF and others), for any bytes.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({
    operation: ['Jpeg', 'Png', 'Nsgif'].flatMap((name) => [
      `VipsForeignLoad${name}File`,
      `VipsForeignLoad${name}Buffer`,
    ]),
  });
  return sharp;
}

const inDecodeSlot = createSemaphore({
  atOnce: decodesAtOnceMax,
  waitingMax,
  rest: decodeRest,
  busy: () => new StorageError('too many images wait to be decoded'),
});

/**
 * Removes everything from the file except the picture, decodes all of it, and returns its properties; or returns what
 * is wrong with the file.
 */
export async function prepareImage(path: string): Promise<ImageFacts | ImageProblem> {
  const outline = await readOutline(path);
  return 'problem' in outline ? outline : inDecodeSlot(() => decode(path, outline));
}

async function readOutline(path: string): Promise<Outline | ImageProblem> {
  const handle = await open(path, 'r');
  try {
    const readAt = createReader(handle);
    const head = (await readAt(0, headBytes)).subarray(0, headBytes);
    const format = imageFormatOf(head);
    return format ? await walk(format, readAt) : { problem: describeOther(head) };
  } finally {
    await handle.close();
  }
}

async function decode(path: string, outline: Outline): Promise<ImageFacts | ImageProblem> {
  const { format } = outline;
  const metadata = await readMetadata(path);
  if (metadata?.format !== format) return damaged(format);
  const width = Math.max(outline.width, metadata.autoOrient.width);
  const height = Math.max(outline.height, metadata.autoOrient.height);
  const frames = Math.max(outline.frames, metadata.pages ?? 1);
  const buffered = format === 'gif' || metadata.isProgressive;
  const excess = describeExcess(width, height, frames, buffered);
  if (excess) return { problem: excess };
  const cleaned = withoutMetadata(format, await readFile(path), metadata.orientation);
  if (!cleaned) return damaged(format);
  await writeFile(path, cleaned);
  const failure = await decodeFailure(path, format);
  if (failure?.startsWith('timeout')) return { problem: 'The image takes too long to decode. Send a simpler image.' };
  if (failure) return damaged(format);
  const { contentType, extension } = formats[format];
  return { format, contentType, extension, width, height, sizeBytes: cleaned.length };
}

// Reads only headers, so it needs no limit.
async function readMetadata(path: string): Promise<Metadata | null> {
  const sharp = await decoder();
  try {
    return await sharp(path, { limitInputPixels: false, failOn: 'error' }).metadata();
  } catch {
    return null;
  }
}

function describeExcess(width: number, height: number, frames: number, buffered: boolean): string | null {
  const framePixels = width * height;
  if (width > sidePixelsMax || height > sidePixelsMax) {
    return `The image is ${width} x ${height} pixels; at most ${sidePixelsMax} on a side are allowed.`;
  }
  if (framePixels * frames > pixelsMax) {
    const inFrames = frames > 1 ? ` in its ${frames} frames` : '';
    const limit = megapixels(pixelsMax);
    return `The image has ${megapixels(framePixels * frames)}${inFrames}; at most ${limit} are allowed.`;
  }
  if (buffered && framePixels > bufferedPixelsMax) {
    const limit = megapixels(bufferedPixelsMax);
    return `The image has ${megapixels(framePixels)}; at most ${limit} are allowed if it is progressive or a GIF.`;
  }
  return null;
}

function megapixels(pixels: number): string {
  return `${Math.round(pixels / 100_000) / 10} megapixels`;
}

// Damaged picture data is an error in a PNG or a GIF, but usually only a warning in a JPEG.
async function decodeFailure(path: string, format: ImageFormat): Promise<string | null> {
  const failure = await decodeAll(path, format === 'jpeg' ? 'warning' : 'error');
  // Some phones write a harmless mistake into their JPEGs, which every viewer ignores.
  if (failure?.includes('Invalid SOS parameters')) return decodeAll(path, 'error');
  return failure;
}

// The average over all pixels decodes all of them, but keeps only one per frame. A bad colour profile is not an
// error.
async function decodeAll(path: string, failOn: 'error' | 'warning'): Promise<string | null> {
  const sharp = await decoder();
  try {
    await sharp(path, { failOn, sequentialRead: true, pages: -1, limitInputPixels: pixelsMax, ignoreIcc: true })
      .resize(1, 1, { fit: 'fill' })
      .timeout({ seconds: decodeTimeoutSeconds })
      .raw()
      .toBuffer();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

// The decoder stops after the last pixel, and accepts an animation cut between two frames as a shorter one, so this
// function walks the file to its end marker. Data after the end marker makes the file something else as well: a ZIP,
// a web page, or the uncropped picture that a phone's editor left behind. PNG and GIF files with such data are
// rejected, except for padding. JPEG files are not, because phones put depth maps, HDR data and videos there. Foreign
// data inside a comment or metadata block looks the same as ordinary metadata, so all metadata is removed, and files
// are served with their own content type and `nosniff`.
async function walk(format: ImageFormat, readAt: ReadAt): Promise<Outline | ImageProblem> {
  if (format === 'jpeg') return { format, frames: 1, width: 0, height: 0 };
  const walked = format === 'png' ? await walkPng(readAt) : await walkGif(readAt);
  // Reads the last byte, because a PNG may be cut within its end marker.
  if (!walked || (await readAt(walked.end - 1, 1)).length === 0) return damaged(format);
  if (walked.frames > framesMax) {
    return { problem: `The image has too many frames; at most ${framesMax} are allowed.` };
  }
  if (!(await isPadding(readAt, walked.end))) {
    return {
      problem: `The file contains data after the end of the ${formats[format].name} image. Save the image again.`,
    };
  }
  return { format, ...walked };
}

async function walkPng(readAt: ReadAt): Promise<Walked | null> {
  let frames = 0;
  for (let position = pngSignature.length; ; ) {
    const header = await readAt(position, 8);
    if (header.length < 8) return null;
    const type = header.toString('latin1', 4, 8);
    position += 12 + header.readUInt32BE(0);
    if (type === 'fcTL') frames += 1;
    if (type === 'IEND') return { frames, width: 0, height: 0, end: position };
  }
}

async function walkGif(readAt: ReadAt): Promise<Walked | null> {
  const screen = await readAt(0, 13);
  if (screen.length < 13) return null;
  const width = screen.readUInt16LE(6);
  const height = screen.readUInt16LE(8);
  let position = 13 + colourTableBytes(screen[10]);
  for (let frames = 0; frames <= framesMax; ) {
    const block = await readAt(position, 10);
    if (block[0] === 0x3b) return { frames, width, height, end: position + 1 };
    const isFrame = block[0] === 0x2c;
    if (!isFrame && block[0] !== 0x21) return null;
    const data = position + (isFrame ? 11 + colourTableBytes(block[9]) : 2);
    const end = await endOfSubBlocks(readAt, data);
    if (end === null) return null;
    position = end;
    if (isFrame) frames += 1;
  }
  return { frames: framesMax + 1, width, height, end: position };
}

function colourTableBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0;
}

async function endOfSubBlocks(readAt: ReadAt, start: number): Promise<number | null> {
  for (let position = start; ; ) {
    const bytes = await readAt(position, 1);
    if (bytes.length === 0) return null;
    let offset = 0;
    for (let length = bytes[0]; length !== undefined; length = bytes[offset]) {
      offset += 1 + length;
      if (length === 0) return position + offset;
    }
    position += offset;
  }
}

async function isPadding(readAt: ReadAt, position: number): Promise<boolean> {
  const rest = await readAt(position, paddingBytesMax + 1);
  return rest.length <= paddingBytesMax && rest.every((byte) => paddingBytes.has(byte));
}

function createReader(handle: FileHandle): ReadAt {
  const window = Buffer.alloc(windowBytes);
  let start = 0;
  let length = 0;
  return async (position, minBytes) => {
    if (position < start || position + minBytes > start + length) {
      length = (await handle.read(window, 0, windowBytes, position)).bytesRead;
      start = position;
    }
    return window.subarray(position - start, length);
  };
}

function imageFormatOf(head: Buffer): ImageFormat | null {
  if (head[0] === 0xff && head[1] === 0xd8 && head[2] === 0xff) return 'jpeg';
  if (head.subarray(0, 8).equals(pngSignature)) return 'png';
  return /^GIF8[79]a/.test(head.toString('latin1', 0, 6)) ? 'gif' : null;
}

const otherFormats: [pattern: RegExp, name: string][] = [
  [/^RIFF[^]{4}WEBP/, 'a WebP image'],
  [/^[^]{4}ftypavi[fs]/, 'an AVIF image'],
  [/^[^]{4}ftyp(?:hei|hev|mif|msf)/, 'a HEIC image'],
  [/^(?:II\*\0|MM\0\*)/, 'a TIFF image'],
  [/^BM[^]{4}\0{4}/, 'a BMP image'],
  [/^\0\0\x01\0/, 'an icon'],
  [/^(?:\xff\x0a|\0\0\0\x0cJXL )/, 'a JPEG XL image'],
  [/^\0\0\0\x0cjP /, 'a JPEG 2000 image'],
  [/^%PDF-/, 'a PDF document'],
  [/^PK\x03\x04/, 'a ZIP archive'],
  [/^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body|script)/i, 'an HTML page'],
  [/^(?:\xef\xbb\xbf)?\s*<(?:[^]*<)?svg[\s>]/i, 'an SVG image'],
];

function describeOther(head: Buffer): string {
  if (head.length === 0) return `The file is empty; ${advice}`;
  const text = head.toString('latin1');
  const name = otherFormats.find(([pattern]) => pattern.test(text))?.[1];
  return name ? `The file is ${name}; ${advice}` : `The file is not an image of a known format; ${advice}`;
}

function damaged(format: ImageFormat): ImageProblem {
  return { problem: `The ${formats[format].name} image is damaged or incomplete and cannot be decoded.` };
}
