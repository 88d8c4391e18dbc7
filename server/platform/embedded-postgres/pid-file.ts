import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../error-code.ts';
import { processKind } from './processes.ts';

interface PidFile {
  text: string;
  ageMs: number;
  /** Null until the file is written, or if a crash prevented the write. */
  server: { pid: number; port: number } | null;
}

const emptyFileGraceMs = 2_000;

export async function readPidFile(dataDirectory: string): Promise<PidFile | null> {
  const path = pathOf(dataDirectory);
  try {
    const text = await fs.readFile(path, 'utf8');
    const { mtimeMs } = await fs.stat(path);
    const [pid = 0, , , port = 0] = text.split('\n').map((line) => Number.parseInt(line, 10));
    return { text, ageMs: Date.now() - mtimeMs, server: pid > 0 && port > 0 ? { pid, port } : null };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Whether the file refers to no running server. Removes the file if PostgreSQL would refuse to start because of it.
 */
export async function isStale(dataDirectory: string, pidFile: PidFile): Promise<boolean> {
  if (!pidFile.server) {
    // PostgreSQL writes the file right after creating it, and refuses to start if a crash left an empty one.
    if (pidFile.ageMs < emptyFileGraceMs) return false;
    await removePidFile(dataDirectory, pidFile);
    return true;
  }
  const kind = await processKind(pidFile.server.pid, pidFile.server.port);
  // PostgreSQL replaces the file of a dead process itself, but refuses if another process now has that process id.
  if (kind === 'unrelated') await removePidFile(dataDirectory, pidFile);
  return kind !== 'postmaster';
}

/** Moves the file aside before the check is repeated, since a simultaneous start may have replaced it. */
async function removePidFile(dataDirectory: string, judged: PidFile): Promise<void> {
  const path = pathOf(dataDirectory);
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await fs.rename(path, aside);
    if ((await fs.readFile(aside, 'utf8')) === judged.text) await fs.rm(aside);
    else await fs.rename(aside, path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

function pathOf(dataDirectory: string): string {
  return join(dataDirectory, 'postmaster.pid');
}
