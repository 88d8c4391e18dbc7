import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { readMigrations } from '../server/platform/migration-files.ts';

/**
 * `npm run release -- --record VERSION`: adds a release with its commit and the migrations since the last one. From then on,
 * tests check that these migrations do not change, upgrade from this release, and run its code on the new schema.
 */

interface Release {
  /** The code of the release, which the next version must run beside. */
  readonly commit: string;
  /** The hashes of the migrations since the release before, by name. */
  readonly migrations: Readonly<Record<string, string>>;
}

/** The releases by version, the oldest first. */
export type Releases = Readonly<Record<string, Release>>;

const file = new URL('../server/releases.json', import.meta.url);

export async function readReleases(): Promise<Releases> {
  return JSON.parse(await readFile(file, 'utf8'));
}

export async function recordRelease(version: string): Promise<void> {
  const releases = await readReleases();
  if (!/^\d+\.\d+\.\d+$/.test(version) || releases[version]) {
    throw new Error('Pass a version that is not released yet, for example 0.2.0.');
  }
  const released = new Set(Object.values(releases).flatMap(({ migrations }) => Object.keys(migrations)));
  const added = (await readMigrations()).filter(({ name }) => !released.has(name));
  const migrations = Object.fromEntries(added.map(({ name, sha256 }) => [name, sha256]));
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  await writeFile(file, `${JSON.stringify({ ...releases, [version]: { commit, migrations } }, null, 2)}\n`);
}
