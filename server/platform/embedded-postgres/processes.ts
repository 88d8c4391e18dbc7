import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { errorCode } from '../error-code.ts';

export type ProcessKind = 'gone' | 'unrelated' | 'postmaster';

const execute = promisify(execFile);

/**
 * Uses the command line, because every user can read it. /proc/<pid>/cwd would be more reliable, but root in a
 * container often lacks the capability to read it for another user's process. PostgreSQL treats a zombie as alive,
 * but a zombie has no command line.
 */
export async function processKind(pid: number, port: number): Promise<ProcessKind> {
  if (!isAlive(pid)) return 'gone';
  try {
    const command = await commandLine(pid);
    if (command === null || new RegExp(`\\bpostgres\\b.*\\bport=${port}\\b`, 's').test(command)) return 'postmaster';
    return 'unrelated';
  } catch {
    return isAlive(pid) ? 'postmaster' : 'gone';
  }
}

async function commandLine(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
  return (await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
