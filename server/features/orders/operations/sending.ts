import { connects, type Mode } from '../../../company.ts';
import type { VaultOutcome } from '../../../vault/vault.ts';
import { isCompared } from '../../restores/service.ts';
import type { Charging } from './charging.ts';
import { type Executed, executedBefore, heardFromSending } from './heard.ts';
import { nextStep, type SendAnswer, type Step } from './next-step.ts';
import { type Intended, type Opened, type OpenTransaction, type Resending, startSending } from './open-queries.ts';
import type { FollowingCause, OperationCause } from './operation-moves.ts';
import { whereItIs, recordResult } from './record-result.ts';
import { followingOf, isKeyed, type Numbered, referenced } from './reference.ts';
import { firstUnused } from './reference-queries.ts';
import { lockMs } from './timing.ts';

/**
 * Sends an operation whose intent is recorded. The processor returns the first result for a reference that it knows,
 * so the result may be older than the request: then the database has lost the operation, as after a restore from a
 * backup.
 */

/** How often an operation is sent again with a new validity. The first time, the processor's own clock decides it. */
const expiredMax = 2;

/** The operation as it was last sent, what the processor answered, and what follows from it. */
export interface Sent<Intent> {
  readonly intent: Intent;
  readonly outcome: Exclude<VaultOutcome, { outcome: 'expired' }>;
  readonly step: Step;
}

interface SendOptions<Intent extends Intended & Opened> {
  readonly mode: Mode;
  readonly cause: OperationCause;
  readonly intent: Intent;
  /** What its reference is derived from, if another number can be used. */
  readonly numbered?: Numbered | undefined;
  /** As it is recorded. */
  readonly subject: readonly string[];
  readonly call: (intent: Intent) => Promise<VaultOutcome>;
  /** The connection that may take the operation instead. */
  readonly next?: (intent: Intent, heard: SendAnswer) => string | undefined;
}

/** Returns undefined if another process has recorded the outcome or taken over the operation. */
export async function send<Intent extends Intended & Opened>(
  charging: Charging,
  options: SendOptions<Intent>,
): Promise<Sent<Intent> | undefined> {
  const { mode } = options;
  let { intent, numbered, subject } = options;
  for (let expired = 0; ; ) {
    const call = expired > expiredMax ? callThatExpires : options.call;
    const answer = await sendOnce(charging, { ...options, intent, numbered, subject, call });
    const { outcome, step } = answer;
    if (step === 'send_as_next') numbered = await nextNumber(charging, intent, answer, { numbered, subject });
    const again = resendingOf(answer, intent, numbered);
    if (!again) return endOf(charging, mode, intent, answer);
    const opened = await startAgain(charging, mode, intent, again);
    if (!opened) return undefined;
    intent = { ...intent, ...opened, ...again.as };
    subject = again.as?.subject ?? subject;
    if (outcome.outcome === 'expired') {
      expired += 1;
      noteExpired(charging, intent, outcome.nowMs);
    }
  }
}

/** What one call has answered, and what follows from it. */
interface Answered {
  readonly outcome: VaultOutcome;
  readonly heard: SendAnswer;
  readonly step: Step;
  /** The connection that may take the operation instead. */
  readonly connectionId: string | undefined;
}

async function sendOnce<Intent extends Intended & Opened>(
  charging: Charging,
  { mode, cause, intent, numbered, subject, call, next }: SendOptions<Intent>,
): Promise<Answered> {
  const startedMs = performance.now();
  const outcome = await call(intent);
  const elapsedMs = performance.now() - startedMs;
  if (call !== callThatExpires) noteCall(charging, intent, cause, outcome);
  const heard = heardFromSending(outcome, { numbered, isKeyed: isKeyed({ subject }), elapsedMs });
  const connectionId = next?.(intent, heard);
  const gate = await gateAfter(charging, mode, intent, heard);
  const other = connectionId === undefined ? 'none' : 'another';
  const step = nextStep({ state: 'sending', cause, heard, next: other, gate });
  if (connects(mode) && isExecuted(outcome)) await noteEarlier(charging, intent, outcome, elapsedMs);
  return { outcome, heard, step, connectionId };
}

