import { pino, type Logger } from 'pino';
import pg from 'pg';
import { maskCardNumbers } from './card-digits.ts';
import { openLogOutput } from './log-output.ts';

export type { Logger };

/** What is worth reading of an error. A database error's `detail` quotes the row, so it stays out; others may quote a value. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: 'a non-error was thrown' };
  const [message, stack] = [error.message, error.stack ?? ''].map(maskCardNumbers);
  const base = { type: error.name, message, stack };
  if (!(error instanceof pg.DatabaseError)) return base;
  const { code, constraint, table, routine } = error;
  return { ...base, code, constraint, table, routine };
}

export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const options = { level, base: null, serializers: { err: describeError } };
  if (destination) return pino(options, destination);
  // What is printed beside the log must not end the process either. Opened like this, a pipe does not block it.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const output = openLogOutput((count) => log.warn({ count }, 'log lines were lost because they could not be written'));
  const log = pino(options, output);
  process.on('exit', () => output.flushSync());
  return log;
}
