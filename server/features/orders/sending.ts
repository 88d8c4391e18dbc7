import type { Mode } from '../../company.ts';
import { hourMs } from '../../platform/durations.ts';
import type { Outcome } from '../../vault/processors/processor.ts';
import type { VaultOutcome } from '../../vault/vault.ts';
import { limits } from '../../limits.ts';
import type { Charging } from './charging.ts';
import { type Intended, type Opened, type OpenTransaction, type Resending, startSending } from './open-queries.ts';
import { homeOf, recordResult } from './record-result.ts';
import { deriveReference, isKeyed, type Numbered, sentAs } from './reference.ts';
import { firstUnused } from './reference-queries.ts';
import { lockMs } from './timing.ts';

/**
 * Sends an operation whose intent is recorded. The processor returns the first result for a reference that it knows,
 * so the result may be older than the request: then the database has lost the operation, as after a restore from a
 * backup.
 */

const keyLifeMs = limits.idempotencyKeyHours * hourMs;
/** Longer than an answer takes, and than the clocks of one processor differ. */
const marginMs = 5_000;
/** How often an operation is sent again with a new validity. The first time, the processor's own clock decides it. */
const expiredMax = 2;

type Executed = Extract<Outcome, { outcome: 'approved' | 'declined' | 'conflict' }>;

function isExecuted(outcome: VaultOutcome): outcome is Executed {
  return ['approved', 'declined', 'conflict'].includes(outcome.outcome);
}

/** Whether the processor rejected the credentials, and no call has executed the operation. */
export function refusesCredentials(outcome: VaultOutcome): boolean {
  return outcome.outcome === 'declined' && outcome.refusesCredentials === true;
}

/** Whether the operation was executed before the last `sinceMs` milliseconds. */
export function executedBefore({ executed }: Pick<Executed, 'executed'>, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > sinceMs + marginMs;
}

/** Whether the key of the operation had expired and was used again, by the clock of the processor. */
function isOfExpiredKey({ executed }: Pick<Executed, 'executed'>, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > keyLifeMs + sinceMs;
}

/**
 * The same for an operation loaded from the database, which may have been in doubt for more than a day. Its age is by
 * the database clock, which may have been set back since, so the validity that was sent must agree.
 */
export function isFoundOfExpiredKey(found: Pick<Executed, 'executed'>, open: OpenTransaction): boolean {
  return isOfExpiredKey(found, open.age_ms) && (found.executed?.atMs ?? 0) + keyLifeMs < open.valid_until_ms;
}

export interface Sent<Intent> {
  readonly outcome: Exclude<VaultOutcome, { outcome: 'expired' }>;
  /** The intent as it was last sent. */
  readonly intent: Intent;
}

interface SendOptions<Intent extends Intended & Opened> {
  readonly mode: Mode;
  readonly intent: Intent;
  /** What its reference is derived from. Without it the operation cannot use another reference. */
  readonly numbered?: Numbered | undefined;
  readonly call: (intent: Intent) => Promise<VaultOutcome>;
  /** The connection to try if this one certainly did not execute it; undefined if there is none. */
  readonly next?: (intent: Intent) => string | undefined;
}

