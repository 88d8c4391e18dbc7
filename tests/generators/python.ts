import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { here, installOnce, isCommand, mayInstall, run, toolsFolder } from './world.ts';

/** The tools that Python's package manager installs, in an environment of their own. */

const forPython = join(here, 'python', 'requirements.txt');

/** The folder of their commands; undefined where there is no Python, or they are not there and may not be installed. */
export async function installPython(requirements = forPython, install = mayInstall): Promise<string | undefined> {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = join(toolsFolder, `python-${hash}`);
  const bin = join(folder, 'bin');
  if (existsSync(join(folder, 'installed'))) return bin;
  if (!install || !(await isCommand('python3', '--version'))) return undefined;
  await installOnce(folder, async () => {
    await run('python3', ['-m', 'venv', '--clear', folder]);
    await run(join(bin, 'pip'), ['install', '--quiet', '--requirement', requirements]);
  });
  return bin;
}
