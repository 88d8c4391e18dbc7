import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { prepareImage } from './image.ts';

const megabyte = 1024 * 1024;

let folder = '';
let fileCount = 0;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'image-test-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function inspect(bytes: Buffer | string) {
  fileCount += 1;
  const path = join(folder, `upload-${fileCount}`);
  await writeFile(path, bytes);
  const { sizeBytes: _, ...facts } = { sizeBytes: 0, ...(await prepareImage(path)) };
  return facts;
}

async function problemOf(bytes: Buffer | string): Promise<string> {
  const result = await inspect(bytes);
  assert.ok('problem' in result, `accepted: ${JSON.stringify(result)}`);
  return result.problem;
}

function noise(width = 160, height = 120) {
  const gaussian = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: 'black', noise: gaussian } });
}

function flat(width: number, height: number) {
  return sharp({ create: { width, height, channels: 4, background: '#3456' }, limitInputPixels: false });
}

async function animation(frames: number, side = 40): Promise<Buffer> {
  const pixels = await noise(side, side * frames)
    .raw()
    .toBuffer();
  const raw = { width: side, height: side * frames, channels: 3, pageHeight: side } as const;
  return sharp(pixels, { raw }).gif({ effort: 1 }).toBuffer();
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function blackPng(width: number, height: number, extraChunks: Buffer[] = []): Buffer {
  const pixels = Buffer.alloc((Math.ceil(width / 8) + 1) * Math.min(height, 20_000));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', Buffer.concat([uint32(width), uint32(height), Buffer.from([1, 0, 0, 0, 0])])),
    ...extraChunks,
    pngChunk('IDAT', deflateSync(pixels, { level: 1 })),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function gifOf(side: number, blocks: Buffer[]): Buffer {
  const screen = Buffer.from([0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]);
  screen.writeUInt16LE(side, 0);
  screen.writeUInt16LE(side, 2);
  return Buffer.concat([Buffer.from('GIF89a'), screen, ...blocks, Buffer.from([0x3b])]);
}

const onePixelFrame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);

test('accepts supported images and returns their size', async () => {
  const jpeg = { format: 'jpeg', contentType: 'image/jpeg', extension: 'jpg', width: 160, height: 120 };
  const png = { ...jpeg, format: 'png', contentType: 'image/png', extension: 'png' };
  const gif = { ...jpeg, format: 'gif', contentType: 'image/gif', extension: 'gif' };
  assert.deepEqual(await inspect(await noise().jpeg().toBuffer()), jpeg);
  assert.deepEqual(await inspect(await noise().jpeg({ progressive: true }).toBuffer()), jpeg);
  assert.deepEqual(await inspect(await noise().toColourspace('cmyk').jpeg().toBuffer()), jpeg);
  assert.deepEqual(await inspect(await noise().png().toBuffer()), png);
  assert.deepEqual(await inspect(await noise().png({ palette: true }).toBuffer()), png);
  assert.deepEqual(await inspect(await noise().png({ progressive: true }).toBuffer()), png);
  assert.deepEqual(await inspect(await noise().toColourspace('rgb16').png().toBuffer()), png);
  assert.deepEqual(await inspect(await noise().gif().toBuffer()), gif);
  assert.deepEqual(await inspect(await animation(8)), { ...gif, width: 40, height: 40 });
});

test('takes the rotation of a photo into account', async () => {
  const result = await inspect(await noise().withMetadata({ orientation: 6 }).jpeg().toBuffer());
  assert.partialDeepStrictEqual(result, { width: 120, height: 160 });
});

test('accepts the JPEGs of phones: data after the end, HDR gain map, wrong scan parameters', async () => {
  const jpeg = await noise().jpeg().toBuffer();
  assert.partialDeepStrictEqual(await inspect(Buffer.concat([jpeg, jpeg])), { format: 'jpeg' });

  // sharp's types do not know the method yet.
  const withGainMap = (image: Sharp) => (image as Sharp & { withGainMap(): Sharp }).withGainMap();
  const hdr = await withGainMap(sharp(jpeg)).jpeg().toBuffer();
  assert.partialDeepStrictEqual(await inspect(hdr), { format: 'jpeg', width: 160 });

  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda]));
  const components = jpeg[scan + 4] ?? 0;
  jpeg[scan + 6 + 2 * components] = 0;
  assert.partialDeepStrictEqual(await inspect(jpeg), { format: 'jpeg' });
});

