/**
 * Bounds the connections that a process has to all shards together. A shard may open one while
 * more are free than it has: one busy shard gets half of them, two get a third each, and so on. So some are left for the others, also while
 * the connections of one shard hang.
 */
export interface ConnectionBudget {
  of(shard: string): ShardBudget;
}

export interface ShardBudget {
  /** Whether one more connection may be opened. If not, another shard closes one that it does not use. */
  mayOpen(): boolean;
  /** Counts a connection. Returns what to call when it is closed. */
  opened(): () => void;
  join(pool: BudgetedPool): void;
}

/** A pool whose connections are counted. */
interface BudgetedPool {
  /** Whether statements wait for a connection. */
  isWaiting(): boolean;
  /** Opens a connection for a statement that waits. */
  grow(): void;
  /** Closes a connection that no statement uses. Returns false if there is none. */
  closeIdle(): boolean;
}

interface Member extends BudgetedPool {
  readonly shard: string;
}

export function connectionBudget(max: number): ConnectionBudget {
  const open = new Map<string, number>();
  const members: Member[] = [];
  let total = 0;
  let isBorrowing = false;

  const openTo = (shard: string): number => open.get(shard) ?? 0;
  const count = (shard: string, change: number): void => {
    open.set(shard, openTo(shard) + change);
    total += change;
  };
  const isFree = (shard: string): boolean => openTo(shard) < max - total;

  /** Of the other shard with the most connections. */
  function borrow(shard: string): void {
    if (isBorrowing) return;
    const others = members.filter((member) => member.shard !== shard);
    isBorrowing = others
      .toSorted((one, other) => openTo(other.shard) - openTo(one.shard))
      .some((one) => one.closeIdle());
  }

  /** The one that waited first comes last the next time. */
  function growOne(): void {
    const index = members.findIndex((member) => member.isWaiting() && isFree(member.shard));
    const [next] = index === -1 ? [] : members.splice(index, 1);
    if (!next) return;
    members.push(next);
    next.grow();
  }

  return {
    of: (shard) => ({
      mayOpen() {
        const may = isFree(shard);
        if (!may) borrow(shard);
        return may;
      },
      opened() {
        count(shard, 1);
        return () => {
          count(shard, -1);
          isBorrowing = false;
          growOne();
        };
      },
      join: (pool) => members.push({ ...pool, shard }),
    }),
  };
}
