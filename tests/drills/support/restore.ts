import pg from 'pg';

/** A backup of a database on the same server, and its restore. */

const backup = 'backup';

export async function saveDatabase(connectionString: string): Promise<void> {
  await onServer(connectionString, (name) => `CREATE DATABASE ${backup} TEMPLATE ${name}`);
}

export async function replaceDatabase(connectionString: string): Promise<void> {
  await onServer(
    connectionString,
    (name) => `DROP DATABASE ${name}`,
    (name) => `ALTER DATABASE ${backup} RENAME TO ${name}`,
  );
}

/** Runs statements that need a database without connections, from another database on the same server. */
async function onServer(connectionString: string, ...statements: readonly ((name: string) => string)[]): Promise<void> {
  const address = new URL(connectionString);
  const name = address.pathname.slice(1);
  address.pathname = '/template1';
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  try {
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    for (const statement of statements) await client.query(statement(name));
  } finally {
    await client.end();
  }
}
