import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readCommandLine } from './command-line.ts';
import { readChangelog, readReleases, recordRelease, ReleaseProblem, releaseProblem } from './record-release.ts';
import { buildExtras, buildRelease, sumsOf } from './release/artefact.ts';
import { bundle } from './release/bundle.ts';
import { readJson, root } from './release/files.ts';
import { notice, shippedPackages } from './release/packages.ts';
import { signSums } from './release/sign.ts';

const { values } = readCommandLine({
  name: 'npm run release',
  summary: 'Builds the archives of this version from its commit in server/releases.json, with their checksums.',
  options: {
    preview: { type: 'flag', describe: 'Builds the code that is here, released or not.' },
    sign: { type: 'text', describe: 'The file of an SSH key, with which the checksums are signed.' },
    record: { type: 'text', describe: 'Makes the last commit the release with this version instead.' },
    notice: { type: 'flag', describe: 'Writes the file NOTICE instead.' },
    out: { type: 'text', default: join(root, 'dist', 'release'), describe: 'The folder for the archives.' },
    'without-extras': { type: 'flag', describe: 'Builds no archive with Node and PostgreSQL.' },
  },
});

const out = resolve(values.out);
try {
  if (values.record !== undefined) await recordRelease(values.record);
  else if (values.notice) await writeFile(join(root, 'NOTICE'), notice(shippedPackages(await bundle())));
  else if (values.preview) await build(out, !values['without-extras']);
  else await buildCommit(await releasedCommit(), out, values['without-extras'] ? ['--without-extras'] : []);
  if (values.sign !== undefined) signSums(join(out, 'SHA256SUMS'), resolve(values.sign));
} catch (error) {
  if (!(error instanceof ReleaseProblem)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function releasedCommit(): Promise<string> {
  const { version } = readJson('package.json') as { version: string };
  const releases = await readReleases();
  const problem = releaseProblem(version, releases, readChangelog());
  if (problem) throw new ReleaseProblem(problem);
  return releases[version]?.commit ?? '';
}

/** Builds in a folder of its own, which has this commit and nothing else, with the packages of its lockfiles. */
async function buildCommit(commit: string, folder: string, options: readonly string[]): Promise<void> {
  const tree = mkdtempSync(join(tmpdir(), 'svc-release-'));
  const inherit = { stdio: 'inherit' } as const;
  try {
    execFileSync('git', ['worktree', 'add', '--quiet', '--detach', tree, commit], { ...inherit, cwd: root });
    const parameters = ['run', '--silent', 'release', '--', '--preview', '--out', folder, ...options];
    execFileSync('npm', parameters, { ...inherit, cwd: tree });
  } finally {
    rmSync(tree, { recursive: true, force: true });
    execFileSync('git', ['worktree', 'prune'], { cwd: root });
  }
}

async function build(folder: string, withExtras: boolean): Promise<void> {
  const artefacts = [...(await buildRelease()), ...(withExtras ? [buildExtras()] : [])];
  await mkdir(folder, { recursive: true });
  for (const { name, content } of artefacts) {
    await writeFile(join(folder, name), content);
    console.log(`${(content.length / 1e6).toFixed(1).padStart(6)} MB  ${join(folder, name)}`);
  }
  const sums = sumsOf(artefacts.map(({ name, content }) => ({ path: name, content })));
  await writeFile(join(folder, 'SHA256SUMS'), sums);
}
