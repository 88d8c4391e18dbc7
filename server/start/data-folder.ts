import { randomUUID } from 'node:crypto';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../platform/error-code.ts';
import { StartError } from './listen.ts';

/** Creates the data folder if it does not exist, and checks that files can be written to it. */
export async function prepareDataFolder(folder: string): Promise<void> {
  try {
    await createFolder(folder);
    const probe = join(folder, `.write-probe-${randomUUID()}`);
    await writeFile(probe, '');
    await rm(probe);
  } catch (error) {
    throw new StartError(`The folder in SVC_DATA_DIR cannot be used: ${(error as Error).message}.`);
  }
}

/**
 * One folder after the other: Node's recursive mkdir never returns where a file system reports a missing parent for a
 * folder that cannot be created, as /proc does.
 */
async function createFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    return undefined;
  });
  if (found?.isDirectory()) return;
  if (!found) await createFolder(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch(async (error: unknown) => {
    // Another process may have created it meanwhile.
    if (errorCode(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error;
  });
}
