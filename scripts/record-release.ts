import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readMigrations } from '../server/platform/migration-files.ts';

/** `server/releases.json`: each release with its date, its commit and its migrations. */

interface Release {
  /** The day of the release, as in the changelog. */
  readonly date: string;
  /** The code of the release, which the next version must run beside. */
  readonly commit: string;
  /** The hashes of the migrations since the release before, by name. */
  readonly migrations: Readonly<Record<string, string>>;
}

/** What the caller of `npm run release` has to change. It is printed as one line. */
export class ReleaseProblem extends Error {}

/** The releases by version, the oldest first. */
export type Releases = Readonly<Record<string, Release>>;

const root = fileURLToPath(new URL('..', import.meta.url));
const file = new URL('../server/releases.json', import.meta.url);

export async function readReleases(): Promise<Releases> {
  return JSON.parse(await readFile(file, 'utf8'));
}

export const readChangelog = (): string => readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8');

/** The versions of the changelog, the newest first, each with its day or `unreleased`. */
export const datesOf = (changelog: string): ReadonlyMap<string, string> =>
  new Map([...changelog.matchAll(/^## \[(.+?)\] - (.+)$/gm)].map(([, version = '', date = '']) => [version, date]));

const isDay = (text: string | undefined): text is string => /^\d{4}-\d\d-\d\d$/.test(text ?? '');

/** Why this version is no release, in one line; undefined if it is one. */
export function releaseProblem(version: string, releases: Releases, changelog: string): string | undefined {
  const date = datesOf(changelog).get(version);
  if (!isDay(date)) {
    return `${version} has no date in CHANGELOG.md, so it is not released. To build the code that is here, run: npm run release -- --preview`;
  }
  const release = releases[version];
  if (!release) {
    return `${version} is not in server/releases.json. To release the last commit as ${version}, run: npm run release -- --record ${version}`;
  }
  if (release.date !== date)
    return `${version} has the date ${date} in CHANGELOG.md, and ${release.date} in server/releases.json.`;
  return undefined;
}

const git = (...parameters: string[]): string =>
  execFileSync('git', parameters, { cwd: root, encoding: 'utf8' }).trim();

/** Why the last commit cannot become this release, in one line. */
export function recordProblem(
  version: string,
  releases: Releases,
  changelog: string,
  changes: string,
): string | undefined {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return 'Pass a version, for example 0.2.0.';
  if (releases[version]) return `${version} is released already. A release never changes.`;
  if (!isDay(datesOf(changelog).get(version))) {
    return `Write the day of the release into CHANGELOG.md and commit it: ## [${version}] - YYYY-MM-DD`;
  }
  return changes ? 'Commit your changes first: a release is a commit.' : undefined;
}

/**
 * `npm run release -- --record VERSION`: makes the last commit a release. From then on, tests check that its migrations do not change, upgrade from
 * this release, and run its code on the new schema.
 */
export async function recordRelease(version: string): Promise<void> {
  const releases = await readReleases();
  const changelog = readChangelog();
  const problem = recordProblem(version, releases, changelog, git('status', '--porcelain'));
  if (problem) throw new ReleaseProblem(problem);
  const released = new Set(Object.values(releases).flatMap(({ migrations }) => Object.keys(migrations)));
  const added = (await readMigrations()).filter(({ name }) => !released.has(name));
  const migrations = Object.fromEntries(added.map(({ name, sha256 }) => [name, sha256]));
  const release = { date: datesOf(changelog).get(version), commit: git('rev-parse', 'HEAD'), migrations };
  await writeFile(file, `${JSON.stringify({ ...releases, [version]: release }, null, 2)}\n`);
}
