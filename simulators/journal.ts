import { open } from 'node:fs/promises';

export interface Journal {
  /** Resolves when the line is on the disk. */
  append(line: object): Promise<void>;
  /** Resolves when all lines appended so far are on the disk. */
  durable(): Promise<void>;
  readonly fsyncs: number;
  close(): Promise<void>;
}

/**
 * Opens or creates the file and calls `onLine` for each line. A half-written last line, left by a kill, is cut off.
 */
export async function openJournal(file: string, onLine: (line: unknown) => void): Promise<Journal> {
  const handle = await open(file, 'a+', 0o600);
  const bytes = await handle.readFile();
  const length = bytes.lastIndexOf('\n') + 1;
  if (length < bytes.length) await handle.truncate(length);
  for (const line of bytes.toString('utf8', 0, length).split('\n')) if (line !== '') onLine(JSON.parse(line));

  let fsyncs = 0;
  // While one group is written to the disk, the next one collects lines, and they all share one fsync.
  let group: string[] = [];
  let written = Promise.resolve();

  async function writeGroup(): Promise<void> {
    const lines = group;
    group = [];
    await handle.appendFile(lines.join(''));
    await handle.sync();
    fsyncs += 1;
  }

  return {
    append(line) {
      if (group.length === 0) written = written.then(writeGroup);
      group.push(`${JSON.stringify(line)}\n`);
      return written;
    },
    durable: () => written,
    close: () => written.then(() => handle.close()),
    get fsyncs() {
      return fsyncs;
    },
  };
}
