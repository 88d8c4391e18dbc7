import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A process whose wall clock can be set, without changing the clock of the machine: this file is loaded before the
 * program, and `Date` follows the offset in the file of STEPPED_CLOCK. Monotonic clocks and timers continue, as on a
 * machine whose clock is set.
 */

const pollMs = 50;

/** Returns environment variables for the process. */
export function steppedBy(file: string): { NODE_OPTIONS: string; STEPPED_CLOCK: string } {
  writeFileSync(file, '0');
  return { NODE_OPTIONS: `--import=${fileURLToPath(import.meta.url)}`, STEPPED_CLOCK: file };
}

/** Sets how far the clock is ahead. The process follows within a moment. */
export const setClock = (file: string, offsetMs: number): void => writeFileSync(file, String(offsetMs));

const file = process.env.STEPPED_CLOCK;
if (file !== undefined) {
  let offsetMs = 0;
  const read = (): void => {
    offsetMs = Number(readFileSync(file, 'utf8')) || 0;
  };
  read();
  setInterval(read, pollMs).unref();
  const RealDate = Date;
  const now = (): number => RealDate.now() + offsetMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values: unknown[]) => Reflect.construct(target, values.length === 0 ? [now()] : values),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}
