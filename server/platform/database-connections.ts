import { Socket } from 'node:net';
import pg from 'pg';

/**
 * Connections that are given up when nothing comes back. TCP itself notices a network that drops packets after some
 * fifteen minutes, and after two hours where nothing is sent; Node has no TCP_USER_TIMEOUT. So every wait has a bound of
 * its own, from the one figure that an operator sets: how long a statement may take.
 */

export interface Timeouts {
  readonly connectMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /** PostgreSQL ends a statement itself before that: without an answer until then it did not hear us. */
  readonly answerMs: number;
  readonly idleInTransactionMs: number;
  /** How often a connection that nothing is heard from is asked whether it still works, and how long it may take. */
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

/** The part of a connection that is used; two calls without waiting in between travel together. */
export interface Connection {
  query(statement: {
    text: string;
    values?: unknown[];
    name?: string;
    query_timeout?: number;
  }): Promise<{ rows: object[]; command: string }>;
}

export interface ConnectionOptions extends pg.ClientConfig {
  readonly onOpen?: (client: WatchedClient) => void;
}

/** A client of PostgreSQL whose connection can be cut without asking the other side. */
export class WatchedClient extends pg.Client {
  readonly socket: Socket;

  constructor(config: ConnectionOptions) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.socket = socket;
    config.onOpen?.(this);
  }

  /** Whatever waits for an answer fails; the pool forgets the connection. */
  cut(): void {
    this.socket.destroy();
  }
}

/** Probes go out after five seconds of silence, one each second; ten without an answer end the connection. */
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
