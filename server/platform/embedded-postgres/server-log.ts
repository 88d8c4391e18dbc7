import * as fs from 'node:fs/promises';

const limitBytes = 10 * 1024 * 1024;
const tailBytes = 4_096;

/** Opens the log for appending, and truncates it when it is too large. */
export async function openLog(path: string): Promise<fs.FileHandle> {
  const log = await fs.open(path, 'a', 0o600);
  if ((await log.stat()).size > limitBytes) await log.truncate();
  return log;
}

export async function readLog(path: string, from: number): Promise<string> {
  const log = await fs.open(path).catch(() => null);
  if (!log) return '';
  try {
    const length = Math.max(0, (await log.stat()).size - from);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(length), 0, length, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await log.close();
  }
}

/** Returns an error that quotes the last lines of the server log. */
export async function errorWithLog(message: string, path: string): Promise<Error> {
  const { size } = await fs.stat(path).catch(() => ({ size: 0 }));
  const tail = await readLog(path, Math.max(0, size - tailBytes));
  return new Error(`${message}\nThe end of ${path}:\n${tail.trim()}`);
}
