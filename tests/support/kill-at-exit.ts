import type { ChildProcess } from 'node:child_process';

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** What a failed test has left running ends with the process of the tests. */
export function killAtExit(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}
