import { type Connection, type Exchange, openConnection } from './connection.ts';
import { ConnectionFailed, createSockets, type Origin, type SocketOptions } from './sockets.ts';

/**
 * Connections that are kept for the next request to the same origin. They do only what a small signed request needs, at
 * half of the CPU of a general client.
 */
export interface Connections {
  send(origin: Origin, exchange: Exchange): void;
  /** Closes all connections; their requests fail. */
  close(error: Error): void;
}

const connectionsPerOrigin = 100;
const sweepMs = 1_000;

/** The connections to one origin. */
interface Pool {
  readonly open: Set<Connection>;
  readonly idle: Connection[];
  readonly waiting: Exchange[];
  opening: number;
}

const idleTooLong = new ConnectionFailed('IDLE');

function takeIdle({ idle }: Pool): Connection | undefined {
  const nowMs = performance.now();
  for (;;) {
    const connection = idle.pop();
    if (!connection || connection.keptUntilMs() > nowMs) return connection;
    connection.destroy(idleTooLong);
  }
}

function nextWaiting({ waiting }: Pool): Exchange | undefined {
  for (;;) {
    const exchange = waiting.shift();
    if (!exchange?.isOver) return exchange;
  }
}

interface ConnectionsOptions extends SocketOptions {
  /** Throws if the connected address must not be used. */
  readonly check: (remoteAddress: string) => void;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const openSocket = createSockets(options);
  const pools = new Map<string, Pool>();
  let sweeper: NodeJS.Timeout | undefined;

  function sweep(): void {
    const nowMs = performance.now();
    for (const { idle } of pools.values()) {
      for (const connection of idle.filter((one) => one.keptUntilMs() <= nowMs)) connection.destroy(idleTooLong);
    }
  }

  function poolOf({ key }: Origin): Pool {
    const known = pools.get(key);
    if (known) return known;
    const pool: Pool = { open: new Set(), idle: [], waiting: [], opening: 0 };
    pools.set(key, pool);
    sweeper ??= setInterval(sweep, sweepMs).unref();
    return pool;
  }

  function drop({ key }: Origin): void {
    pools.delete(key);
    if (pools.size > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  function openAsNeeded(origin: Origin, pool: Pool): void {
    if (pool.opening >= pool.waiting.length || pool.open.size >= connectionsPerOrigin) return;
    pool.opening += 1;
    const connection = openConnection((onBytes) => openSocket(origin, onBytes), options.check, {
      onReady() {
        pool.opening -= 1;
      },
      onFree() {
        const next = nextWaiting(pool);
        if (next) connection.send(next);
        else pool.idle.push(connection);
      },
      onRefused(error) {
        pool.opening -= 1;
        nextWaiting(pool)?.failed(error);
      },
      onClosed() {
        pool.open.delete(connection);
        const at = pool.idle.indexOf(connection);
        if (at !== -1) pool.idle.splice(at, 1);
        openAsNeeded(origin, pool);
        if (pool.open.size === 0) drop(origin);
      },
    });
    pool.open.add(connection);
  }

  return {
    send(origin, exchange) {
      const pool = poolOf(origin);
      const connection = takeIdle(pool);
      if (connection) {
        connection.send(exchange);
        return;
      }
      pool.waiting.push(exchange);
      openAsNeeded(origin, pool);
    },
    close(error) {
      for (const { open, waiting } of pools.values()) {
        for (const exchange of waiting.splice(0)) exchange.failed(error);
        for (const connection of open) connection.destroy(error);
      }
    },
  };
}
