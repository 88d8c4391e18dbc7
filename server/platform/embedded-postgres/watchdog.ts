import { spawn } from 'node:child_process';
import { parse } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cluster } from './cluster.ts';
import type { Postmaster } from './postmaster.ts';
import { programEnvironment } from './programs.ts';

/** What the watchdog must know to end a server. */
export type Watched = Pick<Cluster, 'dataDirectory' | 'nativeFolder' | 'account' | 'logFile'> &
  Pick<Postmaster, 'pid' | 'port' | 'connectionString'> & { readonly servicePid: number };

const program = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './watchdog-main.ts' : './postgres-watchdog.js', import.meta.url),
);
/** It waits almost all the time, and needs neither threads nor a large heap for that. */
const small = ['--v8-pool-size=0', '--max-old-space-size=64', '--max-semi-space-size=1'];

/**
 * Starts a process that ends the server if this process ends without doing so, for example by kill -9. It reads a pipe
 * whose other end only this process has: the system closes it, however this process ends. It has a session of its own, so the end
 * of our terminal or process group does not reach it.
 */
export function startWatchdog(
  { dataDirectory, nativeFolder, account, logFile }: Cluster,
  { pid, port, connectionString }: Pick<Postmaster, 'pid' | 'port' | 'connectionString'>,
): { end(): void } {
  const child = spawn(process.execPath, [...small, program], {
    cwd: parse(process.execPath).root,
    detached: true,
    env: programEnvironment(),
    stdio: ['pipe', 'ignore', 'ignore'],
    windowsHide: true,
  });
  // Without a watchdog, the next start adopts what a killed process leaves.
  child.on('error', () => undefined);
  child.stdin.on('error', () => undefined);
  const watched: Watched = {
    ...{ dataDirectory, nativeFolder, account, logFile },
    ...{ pid, port, connectionString },
    servicePid: process.pid,
  };
  // Not as an argument: every user of the machine can read the arguments of a process.
  child.stdin.write(`${JSON.stringify(watched)}\n`);
  child.unref();
  (child.stdin as { unref?(): void }).unref?.();
  return { end: () => child.stdin.destroy() };
}
