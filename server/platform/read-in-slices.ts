import type { Duplex } from 'node:stream';
import { ownTurn } from './own-turn.ts';

// Rows that take about two milliseconds to parse.
const sliceBytes = 256 * 1024;

/**
 * Lets other work run while a large answer is read: Node would otherwise read up to 2 MB from a connection at once.
 */
export function readInSlices(stream: Duplex): void {
  let left = sliceBytes;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left > 0) return;
    left = sliceBytes;
    stream.pause();
    void ownTurn().then(() => stream.resume());
  });
}
