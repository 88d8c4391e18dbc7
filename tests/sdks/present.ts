import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPython } from '../generators/python.ts';
import { isCommand, run } from '../generators/world.ts';

/** The languages that are here, and the programs that drive their SDKs. */

/** `npm run sdks` installs what the SDKs are tested with. Otherwise only what is there already is used. */
export const mayInstall = process.env.SVC_SDKS === 'install';

const sdk = fileURLToPath(new URL('../../sdk/', import.meta.url));

/** The folder of the commands of Python; undefined where it is not here. */
export const pythonBin = (): Promise<string | undefined> =>
  installPython(join(sdk, 'python', 'requirements-dev.txt'), mayInstall);

export const hasGo = (): Promise<boolean> => isCommand('go', 'version');

interface Program {
  readonly program: string;
  readonly parameters: readonly string[];
  readonly env: Record<string, string>;
}

export const nodeProgram: Program = {
  program: process.execPath,
  parameters: ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('node-driver.ts', import.meta.url))],
  env: {},
};

export const pythonProgram = (bin: string, isAsync: boolean): Program => ({
  program: join(bin, 'python'),
  parameters: [join(sdk, 'python', 'driver.py'), ...(isAsync ? ['async'] : [])],
  env: { PYTHONPATH: join(sdk, 'python', 'src') },
});

export async function goProgram(): Promise<Program> {
  const program = join(await mkdtemp(join(tmpdir(), 'svc-go-')), 'driver');
  await run('go', ['build', '-o', program, './internal/driver'], { folder: join(sdk, 'go') });
  return { program, parameters: [], env: {} };
}

/** All that can run here, by name. */
export async function drivers(): Promise<Map<string, Program>> {
  const found = new Map([['Node', nodeProgram]]);
  const bin = await pythonBin();
  if (bin) found.set('Python', pythonProgram(bin, false)).set('Async', pythonProgram(bin, true));
  else process.stdout.write('Python or its packages are not here: npm run sdks installs them.\n');
  if (await hasGo()) found.set('Go', await goProgram());
  else process.stdout.write('Go is not here, so its SDK is not tested.\n');
  return found;
}