test('refuses other formats by name', async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  const cases: [string | Buffer, string][] = [
    [await noise().webp().toBuffer(), 'The file is a WebP image; send JPEG, PNG or GIF.'],
    [await noise().avif().toBuffer(), 'The file is an AVIF image; send JPEG, PNG or GIF.'],
    [await noise().tiff().toBuffer(), 'The file is a TIFF image; send JPEG, PNG or GIF.'],
    [svg, 'The file is an SVG image; send JPEG, PNG or GIF.'],
    [`<?xml version="1.0"?>\n<!-- x -->\n${svg}`, 'The file is an SVG image; send JPEG, PNG or GIF.'],
    ['%PDF-1.7\n', 'The file is a PDF document; send JPEG, PNG or GIF.'],
    ['\n<!DOCTYPE html><p>', 'The file is an HTML page; send JPEG, PNG or GIF.'],
    ['PK\x03\x04', 'The file is a ZIP archive; send JPEG, PNG or GIF.'],
    ['', 'The file is empty; send JPEG, PNG or GIF.'],
    ['BMX and other words', 'The file is not an image of a known format; send JPEG, PNG or GIF.'],
  ];
  for (const [bytes, problem] of cases) assert.equal(await problemOf(bytes), problem);
});

test('refuses the right first bytes on the wrong file', async () => {
  const webp = await noise().webp().toBuffer();
  assert.match(await problemOf(Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), webp])), /JPEG image is damaged/);
  assert.match(await problemOf(Buffer.from('\x89PNG\r\n\x1a\n<html>', 'latin1')), /PNG image is damaged/);
  assert.match(await problemOf('GIF89a = "<script>alert(1)</script>"'), /GIF image is damaged/);
  assert.match(await problemOf('GIF89a'), /GIF image is damaged/);
  assert.match(await problemOf(gifOf(1, [])), /GIF image is damaged/);
});

test('refuses truncated files, wherever they are cut', async () => {
  const images = [
    await noise().jpeg().toBuffer(),
    await noise().jpeg({ progressive: true }).toBuffer(),
    await flat(160, 120).jpeg().toBuffer(),
    await noise().png().toBuffer(),
    await noise().png({ progressive: true }).toBuffer(),
    await noise().gif().toBuffer(),
    await animation(8),
  ];
  for (const image of images) {
    for (const share of [0.1, 0.5, 0.9]) {
      assert.match(await problemOf(image.subarray(0, Math.floor(image.length * share))), /damaged or incomplete/);
    }
    // The end marker of a JPEG, its last two bytes, is worth nothing when every pixel is there.
    const isJpeg = image[0] === 0xff;
    for (const cutBytes of isJpeg ? [12, 40] : [1, 2, 12, 40]) {
      assert.match(await problemOf(image.subarray(0, -cutBytes)), /damaged or incomplete/);
    }
  }
});

test('refuses damaged picture data', async () => {
  const jpeg = await noise().jpeg().toBuffer();
  const shortened = Buffer.concat([jpeg.subarray(0, jpeg.length >> 1), Buffer.from([0xff, 0xd9])]);
  assert.match(await problemOf(shortened), /damaged/);

  const png = await noise().png().toBuffer();
  png.writeUInt8(png.readUInt8(png.length >> 1) ^ 0x10, png.length >> 1);
  assert.match(await problemOf(png), /damaged/);

  const impossibleCode = Buffer.from([0x2c, 0, 0, 0, 0, 50, 0, 50, 0, 0, 2, 2, 0x3c, 0xff, 0]);
  assert.match(await problemOf(gifOf(50, [impossibleCode])), /damaged/);
});

