import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Keeps the load generator off the cores of what is measured, so that it does not measure itself. */

export interface Cores {
  readonly generator: string;
  readonly measured: string;
}

/** Undefined, with a note why, where the cores cannot be split. */
export function splitCores(note: (text: string) => void): Cores | undefined {
  const why = (reason: string): undefined => {
    note(`${reason}, so the load generator shares its cores with the service: the figures include it`);
    return undefined;
  };
  if (process.platform !== 'linux') return why('Only Linux can keep a process on a core');
  if (spawnSync('taskset', ['--version']).status !== 0) return why('taskset is missing');
  const cores = allowedCores();
  const generator = cores.pop();
  if (generator === undefined || cores.length === 0) return why('There is only one core');
  return { generator, measured: cores.join(',') };
}

/** For the title of a table. */
export const describeCores = (cores: Cores | undefined): string =>
  cores
    ? `the generator on core ${cores.generator}, the service and PostgreSQL on ${cores.measured}`
    : 'the generator on the same cores as the service, so the figures include it';

/** For example, `0-2,5` in the status of this process. */
function allowedCores(): string[] {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
}

/** With all threads of the process, and its children. Those that it starts later inherit the cores. */
export function keepOn(cores: string, ...pids: readonly (number | undefined)[]): void {
  for (const pid of pids) {
    if (pid === undefined) continue;
    for (const one of [pid, ...childrenOf(pid)]) spawnSync('taskset', ['-apc', cores, String(one)]);
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      return parent === pid ? [Number(name)] : [];
    } catch {
      // The process ended in the meantime.
      return [];
    }
  });
}
