import { crc32, deflateRawSync } from 'node:zlib';
import type { ReleaseFile } from './files.ts';

/** Writes a ZIP archive that depends on nothing but its content: entries in the given order, and one time. */

// 1 January 1980, the earliest time that the format has.
const dosTime = 0;
const dosDate = 0b0000000_0001_00001;
const version = 20;
const deflated = 8;
// UTF-8 names.
const flags = 0x0800;

const record = (signature: number, fields: readonly (readonly [bytes: 2 | 4, value: number])[]): Buffer => {
  const parts = fields.map(([bytes, value]) => {
    const part = Buffer.alloc(bytes);
    if (bytes === 2) part.writeUInt16LE(value);
    else part.writeUInt32LE(value >>> 0);
    return part;
  });
  const start = Buffer.alloc(4);
  start.writeUInt32LE(signature);
  return Buffer.concat([start, ...parts]);
};

export function zip(files: readonly ReleaseFile[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { path, content } of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content, { level: 6 });
    const common = [
      [2, version],
      [2, flags],
      [2, deflated],
      [2, dosTime],
      [2, dosDate],
      [4, crc32(content)],
      [4, packed.length],
      [4, content.length],
      [2, name.length],
      [2, 0],
    ] as const;
    const body = Buffer.concat([record(0x04034b50, common), name, packed]);
    const attributes = [
      [2, 0],
      [2, 0],
      [2, 0],
      [4, 0o100644 << 16],
      [4, offset],
    ] as const;
    directory.push(record(0x02014b50, [[2, (3 << 8) | version], ...common, ...attributes]), name);
    bodies.push(body);
    offset += body.length;
  }
  const size = directory.reduce((total, { length }) => total + length, 0);
  const counts = [
    [2, 0],
    [2, 0],
    [2, files.length],
    [2, files.length],
    [4, size],
    [4, offset],
    [2, 0],
  ] as const;
  return Buffer.concat([...bodies, ...directory, record(0x06054b50, counts)]);
}
