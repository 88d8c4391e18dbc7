import { limits } from '../../../limits.ts';
import { hourMs } from '../../../platform/durations.ts';
import type { LookupOutcome, Outcome, ResumeOutcome } from '../../../vault/processors/processor.ts';
import type { VaultOutcome } from '../../../vault/vault.ts';
import type { CustomerAnswer, LookupAnswer, SendAnswer } from './next-step.ts';
import type { OpenTransaction } from './open-queries.ts';
import { interruptionsMax, isKeyed, type Numbered } from './reference.ts';

/** What an answer of a processor means for the operation, in the words of `next-step.ts`. */

const keyLifeMs = limits.idempotencyKeyHours * hourMs;
/** Longer than an answer takes, and than the clocks of one processor differ. */
const marginMs = 5_000;

export type Executed = Extract<Outcome, { outcome: 'approved' | 'declined' | 'conflict' }>;
type When = Pick<Executed, 'executed'>;

/** Whether the operation was executed before the last `sinceMs` milliseconds. */
export function executedBefore({ executed }: When, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > sinceMs + marginMs;
}

/** Whether the key of the operation had expired and was used again, by the clock of the processor. */
function isOfExpiredKey({ executed }: When, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > keyLifeMs + sinceMs;
}

/**
 * The same for an operation loaded from the database, which may have been in doubt for more than a day. Its age is by
 * the database clock, which may have been set back since, so the validity that was sent must agree.
 */
function isFoundOfExpiredKey(found: When, open: OpenTransaction): boolean {
  return isOfExpiredKey(found, open.age_ms) && (found.executed?.atMs ?? 0) + keyLifeMs < open.valid_until_ms;
}

const notSent: Readonly<Record<string, SendAnswer>> = {
  invalid_merchant_configuration: 'not_taken',
  invalid_account: 'no_card',
};

interface SentOperation {
  /** What its reference is derived from; undefined for one that cannot use another reference. */
  readonly numbered: Numbered | undefined;
  readonly isKeyed: boolean;
  /** How long ago the call began. */
  readonly elapsedMs: number;
}

/** What a call said that sent an operation. */
export function heardFromSending(outcome: VaultOutcome, operation: SentOperation): SendAnswer {
  if (outcome.outcome === 'expired') return 'expired';
  if (outcome.outcome === 'unavailable') return 'service_away';
  if (outcome.outcome === 'not_sent') return heardOfUnsent(outcome);
  if (outcome.outcome === 'needs_customer') return 'needs_customer';
  if (outcome.outcome !== 'unknown') return heardOfExecuted(outcome, operation);
  return outcome.isInterrupted || outcome.refusesCredentials ? 'interrupted' : 'lost';
}

function heardOfUnsent({ isFinal, failureCode, retryAtMs }: Extract<Outcome, { outcome: 'not_sent' }>): SendAnswer {
  if (isFinal) return 'never_executed';
  return retryAtMs === undefined ? (notSent[failureCode ?? ''] ?? 'not_received') : 'held_back';
}

function heardOfExecuted(outcome: Executed, { numbered, isKeyed: isOfKey, elapsedMs }: SentOperation): SendAnswer {
  if (numbered && isOfKey && isOfExpiredKey(outcome, elapsedMs)) return 'expired_key';
  if (outcome.outcome === 'conflict') return conflictOf(outcome, isOfKey);
  if (outcome.outcome === 'approved') return 'approved';
  if (outcome.refusesCredentials) return 'credentials_refused';
  return outcome.isProcessorFault ? 'processor_failed' : 'declined';
}

const conflictOf = (
  { approved }: Extract<Executed, { outcome: 'conflict' }>,
  isOfKey: boolean,
): 'conflict_of_key' | 'conflict_paid' | 'conflict_unpaid' => {
  if (isOfKey) return 'conflict_of_key';
  return approved === false ? 'conflict_unpaid' : 'conflict_paid';
};

/** What a lookup or a notice said about an operation that is open. */
export function heardFromLookup(found: ResumeOutcome, open: OpenTransaction): CustomerAnswer {
  if (found.outcome === 'needs_customer') return open.state === 'with_customer' ? 'needs_customer' : 'lost';
  if (found.outcome === 'unknown') return 'lost';
  if (found.outcome === 'not_found') return missingAs(found, open);
  if (isKeyed(open) && open.state !== 'accepted' && isFoundOfExpiredKey(found, open)) return 'expired_key';
  if (found.outcome === 'conflict') return conflictOf(found, isKeyed(open));
  if (found.outcome === 'declined') return found.refusesCredentials ? 'lost' : 'declined';
  return found.settled ? 'settled' : 'approved';
}

/** A charge that is interrupted again and again may be the cause of it, so it is not sent for ever. */
function missingAs(
  { isFinal = false, isSafeToRepeat = false }: Extract<LookupOutcome, { outcome: 'not_found' }>,
  open: OpenTransaction,
): LookupAnswer {
  if (open.interruptions >= interruptionsMax) return 'not_found';
  if (isFinal) return 'never_executed';
  return isSafeToRepeat ? 'not_executed' : 'not_found';
}

/**
 * Other content under our reference is expected only if it was executed before our operation, which a restored
 * database has forgotten.
 */
export function contradicts(found: ResumeOutcome, { age_ms }: OpenTransaction): boolean {
  return found.outcome === 'conflict' && found.executed !== undefined && !executedBefore(found, age_ms);
}
