import { secondMs } from '../platform/durations.ts';

/**
 * Which shards this process uses. Without requests or jobs a shard rests: nothing is asked of it regularly, and no
 * connection to it stays open. So a process can have hundreds of shards.
 */
export interface ShardUse {
  /** A request uses a shard. The workers hear of it. */
  note(shard: string): void;
  /** Jobs use a shard until they call the result. */
  hold(shard: string): () => void;
  isUsed(shard: string): boolean;
  /** Calls `begin` at the first use after a rest, and `end` when the shard rests. */
  watch(shard: string, watcher: UseWatcher): void;
  stop(): void;
}

interface UseWatcher {
  begin(): void;
  end(): void;
}

/** A shard rests when no request has used it for this long. */
export const usedMs = 60 * secondMs;
/** The workers hear of a shard in use this often: some messages may be lost before it rests for them. */
const announceMs = 20 * secondMs;
const checkMs = 5 * secondMs;

/** For an installation with one database. */
export const alwaysUsed: ShardUse = {
  note: () => undefined,
  hold: () => () => undefined,
  isUsed: () => true,
  watch: () => undefined,
  stop: () => undefined,
};

interface State {
  isUsed: boolean;
  holds: number;
  notedMs: number;
  announcedMs: number;
  readonly watchers: UseWatcher[];
}

/** `announce` makes the use of a shard known to the workers, and returns whether that succeeded. */
export function openShardUse(announce: (shard: string) => Promise<boolean>, nowMs = () => performance.now()): ShardUse {
  const states = new Map<string, State>();

  function stateOf(shard: string): State {
    const known = states.get(shard);
    if (known) return known;
    const state = { isUsed: false, holds: 0, notedMs: -Infinity, announcedMs: -Infinity, watchers: [] };
    states.set(shard, state);
    return state;
  }

  function begin(state: State): void {
    if (state.isUsed) return;
    state.isUsed = true;
    for (const watcher of state.watchers) watcher.begin();
  }

  function endIfUnused(state: State): void {
    if (!state.isUsed || state.holds > 0 || nowMs() - state.notedMs < usedMs) return;
    state.isUsed = false;
    for (const watcher of state.watchers) watcher.end();
  }

  const timer = setInterval(() => {
    for (const state of states.values()) endIfUnused(state);
  }, checkMs).unref();

  return {
    note(shard) {
      const state = stateOf(shard);
      const now = nowMs();
      state.notedMs = now;
      begin(state);
      if (now - state.announcedMs < announceMs) return;
      state.announcedMs = now;
      void announce(shard).then((isHeard) => {
        // The next request tries again.
        if (!isHeard) state.announcedMs = -Infinity;
      });
    },
    hold(shard) {
      const state = stateOf(shard);
      state.holds += 1;
      begin(state);
      return () => {
        state.holds -= 1;
        endIfUnused(state);
      };
    },
    isUsed: (shard) => states.get(shard)?.isUsed === true,
    watch(shard, watcher) {
      const state = stateOf(shard);
      state.watchers.push(watcher);
      if (state.isUsed) watcher.begin();
    },
    stop: () => clearInterval(timer),
  };
}
