import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import type { Cluster } from './cluster.ts';
import type { Postmaster } from './postmaster.ts';
import { processKind } from './processes.ts';
import { runProgram } from './programs.ts';

const pollIntervalMs = 15;
const shutdownTimeoutMs = 10_000;

type StoppedCluster = Pick<Cluster, 'dataDirectory' | 'nativeFolder' | 'account'>;
type StoppedPostmaster = Pick<Postmaster, 'pid' | 'port'> & Partial<Pick<Postmaster, 'child'>>;

/** A fast shutdown: the server ends its sessions and writes a checkpoint. If that takes too long, an immediate one. */
export async function stopServer(cluster: StoppedCluster, postmaster: StoppedPostmaster): Promise<void> {
  if (process.platform === 'win32') {
    await runProgram(cluster, 'pg_ctl', ['stop', '-m', 'fast', '-D', cluster.dataDirectory]);
    return;
  }
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    if (await endsAfter(signal, postmaster)) return;
  }
  throw new Error(`PostgreSQL process ${postmaster.pid} does not stop`);
}

export async function hasEnded({ child, pid, port }: StoppedPostmaster): Promise<boolean> {
  if (child) return child.exitCode !== null || child.signalCode !== null;
  return (await processKind(pid, port)) !== 'postmaster';
}

async function endsAfter(signal: NodeJS.Signals, postmaster: StoppedPostmaster): Promise<boolean> {
  if (await hasEnded(postmaster)) return true;
  signalIfAlive(postmaster.pid, signal);
  const deadlineMs = Date.now() + shutdownTimeoutMs;
  while (Date.now() < deadlineMs) {
    if (await hasEnded(postmaster)) return true;
    await sleep(pollIntervalMs);
  }
  return false;
}

function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}
