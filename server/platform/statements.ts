import { createHash } from 'node:crypto';
import type { Database, Statement } from './database.ts';
import type { Client, DatabaseConnection } from './database-connections.ts';
import { tracedStatement } from './statement-spans.ts';
import { noteWrites } from './written-rows.ts';

/** Statements on one connection. Those that are sent without waiting for each other share a round trip. */

/**
 * Statements beyond this many texts run unnamed, so that unusual filter combinations cannot accumulate on the server.
 */
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

/** How the statements of a pool are sent. */
export interface Sending {
  /** Begins a transaction. */
  readonly begin: string;
  /** Whether a statement is prepared once on each connection. */
  readonly isPrepared: () => boolean;
  /** Called after every statement, whether or not the database answered. */
  answered(): void;
  failed(error: unknown): void;
}

export async function run<Row extends object>(
  connection: DatabaseConnection,
  sending: Sending,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const name = sending.isPrepared() ? statementName(text) : undefined;
  try {
    const statement = { text, ...(name && { name }), ...(values && { values: [...values] }) };
    const result = await tracedStatement(text, () => connection.query(statement));
    sending.answered();
    noteWrites(text, values, result.rowCount);
    return result.rows as Row[];
  } catch (error) {
    sending.failed(error);
    throw error;
  }
}

/** What is sent until the end of the turn of the event loop leaves with one call of the system. */
function sendTogether(connection: Client): void {
  const { stream } = connection.connection;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

export function transactionOn(connection: Client, sending: Sending): Database {
  sendTogether(connection);
  let begin: Promise<unknown> | undefined = connection.query({ text: sending.begin });
  // The first statement reports an error of BEGIN; without this handler the error would also be an unhandled
  // rejection.
  begin.catch(() => undefined);
  const transaction: Database = {
    async query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      const rows = run<Row>(connection, sending, text, values);
      const [result] = await Promise.all([rows, begin]);
      begin = undefined;
      return result;
    },
    transaction: (work) => work(transaction),
  };
  return transaction;
}

/** One statement in a transaction of its own, in one round trip. */
export async function runInTransaction<Row extends object>(
  connection: Client,
  sending: Sending,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> {
  const transaction = transactionOn(connection, sending);
  const rows = transaction.query<Row>(text, values);
  const [result, committed] = await Promise.allSettled([rows, connection.query({ text: 'COMMIT' })]);
  if (result.status === 'rejected') throw result.reason;
  if (committed.status === 'fulfilled' && committed.value.command === 'COMMIT') return result.value;
  // Without its COMMIT the statement may have had no effect.
  const problem = committed.status === 'rejected' ? committed.reason : new Error('COMMIT was not carried out');
  sending.failed(problem);
  throw problem;
}

/** After a statement that failed, PostgreSQL answers COMMIT with ROLLBACK. */
export async function commit(connection: Client, sending: Sending, last: Statement | undefined): Promise<void> {
  sendTogether(connection);
  const [, { command }] = await Promise.all([
    last && run(connection, sending, last.text, last.values),
    connection.query({ text: 'COMMIT' }),
  ]);
  if (command !== 'COMMIT') throw new Error(`COMMIT was answered with ${command}`);
}
