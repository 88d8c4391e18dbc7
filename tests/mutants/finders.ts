import type { Mutant } from './mutant.ts';
import type { Results } from './results.ts';

/** Which test files run with a mutant, and in which order: the cheapest and most likely first. */

const orders = 'server/features/orders';

const gate = ['server/features/restores/gate-queries.test.ts', 'server/features/restores/restores.test.ts'];
const notices = [`${orders}/recovery/apply-notice.test.ts`];

/** By the kind of the rule, or by its place. */
const first: Readonly<Record<string, readonly string[]>> = {
  check: ['tests/constraints.test.ts'],
  unique: ['tests/constraints.test.ts'],
  condition: [`${orders}/operations/operation-moves.test.ts`],
  step: [`${orders}/operations/next-step.test.ts`],
  move: [`${orders}/operations/operation-moves.test.ts`],
  notice: notices,
  [`${orders}/recovery/notice-queries.ts`]: notices,
  'server/features/restores/gate-queries.ts': gate,
};

/** Some seconds each. */
const quick = [
  `${orders}/operations/operation-moves.test.ts`,
  `${orders}/recovery/late-senders.test.ts`,
  `${orders}/recovery/interrupted.test.ts`,
  `${orders}/recovery/earlier-results.test.ts`,
  'server/features/processors/notices.test.ts',
  `${orders}/authorizations.test.ts`,
  `${orders}/authorizations-at-acquirer.test.ts`,
  `${orders}/authorizations-at-processors.test.ts`,
  `${orders}/authentication.test.ts`,
  `${orders}/recovery/chargeback-queries.test.ts`,
  `${orders}/orders.test.ts`,
  `${orders}/refunds.test.ts`,
  `${orders}/retries.test.ts`,
  `${orders}/chargebacks.test.ts`,
  'server/features/subscriptions/in-doubt.test.ts',
  'server/features/processors/refused-credentials.test.ts',
  'server/vault/processors/adyen/notices.test.ts',
  'server/vault/processors/stripe/disputes.test.ts',
  `${orders}/recovery/vault-away.test.ts`,
  `${orders}/recovery/forgotten-charges.test.ts`,
];

const slow = [
  `${orders}/recovery/lost-answers.test.ts`,
  'server/features/processors/same-account.test.ts',
  'server/features/subscriptions/dunning.test.ts',
  'server/vault/processors/stripe/events.test.ts',
  'server/vault/processors/adyen/adyen.test.ts',
  'server/vault/processors/nmi/service.test.ts',
  'tests/restore.test.ts',
  'tests/renewals.test.ts',
  `${orders}/recovery/in-doubt.test.ts`,
];

/** Each has a process of its own: they replace timers, or kill processes. */
const alone = ['tests/explore/explore.test.ts', 'tests/failpoints.test.ts', 'tests/deployments/move-worker.test.ts'];

/** Groups of test files; those of a group share a process. The first two are quick. */
export function finderGroups(mutant: Mutant, last: string | undefined, results: Results): string[][] {
  const counts = new Map<string, number>();
  for (const [name, found] of results) {
    if (found && 'file' in found && name.startsWith(`${mutant.place}:`))
      counts.set(found.file, (counts.get(found.file) ?? 0) + 1);
  }
  const likely = (file: string): number => counts.get(file) ?? 0;
  const byLikelihood = (files: readonly string[]): string[] =>
    files.toSorted((left, right) => likely(right) - likely(left));
  const groups = [
    [...(last ? [last] : []), ...(first[mutant.place] ?? first[mutant.kind] ?? [])],
    byLikelihood(quick),
    byLikelihood(slow),
  ];
  const seen = new Set<string>();
  const fresh = (files: readonly string[]): string[] =>
    files.filter((file) => !seen.has(file) && seen.add(file) !== undefined);
  return [...groups.map(fresh), ...fresh(alone).map((file) => [file])].filter((files) => files.length > 0);
}
