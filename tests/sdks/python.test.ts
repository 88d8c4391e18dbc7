import assert from 'node:assert/strict';
import { existsSync, globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it, test } from 'node:test';
import { run, toolsFolder } from '../generators/world.ts';
import { startDriver } from './driver.ts';
import { mayInstall, pythonBin, pythonProgram } from './present.ts';
import { pythonFiles } from './samples.ts';
import { playAll } from './stage.ts';

/** The Python SDK plays every scenario, with its blocking and with its asynchronous client. */

const sdk = fileURLToPath(new URL('../../sdk/python/', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = await pythonBin();
// It is a program for Node, which its package for Python installs when it first runs.
const forPyright = { PYRIGHT_PYTHON_CACHE_DIR: join(toolsFolder, 'pyright'), PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' };

if (bin === undefined) {
  process.stdout.write('Python or its packages are not here: npm run sdks installs them.\n');
} else {
  test('the wheel that an installation serves installs into a clean environment, and has all its parts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-python-'));
    const [wheel = ''] = globSync('dist/packages/*.whl', { cwd: root });
    try {
      const options = ['--quiet', '--no-deps', '--no-index', '--target', folder];
      await run(join(bin, 'pip'), ['install', ...options, join(root, wheel)]);
      const check = `import svc_payments, importlib.metadata as m; print(svc_payments.__version__ == m.version("svc-payments"))`;
      const seen = await run(join(bin, 'python'), ['-c', check], { env: { PYTHONPATH: folder } });
      assert.equal(seen, 'True\n');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  describe('in the SDK, in the samples of the API reference and in those of the guides', () => {
    let folder: string;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'svc-types-'));
      for (const [name, text] of pythonFiles()) await writeFile(join(folder, name), text);
    });
    after(() => rm(folder, { recursive: true, force: true }));
    const samples = (): string[] => [...pythonFiles().keys()].map((name) => join(folder, name));

    it('mypy in strict mode finds nothing', async () => {
      await run(join(bin, 'mypy'), ['--cache-dir', join(folder, 'cache'), 'src', ...samples()], { folder: sdk });
    });

    const isHere = mayInstall || existsSync(forPyright.PYRIGHT_PYTHON_CACHE_DIR);
    it('pyright finds nothing', { skip: !isHere && 'npm run sdks installs it' }, async () => {
      const options = ['--warnings', '--pythonpath', join(bin, 'python'), '--project', '.'];
      await run(join(bin, 'pyright'), [...options, 'src', ...samples()], { folder: sdk, env: forPyright });
    });
  });

  for (const isAsync of [false, true]) {
    describe(`the ${isAsync ? 'asynchronous' : 'blocking'} client of Python`, () => {
      const { program, parameters, env } = pythonProgram(bin, isAsync);
      playAll(async () => startDriver(isAsync ? 'Async' : 'Python', program, parameters, { env }));
    });
  }
}
