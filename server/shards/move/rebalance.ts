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

/** Each copy uses a connection, a slot and workers of both servers, of which PostgreSQL has few by default. */
const copiesAtOnce = 8;
const copiesOfShard = 2;

/** Makes one move. Calls `onStep` with the name of each step; from `clean` on, it uses the companies' new shard. */
type Moving = (move: PlannedMove, onStep: (step: string) => void) => Promise<unknown>;

/** A few at once until the switch. The wait before rows are removed from the old shard is shared by all. */
export async function applyMoves(
  moves: readonly PlannedMove[],
  report: (step: string) => void,
  moving: Moving,
): Promise<void> {
  const waiting = [...moves];
  const begun: Promise<unknown>[] = [];
  const copying = new Map<PlannedMove, Promise<unknown>>();
  const isFree = ({ from, to }: PlannedMove): boolean =>
    [from, to].every(
      (shard) => [...copying.keys()].filter((other) => [other.from, other.to].includes(shard)).length < copiesOfShard,
    );
  const begin = (move: PlannedMove): void => {
    const switched = Promise.withResolvers<void>();
    const moved = moving(move, (step) => {
      report(`${move.companyId} ${step}`);
      if (step === 'clean') switched.resolve();
    });
    // Its failure is reported when all moves have ended.
    moved.catch(() => undefined);
    begun.push(moved);
    const copied = Promise.race([switched.promise, moved]).finally(() => copying.delete(move));
    copied.catch(() => undefined);
    copying.set(move, copied);
  };
  try {
    while (waiting.length > 0) {
      const next = copying.size < copiesAtOnce ? waiting.findIndex(isFree) : -1;
      if (next >= 0) for (const move of waiting.splice(next, 1)) begin(move);
      else await Promise.race(copying.values());
    }
  } finally {
    await Promise.allSettled(begun);
  }
  await Promise.all(begun);
}
