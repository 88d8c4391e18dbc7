import { pino, type Logger } from 'pino';
import { attributesOf, logFormatVersion, severityOf } from './log-format.ts';
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

const options = {
  base: { log_format: logFormatVersion },
  messageKey: 'body',
  nestedKey: 'attributes',
  timestamp: timeAndTrace,
  formatters: { level: severityOf, log: attributesOf },
};

export function createLog(level: string, destination?: Destination): Logger {
  if (destination) return pino({ ...options, level }, copied(destination));
  // Output next to the log must not end the process either. With these handlers, a closed pipe does not.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const output = openLogOutput((count) => log.warn({ count }, 'log lines were lost because they could not be written'));
  const log = pino({ ...options, level }, copied(output));
  process.on('exit', () => output.flushSync());
  return log;
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
