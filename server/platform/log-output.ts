import { writeSync } from 'node:fs';

/**
 * The destination of log lines. Losing lines is better than losing the service: a full disk, or a reader that is gone
 * or does not read, costs lines, but never the process, its memory or its shutdown. The lines of one turn of the event
 * loop are written together.
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
const none = Buffer.alloc(0);

export function openLogOutput(onLost: (count: number) => void, device: Device = standardOutput): LogOutput {
  let waiting = '';
  let waitingBytes = 0;
  let isScheduled = false;
  /** What the device did not take. */
  let rest: Buffer = none;
  let lost = 0;
  /** The device has the beginning of a line whose end was lost. */
  let isTorn = false;
  let pause: NodeJS.Timeout | undefined;

  function write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (waitingBytes + bytes > waitingBytesMax && !pause) flush();
    if (waitingBytes + bytes > waitingBytesMax) {
      lost += 1;
      return;
    }
    waiting += line;
    waitingBytes += bytes;
    if (isScheduled || pause) return;
    isScheduled = true;
    setImmediate(() => {
      if (isScheduled) flush();
    });
  }

  function flush(): void {
    clearTimeout(pause);
    pause = undefined;
    isScheduled = false;
    let left = Buffer.concat([isTorn ? lineEnd : none, rest, Buffer.from(waiting)]);
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
    rest = left;
    waiting = '';
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
