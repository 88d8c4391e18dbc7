import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { namelessProfile } from './icc-profile.ts';

/**
 * Removes everything from an image except the image: location, author, comments, previews, editing history. Pixels
 * are copied unchanged, so no quality is lost. It keeps what a viewer needs to display the image correctly: colours,
 * transparency, resolution, animation and, of all Exif data, only the orientation.
 *
 * It works with an allowlist, so unknown data is removed too. Returns undefined if the file cannot be parsed.
 */
export function withoutMetadata(
  format: 'jpeg' | 'png' | 'gif',
  bytes: Buffer,
  orientation: number | undefined,
): Buffer | undefined {
  try {
    return cleaners[format](bytes, orientation !== undefined && orientation > 1 ? exifOf(orientation) : undefined);
  } catch (error) {
    // A read went past the end of the file.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const cleaners = { jpeg: cleanJpeg, png: cleanPng, gif: cleanGif };

/** Returns the smallest possible Exif block: one directory with one entry. */
function exifOf(orientation: number): Buffer {
  const exif = Buffer.from('MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0', 'latin1');
  exif.writeUInt16BE(orientation, 18);
  return exif;
}

// PNG

const pngSignatureBytes = 8;
const profileBytesMax = 8 * 1024 * 1024;

/** The chunks that are kept, with their maximum sizes. */
const pngChunks: Readonly<Record<string, number>> = {
  IHDR: 13,
  PLTE: 768,
  IDAT: Infinity,
  IEND: 0,
  tRNS: 256,
  cHRM: 32,
  gAMA: 4,
  sRGB: 1,
  cICP: 4,
  mDCV: 24,
  mDCv: 24,
  cLLI: 8,
  cLLi: 8,
  sBIT: 4,
  bKGD: 6,
  pHYs: 9,
  acTL: 8,
  fcTL: 26,
  fdAT: Infinity,
};

function cleanPng(bytes: Buffer, exif: Buffer | undefined): Buffer {
  const parts = [bytes.subarray(0, pngSignatureBytes)];
  let hasProfile = false;
  for (let position = pngSignatureBytes; ; ) {
    const length = bytes.readUInt32BE(position);
    const type = bytes.toString('latin1', position + 4, position + 8);
    const end = position + 12 + length;
    if (end > bytes.length) throw new RangeError('a chunk is cut off');
    if (length <= (pngChunks[type] ?? -1)) parts.push(bytes.subarray(position, end));
    if (type === 'IHDR' && exif) parts.push(pngChunk('eXIf', exif));
    if (type === 'iCCP' && !hasProfile) {
      hasProfile = true;
      parts.push(...pngProfile(bytes.subarray(position + 8, end - 4)));
    }
    if (type === 'IEND') return Buffer.concat(parts);
    position = end;
  }
}

function pngProfile(data: Buffer): Buffer[] {
  const profile = namelessProfile(inflated(data.subarray(data.indexOf(0) + 2)));
  return profile ? [pngChunk('iCCP', Buffer.concat([Buffer.from('-\0\0', 'latin1'), deflateSync(profile)]))] : [];
}

function inflated(data: Buffer): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: profileBytesMax });
  } catch {
    return Buffer.alloc(0);
  }
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

// JPEG

const startOfImage = Buffer.from([0xff, 0xd8]);
const endOfImage = Buffer.from([0xff, 0xd9]);
const marker = { tables: 0xc4, scan: 0xda, end: 0xd9, jfif: 0xe0, exif: 0xe1, profile: 0xe2, adobe: 0xee } as const;
const jfifName = 'JFIF\0';
const profileName = 'ICC_PROFILE\0';
const jfifBytes = 14;
const adobeBytes = 12;
const segmentBytesMax = 65_533;

/** Frames, tables, restart intervals and scans, which the decoder needs; not previews and comments. */
const isPicture = (code: number): boolean => (code >= 0xc0 && code <= 0xcf) || (code >= 0xda && code <= 0xdf);

