/** Watches how connections answer, in this process. */

/** What is known about a connection over the last five minutes. */
interface ConnectionHealth {
  readonly calls: number;
  /** Calls that were not sent, or whose outcome is unknown. */
  readonly failures: number;
  /** Whether new charges try the other connections first. */
  readonly isBroken: boolean;
}

export interface HealthWatch {
  note(connectionId: string, outcome: string): void;
  of(connectionId: string): ConnectionHealth;
  /** The connections that are broken now. */
  broken(): readonly string[];
}

const windowMs = 300_000;
/** Fewer calls say too little. */
const callsMin = 10;
const failureRateMax = 0.5;
/** From time to time, a charge tries a broken connection again. */
const retryAfterMs = 30_000;

const failures = ['not_sent', 'unknown'];

interface Seen {
  readonly calls: { readonly atMs: number; readonly failed: boolean }[];
}

export function watchConnections(nowMs: () => number = () => performance.now()): HealthWatch {
  const seen = new Map<string, Seen>();

  function recent(connectionId: string): Seen['calls'] {
    const { calls } = seen.get(connectionId) ?? { calls: [] };
    const from = calls.findIndex(({ atMs }) => nowMs() - atMs < windowMs);
    if (from !== 0) calls.splice(0, from === -1 ? calls.length : from);
    return calls;
  }

  function of(connectionId: string): ConnectionHealth {
    const calls = recent(connectionId);
    const failed = calls.filter((call) => call.failed).length;
    const last = calls.at(-1);
    const isFailing = calls.length >= callsMin && failed / calls.length >= failureRateMax;
    const isBroken = isFailing && last !== undefined && last.failed && nowMs() - last.atMs < retryAfterMs;
    return { calls: calls.length, failures: failed, isBroken };
  }

  return {
    note(connectionId, outcome) {
      const known = seen.get(connectionId) ?? { calls: [] };
      seen.set(connectionId, known);
      // Our own vault is no fault of the processor.
      if (outcome !== 'unavailable') known.calls.push({ atMs: nowMs(), failed: failures.includes(outcome) });
      // A long list says no more than a short one, and costs more.
      if (known.calls.length > 1_000) known.calls.splice(0, 500);
    },
    of,
    broken: () => [...seen.keys()].filter((id) => of(id).isBroken),
  };
}