test('refuses pixel bombs without decoding them', async () => {
  const startedMs = performance.now();
  assert.match(await problemOf(blackPng(50_000, 50_000)), /50000 x 50000 pixels; at most 20000 on a side/);
  assert.match(await problemOf(blackPng(19_000, 19_000)), /361 megapixels; at most 50 megapixels/);
  assert.match(await problemOf(blackPng(60_000_000, 1)), /on a side|damaged/);
  const frames = Array.from({ length: 500 }, () => onePixelFrame);
  assert.match(await problemOf(gifOf(2000, frames)), /2000 megapixels in its 500 frames/);
  const manyFrames = Array.from({ length: 100_000 }, () => onePixelFrame);
  assert.match(await problemOf(gifOf(1, manyFrames)), /too many frames/);
  assert.match(await problemOf(gifOf(6000, [onePixelFrame])), /36 megapixels; at most 25 megapixels/);
  const animated = Array.from({ length: 80 }, () => pngChunk('fcTL', Buffer.alloc(26)));
  assert.match(await problemOf(blackPng(1000, 1000, animated)), /80 megapixels in its 80 frames/);
  assert.ok(performance.now() - startedMs < 4000);
});

test('a compressed text in a PNG does not use up the memory', async () => {
  const bomb = Buffer.concat([Buffer.from('k\0\0'), deflateSync(Buffer.alloc(200 * megabyte), { level: 1 })]);
  const png = blackPng(10, 10, [pngChunk('zTXt', bomb)]);
  const startRss = process.memoryUsage().rss;
  await inspect(png);
  assert.ok(process.memoryUsage().rss - startRss < 50 * megabyte);
});

test('refuses a PNG or GIF that is something else as well, but not padding', async () => {
  const page = Buffer.from('<script>alert(document.domain)</script>');
  const zip = Buffer.concat([Buffer.from('PK\x05\x06'), Buffer.alloc(18)]);
  for (const image of [await noise().png().toBuffer(), await noise().gif().toBuffer(), await animation(3)]) {
    assert.match(await problemOf(Buffer.concat([image, page])), /contains data after the end/);
    assert.match(await problemOf(Buffer.concat([image, zip])), /contains data after the end/);
    assert.match(await problemOf(Buffer.concat([image, image])), /contains data after the end/);
    assert.match(await problemOf(Buffer.concat([image, Buffer.alloc(5000)])), /contains data after the end/);
    assert.ok('format' in (await inspect(Buffer.concat([image, Buffer.from('\0\0\r\n')]))));
  }
});

test('accepts a GIF that ends with a comment, and large files that span many reads', async () => {
  const comment = Buffer.from([0x21, 0xfe, 0]);
  assert.ok('format' in (await inspect(gifOf(1, [onePixelFrame, comment]))));
  const longComment = Buffer.concat([comment.subarray(0, 2), Buffer.alloc(200_000, 199), Buffer.from([0])]);
  assert.ok('format' in (await inspect(gifOf(1, [longComment, onePixelFrame]))));
  assert.ok('format' in (await inspect(await animation(6, 100))));
  const chunks = Array.from({ length: 20_000 }, () => pngChunk('tEXt', Buffer.from('k\0v')));
  assert.ok('format' in (await inspect(blackPng(10, 10, chunks))));
});

test('decodes on half of the cores and no more than two at once, so memory stays bounded', async () => {
  const path = join(folder, 'large.png');
  await flat(4000, 3000).removeAlpha().png({ progressive: true, compressionLevel: 1 }).toFile(path);
  const copies = Array.from({ length: 3 }, (_, index) => `${path}-${index}`);
  await Promise.all(copies.map((copy) => copyFile(path, copy)));
  await prepareImage(path);
  const startRss = process.memoryUsage().rss;
  let peakRss = 0;
  let peakDecodes = 0;
  const watch = setInterval(() => {
    peakRss = Math.max(peakRss, process.memoryUsage().rss);
    peakDecodes = Math.max(peakDecodes, sharp.counters().process + sharp.counters().queue);
  }, 2);
  const results = await Promise.all(copies.map((copy) => prepareImage(copy)));
  clearInterval(watch);
  assert.ok(results.every((result) => 'format' in result && result.width === 4000));
  assert.equal(peakDecodes, availableParallelism() < 4 ? 1 : 2);
  assert.ok(peakRss - startRss < 150 * megabyte, `rss grew by ${Math.round((peakRss - startRss) / megabyte)} MB`);
});

test('a file that is not there is an error, not a bad image', async () => {
  await assert.rejects(prepareImage(join(folder, 'missing')), { code: 'ENOENT' });
});
