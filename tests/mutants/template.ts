import pg from 'pg';

/** The database that each test file clones: as it is migrated, or without a rule. */

async function connected<Value>(url: string, use: (client: pg.Client) => Promise<Value>): Promise<Value> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Makes the template again from the migrated database, and changes it. */
export async function makeTemplate(server: string, change = ''): Promise<void> {
  await connected(server, async (client) => {
    await client.query('ALTER DATABASE svc_template IS_TEMPLATE false');
    await client.query('DROP DATABASE svc_template');
    await client.query('CREATE DATABASE svc_template TEMPLATE postgres');
  });
  const url = new URL(server);
  url.pathname = '/svc_template';
  if (change !== '') await connected(url.href, (client) => client.query(change));
  await connected(server, (client) => client.query('ALTER DATABASE svc_template IS_TEMPLATE true'));
}

/** A test process that was killed leaves its databases. */
export async function dropLeftDatabases(server: string): Promise<void> {
  await connected(server, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT datname AS name FROM pg_database WHERE datname LIKE 'test\\_%'`,
    );
    for (const { name } of rows) await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });
}
