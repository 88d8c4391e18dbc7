import pg from 'pg';
import type { TestDatabase } from './database.ts';

/**
 * A database whose clock can be set, without changing the clock of the machine: `now()` and `clock_timestamp()` come
 * from a schema that precedes those of PostgreSQL. Column defaults are created again, since they are bound at
 * creation.
 */
export interface SteppedDatabase {
  /** Sets how far its clock is ahead. */
  setOffset(ms: number): Promise<void>;
  close(): Promise<void>;
}

const clock = `
  CREATE SCHEMA stepped;
  CREATE TABLE stepped.clock (offset_ms bigint NOT NULL);
  INSERT INTO stepped.clock VALUES (0);
  CREATE FUNCTION stepped.now() RETURNS timestamptz LANGUAGE sql STABLE SECURITY DEFINER AS
    $$ SELECT pg_catalog.now() + offset_ms * interval '1 ms' FROM stepped.clock $$;
  CREATE FUNCTION stepped.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE SECURITY DEFINER AS
    $$ SELECT pg_catalog.clock_timestamp() + offset_ms * interval '1 ms' FROM stepped.clock $$;
  GRANT USAGE ON SCHEMA stepped TO PUBLIC;
  ALTER TABLE open_transactions ALTER COLUMN opened_at SET DEFAULT stepped.now();
  ALTER TABLE events ALTER COLUMN inserted_at SET DEFAULT stepped.now();
  ALTER TABLE webhook_deliveries ALTER COLUMN inserted_at SET DEFAULT stepped.now();`;

export async function stepDatabase({
  connectionString,
}: Pick<TestDatabase, 'connectionString'>): Promise<SteppedDatabase> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(clock);
  const name = new URL(connectionString).pathname.slice(1);
  await client.query(`ALTER DATABASE ${name} SET search_path = stepped, pg_catalog, public`);
  return {
    async setOffset(ms) {
      await client.query('UPDATE stepped.clock SET offset_ms = $1', [ms]);
    },
    close: () => client.end(),
  };
}
