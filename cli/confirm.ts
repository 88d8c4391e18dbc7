import { createInterface } from 'node:readline/promises';
import { CommandError } from './command-error.ts';
import type { Flags } from './options.ts';

/** Asks before a deletion at a terminal. A script is not asked. */
export async function confirmDeletion(what: string, { yes }: Flags): Promise<void> {
  if (yes || !process.stdin.isTTY || !process.stderr.isTTY) return;
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-D ends the input without an answer.
  const closed = new Promise<string>((resolve) => asked.once('close', () => resolve('')));
  const answer = await Promise.race([asked.question(`DELETE ${what}? [y/N] `), closed]);
  asked.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was deleted.');
}
