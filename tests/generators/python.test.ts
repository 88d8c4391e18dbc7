import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { installPython } from './python.ts';
import { folderFor, here, mayInstall, run, startWorld } from './world.ts';

/** Runs with `npm run generators`. A Python client by openapi-python-client. Its version, and those of all it uses, are in python/requirements.txt. */

const program = join(here, 'python', 'calls.py');

const generated = (bin: string): Promise<string> =>
  folderFor('python', [program], async (draft) => {
    await cp(program, join(draft, 'calls.py'));
    const options = ['generate', '--path', 'openapi.json', '--output-path', 'client', '--meta', 'none'];
    // A schema that it cannot make sense of is a warning by default.
    const env = { PATH: `${bin}:${process.env.PATH}` };
    await run(join(bin, 'openapi-python-client'), [...options, '--fail-on-warning'], { folder: draft, env });
    await run(join(bin, 'python'), ['-m', 'compileall', '-q', 'client', 'calls.py'], { folder: draft });
  });

const bin = mayInstall ? await installPython() : undefined;
if (bin !== undefined) {
  test('a Python client that openapi-python-client generates compiles, and calls every operation', async () => {
    const folder = await generated(bin);
    const world = await startWorld();
    try {
      await run(join(bin, 'python'), ['calls.py'], { folder, env: world.env });
      world.checkAllCalled();
    } finally {
      await world.stop();
    }
  });
}
