import type { Component, Components } from '../platform/components.ts';
import { DatabaseClosedError, isAway } from '../platform/database.ts';
import { StorageError } from '../platform/files/storage-error.ts';
import { type ErrorFilter, filterErrors, type Logger } from '../platform/log.ts';
import { VaultUnavailable } from '../vault/unavailable.ts';

/**
 * While a part is away, everything that uses it fails. `components.ts` logs the outage: when it begins, once a minute, and
 * when it ends. The errors that it explains are counted there instead of logged.
 */

/** The part that an error comes from. */
const causes: readonly (readonly [component: Component, isOfIt: (error: Error) => boolean])[] = [
  ['vault', (error) => error instanceof VaultUnavailable],
  ['object_store', (error) => error instanceof StorageError],
  // Only errors of SMTP have a command.
  ['mail', (error) => 'command' in error],
  ['database', isAway],
];

interface Held {
  readonly write: (count: number) => void;
  count: number;
}

export interface OutageLog {
  /** From now on, an error of a connection belongs to the stop. */
  stop(): void;
}

export function quietDuringOutages(log: Logger, components: Pick<Components, 'explains'>): OutageLog {
  /** Lines that wait for an answer to the question whether their part is away, by part and text. */
  const held = new Map<Component, Map<string, Held>>();
  let isStopping = false;

  async function decide(component: Component, lines: ReadonlyMap<string, Held>): Promise<void> {
    const isExplained = await components.explains(component);
    held.delete(component);
    if (!isExplained && !isStopping) for (const { write, count } of lines.values()) write(count);
  }

  const filter: ErrorFilter = (error, text, write) => {
    if (isStopping && (isAway(error) || error instanceof DatabaseClosedError)) return;
    const [component] = causes.find(([, isOfIt]) => isOfIt(error)) ?? [];
    if (component === undefined) return write(1);
    const lines = held.get(component) ?? new Map<string, Held>();
    const known = lines.get(text);
    if (known) known.count += 1;
    else lines.set(text, { write, count: 1 });
    if (held.has(component)) return;
    held.set(component, lines);
    void decide(component, lines);
  };
  filterErrors(log, filter);
  return {
    stop() {
      isStopping = true;
    },
  };
}
