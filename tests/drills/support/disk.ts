import { spawnSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DrillStage } from '../drill.ts';
import { serverOwner } from './servers.ts';

/** Small disks of a drill's own, which can be filled. */

/** Mounts a disk of this size on a folder. Returns false if this process may not. */
export function mountDisk({ cleanUp }: Pick<DrillStage, 'cleanUp'>, folder: string, megabytes: number): boolean {
  const owner = serverOwner();
  const account = owner ? `,uid=${owner.uid},gid=${owner.gid}` : '';
  const options = `size=${megabytes}m,mode=0700${account}`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) return false;
  cleanUp(() => spawnSync('umount', ['--lazy', folder]));
  return true;
}

/** Uses all free space of the disk; returns how it becomes free again. */
export function fillDisk(folder: string): () => Promise<void> {
  const file = join(folder, 'filled');
  const { bavail, bsize } = statfsSync(folder);
  spawnSync('fallocate', ['--length', String(bavail * bsize), file]);
  // What became free meanwhile.
  spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=4096', 'oflag=append', 'conv=notrunc'], { stdio: 'ignore' });
  return () => rm(file, { force: true });
}
