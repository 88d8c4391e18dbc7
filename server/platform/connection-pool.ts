import pg from 'pg';
import type { Membership, ShardBudget } from './connection-budget.ts';
import { type Client, WatchedClient } from './database-connections.ts';
import { readInSlices } from './read-in-slices.ts';

/** The connections of a pool: which of them are open, and which no statement uses. */

interface PoolOptions {
  readonly poolSize: number;
  readonly onError: (error: Error) => void;
  readonly budget?: ShardBudget | undefined;
  readonly idleMs?: number;
}

interface Internals {
  readonly _idle: readonly { readonly client: pg.PoolClient }[];
  readonly _remove: (client: pg.PoolClient) => void;
}

/**
 * A pool that is also full when the process may open no further connection, so that statements wait for one of its own, and
 * that can close a connection before its time. `pg-pool` has no other way to do either.
 */
class ConnectionPool extends pg.Pool {
  readonly #membership: Membership | undefined;

  constructor(config: pg.PoolConfig, budget: ShardBudget | undefined, onError: (error: Error) => void) {
    super(config);
    this.#membership = budget?.join({
      isWaiting: () => this.waitingCount > 0,
      // It serves the statements that wait when it is released.
      grow: () => void this.connect().then((client) => client.release(), onError),
      closeIdle: () => this.closeIdle(),
    });
    // The pool emits this before it counts the connection as idle.
    if (budget) this.on('release', () => setImmediate(() => this.#membership?.becameIdle()));
  }

  /** The pool calls this before it opens a connection. */
  _isFull(): boolean {
    return this.totalCount >= (this.options.max ?? 0) || this.#membership?.mayOpen() === false;
  }

  /** Closes a connection that no statement uses. Returns false if there is none. */
  closeIdle(): boolean {
    const { _idle: idle, _remove: remove } = this as unknown as Internals;
    const [item] = idle;
    if (item) remove.call(this, item.client);
    return item !== undefined;
  }
}

export interface Clients {
  readonly pool: ConnectionPool;
  readonly all: ReadonlySet<WatchedClient>;
  readonly idle: ReadonlySet<WatchedClient>;
}

/** Settings are made by a statement: poolers refuse most of them in the first message of a connection. */
export function openPool(connection: pg.ClientConfig, options: PoolOptions, settings: string): Clients {
  const all = new Set<WatchedClient>();
  const idle = new Set<WatchedClient>();
  const { budget, onError } = options;
  const remember = (client: WatchedClient): void => {
    all.add(client);
    const closed = budget?.opened();
    client.socket.once('close', () => {
      all.delete(client);
      idle.delete(client);
      closed?.();
    });
  };
  const config = {
    ...connection,
    onOpen: remember,
    Client: WatchedClient as unknown as new () => WatchedClient,
    max: options.poolSize,
    idleTimeoutMillis: options.idleMs ?? 60_000,
  };
  const pool = new ConnectionPool(config, budget, onError);
  // The handler stays for the whole life of each connection: a lost connection without a handler would end the
  // process.
  pool.on('connect', (client) => {
    client.on('error', onError);
    readInSlices((client as unknown as Client).connection.stream);
    if (!settings) return;
    client.query(settings).catch((error: Error) => {
      onError(error);
      (client as unknown as WatchedClient).cut();
    });
  });
  pool.on('acquire', (client) => idle.delete(client as unknown as WatchedClient));
  pool.on('release', (error: Error | undefined, client) => {
    if (!error) idle.add(client as unknown as WatchedClient);
  });
  pool.on('error', () => undefined);
  return { pool, all, idle };
}
