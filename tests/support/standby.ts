import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { testSettings } from './embedded-postgres.ts';
import { copyCluster } from './migrated-cluster.ts';

/** A PostgreSQL server and a standby that streams from it. */
export interface Pair {
  readonly primary: EmbeddedPostgres;
  readonly standby: EmbeddedPostgres;
  stop(): Promise<void>;
}

export async function startPair(folder: string): Promise<Pair> {
  const [first, second] = [join(folder, 'primary'), join(folder, 'standby')];
  const start = (dataDirectory: string, settings = {}): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ dataDirectory, settings: { ...testSettings, ...settings } });
  await copyCluster(first);
  await (await start(first)).stop();
  // The copy of a stopped server is a base backup.
  execFileSync('cp', ['-a', first, second]);
  await writeFile(join(second, 'standby.signal'), '');
  const primary = await start(first);
  const { username, password, port } = new URL(primary.connectionString);
  const standby = await start(second, {
    primary_conninfo: `host=127.0.0.1 port=${port} user=${username} password=${password}`,
    // Commits that wait for the standby continue with its next message, by default every 10 s.
    wal_receiver_status_interval: '1s',
  });
  return {
    primary,
    standby,
    async stop() {
      await standby.stop();
      await primary.stop();
    },
  };
}
