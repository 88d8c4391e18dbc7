/** Which accounts to move so that every shard has about as many, and a shard that drains has none. */

export interface Load {
  readonly shard: string;
  readonly drains: boolean;
  /** A company of each account. */
  readonly accounts: readonly string[];
}

export interface PlannedMove {
  readonly companyId: string;
  readonly from: string;
  readonly to: string;
}

export function planMoves(loads: readonly Load[]): PlannedMove[] {
  const left = loads.map((load) => ({ ...load, accounts: [...load.accounts] }));
  const open = left.filter(({ drains }) => !drains);
  const moves: PlannedMove[] = [];
  for (;;) {
    const bySize = open.toSorted((one, other) => one.accounts.length - other.accounts.length);
    const [to] = bySize;
    const from = left.find(({ drains, accounts }) => drains && accounts.length > 0) ?? bySize.at(-1);
    if (!to || !from || from === to) return moves;
    // One account more or less changes nothing.
    if (!from.drains && from.accounts.length - to.accounts.length <= 1) return moves;
    const companyId = from.accounts.pop();
    if (companyId === undefined) return moves;
    to.accounts.push(companyId);
    moves.push({ companyId, from: from.shard, to: to.shard });
  }
}
