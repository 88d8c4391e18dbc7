// Plain JavaScript for Node 20 and newer. Installs missing or outdated packages from the lockfiles, and builds the dashboard
// and the packages for merchants if their sources have changed. It never touches a folder of packages that already has what the lockfile asks for.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dashboard = join(root, 'dashboard');
const event = process.env.npm_lifecycle_event ?? '';
// These only run the service. They need no development packages, and the service works without what is built.
const onlyRuns = ['prestart', 'presvc', 'preshop', 'preacquirer'].includes(event);
const development = !onlyRuns && event !== 'build';

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 20) fail(`Node 20 or newer is required; this is ${process.version}.`);

if (!hasPackages(root, development) && !install(root, development)) process.exit(1);
// The packages bring Node 24 where npm installs optional ones; npm scripts find it before that of the machine.
if (major < 24 && !existsSync(join(root, 'node_modules', '.bin', 'node'))) {
  fail(`Node 24 or newer is required, because the optional packages are not installed; this is ${process.version}.`);
}

const vite = join(dashboard, 'node_modules', 'vite', 'bin', 'vite.js');
build('dashboard', join(dashboard, 'dist', '.built'), dashboardState, () => [
  process.execPath,
  [vite, 'build', '--logLevel', 'warn'],
  dashboard,
]);
const served = join(root, 'dist', 'packages');
build('SDK', join(served, '.built'), packagesState, () => [
  major < 24 ? join(root, 'node_modules', '.bin', 'node') : process.execPath,
  [join(root, 'scripts', 'packages.ts')],
  root,
]);

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** What npm has installed into a folder, by its own account; npm writes it when an installation is complete. */
function installedPackages(folder) {
  return readPackages(join(folder, 'node_modules', '.package-lock.json'));
}

/** Compares what is installed with the lockfile. Optional packages may be absent: another platform, or the operator's choice. */
function hasPackages(folder, withDevelopment) {
  const installed = installedPackages(folder);
  if (!installed) return false;
  const wanted = Object.entries(readPackages(join(folder, 'package-lock.json')) ?? {});
  return wanted.every(([path, { dev, devOptional, optional, version, integrity, resolved, link }]) => {
    if (!path.includes('node_modules/')) return true;
    if (!withDevelopment && (dev || devOptional)) return true;
    const found = installed[path];
    if (!found) return optional === true;
    const same = link ? found.resolved === resolved : found.version === version && found.integrity === integrity;
    return same && existsSync(join(folder, path));
  });
}

function install(folder, withDevelopment) {
  console.error(`Installing packages of ${folder === root ? 'the service' : 'the dashboard'} from the lockfile …`);
  const installed = installedPackages(folder);
  // A running service may use the packages that are there, so add to them. `ci` would delete them first.
  const how = installed ? ['install', '--no-save'] : ['ci'];
  // A development tree keeps its compiler when someone only starts the service in it.
  const keepsDevelopment = Object.values(installed ?? {}).some(({ dev }) => dev);
  const which = withDevelopment || keepsDevelopment ? '--include=dev' : '--omit=dev';
  const parameters = [...how, which, '--loglevel=error', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  const options = { cwd: folder, stdio: ['ignore', 2, 2] };
  const { status } = npm
    ? spawnSync(process.execPath, [npm, ...parameters], options)
    : spawnSync('npm', parameters, { ...options, shell: process.platform === 'win32' });
  return status === 0;
}

/** Builds something once for each state of its sources, with the tools of the dashboard. */
function build(name, built, state, command) {
  if (existsSync(built) && readFileSync(built, 'utf8') === state()) return;
  if (!isWritable(dashboard) || !isWritable(root)) return missBuild(name, 'its folder is read-only');
  if (!hasPackages(dashboard, true) && !install(dashboard, true)) {
    return missBuild(name, 'the packages that build it could not be installed');
  }
  console.error(`Building the ${name} …`);
  const [program, parameters, cwd] = command();
  const { status } = spawnSync(program, parameters, { cwd, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(built, state());
}

/** The service does not depend on what is built; everything else does. */
function missBuild(name, reason) {
  const message = `The ${name} was not built: ${reason}.`;
  if (!onlyRuns) fail(message);
  console.error(`${message} The service starts without the new version of it. To build it, run: npm run build`);
}

function dashboardState() {
  const names = ['index.html', 'package.json', 'package-lock.json', 'vite.config.ts', 'src'];
  const sources = names
    .map((name) => join(dashboard, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesIn(path) : [path]));
  // Colors and fonts are those of all pages. The last build has listed what else it took from outside of its folder.
  const styles = ['tokens.css', 'font.css'].map((name) => join(root, 'pages', 'shared', name));
  return hashOf([...sources, ...styles, ...listed(join(dashboard, 'dist', 'sources.json'))]);
}

/** The last build has listed its sources. */
function packagesState() {
  return hashOf(listed(join(served, 'sources.json')));
}

function listed(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).map((name) => join(root, name)) : [];
}

function hashOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(existsSync(path) ? readFileSync(path) : 'missing');
  return hash.digest('hex');
}

function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
