import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { namelessProfile } from './icc-profile.ts';
import { prepareImage } from './image.ts';
import { withoutMetadata } from './image-metadata.ts';

/** Markers go into every place of a picture where words can stand; none may come out, and the picture stays the same. */

const secret = 'SECRET-7f3a';
let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'metadata-test-'));
});
after(() => rm(folder, { recursive: true, force: true }));

let files = 0;
async function prepared(bytes: Buffer): Promise<Buffer> {
  const path = join(folder, String((files += 1)));
  await writeFile(path, bytes);
  const facts = await prepareImage(path);
  assert.ok('format' in facts, JSON.stringify(facts));
  const cleaned = await readFile(path);
  assert.equal(facts.sizeBytes, cleaned.length);
  return cleaned;
}

/** Also in UTF-16, and in what is compressed. */
function traces(bytes: Buffer): string[] {
  const found = [secret, [...secret].join('\0')].filter((text) => bytes.includes(text));
  for (let at = bytes.indexOf('iCCP'); at !== -1; at = bytes.indexOf('iCCP', at + 4)) {
    const data = bytes.subarray(at + 4);
    found.push(...traces(inflateSync(data.subarray(data.indexOf(0) + 2))));
  }
  return found;
}

const noise = (side = 48): Sharp =>
  sharp({
    create: {
      width: side,
      height: side,
      channels: 3,
      background: 'black',
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  });

const exif = {
  IFD0: { Artist: secret, Copyright: secret, ImageDescription: secret },
  IFD2: { UserComment: secret },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '48/1 12/1 30/1', GPSProcessingMethod: secret },
};
const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><note>${secret}</note></x:xmpmeta>`;

/** The pixels, after colours and orientation were taken into account, as a viewer does. */
async function shown(bytes: Buffer): Promise<{ pixels: Buffer; width: number; height: number }> {
  const image = sharp(bytes, { pages: -1 }).autoOrient().toColourspace('srgb').raw();
  const { data, info } = await image.toBuffer({ resolveWithObject: true });
  return { pixels: data, width: info.width, height: info.height };
}

async function assertSamePicture(before: Buffer, after: Buffer): Promise<void> {
  const [one, other] = await Promise.all([shown(before), shown(after)]);
  assert.deepEqual([other.width, other.height], [one.width, one.height]);
  assert.ok(one.pixels.equals(other.pixels), 'the pixels differ');
}

function pngChunk(type: string, data: Buffer | string): Buffer {
  const body = Buffer.concat([Buffer.from(type), Buffer.from(data)]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length - 4);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Right behind the header. */
function withChunks(png: Buffer, ...chunks: Buffer[]): Buffer {
  const afterHeader = 8 + 25;
  return Buffer.concat([png.subarray(0, afterHeader), ...chunks, png.subarray(afterHeader)]);
}

function jpegSegment(code: number, data: Buffer | string): Buffer {
  const body = Buffer.from(data);
  const head = Buffer.from([0xff, code, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
}

const withSegments = (jpeg: Buffer, ...segments: Buffer[]): Buffer =>
  Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);

/** sharp's own wide-gamut profile, with words put into it. */
async function profileWithWords(): Promise<Buffer> {
  const { icc } = await sharp(await noise().withIccProfile('p3').png().toBuffer()).metadata();
  assert.ok(icc);
  const count = icc.readUInt32BE(128);
  const table = Buffer.from(icc.subarray(128, 132 + count * 12));
  table.writeUInt32BE(count + 1, 0);
  // One more tag moves the others by the length of an entry.
  for (let index = 0; index < count; index += 1) {
    table.writeUInt32BE(table.readUInt32BE(8 + index * 12) + 12, 8 + index * 12);
  }
  const note = Buffer.from(`text\0\0\0\0${secret}\0`);
  assert.equal(note.length % 4, 0);
  const entry = Buffer.alloc(12);
  entry.write('targ');
  entry.writeUInt32BE(icc.length + 12, 4);
  entry.writeUInt32BE(note.length, 8);
  const header = Buffer.from(icc.subarray(0, 128));
  header.writeUInt32BE(icc.length + 12 + note.length, 0);
  header.write(secret.slice(0, 4), 48);
  return Buffer.concat([header, table, entry, icc.subarray(132 + count * 12), note]);
}

const iccSegment = (profile: Buffer): Buffer =>
  jpegSegment(0xe2, Buffer.concat([Buffer.from('ICC_PROFILE\0\x01\x01'), profile]));
const iccChunk = (profile: Buffer): Buffer =>
  pngChunk('iCCP', Buffer.concat([Buffer.from(`${secret}\0\0`), deflateSync(profile)]));

describe('a PNG', () => {
  it('loses its texts, Exif, XMP, times and unknown chunks, and keeps its pixels', async () => {
    const plain = await noise().png().toBuffer();
    const noted = withChunks(
      plain,
      pngChunk('tEXt', `Comment\0${secret}`),
      pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(secret)])),
      pngChunk('iTXt', `XML:com.adobe.xmp\0\0\0\0\0${xmp}`),
      pngChunk('iTXt', Buffer.concat([Buffer.from('Comment\0\x01\0\0\0'), deflateSync(secret)])),
      pngChunk('tIME', Buffer.from([0x07, 0xea, 1, 2, 3, 4, 5])),
      pngChunk('sPLT', `${secret}\0\x08`),
      pngChunk('prVt', secret),
      // The right name, and more in it than belongs there.
      pngChunk('pHYs', secret.repeat(3)),
    );
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    assert.doesNotMatch(cleaned.toString('latin1'), /tEXt|zTXt|iTXt|tIME|sPLT|prVt|eXIf/);
    await assertSamePicture(plain, cleaned);
  });

  it('keeps of Exif which side is up', async () => {
    const noted = await noise(32)
      .resize(64, 32, { fit: 'fill' })
      .withExif(exif)
      .withMetadata({ orientation: 6 })
      .png()
      .toBuffer();
    assert.ok(traces(noted).length > 0);
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    assert.equal((await sharp(cleaned).metadata()).orientation, 6);
    await assertSamePicture(noted, cleaned);
  });

  it('keeps its colours, and loses the words of its profile', async () => {
    const profile = await profileWithWords();
    const noted = withChunks(await noise().png().toBuffer(), iccChunk(profile));
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    assert.ok((await sharp(cleaned).metadata()).icc);
    await assertSamePicture(noted, cleaned);
    const without = await sharp(noted, { ignoreIcc: true }).png().toBuffer();
    await assert.rejects(assertSamePicture(noted, without), /pixels differ/, 'the profile matters');
  });

  it('keeps transparency, palette, gamma and resolution', async () => {
    const transparent = await sharp({ create: { width: 9, height: 9, channels: 4, background: '#12345678' } })
      .png()
      .toBuffer();
    const palette = await noise().png({ palette: true, colours: 16 }).toBuffer();
    const gamma = withChunks(await noise().png().toBuffer(), pngChunk('gAMA', Buffer.from([0, 0, 0xb1, 0x8f])));
    const density = await noise().withMetadata({ density: 300 }).png().toBuffer();
    for (const image of [transparent, palette, gamma, density]) {
      const cleaned = await prepared(image);
      await assertSamePicture(image, cleaned);
      const [before, after] = await Promise.all([sharp(image).metadata(), sharp(cleaned).metadata()]);
      assert.deepEqual([after.hasAlpha, after.density], [before.hasAlpha, before.density]);
    }
    assert.ok((await prepared(gamma)).includes('gAMA'));
  });
});

describe('a JPEG', () => {
  it('loses Exif with its place, XMP, comments, previews and everything of its maker', async () => {
    const plain = await noise().jpeg().toBuffer();
    const noted = withSegments(
      await sharp(plain).keepMetadata().withExif(exif).jpeg().toBuffer(),
      jpegSegment(0xe1, `http://ns.adobe.com/xap/1.0/\0${xmp}`),
      jpegSegment(0xfe, secret),
      jpegSegment(0xed, `Photoshop 3.0\x008BIM${secret}`),
      jpegSegment(0xe2, `MPF\0${secret}`),
      jpegSegment(0xe0, `JFXX\0\x10${secret}`),
      jpegSegment(0xef, secret),
    );
    assert.ok(traces(noted).length > 0);
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    assert.doesNotMatch(cleaned.toString('latin1'), /Exif|adobe|GPS|MPF|JFXX|8BIM/);
    await assertSamePicture(noted, cleaned);
  });

  it('loses what comes after its end, such as another picture with its own Exif', async () => {
    const plain = await noise().jpeg().toBuffer();
    const behind = await noise().withExif(exif).jpeg().toBuffer();
    const cleaned = await prepared(Buffer.concat([plain, behind, Buffer.from(secret)]));
    assert.deepEqual(traces(cleaned), []);
    await assertSamePicture(plain, cleaned);
  });

  for (const orientation of [1, 2, 3, 4, 5, 6, 7, 8]) {
    it(`keeps which side is up: ${orientation}`, async () => {
      const noted = await noise(32)
        .resize(64, 32, { fit: 'fill' })
        .withExif(exif)
        .withMetadata({ orientation })
        .jpeg()
        .toBuffer();
      const cleaned = await prepared(noted);
      assert.deepEqual(traces(cleaned), []);
      assert.equal((await sharp(cleaned).metadata()).orientation ?? 1, orientation);
      await assertSamePicture(noted, cleaned);
    });
  }

  it('keeps its colours, and loses the words of its profile', async () => {
    const plain = await noise().jpeg().toBuffer();
    const noted = withSegments(plain, iccSegment(await profileWithWords()));
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    await assertSamePicture(noted, cleaned);
    await assert.rejects(assertSamePicture(noted, plain), /pixels differ/, 'the profile matters');
  });

  it('keeps its picture: progressive, grey, CMYK, with restarts, with a profile in many parts', async () => {
    const jpegs = {
      progressive: await noise(200).jpeg({ progressive: true }).toBuffer(),
      grey: await noise().greyscale().jpeg().toBuffer(),
      cmyk: await noise().withIccProfile('cmyk').jpeg().toBuffer(),
      'cmyk without profile': await noise().toColourspace('cmyk').jpeg().toBuffer(),
      'no subsampling': await noise().jpeg({ chromaSubsampling: '4:4:4', mozjpeg: true }).toBuffer(),
    };
    for (const [kind, jpeg] of Object.entries(jpegs)) {
      const noted = withSegments(jpeg, jpegSegment(0xfe, secret));
      const cleaned = await prepared(noted);
      assert.deepEqual(traces(cleaned), [], kind);
      await assertSamePicture(noted, cleaned);
    }
    const { icc } = await sharp(jpegs.cmyk).metadata();
    assert.ok(icc && icc.length > 65_535, 'the profile of CMYK does not fit into one segment');
  });

  it('keeps its resolution, and loses the preview of JFIF', async () => {
    const jfif = Buffer.concat([
      Buffer.from('JFIF\0\x01\x02\x01\x01\x2c\x01\x2c\x03\x01', 'latin1'),
      Buffer.alloc(9, 'S'),
    ]);
    const plain = await noise().jpeg().toBuffer();
    const cleaned = await prepared(withSegments(plain, jpegSegment(0xe0, jfif)));
    assert.ok(!cleaned.includes('SSS'));
    assert.equal((await sharp(cleaned).metadata()).density, 300);
  });
});

