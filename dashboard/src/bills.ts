/** Payments of a subscription that follow each other. */
interface Bill {
  readonly cycle: number;
}

export interface BillRun<T extends Bill> {
  readonly first: T;
  readonly last: T;
}

/** Free payments in a row become one entry, so that a table does not repeat the same zero. */
export function joinFree<T extends Bill>(bills: readonly T[], amountOf: (bill: T) => number): BillRun<T>[] {
  const runs: BillRun<T>[] = [];
  for (const bill of bills) {
    const before = runs.at(-1);
    const isJoined = before && amountOf(bill) === 0 && amountOf(before.last) === 0;
    if (isJoined) runs[runs.length - 1] = { ...before, last: bill };
    else runs.push({ first: bill, last: bill });
  }
  return runs;
}

export const cyclesOf = <T extends Bill>({ first, last }: BillRun<T>): string =>
  first === last ? String(first.cycle) : `${first.cycle}–${last.cycle}`;
