import pg from 'pg';
import type { ShardBudget } from './connection-budget.ts';
import { type Clients, openPool } from './connection-pool.ts';
import {
  type Client,
  type DatabaseConnection,
  connectionOptionsOf,
  type Timeouts,
  timeoutsFor,
} from './database-connections.ts';
import { settingText } from './database-settings.ts';
import { isDiskFull } from './disk-full.ts';
import { type Listening, openListening } from './listen.ts';
import type { Pooler } from './pooler.ts';
import { commit, run, runInTransaction, type Sending, transactionOn } from './statements.ts';

/** Only in types: the tables that statements on a database may use. */
declare const tables: unique symbol;

/** For code of the platform that works on any database. */
export interface AnyQueryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** The tables of companies, on the shard of a company. */
export interface Queryable extends AnyQueryable {
  readonly [tables]?: 'companies';
}

/** The tables of the control plane: users, sessions, memberships, and which shard a company is on. */
export interface ControlQueryable extends AnyQueryable {
  readonly [tables]?: 'control';
}

/**
 * A database, or a transaction on it. Code whose statements must commit together calls `transaction` and does not
 * need to know which of the two it has.
 */
export interface Database extends Queryable {
  transaction<Result>(work: (transaction: Database) => Promise<Result>): Promise<Result>;
}

export interface ControlDatabase extends ControlQueryable {
  transaction<Result>(work: (transaction: ControlDatabase) => Promise<Result>): Promise<Result>;
}

export interface DatabasePool extends Database, Connectivity {
  /**
   * The statement that `last` makes of the result is sent together with COMMIT, which saves a round trip. It has to fail
   * where the transaction must not be committed.
   */
  transaction<Result>(
    work: (transaction: Database) => Promise<Result>,
    last?: (result: Result) => Statement | undefined,
  ): Promise<Result>;
}

export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface ControlPool extends ControlDatabase, Connectivity {}

/** The first shard is also the control plane. */
export const controlPlaneOn = (pool: DatabasePool): ControlPool => pool as unknown as ControlPool;

interface Connectivity {
  /**
   * Calls `onMessage` for each NOTIFY on the channel, and `onGap` after a reconnect, when messages may have been
   * missed. Stops when the pool closes, or the result is called.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap: () => void): Promise<() => void>;
  /** Lends a connection of the pool, for several statements outside of a transaction. */
  lend<Result>(work: (client: pg.ClientBase) => Promise<Result>): Promise<Result>;
  stats(): { total: number; idle: number; waiting: number; max: number };
  /** Fails if the database does not answer in time, or cannot write. An answer of the last second counts, unless `isNow`. */
  ping(deadlineMs: number, isNow?: boolean): Promise<void>;
  /** Closes the connections that no statement uses, and the one that listens, until `resume`. Statements open new ones. */
  rest(): void;
  /** Listens again, and calls each `onGap`. */
  resume(): void;
  /** Waits for running statements. */
  close(): Promise<void>;
  /** Closes every connection: running statements and all later ones fail at once. */
  abort(): void;
}

/** The server answers and does not accept writes, for example because it is a standby. */
class ReadOnlyError extends Error {}

/** The pool is closed because the process is shutting down. */
export class DatabaseClosedError extends Error {}

pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('a bigint from the database is beyond 2^53');
  return value;
});

export interface DatabaseOptions {
  readonly connectionString: string;
  readonly poolSize: number;
  readonly applicationName: string;
  readonly onError: (error: Error) => void;
  /** How long one statement may take; every other timeout derives from it. */
  readonly statementTimeoutMs?: number;
  /** A pooler in transaction mode in front of the same database. What needs a session goes around it. */
  readonly pooler?: Pooler | undefined;
  /** PostgreSQL settings for each connection. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A standby, which is expected not to accept writes. */
  readonly isReplica?: boolean;
  /** How long a connection that is not used stays open. */
  readonly idleMs?: number;
  /** Bounds the connections of all pools of the process together. */
  readonly budget?: ShardBudget | undefined;
}

const usualStatementTimeoutMs = 15_000;

