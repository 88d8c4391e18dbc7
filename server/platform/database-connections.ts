import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import pg from 'pg';

/**
 * Connections with a timeout on every wait. TCP detects a network that drops packets only after about fifteen
 * minutes, and after two hours on an idle connection; Node has no TCP_USER_TIMEOUT. All timeouts derive from one
 * setting: how long a statement may take.
 */

export interface Timeouts {
  readonly connectMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /**
   * PostgreSQL cancels a statement before this time, so no answer by then means that the server did not receive it.
   */
  readonly answerMs: number;
  readonly idleInTransactionMs: number;
  /** How often a silent connection is checked, and how long the check may take. */
  readonly heartbeatMs: number;
}

export function timeoutsFor(statementMs: number): Timeouts {
  const share = (part: number): number => Math.round(statementMs * part);
  return {
    connectMs: Math.min(5_000, statementMs),
    statementMs,
    lockMs: share(2 / 3),
    answerMs: share(1.2),
    idleInTransactionMs: share(4 / 3),
    heartbeatMs: Math.min(3_000, share(1 / 5)),
  };
}

/** The part of a connection that is used. Two calls without an await between them travel together. */
export interface DatabaseConnection {
  query(statement: {
    text: string;
    values?: unknown[];
    name?: string;
    query_timeout?: number;
  }): Promise<{ rows: object[]; command: string; rowCount: number | null }>;
}

/** A connection of its own, outside of the pool. */
export interface Client extends DatabaseConnection {
  readonly connection: { readonly stream: Duplex };
}

export interface ConnectionOptions extends pg.ClientConfig {
  readonly onOpen?: (client: WatchedClient) => void;
}

/** A PostgreSQL client whose connection can be closed without contacting the server. */
export class WatchedClient extends pg.Client {
  readonly socket: Socket;

  constructor(config: ConnectionOptions) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.socket = socket;
    config.onOpen?.(this);
  }

  /** Fails every pending query, and the pool discards the connection. */
  cut(): void {
    this.socket.destroy();
  }
}

/**
 * Keep-alive probes start after five seconds of silence, one each second; ten without an answer close the connection.
 */
const keepAliveAfterMs = 5_000;

export function connectionOptionsOf(
  connectionString: string,
  applicationName: string,
  timeouts: Timeouts,
): ConnectionOptions {
  return {
    connectionString,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    connectionTimeoutMillis: timeouts.connectMs,
    query_timeout: timeouts.answerMs,
    pipeline: true,
  };
}
