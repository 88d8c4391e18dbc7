import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { ConfigurationError } from './configuration-error.ts';
import { inTime } from './in-time.ts';

/**
 * A pooler in transaction mode, such as PgBouncer: it lends a connection of the server to a client for one transaction. What a
 * session keeps does not work through it: LISTEN, locks of a session, settings, and with some of them prepared statements.
 */

export interface Pooler {
  readonly connectionString: string;
  /** Whether it prepares a statement wherever it is used. False until `examine` has found that out. */
  readonly keepsStatements: () => boolean;
  examine(): Promise<void>;
}

export function poolerAt(connectionString: string): Pooler {
  let keeps = false;
  return {
    connectionString,
    keepsStatements: () => keeps,
    async examine() {
      keeps = await keepsStatements(connectionString);
    },
  };
}

const usualConnectMs = 10_000;

async function withClient<Result>(
  connectionString: string,
  work: (client: pg.Client) => Promise<Result>,
  connectMs = usualConnectMs,
): Promise<Result> {
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
    application_name: 'svc start',
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A pooler that prepares statements itself gives them names of its own. */
async function keepsStatements(connectionString: string): Promise<boolean> {
  const name = `svc_${randomUUID()}`;
  const text = `SELECT name FROM pg_prepared_statements WHERE statement LIKE '%${name}%'`;
  return withClient(connectionString, async (client) => {
    await client.query('BEGIN');
    await client.query({ name, text });
    const { rows } = await client.query({ name, text });
    const isOwnName = rows.length === 0 || rows.some((row) => row.name === name);
    if (isOwnName) await client.query(`DEALLOCATE ALL`);
    await client.query('COMMIT');
    return !isOwnName;
  });
}

const pidOf = async (client: pg.ClientBase): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;

/** A server names its own process when a client connects; a pooler names something of its own. */
const isServer = (client: pg.ClientBase & { readonly processID?: number }, pid: number): boolean =>
  client.processID === pid;

/** A message reaches a client that only waits, unless its connection of the server was lent to others. */
const messageMs = 1_000;

async function hearsMessages(first: pg.ClientBase, connectionString: string, connectMs?: number): Promise<boolean> {
  const channel = `svc_${randomUUID()}`;
  const heard = new Promise<boolean>((resolve) => {
    first.on('notification', (message) => message.channel === channel && resolve(true));
  });
  await first.query(`LISTEN "${channel}"`);
  await withClient(connectionString, (second) => second.query(`NOTIFY "${channel}"`), connectMs);
  if (await inTime(heard, messageMs, false)) return true;
  // On a busy machine it may be late. The server sends it before it answers the next statement.
  await first.query('SELECT 1');
  return inTime(heard, 0, false);
}

/** For the address of a server, which must not lead to such a pooler. */
export const refusePooler = (connectionString: string, setting: string, poolSetting: string): Promise<void> =>
  withClient(connectionString, (client) => refusePoolerOf(client, { connectionString, setting, poolSetting }));

interface Address {
  readonly connectionString: string;
  readonly setting: string;
  readonly poolSetting: string;
  readonly connectMs?: number;
}

/** The same, with a client that is connected. */
export async function refusePoolerOf(client: pg.ClientBase, address: Address): Promise<void> {
  const { connectionString, setting, poolSetting, connectMs } = address;
  if (isServer(client, await pidOf(client)) || (await hearsMessages(client, connectionString, connectMs))) return;
  throw new ConfigurationError(
    `${setting} leads to a pooler in transaction mode, through which LISTEN and locks do not work. ` +
      `Set it to the address of the server, and ${poolSetting} to that of the pooler.`,
  );
}