/** Returns undefined if another process has recorded the outcome or taken over the operation. */
export async function send<Intent extends Intended & Opened>(
  charging: Charging,
  { mode, intent: first, numbered: firstNumbered, call, next }: SendOptions<Intent>,
): Promise<Sent<Intent> | undefined> {
  let intent = first;
  let numbered = firstNumbered;
  const again = (resending: Resending): Promise<Opened | undefined> =>
    recordResult(charging, intent, ({ db }) => startSending(db, intent, resending, lockMs[mode]));
  for (let expired = 0; ; ) {
    const startedMs = performance.now();
    const outcome = await call(intent);
    const elapsedMs = performance.now() - startedMs;
    if (outcome.outcome === 'expired') {
      expired += 1;
      noteExpired(charging, intent, outcome.nowMs);
      if (expired > expiredMax) {
        return {
          intent,
          outcome: { outcome: 'unavailable', reason: 'the processor rejects every request as expired' },
        };
      }
      const opened = await again({ fromMs: outcome.nowMs });
      if (!opened) return undefined;
      intent = { ...intent, ...opened };
      continue;
    }
    // A charge without its card cannot be sent anywhere. One that this connection does not take may fit another.
    const isElsewhere =
      (outcome.outcome === 'not_sent' && outcome.failureCode !== 'invalid_account') || refusesCredentials(outcome);
    const connectionId = isElsewhere ? next?.(intent) : undefined;
    if (connectionId !== undefined) {
      const opened = await again({ connectionId });
      if (!opened) return undefined;
      intent = { ...intent, ...opened };
      continue;
    }
    if (!isExecuted(outcome)) return { intent, outcome };
    const found = outcome.reference;
    if (found !== undefined) {
      const opened = await again({ ...sentAs(intent.company_id, numbered, found), isResolved: true });
      if (!opened) return undefined;
      intent = { ...intent, ...opened, reference: found };
    }
    if (mode === 'live') await noteEarlier(charging, intent, outcome, elapsedMs);
    if (found !== undefined) return { intent, outcome };
    if (!numbered || !takesNext(outcome, numbered, elapsedMs)) return { intent, outcome };
    const { db } = await homeOf(charging, intent);
    numbered = await firstUnused(db, intent.company_id, numbered.subject, numbered.number + 1);
    const reference = deriveReference(intent.company_id, numbered);
    const opened = await again({ as: { reference, number: numbered.number } });
    if (!opened) return undefined;
    intent = { ...intent, ...opened, reference };
  }
}

/** Whether the call executed nothing, and there is nothing to record. */
export function isUnsent(outcome: VaultOutcome): boolean {
  return outcome.outcome === 'not_sent' || outcome.outcome === 'unavailable' || refusesCredentials(outcome);
}

/** Whether the call executed nothing, although a later one may. */
export function isUnexecuted(outcome: VaultOutcome): boolean {
  return isUnsent(outcome) || (outcome.outcome === 'declined' && outcome.isProcessorFault === true);
}

/**
 * A process that is late may learn that its call executed nothing, while another process looks the operation up. The
 * lookup may execute what was prepared, so only one of them may record its result. Returns undefined if the operation is
 * in doubt.
 */
export async function unlessInDoubt<Intent extends Intended & Opened>(
  charging: Charging,
  { mode }: { readonly mode: Mode },
  sent: Sent<Intent> | undefined,
): Promise<Sent<Intent> | undefined> {
  if (!sent || !isUnexecuted(sent.outcome)) return sent;
  const { intent, outcome } = sent;
  const opened = await recordResult(charging, intent, ({ db }) => startSending(db, intent, {}, lockMs[mode]));
  return opened && { intent: { ...intent, ...opened }, outcome };
}

/** Whether the answer concerns another operation, so that this one continues with the next number. */
function takesNext(outcome: Executed, numbered: Numbered, elapsedMs: number): boolean {
  if (isKeyed(numbered)) return isOfExpiredKey(outcome, elapsedMs);
  if (outcome.outcome !== 'conflict') return false;
  // An approved charge with the same subject may be the same payment, so another charge could charge twice. Another
  // refund of the order is simply another refund.
  return outcome.approved === false || numbered.subject[0] === 'refund';
}

/** The processor knew the reference before it was sent, so the database has lost the operation. */
export async function noteEarlier(
  { restores, log }: Charging,
  { company_id, reference }: Intended,
  outcome: Pick<Executed, 'executed'>,
  sinceMs: number,
): Promise<void> {
  const { executed } = outcome;
  if (!restores || !executed || !executedBefore(outcome, sinceMs)) return;
  await restores.earlierResult(company_id, reference, executed.atMs).catch((error: unknown) => {
    log.error({ err: error, company_id, reference }, 'the processor has an operation that is missing in the database');
  });
}

function noteExpired(charging: Charging, intent: Intended & Opened, nowMs: number | undefined): void {
  const { company_id, order_id, id, validUntilMs } = intent;
  charging.onExpired?.();
  charging.log.error(
    { company_id, order_id, transaction_id: id, valid_until_ms: validUntilMs, processor_now_ms: nowMs },
    'the processor rejected a request as expired; sending it again',
  );
}
