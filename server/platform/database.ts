import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import {
  type Connection,
  connectionOptionsOf,
  type Timeouts,
  timeoutsFor,
  WatchedClient,
} from './database-connections.ts';
import { keepListening } from './listen.ts';
import { readInSlices } from './read-in-slices.ts';

export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * A database or a transaction on it: code that needs several statements to stand or fall together asks for
 * `transaction` and does not care which of the two it was given.
 */
export interface Database extends Queryable {
  transaction<Result>(work: (transaction: Database) => Promise<Result>): Promise<Result>;
}

export interface DatabasePool extends Database {
  /**
   * Calls `onMessage` for each NOTIFY on the channel, and `onGap` whenever messages may have been missed:
   * the connection was lost and is back. Ends with the pool.
   */
  listen(channel: string, onMessage: (payload: string) => void, onGap: () => void): Promise<void>;
  stats(): { total: number; idle: number; waiting: number };
  /** Fails when the database does not answer within the time, or answers and takes nothing down. */
  ping(deadlineMs: number): Promise<void>;
  /** Waits for what runs. */
  close(): Promise<void>;
  /** Cuts every connection: what runs fails at once, and so does what comes after. */
  abort(): void;
}

/** The pool was closed; the process ends. */
export class DatabaseClosedError extends Error {}

pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error('a bigint from the database is beyond 2^53');
  return value;
});

/** Statements beyond this many texts run unnamed, so that odd filter combinations cannot pile up on the server. */
const namedStatementsMax = 500;
const statementNames = new Map<string, string>();

function statementName(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known) return known;
  if (statementNames.size >= namedStatementsMax) return undefined;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 20);
  statementNames.set(text, name);
  return name;
}

/** Hears of every statement whether the database answered it. */
interface Listener {
  answered(): void;
  failed(error: unknown): void;
}

async function run<Row extends object>(
  connection: Connection,
  listener: Listener,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const name = statementName(text);
  try {
    const result = await connection.query({ text, ...(name && { name }), ...(values && { values: [...values] }) });
    listener.answered();
    return result.rows as Row[];
  } catch (error) {
    listener.failed(error);
    throw error;
  }
}

function transactionOn(connection: Connection, listener: Listener): Database {
  let begin: Promise<unknown> | undefined = connection.query({ text: 'BEGIN' });
  // An error of BEGIN surfaces with the first statement; without this it would also be "unhandled".
  begin.catch(() => undefined);
  const transaction: Database = {
    async query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      const rows = run<Row>(connection, listener, text, values);
      const [result] = await Promise.all([rows, begin]);
      begin = undefined;
      return result;
    },
    transaction: (work) => work(transaction),
  };
  return transaction;
}

export interface DatabaseOptions {
  readonly connectionString: string;
  readonly poolSize: number;
  readonly applicationName: string;
  readonly onError: (error: Error) => void;
  /** How long one statement may take; every other bound follows from it. */
  readonly statementTimeoutMs?: number;
  /** Settings of PostgreSQL for each connection. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * For statements that take their rows as JSON: PostgreSQL cannot know how few they are, and a plan made while a table was
 * small would read all of it ever after. Every look-up of these is by a key, so that is how they are planned, once.
 */
export const byKeySettings = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
} as const;

/** For the head of a queue as well: a bitmap would be made of all of it to read the first few. */
export const queueSettings = { ...byKeySettings, enable_bitmapscan: 'off' } as const;

const usualStatementTimeoutMs = 15_000;

export function openDatabase(options: DatabaseOptions): DatabasePool {
  const timeouts = timeoutsFor(options.statementTimeoutMs ?? usualStatementTimeoutMs);
  const connection = {
    ...connectionOptionsOf(options.connectionString, options.applicationName, timeouts),
    ...(options.settings && { options: startOptions(options.settings) }),
  };
  const clients = openPool(connection, options, timeouts);
  const { pool } = clients;
  const health = watchPool(clients, options, timeouts);
  const listeners = new Set<{ close(): void }>();
  let ended: Promise<void> | undefined;
  const refuseWhenClosed = (): void => {
    if (ended) throw new DatabaseClosedError('The database connections of this process are closed.');
  };
  const end = (): Promise<void> => {
    health.stop();
    for (const listener of listeners) listener.close();
    ended ??= pool.end();
    return ended;
  };

  return {
    async query(text, values) {
      refuseWhenClosed();
      return run(pool as Connection, health, text, values);
    },

    async transaction(work) {
      refuseWhenClosed();
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        const result = await work(transactionOn(client, health));
        const { command } = await client.query('COMMIT');
        if (command !== 'COMMIT') throw new Error(`COMMIT was answered with ${command}`);
        return result;
      } catch (error) {
        health.failed(error);
        await client.query('ROLLBACK').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },

    async listen(channel, onMessage, onGap) {
      refuseWhenClosed();
      const { onError } = options;
      const { heartbeatMs } = timeouts;
      const listener = await keepListening({ connection, heartbeatMs, channel, onMessage, onGap, onError });
      listeners.add(listener);
      if (ended) listener.close();
    },

    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    ping: health.ping,

    async close() {
      await end();
      // Their farewell is on its way; a dead network would keep them for a quarter of an hour.
      for (const client of clients.all) client.socket.destroySoon();
    },

    abort() {
      void end();
      for (const client of clients.all) client.cut();
    },
  };
}

interface Clients {
  readonly pool: pg.Pool;
  readonly all: ReadonlySet<WatchedClient>;
  readonly idle: ReadonlySet<WatchedClient>;
}

