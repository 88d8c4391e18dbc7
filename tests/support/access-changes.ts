import type { DatabasePool } from '../../server/platform/database.ts';

/**
 * Requests use a copy of the company until PostgreSQL announces a change, a moment after its commit. A request that
 * changes a company clears the copy before it is answered. A test that writes to the database does the same with this.
 */
export interface AccessChanges {
  /** The same pool; what listens on it for changes also listens to `forget`. */
  through(pool: DatabasePool): DatabasePool;
  forget(companyId: string): void;
}

export function openAccessChanges(): AccessChanges {
  const listeners: ((companyId: string) => void)[] = [];
  return {
    through: (pool) => ({
      ...pool,
      listen(channel, onMessage, onGap) {
        if (channel === 'access_changed') listeners.push(onMessage);
        return pool.listen(channel, onMessage, onGap);
      },
    }),
    forget(companyId) {
      for (const listener of listeners) listener(companyId);
    },
  };
}