export function openDatabase(options: DatabaseOptions): DatabasePool {
  const timeouts = timeoutsFor(options.statementTimeoutMs ?? usualStatementTimeoutMs);
  const { applicationName, pooler, onError } = options;
  const connectionTo = (url: string) => connectionOptionsOf(url, applicationName, timeouts);
  const connection = connectionTo(options.connectionString);
  const settings = { ...settingsOf(timeouts), ...options.settings };
  const pooled = pooler && connectionTo(pooler.connectionString);
  const clients = openPool(pooled ?? connection, options, pooled ? '' : settingText('SET', settings));
  const { pool } = clients;
  const health = watchPool(clients, options, timeouts);
  const begin = pooled ? `BEGIN; ${settingText('SET LOCAL', settings)}` : 'BEGIN';
  const sending: Sending = { begin, isPrepared: pooler?.keepsStatements ?? (() => true), ...health };
  const statements = statementsOn(pool, sending, pooled !== undefined);
  let listening: Listening | undefined;
  let isResting = false;
  let ended: Promise<void> | undefined;
  const refuseWhenClosed = (): void => {
    if (ended) throw new DatabaseClosedError('The database connections of this process are closed.');
  };
  const end = (): Promise<void> => {
    health.stop();
    listening?.close();
    ended ??= pool.end();
    return ended;
  };

  return {
    async query(text, values) {
      refuseWhenClosed();
      return statements.query(text, values);
    },

    async transaction(work, last) {
      refuseWhenClosed();
      return statements.transaction(work, last);
    },

    async listen(channel, onMessage, onGap) {
      refuseWhenClosed();
      listening ??= openListening({ connection, heartbeatMs: timeouts.heartbeatMs, onError, budget: options.budget });
      if (isResting) listening.pause();
      return listening.listen(channel, { onMessage, onGap });
    },

    async lend(work) {
      refuseWhenClosed();
      return lend(pool, work);
    },

    stats: () => statsOf(pool, options),
    ping: health.ping,

    rest() {
      isResting = true;
      listening?.pause();
      while (pool.closeIdle());
    },

    resume() {
      isResting = false;
      if (!ended) listening?.resume();
    },

    async close() {
      await end();
      // The connections send their termination messages now; a dead network would otherwise keep them open for
      // fifteen minutes.
      for (const client of clients.all) client.socket.destroySoon();
    },

    abort() {
      void end();
      for (const client of clients.all) client.cut();
    },
  };
}

const statsOf = (pool: pg.Pool, { poolSize }: DatabaseOptions): ReturnType<Connectivity['stats']> => ({
  total: pool.totalCount,
  idle: pool.idleCount,
  waiting: pool.waitingCount,
  max: poolSize,
});

