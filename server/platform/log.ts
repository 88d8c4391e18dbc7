import { pino, type Logger } from 'pino';
import pg from 'pg';
import { maskCardNumbers } from './card-digits.ts';
import { openLogOutput } from './log-output.ts';

export type { Logger };

/**
 * Selects the fields of an error that are safe to log. A database error's `detail` quotes the row, so it is left out;
 * other fields may quote a value.
 */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: 'a non-error was thrown' };
  const [message, stack] = [error.message, error.stack ?? ''].map(maskCardNumbers);
  const base = { type: error.name, message, stack };
  if (!(error instanceof pg.DatabaseError)) return base;
  const { code, constraint, table, routine } = error;
  return { ...base, code, constraint, table, routine };
}

export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const formatters = { level: (label: string) => ({ level: label }) };
  const options = { level, base: null, formatters, serializers: { err: describeError } };
  if (destination) return pino(options, destination);
  // Output next to the log must not end the process either. With these handlers, a closed pipe does not.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const output = openLogOutput((count) => log.warn({ count }, 'log lines were lost because they could not be written'));
  const log = pino(options, output);
  process.on('exit', () => output.flushSync());
  return log;
}
