import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `start`: the command line of `npm start`, its flags for Node included, in the folder where it was called. */
export async function startCommand(): Promise<string> {
  const { scripts } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { scripts: { start: string } };
  const [, ...given] = scripts.start.split(' ');
  const parameters = given.map((part) => (part.endsWith('.ts') ? root + part : part));
  const child = spawn(process.execPath, parameters, { stdio: 'inherit' });
  // From a terminal the child hears of Ctrl-C itself; it takes two signals close together for one.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
  return '';
}
