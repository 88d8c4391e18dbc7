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
  /** The working folder of the program. The account may be unable to reach it by its path. */
  folder: string;
  /** Receives the name under which the program finds the folder. */
  args: (folder: string) => string[];
  /** The output: a file descriptor, or 'pipe'. */
  output: number | 'pipe';
  /** Starts the program in a separate session, which Ctrl-C in our terminal does not reach. */
  detached?: boolean;
}

const execute = promisify(execFile);

/** Runs one of PostgreSQL's own programs until it exits; rejects if it fails. */
export async function runProgram(context: ProgramContext, name: string, args: readonly string[]): Promise<void> {
  await execute(programPath(context, name), args, programOptions(context));
}

/**
 * As root we can reach folders that the server's user cannot enter, such as those below /root. The program inherits
 * the open folder as descriptor 3 and refers to it by a /proc link that bypasses the path.
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
  // The account may not have access to our working folder.
  return { ...account, cwd: account ? '/' : undefined, env: programEnvironment(), windowsHide: true };
}

/** Passes none of our variables: PG* and LC_* would change the server, and our secrets must not reach it. */
export function programEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP } = process.env;
  if (process.platform === 'win32') return { PATH, SystemRoot, TEMP };
  return { PATH, LC_ALL: 'C', TZ: 'UTC' };
}
