import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { bundle } from '../../scripts/release/bundle.ts';
import { type ReleaseFile, root, textFile } from '../../scripts/release/files.ts';
import { simulatorFile } from './programs.ts';

const prefix = 'test-programs-';
const keptMs = 24 * 60 * 60 * 1000;

/**
 * Bundles the programs for `programPath`. Sets SVC_TEST_PROGRAMS for this process and its children. The folder has the
 * depth of `server/bundle` in a release, from where a bundle finds the files it reads.
 */
export async function bundlePrograms(): Promise<void> {
  const scripts = [...(await bundle()).scripts, await bundleSimulator()];
  const hash = createHash('sha256');
  for (const { path, content } of scripts) hash.update(path).update(content);
  const dist = join(root, 'dist');
  const folder = join(dist, `${prefix}${hash.digest('hex').slice(0, 16)}`);
  process.env.SVC_TEST_PROGRAMS = folder;
  if (existsSync(folder)) return;
  await mkdir(dist, { recursive: true });
  await removeOld(dist);
  // Moved as a whole, so that runs that start together never see a partial copy.
  const fresh = await mkdtemp(join(dist, prefix));
  await writeFile(join(fresh, 'package.json'), '{"type":"commonjs"}');
  for (const { path, content } of scripts) await writeFile(join(fresh, path), content);
  await rename(fresh, folder).catch(() => rm(fresh, { recursive: true, force: true }));
}

/** A release has no simulated processors. */
async function bundleSimulator(): Promise<ReleaseFile> {
  const build = await rolldown({ cwd: root, input: 'simulators/main.ts', platform: 'node' });
  const { output } = await build.generate({ format: 'esm', keepNames: true, codeSplitting: false });
  await build.close();
  return textFile(simulatorFile, output[0].code);
}

/** A run that is still going may use a folder that is not old. */
async function removeOld(dist: string): Promise<void> {
  for (const name of await readdir(dist)) {
    const path = join(dist, name);
    if (!name.startsWith(prefix) || Date.now() - (await stat(path)).mtimeMs < keptMs) continue;
    await rm(path, { recursive: true, force: true });
  }
}
