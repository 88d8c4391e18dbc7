import { writeSync } from 'node:fs';

/**
 * The destination of log lines. Losing lines is better than losing the service: a full disk, or a reader that is gone
 * or does not read, costs lines, but never the process, its memory or its shutdown.
 */
export interface LogOutput {
  write(line: string): void;
  /** Makes one last attempt before the process ends, without waiting. */
  flushSync(): void;
}

type Device = (bytes: Buffer) => number;

/** The buffer for a slow reader; lines beyond it are lost. */
const waitingBytesMax = 1_048_576;
const readerMs = 20;
const repairMs = 1_000;
const lineEnd = Buffer.from('\n');

export function openLogOutput(onLost: (count: number) => void, device: Device = standardOutput): LogOutput {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let lost = 0;
  /** The device has the beginning of a line whose end was lost. */
  let isTorn = false;
  let pause: NodeJS.Timeout | undefined;

  function write(line: string): void {
    const bytes = Buffer.from(line);
    if (waitingBytes + bytes.length > waitingBytesMax) {
      lost += 1;
      return;
    }
    waiting.push(bytes);
    waitingBytes += bytes.length;
    if (!pause) flush();
  }

  function flush(): void {
    clearTimeout(pause);
    pause = undefined;
    let left = Buffer.concat(isTorn ? [lineEnd, ...waiting] : waiting);
    let endsLine = true;
    try {
      while (left.length > 0) {
        const written = device(left);
        if (written === 0) throw new Error('the device does not accept data');
        isTorn = false;
        endsLine = left[written - 1] === lineEnd[0];
        left = left.subarray(written);
      }
    } catch (error) {
      if (isTorn) left = left.subarray(1);
      // A full pipe is emptied by its reader soon. Any other problem lasts longer than lines are kept.
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
      if (!isFull) {
        isTorn ||= !endsLine;
        lost += left.filter((byte) => byte === lineEnd[0]).length;
        left = left.subarray(left.length);
      }
      pause = setTimeout(flush, isFull ? readerMs : repairMs).unref();
    }
    waiting = left.length > 0 ? [left] : [];
    waitingBytes = left.length;
    if (lost === 0 || pause) return;
    const count = lost;
    lost = 0;
    onLost(count);
  }

  return { write, flushSync: flush };
}

function standardOutput(bytes: Buffer): number {
  return writeSync(1, bytes);
}