const followingCauses: readonly string[] = ['refund', 'void', 'capture'] satisfies FollowingCause[];
const isFollowing = (cause: OperationCause): cause is FollowingCause => followingCauses.includes(cause);

/** What a connection answers says something about its account and its credentials. The sandbox has no connection. */
export function noteCall(
  { connections }: Charging,
  { company_id: companyId, connection_id: connectionId }: Pick<OpenTransaction, 'company_id' | 'connection_id'>,
  cause: OperationCause,
  call: Parameters<Charging['connections']['note']>[1],
): void {
  if (connectionId === null) return;
  connections.note({ companyId, connectionId, operation: isFollowing(cause) ? cause : 'charge' }, call);
}

/**
 * If nothing was executed now, it may have been executed before a restore. The company may have been closed since the intent
 * was recorded, and one whose processors cannot list takes requests meanwhile.
 */
async function gateAfter(
  charging: Charging,
  mode: Mode,
  intent: Intended,
  heard: SendAnswer,
): Promise<'open' | 'closed'> {
  if (mode === 'sandbox' || !nothingExecuted.includes(heard)) return 'open';
  const isKnown = await recordResult(charging, intent, ({ db }) => isCompared(db, intent.company_id));
  return isKnown ? 'open' : 'closed';
}

const alwaysExpired = { outcome: 'unavailable', reason: 'the processor rejects every request as expired' } as const;
const callThatExpires = (): Promise<VaultOutcome> => Promise.resolve(alwaysExpired);

const isExecuted = (outcome: VaultOutcome): outcome is Executed =>
  ['approved', 'declined', 'conflict'].includes(outcome.outcome);

/** What changes when the operation is sent again; undefined if it is not. */
function resendingOf(
  { outcome, step, connectionId }: Answered,
  intent: Intended,
  numbered: Numbered | undefined,
): Resending | undefined {
  if (step === 'extend') return { fromMs: outcome.outcome === 'expired' ? outcome.nowMs : undefined };
  if (step === 'send_at_next' && connectionId !== undefined) return { connectionId };
  if (step !== 'send_as_next' || !numbered) return undefined;
  return { as: referenced(intent.company_id, numbered) };
}

async function nextNumber(
  charging: Charging,
  intent: Intended,
  { heard }: Answered,
  { numbered, subject }: Pick<SendOptions<Intended & Opened>, 'numbered' | 'subject'>,
): Promise<Numbered | undefined> {
  const { company_id, reference } = intent;
  const next =
    heard === 'never_executed'
      ? followingOf({ subject, number: numbered?.number ?? 0, reference })
      : numbered && { subject: numbered.subject, number: numbered.number + 1 };
  if (!next) return undefined;
  const { db } = await whereItIs(charging, intent);
  return firstUnused(db, company_id, next.subject, next.number);
}

const startAgain = (
  charging: Charging,
  mode: Mode,
  intent: Intended & Opened,
  resending: Resending,
): Promise<Opened | undefined> =>
  recordResult(charging, intent, ({ db }) => startSending(db, intent, resending, lockMs[mode]));

/** The process that sent it knows that the call executed nothing, although a later one may. */
const nothingExecuted: readonly SendAnswer[] = [
  'credentials_refused',
  'not_taken',
  'no_card',
  'held_back',
  'not_received',
  'never_executed',
  'service_away',
  'processor_failed',
];

/**
 * A process that is late may learn that its call executed nothing, while another process looks the operation up. The
 * lookup may execute what was prepared, so only one of them may record its result. Returns undefined if the operation is
 * in doubt.
 */
async function endOf<Intent extends Intended & Opened>(
  charging: Charging,
  mode: Mode,
  intent: Intent,
  { heard, outcome, step }: Answered,
): Promise<Sent<Intent> | undefined> {
  if (outcome.outcome === 'expired') throw new Error('an expired request ends nothing');
  if (!nothingExecuted.includes(heard)) return { intent, outcome, step };
  const opened = await startAgain(charging, mode, intent, {});
  return opened && { intent: { ...intent, ...opened }, outcome, step };
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
