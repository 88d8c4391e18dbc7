import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** Observes from outside which operations were in doubt, and for how long. */

export interface DoubtWatch {
  readonly operations: ReadonlyMap<string, { readonly orderId: string; readonly ageMs: number }>;
  stop(): Promise<void>;
}

const everyMs = 250;
/** An operation that is not marked, because its process was killed, counts as in doubt after this time. */
const plainAgeMs = 3_000;

export function watchDoubt(connectionString: string): DoubtWatch {
  const operations = new Map<string, { orderId: string; ageMs: number }>();
  let stopped = false;

  async function check(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ id: string; order_id: string; age_ms: number }>(
      `SELECT id, order_id, (extract(epoch FROM now() - uuid_extract_timestamp(id)) * 1000)::integer AS age_ms
       FROM open_transactions
       WHERE slot <> id AND state <> 'with_customer' AND (in_doubt OR now() - uuid_extract_timestamp(id) > $1 * interval '1 ms')`,
      [plainAgeMs],
    );
    for (const { id, order_id, age_ms } of rows) operations.set(id, { orderId: order_id, ageMs: age_ms });
  }

  async function watch(): Promise<void> {
    while (!stopped) {
      const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000 });
      client.on('error', () => undefined);
      try {
        await client.connect();
        for (; !stopped; await sleep(everyMs)) await check(client);
      } catch {
        // The database was killed and will be restarted.
        await sleep(everyMs);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  const watching = watch();
  return {
    operations,
    async stop() {
      stopped = true;
      await watching;
    },
  };
}
