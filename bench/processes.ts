import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** CPU time and memory of other processes, from /proc. Only on Linux. */

// USER_HZ: 100 on every Linux that Node runs on.
const ticksPerSecond = 100;

function statFields(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may contain spaces; the state follows it.
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

const parentField = 1;
const userTicksField = 11;
const systemTicksField = 12;
const reapedUserTicksField = 13;
const reapedSystemTicksField = 14;

const ticks = (fields: readonly string[], ...indexes: readonly number[]): number =>
  indexes.reduce((sum, index) => sum + Number(fields[index]), 0);

export function cpuSeconds(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  return ticks(statFields(pid), userTicksField, systemTicksField) / ticksPerSecond;
}

/** For a process and its children, including ended ones. */
export function familyCpuSeconds(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  let sum = ticks(statFields(pid), userTicksField, systemTicksField, reapedUserTicksField, reapedSystemTicksField);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = statFields(Number(name));
      if (Number(fields[parentField]) === pid) sum += ticks(fields, userTicksField, systemTicksField);
    } catch {
      // The process ended in the meantime.
    }
  }
  return sum / ticksPerSecond;
}

export function residentMb(pid: number): number | null {
  if (process.platform !== 'linux') return null;
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

function machineCpuSeconds(): number {
  const [, user, nice, system, , , interrupts, softInterrupts, stolen] = readFileSync('/proc/stat', 'utf8')
    .slice(0, 200)
    .split(/\s+/)
    .map(Number);
  return (
    [user, nice, system, interrupts, softInterrupts, stolen].reduce((sum: number, one = 0) => sum + one, 0) /
    ticksPerSecond
  );
}

/** Starts measuring. The returned function gives the share of the machine that other programs used. */
export function watchOthers(postgresPid: number): () => number | null {
  if (process.platform !== 'linux') return () => null;
  const others = (): number =>
    machineCpuSeconds() - (familyCpuSeconds(process.pid) ?? 0) - (familyCpuSeconds(postgresPid) ?? 0);
  const startedAtMs = performance.now();
  const before = others();
  return () => (others() - before) / ((performance.now() - startedAtMs) / 1000) / availableParallelism();
}
