// Plain JavaScript for Node 20 and newer. Installs missing or outdated packages from the lockfile, and builds the dashboard
// if its sources have changed.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const event = process.env.npm_lifecycle_event ?? '';
// The service does not need development dependencies. Without them, the first start is faster.
const withoutDevelopment = ['prestart', 'presvc', 'preshop', 'preacquirer'].includes(event);

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 20) {
  console.error(`Node 20 or newer is required; this is ${process.version}.`);
  process.exit(1);
}

const marker = join(root, 'node_modules', '.installed');
const lockHash = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
const installed = existsSync(marker) ? readFileSync(marker, 'utf8').trim().split(' ') : [];
const upToDate = installed[0] === lockHash && (withoutDevelopment || installed[1] === 'all');

if (!upToDate) {
  console.error('Installing dependencies from the lockfile …');
  // Only on a fresh clone, so that a development tree keeps its compiler.
  const fresh = !existsSync(join(root, 'node_modules')) || installed[1] === 'production';
  const omit = withoutDevelopment && fresh ? ['--omit=dev'] : [];
  const npm = process.env.npm_execpath;
  // The installed packages are correct and a running service may use them. So add to them; `ci` would delete them first.
  const how = installed[0] === lockHash ? ['install', '--no-save', '--include=dev'] : ['ci'];
  const npmArguments = [...how, '--loglevel=error', '--no-audit', '--no-fund', ...omit];
  const result = npm
    ? spawnSync(process.execPath, [npm, ...npmArguments], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', npmArguments, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) process.exit(result.status ?? 1);
  writeFileSync(marker, `${lockHash} ${omit.length > 0 ? 'production' : 'all'}\n`);
}

// Builds the dashboard once for each state of its sources.
const dashboard = join(root, 'dashboard');
const built = join(dashboard, 'dist', '.built');
const sources = ['index.html', 'package.json', 'vite.config.ts', 'src', 'public']
  .map((name) => join(dashboard, name))
  .filter((path) => existsSync(path))
  .flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]));
const sourceHash = createHash('sha256');
// The version of the API comes from the SDK.
const apiVersion = join(root, 'sdk', 'node', 'src', 'generated', 'operations.ts');
for (const path of [...sources, apiVersion, join(root, 'package-lock.json')]) sourceHash.update(readFileSync(path));
const state = sourceHash.digest('hex');

if (sources.length > 2 && !(existsSync(built) && readFileSync(built, 'utf8') === state)) {
  console.error('Building the dashboard …');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const result = spawnSync(process.execPath, [vite, 'build', '--logLevel', 'warn'], {
    cwd: dashboard,
    stdio: ['ignore', 2, 2],
  });
  if (result.status !== 0) process.exit(result.status ?? 1);
  writeFileSync(built, state);
}

function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