describe('a GIF', () => {
  const subBlocks = (text: string): Buffer =>
    Buffer.concat([Buffer.from([text.length]), Buffer.from(text), Buffer.from([0])]);
  const applicationBlock = (name: string, text: string): Buffer =>
    Buffer.concat([Buffer.from([0x21, 0xff, 11]), Buffer.from(name), subBlocks(text)]);

  async function animation(): Promise<Buffer> {
    const pixels = await noise(40).resize(40, 120, { fit: 'fill' }).raw().toBuffer();
    const raw = { width: 40, height: 120, channels: 3, pageHeight: 40 } as const;
    return sharp(pixels, { raw })
      .gif({ loop: 3, delay: [100, 200, 300] })
      .toBuffer();
  }

  it('loses comments, XMP, texts and unknown extensions, and keeps frames, times and loops', async () => {
    const plain = await animation();
    const firstBlock = 13 + ((plain[10] ?? 0) & 0x80 ? 3 * 2 ** (((plain[10] ?? 0) & 7) + 1) : 0);
    const text = Buffer.concat([Buffer.from([0x21, 0x01, 12]), Buffer.alloc(12), subBlocks(secret)]);
    const noted = Buffer.concat([
      plain.subarray(0, firstBlock),
      Buffer.concat([Buffer.from([0x21, 0xfe]), subBlocks(secret)]),
      applicationBlock('XMP DataXMP', secret),
      applicationBlock('ICCRGBG1012', secret),
      applicationBlock('NETSCAPE2.0', secret),
      text,
      plain.subarray(firstBlock, -1),
      Buffer.concat([Buffer.from([0x21, 0xfe]), subBlocks(secret)]),
      Buffer.from([0x3b, 0, 0]),
    ]);
    const cleaned = await prepared(noted);
    assert.deepEqual(traces(cleaned), []);
    assert.equal(cleaned.at(-1), 0x3b);
    const [before, after] = await Promise.all([sharp(plain).metadata(), sharp(cleaned).metadata()]);
    assert.deepEqual([after.pages, after.delay, after.loop], [before.pages, before.delay, before.loop]);
    await assertSamePicture(plain, cleaned);
  });
});

