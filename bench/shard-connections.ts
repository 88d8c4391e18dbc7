import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ShardBed } from './shard-bed.ts';

const pollMs = 20;
const count = `SELECT count(*)::integer AS count FROM pg_stat_activity WHERE application_name LIKE 'svc %'`;

/** Counts the connections of the service or of a command, over all servers of a bed. */
export async function watchConnections(bed: ShardBed): Promise<{ most(): number; stop(): Promise<void> }> {
  const servers = [...new Set([...bed.shards.values()].map((url) => new URL('/postgres', url).href))];
  const clients = servers.map((connectionString) => new pg.Client({ connectionString }));
  for (const client of clients) await client.connect();
  let most = 0;
  const over = new AbortController();
  const watching = (async () => {
    for (; !over.signal.aborted; await sleep(pollMs)) {
      const counts = await Promise.all(
        clients.map(async (client) => Number((await client.query(count)).rows[0].count)),
      );
      most = Math.max(
        most,
        counts.reduce((sum, one) => sum + one, 0),
      );
    }
  })();
  return {
    most: () => most,
    async stop() {
      over.abort();
      await watching;
      for (const client of clients) await client.end();
    },
  };
}
