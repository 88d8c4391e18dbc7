import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAlive } from './processes.ts';

const abandonedAfterMs = 600_000;

const inUse = new Set<string>();

/**
 * Builds something in a temporary folder and moves it into place when it is complete. The folder name contains the
 * process id, so that removeAbandoned() can distinguish a folder in use from one left by a killed process.
 */
export async function withBuildFolder<Result>(
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = `${prefix}${process.pid}-${randomBytes(6).toString('hex')}`;
  inUse.add(folder);
  try {
    await fs.mkdir(folder, { mode: 0o700 });
    return await work(folder);
  } finally {
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 5 });
    inUse.delete(folder);
  }
}

export async function removeAbandoned(prefix: string): Promise<void> {
  for (const name of await fs.readdir(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue;
    const folder = join(dirname(prefix), name);
    const pid = Number.parseInt(name.slice(basename(prefix).length), 10);
    if (inUse.has(folder) || !(await isAbandoned(folder, pid))) continue;
    // An initdb that outlived its killed parent may still be writing; a later start removes the rest.
    await fs.rm(folder, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
  }
}

async function isAbandoned(folder: string, pid: number): Promise<boolean> {
  const found = await fs.lstat(folder).catch(() => null);
  if (!found?.isDirectory()) return false;
  const uid = process.getuid?.() ?? found.uid;
  const inSharedFolder = ((await fs.stat(dirname(folder))).mode & 0o002) !== 0;
  if (inSharedFolder && found.uid !== uid) return false;
  // In a container every start may get the same process id, so a folder with our process id may still be abandoned.
  return pid === process.pid || !isAlive(pid) || Date.now() - found.mtimeMs > abandonedAfterMs;
}
