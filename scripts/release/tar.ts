import { gzipSync } from 'node:zlib';
import type { ReleaseFile } from './files.ts';

/**
 * Writes an archive that depends on nothing but its content: entries by name, one time, one owner. The format is ustar, which
 * every tar reads.
 */
export function archive(folder: string, files: readonly ReleaseFile[], secondsSinceEpoch: number): Buffer {
  const sorted = files.toSorted((left, right) => (left.path < right.path ? -1 : 1));
  const blocks = sorted.flatMap((file) => [
    header(`${folder}/${file.path}`, file, secondsSinceEpoch),
    ...(file.link === undefined ? [file.content, padding(file.content.length)] : []),
  ]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * blockBytes)]), { level: 6 });
}

const blockBytes = 512;
const padding = (length: number): Buffer => Buffer.alloc((blockBytes - (length % blockBytes)) % blockBytes);
const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

function header(path: string, { content, executable, link }: ReleaseFile, secondsSinceEpoch: number): Buffer {
  const { name, prefix } = splitPath(path);
  const block = Buffer.alloc(blockBytes);
  const write = (text: string, offset: number): number => block.write(text, offset, 'utf8');
  write(name, 0);
  write(octal(executable || link !== undefined ? 0o755 : 0o644, 8), 100);
  write(octal(0, 8), 108);
  write(octal(0, 8), 116);
  write(octal(link === undefined ? content.length : 0, 12), 124);
  write(octal(secondsSinceEpoch, 12), 136);
  write(' '.repeat(8), 148);
  write(link === undefined ? '0' : '2', 156);
  write(link ?? '', 157);
  write('ustar\x0000', 257);
  write('root', 265);
  write('root', 297);
  write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  write(`${octal(sum, 7)} `, 148);
  return block;
}

/** A path of more than 100 bytes is divided at a slash. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  const at = path.indexOf('/', path.length - 101);
  const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
  if (at < 0 || Buffer.byteLength(prefix) > 155) throw new Error(`The path is too long for an archive: ${path}`);
  return { name, prefix };
}
