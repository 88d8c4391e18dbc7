import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { programFolder } from '../server/platform/program-folder.ts';

const root = fileURLToPath(programFolder);

/** `start`: runs the command line of `npm start`, with its flags for Node, in the current folder. */
export async function startCommand(): Promise<string> {
  const { scripts } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { scripts: { start: string } };
  const [, ...given] = scripts.start.split(' ');
  const parameters = given.map((part) => (/\.[jt]s$/.test(part) ? root + part : part));
  const child = spawn(process.execPath, parameters, { stdio: 'inherit' });
  // In a terminal, the child gets Ctrl-C too. It treats two signals in short succession as one.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
  return '';
}
