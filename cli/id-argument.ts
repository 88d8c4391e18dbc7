import { isUuid } from '../server/platform/ids.ts';
import { UsageError } from './command-error.ts';

/** The ID that a command was given, in the form in which it is stored. */
export function idArgument(text: string | undefined, usage: string): string {
  if (text === undefined) throw new UsageError(`The ID is missing. Use ${usage}.`);
  if (!isUuid(text)) throw new UsageError(`"${text}" is not an ID. Use ${usage}.`);
  return text.toLowerCase();
}
