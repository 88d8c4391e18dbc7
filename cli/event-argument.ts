import { suggestion } from '../server/platform/suggest.ts';
import { UsageError } from './command-error.ts';

/** Rejects an event that there is not: with the closest one, or with all of them. */
export function checkEvent(given: string, known: readonly string[]): void {
  if (known.includes(given)) return;
  throw new UsageError(`Unknown event ${given}.${suggestion(given, known) || ` Events: ${known.join(', ')}.`}`);
}
