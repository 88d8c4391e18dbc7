import type { Mode } from '../../../company.ts';
import { counter } from '../../../platform/metrics.ts';
import { type FailureCode, failureGroups } from '../../../vault/processors/processor.ts';
import type { Sale } from './sales.ts';
import { failureOf, type KnownOutcome } from './record-outcomes.ts';

/** Counts charges by outcome, in memory. */

const count = counter('svc_orders_total');

type Group = keyof typeof failureGroups;
const groupOf = new Map<FailureCode, Group>(
  Object.entries(failureGroups).flatMap(([group, codes]) => codes.map((code) => [code, group as Group] as const)),
);

/** A charge whose outcome is recorded. An authorization has succeeded when it is captured. */
export function countCharge(mode: Mode, outcome: KnownOutcome, type: Sale['type'] = 'sale'): void {
  const approved = type === 'auth' ? 'authorized' : 'succeeded';
  if (outcome.outcome === 'approved') return count({ mode, outcome: approved, failure_group: 'none' });
  const group = groupOf.get(failureOf(outcome).code) ?? 'none';
  return count({ mode, outcome: 'failed', failure_group: group });
}

/** A charge that stays open: its outcome is unknown, it waits for the vault, or the bank asks the customer. */
export function countOpenCharge(mode: Mode, outcome: 'in_doubt' | 'waiting' | 'with_customer'): void {
  count({ mode, outcome, failure_group: 'none' });
}
