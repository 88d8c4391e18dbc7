import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'node:test';
import { installPython } from '../generators/python.ts';
import { startDriver } from './driver.ts';
import { mayInstall } from './present.ts';
import { playAll } from './stage.ts';

/** The Python SDK plays every scenario, with its blocking and with its asynchronous client. */

const sdk = fileURLToPath(new URL('../../sdk/python/', import.meta.url));
const bin = await installPython(join(sdk, 'requirements-dev.txt'), mayInstall);

if (bin === undefined) {
  process.stdout.write('Python or its packages are not here: npm run sdks installs them.\n');
} else {
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
