import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { readZip } from '../../tests/support/zip-reader.ts';
import { type ZipFile, zipOf } from './zip.ts';

async function* of(...files: readonly ZipFile[]): AsyncGenerator<ZipFile> {
  yield* files;
}

const atMs = Date.UTC(2026, 1, 28, 23, 59, 58);

async function written(files: AsyncIterable<ZipFile>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of zipOf(files)) parts.push(part);
  return Buffer.concat(parts);
}

describe('a ZIP file', () => {
  it('has the files as they are, with their names and times', async () => {
    const files = [
      { name: 'INV-1.pdf', content: Buffer.from([0, 255, 80, 75, 3, 4]), atMs },
      { name: 'empty.csv', content: Buffer.alloc(0), atMs: atMs + 2000 },
    ];
    const found = readZip(await written(of(...files)));
    assert.deepEqual(found, files);
  });

  it('can be empty', async () => {
    const bytes = await written(of());
    assert.deepEqual([bytes.length, readZip(bytes)], [22, []]);
  });

  it('is written while its files come', async () => {
    let made = 0;
    async function* slow(): AsyncGenerator<ZipFile> {
      for (; made < 3; made += 1) yield { name: `${made}`, content: Buffer.from('x'), atMs };
    }
    const parts = zipOf(slow());
    await parts.next();
    await parts.next();
    assert.equal(made, 0);
    await text(parts);
    assert.equal(made, 3);
  });
});
