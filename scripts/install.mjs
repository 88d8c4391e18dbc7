// Plain JavaScript that any Node from 20 on can run: installs what the lockfile names when that is missing or older.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const event = process.env.npm_lifecycle_event ?? '';
// The service itself runs without the development dependencies, which makes the first start faster.
const withoutDevelopment = ['prestart', 'presvc', 'preshop', 'preacquirer'].includes(event);

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 20) {
  console.error(`Node 20 or newer is needed to install; this is ${process.version}.`);
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
  // Only on a fresh clone: an engineer's tree keeps its compiler.
  const fresh = !existsSync(join(root, 'node_modules')) || installed[1] === 'production';
  const omit = withoutDevelopment && fresh ? ['--omit=dev'] : [];
  const npm = process.env.npm_execpath;
  const arguments_ = ['ci', '--loglevel=error', '--no-audit', '--no-fund', ...omit];
  const result = npm
    ? spawnSync(process.execPath, [npm, ...arguments_], { cwd: root, stdio: ['ignore', 2, 2] })
    : spawnSync('npm', arguments_, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) process.exit(result.status ?? 1);
  writeFileSync(marker, `${lockHash} ${omit.length > 0 ? 'production' : 'all'}\n`);
}