async function lend<Result>(pool: pg.Pool, work: (client: pg.ClientBase) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Statements on the connections of a pool. Through a pooler, each is a transaction, which begins with its settings. */
function statementsOn(pool: pg.Pool, sending: Sending, isPooled: boolean): Pick<DatabasePool, 'query' | 'transaction'> {
  const connect = (): Promise<pg.PoolClient & Client> => pool.connect();
  return {
    async query(text, values) {
      if (!isPooled) return run(pool as DatabaseConnection, sending, text, values);
      const client = await connect();
      let broken: Error | undefined;
      try {
        return await runInTransaction(client, sending, text, values);
      } catch (error) {
        // Only after an error of PostgreSQL itself is the connection known to be in order.
        if (!(error instanceof pg.DatabaseError)) broken = error as Error;
        throw error;
      } finally {
        client.release(broken);
      }
    },

    async transaction(work, last) {
      const client = await connect();
      let broken: Error | undefined;
      try {
        const result = await work(transactionOn(client, sending));
        await commit(client, sending, last?.(result));
        return result;
      } catch (error) {
        sending.failed(error);
        await client.query('ROLLBACK').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
  };
}

interface Health extends Pick<Sending, 'answered' | 'failed'> {
  ping(deadlineMs: number, isNow?: boolean): Promise<void>;
  stop(): void;
}

/**
 * Needs disk space for a file of its own, as a growing table does, and leaves nothing behind. It runs only on a
 * database that has failed to write.
 */
const writeProbe = `CREATE TEMPORARY TABLE write_probe ON COMMIT DROP AS
  SELECT repeat(md5(n::text), 60) AS filler FROM generate_series(1, 32) AS n`;

/** Tracks whether the database answers, and closes idle connections when it does not. */
function watchPool({ pool, idle }: Clients, options: DatabaseOptions, { heartbeatMs }: Timeouts): Health {
  // An answer more recent than this shows that the database is available.
  const freshMs = heartbeatMs / 3;
  let answeredMs = -Infinity;
  /** The error of the last failed write, until a write succeeds again. */
  let refusal: Error | undefined;
  const cutIdle = (): void => {
    for (const client of idle) client.cut();
  };

  const answered = (): void => {
    answeredMs = performance.now();
  };

  function failed(error: unknown): void {
    // One dead connection means that the connections opened before it are dead too.
    if (error instanceof Error && error.message === readTimeout) cutIdle();
    if (!(error instanceof pg.DatabaseError)) return;
    if (unwritableStates.test(error.code ?? '')) refusal = error;
    if (!isAway(error)) answered();
  }

  async function probe(deadlineMs: number): Promise<void> {
    const statement = {
      text: `SELECT current_setting('transaction_read_only') AS read_only`,
      query_timeout: deadlineMs,
    };
    const { rows } = await (pool as DatabaseConnection).query(statement);
    answered();
    const [row] = rows as { read_only: string }[];
    if (row?.read_only !== 'off' && !options.isReplica) throw new ReadOnlyError('the database is read-only');
    if (!refusal) return;
    try {
      await (pool as DatabaseConnection).query({ text: writeProbe, query_timeout: deadlineMs });
    } catch (error) {
      // A role that may not create temporary tables proves nothing about the disk.
      if (isAway(error)) throw error;
    }
    refusal = undefined;
  }

  async function ping(deadlineMs: number, isNow = false): Promise<void> {
    const startedMs = performance.now();
    if (!isNow && !refusal && startedMs - answeredMs < freshMs) return;
    const late = new Error(`the database did not respond within ${deadlineMs} ms`);
    const expiry = Promise.withResolvers<never>();
    const timer = setTimeout(() => expiry.reject(late), deadlineMs);
    try {
      await Promise.race([probe(deadlineMs), expiry.promise]);
    } catch (error) {
      // A busy pool has no free connection for the ping, but it receives answers from the database all the time.
      if (error !== late || answeredMs < startedMs || refusal) throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  let pinging = false;
  const heartbeat = setInterval(() => {
    if (pinging || idle.size === 0 || performance.now() - answeredMs < heartbeatMs) return;
    pinging = true;
    ping(heartbeatMs)
      .catch((error: Error) => {
        options.onError(new Error(`${options.applicationName}: ${error.message}`, { cause: error }));
        cutIdle();
      })
      .finally(() => {
        pinging = false;
      });
  }, heartbeatMs).unref();

  return { answered, failed, ping, stop: () => clearInterval(heartbeat) };
}

const settingsOf = (timeouts: Timeouts): Readonly<Record<string, string>> => ({
  statement_timeout: String(timeouts.statementMs),
  lock_timeout: String(timeouts.lockMs),
  idle_in_transaction_session_timeout: String(timeouts.idleInTransactionMs),
});

/** The code of an error of PostgreSQL. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** Whether the server answers and cannot write: it is read-only, or its disk is full or broken. */
export const isUnwritable = (error: unknown): boolean =>
  error instanceof ReadOnlyError || unwritableStates.test(sqlStateOf(error) ?? '') || isDiskFull(error);

/** Returns the name of the unique or check constraint that caused an error, if any. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined;
}

/**
 * The database cannot serve requests at the moment: lost connections, exhausted resources, shutdown, failover,
 * timeouts.
 */
const awayStates = /^(08|53|57|58|25006|25P03|3D000)/;
/** Two statements conflicted: a serialization failure, a deadlock or a lock timeout. */
const collisionStates = /^(40001|40P01|55P03)/;
/** A read-only server, a full disk, or a disk failure. */
const unwritableStates = /^(25006|53100|58030)/;
const networkErrors = /^(ECONN|EHOST|ENET|EAI_|EPIPE$|ETIMEDOUT$|ENOTFOUND$)/;
/** Any failure of these calls means that the database is unreachable. */
const connectingCalls = ['connect', 'getaddrinfo'];
const readTimeout = 'Query read timeout';
const connectionLost =
  /^(Query read timeout|Connection terminated|Client has encountered a connection error|timeout exceeded when trying|timeout expired)/;

/** Whether the database cannot serve requests at the moment, so that an immediate retry would only add delay. */
export function isAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return awayStates.test(error.code ?? '') || isDiskFull(error);
  if (!(error instanceof Error)) return false;
  // A host name with several addresses, none of which accepted a connection.
  if (error instanceof AggregateError) return error.errors.some(isAway);
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return networkErrors.test(code) || connectingCalls.includes(syscall) || connectionLost.test(error.message);
}

/**
 * Whether the database was unreachable, restarting or overloaded, so that the client may repeat the request. A
 * statement may have taken effect, unless PostgreSQL itself rejected it.
 */
export function isUnavailable(error: unknown): boolean {
  return isAway(error) || (error instanceof pg.DatabaseError && collisionStates.test(error.code ?? ''));
}
