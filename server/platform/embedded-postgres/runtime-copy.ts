import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { removeAbandoned, withBuildFolder } from './build-folder.ts';
import { makeLibraryLinks } from './library-links.ts';

/**
 * PostgreSQL resolves its real path to find its libraries, so it cannot run from a folder that its user cannot enter.
 * A copy gets its final name by rename only when it is complete. A folder that another user created there is never
 * trusted.
 */
export async function runtimeCopy(packaged: string, base: string): Promise<string> {
  const packageFolder = dirname(packaged);
  const { version } = JSON.parse(await fs.readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const wanted = join(base, `svc-postgres-${basename(packageFolder)}-${version}`);
  const files = await runtimeFiles(packaged);
  if (await isTrustedCopy(wanted, files)) return join(wanted, 'native');
  const buildPrefix = `${wanted}.build-`;
  await removeAbandoned(buildPrefix);
  return withBuildFolder(buildPrefix, async (build) => {
    await copyRuntime(packaged, join(build, 'native'), files);
    await fs.chmod(build, 0o755);
    return join(await publishCopy(build, wanted, files), 'native');
  });
}

async function runtimeFiles(nativeFolder: string): Promise<string[]> {
  const entries = await fs.readdir(nativeFolder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(nativeFolder, join(entry.parentPath, entry.name)));
}

async function isTrustedCopy(folder: string, files: string[]): Promise<boolean> {
  const found = await fs.lstat(folder).catch(() => null);
  if (!found?.isDirectory() || found.uid !== 0 || (found.mode & 0o777) !== 0o755) return false;
  const present = new Set(await fs.readdir(join(folder, 'native'), { recursive: true }).catch(() => []));
  return files.every((file) => present.has(file));
}

async function copyRuntime(from: string, to: string, files: string[]): Promise<void> {
  for (const folder of new Set(files.map((file) => dirname(join(to, file))))) {
    await fs.mkdir(folder, { recursive: true });
  }
  for (const file of files) {
    const isExecutable = ((await fs.stat(join(from, file))).mode & 0o100) !== 0;
    await fs.copyFile(join(from, file), join(to, file), constants.COPYFILE_FICLONE);
    // The sticky bit keeps systemd-tmpfiles from deleting files of a server that runs for weeks. On hard links it
    // would also change node_modules, and symlinks cannot carry it, so these are copies.
    await fs.chmod(join(to, file), isExecutable ? 0o1755 : 0o1644);
  }
  for (const folder of await fs.readdir(dirname(to), { recursive: true, withFileTypes: true })) {
    if (folder.isDirectory()) await fs.chmod(join(folder.parentPath, folder.name), 0o755);
  }
  await makeLibraryLinks(dirname(to), 'hard');
}

async function publishCopy(build: string, wanted: string, files: string[]): Promise<string> {
  const existing = await fs.lstat(wanted).catch(() => null);
  if (existing?.isDirectory() && existing.uid === 0 && !(await isTrustedCopy(wanted, files))) {
    await fs.rm(wanted, { recursive: true, force: true });
  }
  try {
    await fs.rename(build, wanted);
    return wanted;
  } catch (error) {
    if (await isTrustedCopy(wanted, files)) return wanted;
    if (!existing) throw error;
    const unpredictable = `${wanted}-${randomBytes(6).toString('hex')}`;
    await fs.rename(build, unpredictable);
    return unpredictable;
  }
}