/** Drops data after the end of the image, which is often another image with all its metadata. */
function cleanJpeg(bytes: Buffer, exif: Buffer | undefined): Buffer {
  const picture: Buffer[] = [];
  const profile: { readonly number: number; readonly data: Buffer }[] = [];
  let jfif: Buffer | undefined;
  let adobe: Buffer | undefined;
  for (let position = startOfImage.length; position < bytes.length; ) {
    const code = bytes[position + 1] ?? 0;
    // Any number of fill bytes may precede a marker.
    if (bytes[position] !== 0xff || code === 0xff) {
      position += 1;
      continue;
    }
    if (code === marker.end) {
      picture.push(endOfImage);
      break;
    }
    if (code <= 0x01 || (code >= 0xd0 && code <= 0xd8)) {
      position += 2;
      continue;
    }
    const end = position + 2 + bytes.readUInt16BE(position + 2);
    if (end > bytes.length) throw new RangeError('a segment is cut off');
    const data = bytes.subarray(position + 4, end);
    const starts = (name: string): boolean => data.toString('latin1', 0, name.length) === name;
    if (code === marker.jfif && starts(jfifName) && data.length >= jfifBytes) jfif ??= data;
    if (code === marker.adobe && starts('Adobe') && data.length >= adobeBytes) adobe ??= data;
    if (code === marker.profile && starts(profileName)) profile.push(profilePart(data));
    const next = code === marker.scan ? endOfScan(bytes, end) : end;
    if (isPicture(code)) picture.push(bytes.subarray(position, next));
    position = next;
  }
  profile.sort((left, right) => left.number - right.number);
  const nameless = namelessProfile(Buffer.concat(profile.map(({ data }) => data)));
  return Buffer.concat([
    startOfImage,
    // JFIF without its preview.
    ...(jfif ? [segment(marker.jfif, Buffer.concat([jfif.subarray(0, 12), Buffer.alloc(2)]))] : []),
    ...(exif ? [segment(marker.exif, Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), exif]))] : []),
    ...(nameless ? profileSegments(nameless) : []),
    ...(adobe ? [segment(marker.adobe, adobe.subarray(0, adobeBytes))] : []),
    // A missing end marker is not added: the decoder then judges the file as it was.
    ...picture,
  ]);
}

const profilePart = (data: Buffer): { number: number; data: Buffer } => ({
  number: data[profileName.length] ?? 0,
  data: data.subarray(profileName.length + 2),
});

/** A scan continues to the next marker. Escaped bytes and restart markers do not end it. */
function endOfScan(bytes: Buffer, start: number): number {
  for (let position = start; ; ) {
    const found = bytes.indexOf(0xff, position);
    if (found === -1) return bytes.length;
    const code = bytes[found + 1] ?? 0;
    if (code !== 0 && code !== 0xff && !(code >= 0xd0 && code <= 0xd7)) return found;
    position = found + (code === 0xff ? 1 : 2);
  }
}

function segment(code: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, code, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

function profileSegments(profile: Buffer): Buffer[] {
  const partBytes = segmentBytesMax - profileName.length - 2;
  const count = Math.ceil(profile.length / partBytes);
  return Array.from({ length: count }, (_, index) =>
    segment(
      marker.profile,
      Buffer.concat([
        Buffer.from(profileName, 'latin1'),
        Buffer.from([index + 1, count]),
        profile.subarray(index * partBytes, (index + 1) * partBytes),
      ]),
    ),
  );
}

// GIF

const gif = { extension: 0x21, frame: 0x2c, trailer: 0x3b, control: 0xf9, text: 0x01, application: 0xff } as const;
const screenBytes = 13;
/** The block that sets how often an animation repeats. */
const looping = /^\x0b(?:NETSCAPE2\.0|ANIMEXTS1\.0)\x03\x01[^]{2}/;
const loopingBytes = 16;

/** GIF has no Exif data, so there is no orientation to keep. */
function cleanGif(bytes: Buffer): Buffer {
  let position = screenBytes + colourTableBytes(bytes.readUInt8(10));
  const parts = [bytes.subarray(0, position)];
  let control: Buffer | undefined;
  for (;;) {
    const kind = bytes.readUInt8(position);
    if (kind === gif.trailer) return Buffer.concat([...parts, Buffer.from([gif.trailer])]);
    const isFrame = kind === gif.frame;
    const label = bytes.readUInt8(position + 1);
    const data = position + (isFrame ? 11 + colourTableBytes(bytes.readUInt8(position + 9)) : 2);
    const end = endOfSubBlocks(bytes, data);
    if (isFrame) parts.push(...(control ? [control] : []), bytes.subarray(position, end));
    else if (label === gif.application && looping.test(bytes.toString('latin1', data, data + loopingBytes))) {
      parts.push(bytes.subarray(position, data + loopingBytes), Buffer.from([0]));
    }
    // A control block applies to the frame that follows. A control block before a text block, which no viewer
    // displays, is dropped with the text.
    if (isFrame || label === gif.text) control = undefined;
    else if (label === gif.control && bytes.readUInt8(data) === 4) {
      control = Buffer.concat([bytes.subarray(position, data + 5), Buffer.from([0])]);
    }
    position = end;
  }
}

const colourTableBytes = (flags: number): number => (flags & 0x80 ? 3 * 2 ** ((flags & 0x07) + 1) : 0);

function endOfSubBlocks(bytes: Buffer, start: number): number {
  for (let position = start; ; ) {
    const length = bytes.readUInt8(position);
    position += 1 + length;
    if (length === 0) return position;
  }
}
