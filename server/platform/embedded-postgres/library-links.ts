import * as fs from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** npm packages contain no symlinks, and the package's own script that restores them may be disabled. */
export async function makeLibraryLinks(packageFolder: string, kind: 'symbolic' | 'hard'): Promise<void> {
  const listed = await fs.readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    const path = join(packageFolder, target);
    if (await fs.lstat(path).catch(() => null)) continue;
    const made =
      kind === 'symbolic'
        ? fs.symlink(relative(dirname(target), source), path)
        : fs.link(join(packageFolder, source), path);
    // Not fatal: a simultaneous start may have made the link, and on a read-only disk the server names the library it
    // misses.
    await made.catch(() => undefined);
  }
}
