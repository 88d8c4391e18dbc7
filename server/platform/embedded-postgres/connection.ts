import pg from 'pg';

export const superuser = 'svc';
// initdb creates this database, so no start has to create one.
const database = 'postgres';
const connectTimeoutMs = 2_000;

export function connectionStringOf(password: string, port: number): string {
  return `postgres://${superuser}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

/** Returns null if the server accepts the connection. */
export async function connectionProblem(connectionString: string): Promise<unknown> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return null;
  } catch (error) {
    client.end().catch(() => undefined);
    return error;
  }
}