describe('a profile', () => {
  it('that is invalid or damaged is left out', async () => {
    const profile = await profileWithWords();
    assert.equal(namelessProfile(Buffer.alloc(0)), undefined);
    assert.equal(namelessProfile(Buffer.from(secret.repeat(50))), undefined);
    assert.equal(namelessProfile(profile.subarray(0, 140)), undefined);
    const lying = Buffer.from(profile);
    lying.writeUInt32BE(0xffffffff, 128);
    assert.equal(namelessProfile(lying), undefined);
    for (let cut = 128; cut < profile.length; cut += 37) namelessProfile(profile.subarray(0, cut));
  });

  it('is the same when it is cleaned twice', async () => {
    const once = namelessProfile(await profileWithWords());
    assert.ok(once);
    assert.deepEqual(namelessProfile(once), once);
  });
});

describe('a file that is cut or changed anywhere', () => {
  it('never makes an exception', async () => {
    const images = {
      png: withChunks(await noise().png().toBuffer(), iccChunk(await profileWithWords())),
      jpeg: withSegments(await noise().jpeg({ progressive: true }).toBuffer(), iccSegment(await profileWithWords())),
      gif: await noise().gif().toBuffer(),
    };
    for (const [format, bytes] of Object.entries(images) as ['png' | 'jpeg' | 'gif', Buffer][]) {
      for (let at = 8; at < bytes.length; at += 7) {
        withoutMetadata(format, bytes.subarray(0, at), 6);
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 0xff;
        withoutMetadata(format, changed, undefined);
      }
    }
  });
});
