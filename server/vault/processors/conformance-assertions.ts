import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { type FailureCode, failureReasons, type LookupOutcome, type Outcome } from './processor.ts';

/** What the conformance suite expects of an outcome. */

export type Approved = Extract<Outcome, { outcome: 'approved' }>;

export function assertApproved(outcome: Outcome | LookupOutcome): asserts outcome is Approved {
  assert.equal(outcome.outcome, 'approved', inspect(outcome));
}

export function assertDeclined(outcome: Outcome | LookupOutcome, failureCode?: FailureCode): void {
  assert.ok(outcome.outcome === 'declined', inspect(outcome));
  if (failureCode) assert.equal(outcome.failureCode, failureCode);
  assert.equal(outcome.failureReason, failureReasons[outcome.failureCode], 'the reason a person reads');
}

/** Returns an outcome without its age, which grows; the execution time stays. */
export function dated(outcome: Outcome | LookupOutcome): object {
  const { executed, ...rest } = { executed: undefined, ...outcome };
  return { ...rest, ...(executed && { executedAtMs: executed.atMs }) };
}

/** A processor without a time in its first answer may know it from a report later. */
export function assertSameOutcome(
  again: Outcome | LookupOutcome,
  first: Outcome | LookupOutcome,
  message?: string,
): void {
  const { executed: _, ...untimed } = { executed: undefined, ...again };
  assert.deepEqual('executed' in first ? dated(again) : untimed, dated(first), message);
}
