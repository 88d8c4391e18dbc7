import type { ApiError } from '../../../errors.ts';
import type { Charging } from './charging.ts';
import {
  capturedOtherwise,
  credentialsRefused,
  gatewayError,
  notSentError,
  usedByAnother,
  vaultUnavailable,
} from './errors.ts';
import type { FollowingCause } from './operation-moves.ts';
import { discardOpen, discardUnexecuted, type Intended, markInDoubt, type Opened } from './open-queries.ts';
import { recordResult } from './record-result.ts';
import { isKeyed } from './reference.ts';
import type { Sent } from './sending.ts';
import { firstCheckMs } from './timing.ts';

/**
 * Ends the sending of a refund, void or capture whose outcome is unknown, or that did not happen. Returns the error for the request;
 * 'taken over' if another process decides, and undefined if there is an outcome to record.
 */
export async function endFollowing<Intent extends Intended & Opened>(
  charging: Charging,
  what: FollowingCause,
  subject: readonly string[],
  { intent, outcome, step }: Sent<Intent>,
): Promise<ApiError | 'taken over' | undefined> {
  if (step === 'record') return undefined;
  if (step !== 'discard') {
    await recordResult(charging, intent, ({ db }) => markInDoubt(db, intent, { checkAfterMs: firstCheckMs }));
    return gatewayError(what);
  }
  const discard = outcome.outcome === 'conflict' ? discardOpen : discardUnexecuted;
  const isDiscarded = await recordResult(charging, intent, ({ db }) => discard(db, intent));
  return isDiscarded ? notHappened(what, subject, outcome) : 'taken over';
}

function notHappened(what: FollowingCause, subject: readonly string[], outcome: Sent<unknown>['outcome']): ApiError {
  if (outcome.outcome === 'conflict') return conflictOf(what, subject);
  if (outcome.outcome === 'not_sent') return notSentError(what, outcome);
  if (outcome.outcome === 'unavailable') return vaultUnavailable(what, { unfinished: false });
  return credentialsRefused(what);
}

function conflictOf(what: FollowingCause, subject: readonly string[]): ApiError {
  if (what === 'capture') return capturedOtherwise();
  return isKeyed({ subject }) ? usedByAnother() : notSentError(what);
}
