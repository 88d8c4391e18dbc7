import type { ChaosReport } from './chaos.ts';

/** Formats the run as a table, with the broken guarantees. */
export function describeReport(report: ChaosReport): string {
  const { diary, totals, renewals } = report;
  const answered = (kind: string, status?: RegExp): number =>
    diary.answers.filter((answer) => answer.kind === kind && (!status || status.test(answer.status))).length;
  const money = (cents: number): string => (cents / 100).toFixed(2);
  const rows: [string, string | number][] = [
    ['orders acknowledged', answered('create')],
    ['  at first succeeded', answered('create', /^succeeded$/)],
    ['  at first authorized', answered('create', /^pending$/)],
    ['  at first failed', answered('create', /^failed$/)],
    ...rowsOf('    ', totals.failures),
    ['keys repeated later', answered('repeat')],
    ['retries acknowledged', answered('retry')],
    ['captures acknowledged', answered('capture')],
    ['voids acknowledged', answered('void')],
    ['refunds acknowledged', answered('refund')],
    ['refunds settled, rejected', `${totals.refundsSettled}, ${totals.refundsRejected}`],
    ['renewals', renewals.renewals],
    ...rowsOf('  declined: ', renewals.declines),
    ['  that waited until the credentials were accepted', renewals.waited],
    ['  subscriptions past due at the end', renewals.pastDue],
    ['checkouts whose bank asked', report.checkouts.all],
    ['  paid', report.checkouts.paid],
    ['charged', money(totals.charged)],
    ['  of it, held first', money(totals.captured)],
    ['authorizations released', totals.released],
    ['refunded', money(totals.refunded)],
    ...rowsOf('refused: ', diary.refusals),
    ...rowsOf('asked to repeat: ', diary.passing),
    ...rowsOf('killed: ', report.kills),
    ...rowsOf('fault, ', report.faults),
    ['operations declined', totals.declined],
    ...(totals.notCaptured > 0 ? [['charges not captured after all', totals.notCaptured] as [string, number]] : []),
    ['orders that went through doubt', report.doubtfulOrders],
    ['longest time in doubt', `${(report.longestDoubtMs / 1000).toFixed(1)} s`],
    ['all decided and settled after', `${(report.drainMs / 1000).toFixed(1)} s`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
  return `${table}\n\n${verdict(report)}\n`;
}

function rowsOf(prefix: string, counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts]
    .toSorted(([left], [right]) => left.localeCompare(right))
    .map(([name, count]) => [`${prefix}${name}`, count]);
}

const shownMax = 50;

export function verdict({ violations, seed, folder }: ChaosReport): string {
  if (violations.length === 0) {
    return `Seed ${seed}: no order charged twice, none lost, none in doubt; the journal equals the ledger.`;
  }
  const shown = violations.slice(0, shownMax).map((violation) => `  ${violation}`);
  const more = violations.length > shownMax ? [`  and ${violations.length - shownMax} more`] : [];
  return [`Seed ${seed}: ${violations.length} violations; logs and data are in ${folder}`, ...shown, ...more].join(
    '\n',
  );
}
