import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { installPython } from '../generators/python.ts';
import { run } from '../generators/world.ts';
import { startDriver } from './driver.ts';
import { mayInstall } from './present.ts';
import { pythonProgram } from './samples.ts';
import { playAll } from './stage.ts';

/** The Python SDK plays every scenario, with its blocking and with its asynchronous client. */

const sdk = fileURLToPath(new URL('../../sdk/python/', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const bin = await installPython(join(sdk, 'requirements-dev.txt'), mayInstall);

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

  test('mypy in strict mode finds nothing in the SDK and in the samples of the API reference', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-mypy-'));
    try {
      const samples = join(folder, 'samples.py');
      await writeFile(samples, pythonProgram());
      await run(join(bin, 'mypy'), ['--cache-dir', folder, 'src', samples], { folder: sdk });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  const env = { PYTHONPATH: join(sdk, 'src') };
  for (const [name, parameters] of [
    ['Python', []],
    ['Async', ['async']],
  ] as const) {
    describe(`${name === 'Python' ? 'the blocking' : 'the asynchronous'} client of Python`, () => {
      playAll(async () => startDriver(name, join(bin, 'python'), [join(sdk, 'driver.py'), ...parameters], { env }));
    });
  }
}
