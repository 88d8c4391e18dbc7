import type { Mode } from '../../company.ts';
import { hourMs } from '../../platform/durations.ts';
import type { Outcome } from '../../vault/processors/processor.ts';
import type { VaultOutcome } from '../../vault/vault.ts';
import { limits } from '../../limits.ts';
import { insist } from '../../platform/insist.ts';
import type { Charging } from './charging.ts';
import { type Intended, type Opened, type OpenTransaction, renewSending } from './open-queries.ts';
import { deriveReference, isKeyed, type Numbered } from './reference.ts';
import { firstUnused } from './reference-queries.ts';
import { lockMs } from './timing.ts';

/**
 * Sends an operation whose intent is recorded. The processor answers a reference that it knows with the first result, so an
 * answer may be older than the question: then the database has lost the operation, as after a restore from a backup.
 */

const keyLifeMs = limits.idempotencyKeyHours * hourMs;
/** More than an answer takes, and than two clocks of one processor differ. */
const marginMs = 5_000;
/** How often an operation is sent with a new validity. The first time it has that of the processor's own clock. */
const renewals = 2;

type Executed = Extract<Outcome, { outcome: 'approved' | 'declined' | 'conflict' }>;

function isExecuted(outcome: VaultOutcome): outcome is Executed {
  return ['approved', 'declined', 'conflict'].includes(outcome.outcome);
}

/** Whether it was executed before this time had begun to pass. */
export function executedBefore({ executed }: Pick<Executed, 'executed'>, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > sinceMs + marginMs;
}

/** Whether the key of the operation had expired and was used again, by the clock of the processor. */
function isOfExpiredKey({ executed }: Pick<Executed, 'executed'>, sinceMs: number): boolean {
  return executed !== undefined && executed.ageMs > keyLifeMs + sinceMs;
}

/**
 * The same of an operation that was found again, which may be in doubt for more than a day. Its age is that of the
 * database, whose clock may have been set back since: the validity that was sent has to agree.
 */
export function isFoundOfExpiredKey(found: Pick<Executed, 'executed'>, open: OpenTransaction): boolean {
  return isOfExpiredKey(found, open.age_ms) && (found.executed?.atMs ?? 0) + keyLifeMs < open.valid_until_ms;
}

export interface Sent<Intent> {
  readonly outcome: Exclude<VaultOutcome, { outcome: 'expired' }>;
  /** As it was sent last. */
  readonly intent: Intent;
}

interface SendOptions<Intent extends Intended & Opened> {
  readonly mode: Mode;
  readonly intent: Intent;
  /** What it stands for. Without it the operation cannot take another reference. */
  readonly numbered?: Numbered | undefined;
  readonly call: (intent: Intent) => Promise<VaultOutcome>;
}

/** Undefined when another process has recorded the outcome, or has taken the operation over. */
export async function send<Intent extends Intended & Opened>(
  charging: Charging,
  { mode, intent: first, numbered: firstNumbered, call }: SendOptions<Intent>,
): Promise<Sent<Intent> | undefined> {
  let intent = first;
  let numbered = firstNumbered;
  for (let expired = 0; ; ) {
    const startedMs = performance.now();
    const outcome = await call(intent);
    const elapsedMs = performance.now() - startedMs;
    if (outcome.outcome === 'expired') {
      expired += 1;
      noteExpired(charging, intent, outcome.nowMs);
      if (expired > renewals) {
        return {
          intent,
          outcome: { outcome: 'unavailable', reason: 'the processor rejects every request as expired' },
        };
      }
      const renewed = await insist(() => renewSending(charging.db, intent, { fromMs: outcome.nowMs }, lockMs[mode]));
      if (!renewed) return undefined;
      intent = { ...intent, ...renewed };
      continue;
    }
    if (!isExecuted(outcome)) return { intent, outcome };
    if (mode === 'live') await noteEarlier(charging, intent, outcome, elapsedMs);
    if (!numbered || !takesNext(outcome, numbered, elapsedMs)) return { intent, outcome };
    numbered = await firstUnused(charging.db, intent.company_id, numbered.subject, numbered.number + 1);
    const reference = deriveReference(intent.company_id, numbered);
    const renewed = await insist(() => renewSending(charging.db, intent, { reference }, lockMs[mode]));
    if (!renewed) return undefined;
    intent = { ...intent, ...renewed, reference };
  }
}

/** Whether the answer is about something else, and the operation goes on under the next number. */
function takesNext(outcome: Executed, numbered: Numbered, elapsedMs: number): boolean {
  if (isKeyed(numbered)) return isOfExpiredKey(outcome, elapsedMs);
  if (outcome.outcome !== 'conflict') return false;
  // Another charge that holds money stands for the same thing: charging once more would charge twice. Another refund of
  // the order is another refund.
  return outcome.approved === false || numbered.subject[0] === 'refund';
}

/** The processor knew the reference before it was sent: the database has lost it. */
export async function noteEarlier(
  { restores, log }: Charging,
  { company_id, reference }: Intended,
  outcome: Pick<Executed, 'executed'>,
  sinceMs: number,
): Promise<void> {
  const { executed } = outcome;
  if (!restores || !executed || !executedBefore(outcome, sinceMs)) return;
  await restores.earlierResult(company_id, reference, executed.atMs).catch((error: unknown) => {
    log.error({ err: error, company_id, reference }, 'the processor has executed what the database has forgotten');
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
