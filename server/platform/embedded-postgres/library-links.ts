import * as fs from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** npm packs no symlinks, and may be told to skip the package's own script that restores them. */
export async function makeLibraryLinks(packageFolder: string, kind: 'symbolic' | 'hard'): Promise<void> {
  const listed = await fs.readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const path = join(packageFolder, target);
    if (await fs.lstat(path).catch(() => null)) continue;
    const made =
      kind === 'symbolic'
        ? fs.symlink(relative(dirname(target), source), path)
        : fs.link(join(packageFolder, source), path);
    // Not fatal here: a simultaneous start may have made it, and on a read-only disk the server says what it misses.
    await made.catch(() => undefined);
  }
}
