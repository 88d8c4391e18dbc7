import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';

/** Reads a ZIP file from its end, as programs do, and compares what it says twice. */

interface Entry {
  readonly name: string;
  readonly content: Buffer;
  readonly atMs: number;
}

const endLength = 22;

export function readZip(zip: Buffer): Entry[] {
  const end = zip.length - endLength;
  assert.equal(zip.toString('latin1', end, end + 4), 'PK\u0005\u0006');
  const [count, length, start] = [zip.readUInt16LE(end + 10), zip.readUInt32LE(end + 12), zip.readUInt32LE(end + 16)];
  assert.equal(start + length, end);
  let at = start;
  const entries = Array.from({ length: count }, () => {
    const { entry, next } = readEntry(zip, at);
    at = next;
    return entry;
  });
  assert.equal(at, end);
  return entries;
}

function readEntry(zip: Buffer, at: number): { readonly entry: Entry; readonly next: number } {
  assert.equal(zip.toString('latin1', at, at + 4), 'PK\u0001\u0002');
  const nameLength = zip.readUInt16LE(at + 28);
  const name = zip.toString('latin1', at + 46, at + 46 + nameLength);
  const header = zip.readUInt32LE(at + 42);
  assert.equal(zip.toString('latin1', header, header + 4), 'PK\u0003\u0004');
  // Both say the same of version, method, time, checksum, sizes and name.
  assert.deepEqual(zip.subarray(header + 4, header + 30), zip.subarray(at + 6, at + 32));
  const from = header + 30 + nameLength;
  assert.equal(zip.toString('latin1', header + 30, from), name);
  const content = Buffer.from(zip.subarray(from, from + zip.readUInt32LE(at + 24)));
  assert.equal(crc32(content), zip.readUInt32LE(at + 16), name);
  const [time, day] = [zip.readUInt16LE(at + 12), zip.readUInt16LE(at + 14)];
  const atMs = Date.UTC(
    1980 + (day >> 9),
    ((day >> 5) & 15) - 1,
    day & 31,
    time >> 11,
    (time >> 5) & 63,
    (time & 31) * 2,
  );
  return { entry: { name, content, atMs }, next: at + 46 + nameLength };
}
