import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedPostgres } from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { rolePassword, type TestDatabase } from './database.ts';
import { startMigratedServer } from './migrated-cluster.ts';
import { startTestService, type TestOptions, type TestService } from './service.ts';

/** A service on two PostgreSQL servers, between which companies can move. Its own companies are on shard b. */
export interface ShardServers {
  readonly service: TestService;
  /** The URL of a shard, with the login of the owner. */
  readonly urlOf: (shard: string) => string;
  stop(): Promise<void>;
}

/** For tests, which never crash the server. */
const fast = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};
/** As a server is usually set up. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' };

type Urls = Pick<TestDatabase, 'connectionString' | 'apiUrl' | 'vaultUrl'>;

function urlsOf({ connectionString }: EmbeddedPostgres): Urls {
  const as = (role: string): string => {
    const url = new URL(connectionString);
    url.username = role;
    url.password = rolePassword;
    return url.href;
  };
  return { connectionString, apiUrl: as('svc_api'), vaultUrl: as('svc_vault') };
}

export async function startShardServers(
  options: TestOptions = {},
  durability: typeof durable | typeof fast = fast,
): Promise<ShardServers> {
  const settings = { shared_buffers: '64MB', wal_level: 'logical', ...durability };
  const folder = await mkdtemp(join(tmpdir(), 'svc-shard-servers-'));
  const start = (name: string): Promise<EmbeddedPostgres> =>
    startMigratedServer({ dataDirectory: join(folder, name), settings });
  const servers = await Promise.all([start('a'), start('b')]);
  const [a, b] = servers.map(urlsOf) as [Urls, Urls];
  const service = await startTestService({
    ...options,
    database: { ...a, others: [{ ...b, name: 'b' }], settings: {}, drop: async () => undefined },
  });
  return {
    service,
    urlOf: (shard) => (shard === 'a' ? a : b).connectionString,
    async stop() {
      await service.stop();
      await Promise.all(servers.map((server) => server.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