function openPool(connection: pg.ClientConfig, options: DatabaseOptions, timeouts: Timeouts): Clients {
  const all = new Set<WatchedClient>();
  const idle = new Set<WatchedClient>();
  const remember = (client: WatchedClient): void => {
    all.add(client);
    client.socket.once('close', () => {
      all.delete(client);
      idle.delete(client);
    });
  };
  const config = {
    ...connection,
    onOpen: remember,
    Client: WatchedClient as unknown as new () => WatchedClient,
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    statement_timeout: timeouts.statementMs,
    lock_timeout: timeouts.lockMs,
    idle_in_transaction_session_timeout: timeouts.idleInTransactionMs,
  };
  const pool = new pg.Pool(config);
  // For the whole life of each connection: one that is lost in an unwatched moment would end the process.
  pool.on('connect', (client) => {
    client.on('error', options.onError);
    readInSlices((client as unknown as { connection: { stream: Duplex } }).connection.stream);
  });
  pool.on('acquire', (client) => idle.delete(client as unknown as WatchedClient));
  pool.on('release', (error: Error | undefined, client) => {
    if (!error) idle.add(client as unknown as WatchedClient);
  });
  pool.on('error', () => undefined);
  return { pool, all, idle };
}

interface Health extends Listener {
  ping(deadlineMs: number): Promise<void>;
  stop(): void;
}

/**
 * Needs room on the disk for a file of its own, as a table that grows does, and leaves nothing behind. Asked only of a
 * database that has refused to write.
 */
const writeProbe = `CREATE TEMPORARY TABLE write_probe ON COMMIT DROP AS
  SELECT repeat(md5(n::text), 60) AS filler FROM generate_series(1, 32) AS n`;

/** Knows whether the database answers, and gives up idle connections once it does not. */
function watchPool({ pool, idle }: Clients, options: DatabaseOptions, { heartbeatMs }: Timeouts): Health {
  // An answer as young as this says that the database is there.
  const freshMs = heartbeatMs / 3;
  let answeredMs = -Infinity;
  /** Why it could not write the last time; until it can again. */
  let refusal: Error | undefined;
  const cutIdle = (): void => {
    for (const client of idle) client.cut();
  };

  const answered = (): void => {
    answeredMs = performance.now();
  };

  function failed(error: unknown): void {
    // One dead connection means that those opened before it are dead too.
    if (error instanceof Error && error.message === readTimeout) cutIdle();
    if (!(error instanceof pg.DatabaseError)) return;
    if (unwritableStates.test(error.code ?? '')) refusal = error;
    if (!isAway(error)) answered();
  }

  async function ask(deadlineMs: number): Promise<void> {
    const statement = {
      text: `SELECT current_setting('transaction_read_only') AS read_only`,
      query_timeout: deadlineMs,
    };
    const { rows } = await (pool as Connection).query(statement);
    answered();
    const [row] = rows as { read_only: string }[];
    if (row?.read_only !== 'off') throw new Error('the database is read-only');
    if (!refusal) return;
    try {
      await (pool as Connection).query({ text: writeProbe, query_timeout: deadlineMs });
    } catch (error) {
      // A login that may not make temporary tables says nothing about the disk.
      if (isAway(error)) throw error;
    }
    refusal = undefined;
  }

  async function ping(deadlineMs: number): Promise<void> {
    const startedMs = performance.now();
    if (!refusal && startedMs - answeredMs < freshMs) return;
    const late = new Error(`the database did not respond within ${deadlineMs} ms`);
    const expiry = Promise.withResolvers<never>();
    const timer = setTimeout(() => expiry.reject(late), deadlineMs);
    try {
      await Promise.race([ask(deadlineMs), expiry.promise]);
    } catch (error) {
      // A pool that is busy has no connection to ask with, and hears from the database all the time.
      if (error !== late || answeredMs < startedMs || refusal) throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  let asking = false;
  const heartbeat = setInterval(() => {
    if (asking || idle.size === 0 || performance.now() - answeredMs < heartbeatMs) return;
    asking = true;
    ping(heartbeatMs)
      .catch((error: Error) => {
        options.onError(new Error(`${options.applicationName}: ${error.message}`, { cause: error }));
        cutIdle();
      })
      .finally(() => {
        asking = false;
      });
  }, heartbeatMs).unref();

  return { answered, failed, ping, stop: () => clearInterval(heartbeat) };
}

function startOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

/** The name of the unique or check constraint an error came from, if it came from one. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined;
}

/** The database serves no request at the moment: lost connections, exhausted resources, shutdown, failover, time-outs. */
const awayStates = /^(08|53|57|58|25006|25P03|3D000)/;
/** Two statements were in each other's way. */
const collisionStates = /^(40001|40P01|55P03)/;
/** Read-only, a full disk, a disk that fails. */
const unwritableStates = /^(25006|53100|58030)/;
const networkErrors = /^(ECONN|EHOST|ENET|EAI_|EPIPE$|ETIMEDOUT$|ENOTFOUND$)/;
/** Of these any failure means that there is no way to the database. */
const connectingCalls = ['connect', 'getaddrinfo'];
const readTimeout = 'Query read timeout';
const connectionLost =
  /^(Query read timeout|Connection terminated|Client has encountered a connection error|timeout exceeded when trying|timeout expired)/;

/** Whether the database serves no request at the moment: asking again at once would only take longer. */
export function isAway(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return awayStates.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  // A name with several addresses, none of which could be connected to.
  if (error instanceof AggregateError) return error.errors.some(isAway);
  const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
  return networkErrors.test(code) || connectingCalls.includes(syscall) || connectionLost.test(error.message);
}

/**
 * Whether the database was unreachable, restarting or overloaded: the request may simply be sent again. Whether a
 * statement took effect is not known then, unless PostgreSQL itself refused it.
 */
export function isUnavailable(error: unknown): boolean {
  return isAway(error) || (error instanceof pg.DatabaseError && collisionStates.test(error.code ?? ''));
}
