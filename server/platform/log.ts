import { type Logger, type LoggerOptions, pino } from 'pino';
import { attributesOf, logFormatVersion, severityOf } from './log-format.ts';
import { lineForPeople } from './log-for-people.ts';
import { openLogOutput } from './log-output.ts';
import { spanIds } from './spans.ts';

export type { Logger };

interface Destination {
  write(line: string): void;
}

let copyTo: ((line: string) => void) | undefined;

/** Passes each line also to a collector. */
export function copyLog(to: ((line: string) => void) | undefined): void {
  copyTo = to;
}

/** Decides about a line with an error: calls `write` now, later or never, with the number of lines that it stands for. */
export type ErrorFilter = (error: Error, text: string, write: (count: number) => void) => void;

const filters = new WeakMap<Logger, ErrorFilter>();

/** Sets the filter of a log and of its children. */
export function filterErrors(log: Logger, filter: ErrorFilter): void {
  filters.set(log, filter);
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

const filtering = (rootOf: () => Logger): LogMethod =>
  function logMethod(this: Logger, parameters, method) {
    const [fields, text] = parameters as unknown as [fields: unknown, text: unknown];
    const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined;
    const filter = error instanceof Error ? filters.get(rootOf()) : undefined;
    if (!filter) return method.apply(this, parameters);
    filter(error as Error, String(text), (count) =>
      method.apply(this, [count > 1 ? { ...(fields as object), count } : fields, text] as unknown as typeof parameters),
    );
  };

const format: LoggerOptions = {
  base: { log_format: logFormatVersion },
  messageKey: 'body',
  nestedKey: 'attributes',
  timestamp: timeAndTrace,
  formatters: { level: severityOf, log: attributesOf },
};

export function createLog(level: string, destination?: Destination): Logger {
  const options = { ...format, level, hooks: { logMethod: filtering(() => log) } };
  const log: Logger = destination ? pino(options, copied(destination)) : createProcessLog(options);
  return log;
}

function createProcessLog(options: LoggerOptions): Logger {
  // Output next to the log must not end the process either. With these handlers, a closed pipe does not.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const output = openLogOutput((count) => log.warn({ count }, 'log lines were lost because they could not be written'));
  const log = pino(options, copied(process.stdout.isTTY ? readable(output) : output));
  process.on('exit', () => output.flushSync());
  return log;
}

function readable(output: Destination): Destination {
  return { write: (line) => output.write(lineForPeople(line)) };
}

function copied(destination: Destination): Destination {
  return {
    write(line) {
      destination.write(line);
      copyTo?.(line);
    },
  };
}

/** The members of a line between its severity and its version. */
function timeAndTrace(): string {
  const time = `,"timestamp":"${new Date().toISOString()}"`;
  const span = spanIds();
  return span ? `${time},"trace_id":"${span.traceId}","span_id":"${span.spanId}"` : time;
}
