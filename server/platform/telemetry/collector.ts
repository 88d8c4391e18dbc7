import type { ExportResult } from '@opentelemetry/core';
import { errorCode } from '../error-code.ts';
import type { Logger } from '../log.ts';

/** The results of exports, as an outage: logged once when it begins, once a minute, and once when it ends. */
export interface Collector {
  /** Passes exports on and notes their results. */
  watched<Watched extends Exporter>(exporter: Watched): Watched;
  isAway(): boolean;
}

interface Exporter {
  /** Each signal has its own items. */
  export(items: never, done: (result: ExportResult) => void): void;
}

const againMs = 60_000;

export function watchCollector(
  log: Pick<Logger, 'info' | 'warn'>,
  succeeded: ExportResult['code'],
  nowMs: () => number = () => performance.now(),
): Collector {
  let sinceMs: number | undefined;
  let loggedMs = 0;

  function note(problem: string | undefined): void {
    const now = nowMs();
    const seconds = Math.round((now - (sinceMs ?? now)) / 1_000);
    if (problem === undefined) {
      if (sinceMs !== undefined) log.info({ seconds }, 'the OpenTelemetry collector accepts data again');
      sinceMs = undefined;
    } else if (sinceMs === undefined || now - loggedMs >= againMs) {
      sinceMs ??= now;
      loggedMs = now;
      log.warn({ problem, seconds }, 'the OpenTelemetry collector does not accept data; it is lost');
    }
  }

  return {
    watched(exporter) {
      const pass = exporter.export.bind(exporter);
      exporter.export = (items, done) =>
        pass(items, (result) => {
          note(result.code === succeeded ? undefined : problemOf(result.error));
          done(result);
        });
      return exporter;
    },
    isAway: () => sinceMs !== undefined,
  };
}

/** Without the message: it may quote the response or the address. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = 'code' in error && typeof error.code === 'number' ? `HTTP status ${error.code}` : errorCode(error);
  return code ?? error.name;
}
