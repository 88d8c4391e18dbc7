import { createHash } from 'node:crypto';
import pg from 'pg';

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
  close(): Promise<void>;
}

const int8Type = 20;
pg.types.setTypeParser(int8Type, (text) => {
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

/** The part of a connection that is used here; two calls without waiting in between travel together. */
interface Connection {
  query(statement: { text: string; values?: unknown[]; name?: string }): Promise<{ rows: object[]; command: string }>;
}

async function run<Row extends object>(
  connection: Connection,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const name = statementName(text);
  const result = await connection.query({ text, ...(name && { name }), ...(values && { values: [...values] }) });
  return result.rows as Row[];
}

function transactionOn(connection: Connection): Database {
  let begin: Promise<unknown> | undefined = connection.query({ text: 'BEGIN' });
  // An error of BEGIN surfaces with the first statement; without this it would also be "unhandled".
  begin.catch(() => undefined);
  const transaction: Database = {
    async query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      const rows = run<Row>(connection, text, values);
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

export function openDatabase(options: DatabaseOptions): DatabasePool {
  const connectionOptions = {
    connectionString: options.connectionString,
    application_name: options.applicationName,
    keepAlive: true,
    pipeline: true,
    ...(options.settings && { options: startOptions(options.settings) }),
  };
  const pool = new pg.Pool({
    ...connectionOptions,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: 15_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 20_000,
  });
  // For the whole life of each connection: one that is lost in an unwatched moment would end the process.
  pool.on('connect', (client) => client.on('error', options.onError));
  pool.on('error', () => undefined);
  const listeners = new Set<{ close(): Promise<void> }>();

  return {
    query: (text, values) => run(pool as Connection, text, values),

    async transaction(work) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        const result = await work(transactionOn(client));
        const { command } = await client.query('COMMIT');
        if (command !== 'COMMIT') throw new Error(`COMMIT was answered with ${command}`);
        return result;
      } catch (error) {
        await client.query('ROLLBACK').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },

    async listen(channel, onMessage, onGap) {
      const listener = await keepListening({
        ...connectionOptions,
        channel,
        onMessage,
        onGap,
        onError: options.onError,
      });
      listeners.add(listener);
    },

    stats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),

    async close() {
      await Promise.all([...listeners].map((listener) => listener.close()));
      await pool.end();
    },
  };
}

function startOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

interface ListenOptions extends pg.ClientConfig {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  readonly onGap: () => void;
  readonly onError: (error: Error) => void;
}

const reconnectDelayMs = 500;

async function keepListening(options: ListenOptions): Promise<{ close(): Promise<void> }> {
  let closed = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const next = new pg.Client(options);
    next.on('error', options.onError);
    next.on('notification', (message) => options.onMessage(message.payload ?? ''));
    next.on('end', retryLater);
    await next.connect();
    await next.query(`LISTEN ${pg.escapeIdentifier(options.channel)}`);
    client = next;
  }

  function retryLater(): void {
    if (closed) return;
    client = undefined;
    clearTimeout(timer);
    timer = setTimeout(() => {
      connect().then(options.onGap, retryLater);
    }, reconnectDelayMs);
    timer.unref();
  }

  await connect();
  return {
    async close() {
      closed = true;
      clearTimeout(timer);
      await client?.end();
    },
  };
}

/** The name of the unique or check constraint an error came from, if it came from one. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code?.startsWith('23') ? error.constraint : undefined;
}

/** Lost connections, exhausted resources, shutdown, failover, deadlocks, time-outs, a database that is not there. */
const unavailableStates = /^(08|53|57|58|25006|25P03|40001|40P01|55P03|3D000)/;
const connectionErrorCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND']);

/** Whether the database was unreachable, restarting or overloaded: the request may simply be sent again. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return unavailableStates.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return (
    connectionErrorCodes.has(code) ||
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying)/.test(
      error.message,
    )
  );
}
