import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Environment } from './environment.ts';

const thisRoot = resolve(import.meta.dirname, '..');

/** The root of another state of this repository: a folder with a copy, or a commit, which is checked out until the process ends. */
export function openTree(folderOrCommit: string): string {
  if (existsSync(join(folderOrCommit, 'package.json'))) return resolve(folderOrCommit);
  const root = mkdtempSync(join(tmpdir(), 'svc-against-'));
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['worktree', ...args], { cwd: thisRoot, stdio: ['ignore', 'ignore', 'inherit'] });
  git('add', '--detach', root, folderOrCommit);
  process.once('exit', () => {
    git('remove', '--force', root);
    rmSync(root, { recursive: true, force: true });
  });
  installPackages(root);
  return root;
}

/** Uses the packages of this copy if both have the same lockfile. */
function installPackages(root: string): void {
  const lockOf = (folder: string): string => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (lockOf(root) === lockOf(thisRoot)) symlinkSync(join(thisRoot, 'node_modules'), join(root, 'node_modules'));
  else execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: root, stdio: 'inherit' });
}

/** Uses a database from the migrations of that tree, because its schema may differ. */
export async function startEnvironmentOf(root: string): Promise<Environment> {
  const url = pathToFileURL(join(root, 'bench/environment.ts')).href;
  const { startEnvironment } = (await import(url)) as typeof import('./environment.ts');
  return startEnvironment();
}
