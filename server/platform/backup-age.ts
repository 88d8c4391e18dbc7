import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The age of the newest backup: of a file, or of the newest entry of a folder. Undefined if there is none. File systems
 * have the time of the machine.
 */
export async function backupAgeSeconds(path: string): Promise<number | undefined> {
  const modifiedMs = async (file: string): Promise<number> => (await stat(file)).mtimeMs;
  try {
    const found = await stat(path);
    if (!found.isDirectory()) return ageOf(found.mtimeMs);
    const entries = await Promise.all((await readdir(path)).map((name) => modifiedMs(join(path, name))));
    return entries.length === 0 ? undefined : ageOf(Math.max(...entries));
  } catch {
    return undefined;
  }
}

const ageOf = (modifiedMs: number): number => Math.max(0, (Date.now() - modifiedMs) / 1_000);
