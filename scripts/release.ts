import { readFile, writeFile } from 'node:fs/promises';
import { readMigrations } from '../server/platform/migrations.ts';

/**
 * `node scripts/release.ts VERSION`: adds a release with the migrations since the last one. From then on, tests check that
 * these migrations do not change, and upgrade from this release.
 */

export type Releases = Readonly<Record<string, Readonly<Record<string, string>>>>;

const file = new URL('../server/releases.json', import.meta.url);

export async function readReleases(): Promise<Releases> {
  return JSON.parse(await readFile(file, 'utf8'));
}

async function release(version: string): Promise<void> {
  const releases = await readReleases();
  if (!/^\d+\.\d+\.\d+$/.test(version) || releases[version]) {
    throw new Error('Pass a version that is not released yet, for example 0.2.0.');
  }
  const released = new Set(Object.values(releases).flatMap(Object.keys));
  const added = (await readMigrations()).filter(({ name }) => !released.has(name));
  const migrations = Object.fromEntries(added.map(({ name, sha256 }) => [name, sha256]));
  await writeFile(file, `${JSON.stringify({ ...releases, [version]: migrations }, null, 2)}\n`);
}

if (import.meta.main) await release(process.argv[2] ?? '');
