/**
 * Bounds the connections that a process has to all shards together. A shard may open one while more are free than it has: one busy
 * shard gets half of them, two get a third each, and so on. So some are left for the others, also while the connections of one shard
 * hang. A part is kept for the control plane, which every shard needs.
 */
export interface ConnectionBudget {
  of(shard: string): ShardBudget;
}

export interface ShardBudget {
  /** Whether one more connection may be opened that only listens. All of these together have a quarter. */
  mayListen(): boolean;
  /** Counts a connection. Returns what to call when it is closed. */
  opened(kind?: 'listening'): () => void;
  join(pool: BudgetedPool): Membership;
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

export interface Membership {
  /** Whether one more connection may be opened. If not, another pool closes one that it does not use, now or when it has one. */
  mayOpen(): boolean;
  /** A connection of the pool is not used any more. */
  becameIdle(): void;
}

interface Member extends BudgetedPool {
  readonly shard: string;
}

interface BudgetOptions {
  /** The shard with the control plane. */
  readonly control?: string;
}

const controlShare = 0.1;
const listeningShare = 0.25;

export function connectionBudget(max: number, { control }: BudgetOptions = {}): ConnectionBudget {
  const open = new Map<string, number>();
  const members: Member[] = [];
  /** Pools that were refused a connection. */
  const refused = new Set<Member>();
  const kept = control === undefined ? 0 : Math.ceil(max * controlShare);
  let total = 0;
  let listening = 0;
  let isBorrowing = false;

  const openTo = (shard: string): number => open.get(shard) ?? 0;
  const count = (shard: string, change: number): void => {
    open.set(shard, openTo(shard) + change);
    total += change;
  };
  const keptFor = (shard: string): number =>
    control === undefined || shard === control ? 0 : Math.max(0, kept - openTo(control));
  const isFree = (shard: string): boolean => openTo(shard) < max - total - keptFor(shard);

  /** Of the shard with the most connections. It may be the same one: each shard has several pools. */
  function borrow(): void {
    if (isBorrowing) return;
    isBorrowing = members
      .toSorted((one, other) => openTo(other.shard) - openTo(one.shard))
      .some((one) => one.closeIdle());
  }

  function isAnyRefused(): boolean {
    for (const member of refused) if (!member.isWaiting()) refused.delete(member);
    return refused.size > 0;
  }

  /** The one that waited first comes last the next time. */
  function growOne(): void {
    const index = members.findIndex((member) => member.isWaiting() && isFree(member.shard));
    const [next] = index === -1 ? [] : members.splice(index, 1);
    if (!next) return;
    members.push(next);
    refused.delete(next);
    next.grow();
  }

  return {
    of: (shard) => ({
      mayListen: () => isFree(shard) && (shard === control || listening < max * listeningShare),
      opened(kind) {
        count(shard, 1);
        listening += kind === 'listening' ? 1 : 0;
        return () => {
          count(shard, -1);
          listening -= kind === 'listening' ? 1 : 0;
          isBorrowing = false;
          growOne();
        };
      },
      join(pool) {
        const member = { ...pool, shard };
        members.push(member);
        return {
          mayOpen() {
            const may = isFree(shard);
            if (may) refused.delete(member);
            else {
              refused.add(member);
              borrow();
            }
            return may;
          },
          becameIdle() {
            if (refused.size > 0 && isAnyRefused()) borrow();
          },
        };
      },
    }),
  };
}
