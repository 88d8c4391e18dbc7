import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './account.ts';

export interface ProgramContext {
  nativeFolder: string;
  account: Account | null;
}

export interface FolderProgram {
  /** The folder that the program works in: the account need not be able to reach it by its path. */
  folder: string;
  /** Given the name under which the program finds the folder. */
  args: (folder: string) => string[];
  /** Its output: a descriptor, or 'pipe'. */
  output: number | 'pipe';
  /** In a session of its own, which a Ctrl-C in our terminal does not reach. */
  detached?: boolean;
}

const execute = promisify(execFile);

/** Runs one of PostgreSQL's own programs to its end; rejects when it fails. */
export async function runProgram(context: ProgramContext, name: string, args: readonly string[]): Promise<void> {
  await execute(programPath(context, name), args, programOptions(context));
}

/**
 * As root we may reach folders that the server's user may not enter (such as anything below /root). It gets the open
 * folder as descriptor 3, which it and its children inherit, and names it by the magic link that skips the path.
 */
export function spawnOnFolder(context: ProgramContext, name: string, program: FolderProgram): ChildProcess {
  const { folder, args, output, detached = false } = program;
  const options = { ...programOptions(context), detached };
  const path = programPath(context, name);
  if (!context.account) return spawn(path, args(folder), { ...options, stdio: ['ignore', output, output] });
  const descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return spawn(path, args('/proc/self/fd/3'), { ...options, stdio: ['ignore', output, output, descriptor] });
  } finally {
    closeSync(descriptor);
  }
}

function programPath({ nativeFolder }: ProgramContext, name: string): string {
  return join(nativeFolder, 'bin', process.platform === 'win32' ? `${name}.exe` : name);
}

function programOptions({ account }: ProgramContext) {
  // The account may not be allowed into the folder we are in.
  return { ...account, cwd: account ? '/' : undefined, env: programEnvironment(), windowsHide: true };
}

/** Nothing of ours: PG* and LC_* variables would change the server, and it has no business with our secrets. */
function programEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP } = process.env;
  if (process.platform === 'win32') return { PATH, SystemRoot, TEMP };
  return { PATH, LC_ALL: 'C', TZ: 'UTC' };
}
