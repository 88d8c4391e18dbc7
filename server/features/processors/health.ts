import { systemClock } from '../../platform/clock.ts';

/** Watches how connections answer, in this process. */

/** What is known about a connection over the last five minutes. */
export interface ConnectionHealth {
  readonly calls: number;
  /** Calls that were not sent, whose outcome is unknown, or whose credentials the processor refused. */
  readonly failures: number;
  /** Whether new charges try the other connections first. */
  readonly isBroken: boolean;
  /** The last calls, newest first. */
  readonly last: readonly SeenCall[];
}

interface SeenCall {
  readonly at: Date;
  readonly outcome: string;
  /** Why it failed, in words without card data. */
  readonly reason: string | null;
}

export interface HealthWatch {
  note(connectionId: string, call: NotedCall): void;
  of(connectionId: string): ConnectionHealth;
  /**
   * Whether a new charge may use a connection. Of a broken one this is true for one charge every 30 seconds that would
   * use it first: while that charge waits for an answer, the others do not follow it.
   */
  admits(connectionId: string, isFirst: boolean): boolean;
  /** The connections that are broken now. */
  broken(): readonly string[];
}

/** The outcome of a call, as the vault returns it. */
export interface NotedCall {
  readonly outcome: string;
  readonly reason?: string;
  /** Why the charge itself cannot be sent, for example its currency. The processor has not failed then. */
  readonly failureCode?: string;
  /** The processor did not read the charge, because the credentials are wrong. */
  readonly refusesCredentials?: boolean;
  /** The account takes no charge without the security code. */
  readonly wantsSecurityCode?: boolean;
  /** What of the account or of its key the processor refuses. */
  readonly rejection?: string;
  /** A customer has paid without one. */
  readonly paidWithoutCode?: boolean;
  readonly response?: { readonly response_text: string | null };
  /** The card network's id of an approved charge. */
  readonly networkTransactionId?: string;
  /** The operation before it has counted. A processor that answers "not yet" to many lookups has not failed. */
  readonly isLookup?: boolean;
}

const windowMs = 300_000;
const lastMax = 10;
/** Fewer calls say too little. */
const callsMin = 10;
const failureRateMax = 0.5;
/** From time to time, a charge tries a broken connection again. */
const retryAfterMs = 30_000;

const failures = ['not_sent', 'unknown'];

interface Seen {
  /** When the last charge was admitted although the connection is broken. */
  triedAtMs: number;
  readonly calls: { readonly atMs: number; readonly failed: boolean }[];
  readonly last: SeenCall[];
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
    const isBroken = isFailing && last?.failed === true;
    return { calls: calls.length, failures: failed, isBroken, last: seen.get(connectionId)?.last ?? [] };
  }

  return {
    note(connectionId, { outcome, failureCode, isLookup = false, ...call }) {
      const isRefused = call.refusesCredentials === true;
      const reason = call.reason ?? (isRefused ? (call.response?.response_text ?? null) : null);
      const known = seen.get(connectionId) ?? { calls: [], last: [], triedAtMs: -Infinity };
      seen.set(connectionId, known);
      known.last.unshift({ at: new Date(systemClock.nowMs()), outcome: isRefused ? 'refused' : outcome, reason });
      known.last.splice(lastMax);
      // Our own vault is no fault of the processor.
      const isSilent = failures.includes(outcome);
      const failed = isSilent || isRefused;
      const saysNothing =
        (outcome === 'unavailable' && !failed) || (isSilent && (isLookup || failureCode !== undefined));
      if (!saysNothing) known.calls.push({ atMs: nowMs(), failed });
      // A long list says no more than a short one, and costs more.
      if (known.calls.length > 1_000) known.calls.splice(0, 500);
    },
    of,
    admits(connectionId, isFirst) {
      const known = seen.get(connectionId);
      if (!known || !of(connectionId).isBroken) return true;
      const lastAtMs = Math.max(known.triedAtMs, known.calls.at(-1)?.atMs ?? 0);
      if (!isFirst || nowMs() - lastAtMs < retryAfterMs) return false;
      known.triedAtMs = nowMs();
      return true;
    },
    broken: () => [...seen.keys()].filter((id) => of(id).isBroken),
  };
}
