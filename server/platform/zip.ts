import { crc32 } from 'node:zlib';

/** Writes a ZIP file while its files come, so that it is never in memory as a whole. */

export interface ZipFile {
  /** ASCII, without folders. */
  readonly name: string;
  readonly content: Buffer;
  readonly atMs: number;
}

const signatures = { file: 0x04_03_4b_50, entry: 0x02_01_4b_50, end: 0x06_05_4b_50 } as const;
const version = 20;
const firstYear = 1980;

/** As MS-DOS has it, in UTC: two bytes for the time in steps of two seconds, and two for the day. */
function dosTime(atMs: number): { readonly time: number; readonly day: number } {
  const at = new Date(atMs);
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return { time, day: ((at.getUTCFullYear() - firstYear) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate() };
}

/** Pairs of a number and how many bytes it takes. */
function packed(...fields: readonly (readonly [value: number, bytes: 2 | 4])[]): Buffer {
  const bytes = Buffer.alloc(fields.reduce((sum, [, size]) => sum + size, 0));
  let at = 0;
  for (const [value, size] of fields) at = bytes.writeUIntLE(value, at, size);
  return bytes;
}

/** What both the header of a file and its entry in the directory say. */
function described({ name, content, atMs }: ZipFile): Buffer {
  const { time, day } = dosTime(atMs);
  return packed(
    [version, 2],
    // No flags, and stored as it is: a PDF does not become smaller.
    [0, 2],
    [0, 2],
    [time, 2],
    [day, 2],
    [crc32(content), 4],
    [content.length, 4],
    [content.length, 4],
    [name.length, 2],
    [0, 2],
  );
}

/** At most 65,535 files and 4 GB: more would need the extensions of the format. */
export async function* zipOf(files: AsyncIterable<ZipFile>): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let offset = 0;
  for await (const file of files) {
    const name = Buffer.from(file.name, 'latin1');
    const description = described(file);
    const header = Buffer.concat([packed([signatures.file, 4]), description, name]);
    // No comment, the first disk, no attributes.
    const rest = packed([0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]);
    directory.push(Buffer.concat([packed([signatures.entry, 4], [version, 2]), description, rest, name]));
    offset += header.length + file.content.length;
    yield header;
    yield file.content;
  }
  const entries = Buffer.concat(directory);
  const count = directory.length;
  yield entries;
  yield packed([signatures.end, 4], [0, 2], [0, 2], [count, 2], [count, 2], [entries.length, 4], [offset, 4], [0, 2]);
}
