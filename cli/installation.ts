import { fileStore } from '../server/start/file-store.ts';
import { openRedisStore } from '../server/start/rate-limiter.ts';
import { type Component, withCause } from '../server/platform/components.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { withinTime } from '../server/platform/in-time.ts';
import { type RunningProcess, processOf } from '../server/start/application-name.ts';
import { hasKeys } from '../server/vault/open-key-store.ts';
import { firstShard, type ShardDatabase } from '../server/shards/shards.ts';
import { type ReplicaState, replicaState } from '../server/platform/replica.ts';
import { type Connected, onEachShard, withPool } from './connect.ts';
import { withVault } from './open-vault.ts';

/** The parts of the installation as this machine reaches them, for `status` and `doctor`. */

export interface PartState {
  readonly component: Component;
  /** Undefined if the part can be used. */
  readonly problem: string | undefined;
}

export interface VaultState {
  /** False if the settings of this command name neither a vault nor its keys. */
  readonly isKnown: boolean;
  readonly problem: string | undefined;
  readonly processorProblem: string | undefined;
  readonly nowMs: number | undefined;
}

const checkMs = 5_000;

export async function readVault(connected: Pick<Connected, 'shards' | 'config'>): Promise<VaultState> {
  const { config } = connected;
  const nothing = { problem: undefined, processorProblem: undefined, nowMs: undefined };
  if (config.SVC_VAULT_URL.length === 0 && !hasKeys(config)) return { isKnown: false, ...nothing };
  try {
    return await withVault(connected, async (vault) => {
      const { problem, processorProblem } = await vault.health();
      return { isKnown: true, problem, processorProblem, nowMs: await vault.nowMs() };
    });
  } catch (error) {
    return { ...nothing, isKnown: true, problem: (error as Error).message };
  }
}

/** Uses the object store, the mail server and Redis, if the settings name them. */
export async function readParts({ config }: Pick<Connected, 'config'>): Promise<PartState[]> {
  const store = fileStore(config);
  const mail = config.SMTP_URL?.reveal();
  const checks: Promise<PartState>[] = [];
  if (store) checks.push(checked('object_store', store.check()));
  if (mail) checks.push(checked('mail', checkMail(mail, config.SVC_MAIL_FROM)));
  if (config.REDIS_URL) checks.push(checked('rate_limit_store', checkRedis(config)));
  return Promise.all(checks);
}

async function checked(component: Component, check: Promise<void>): Promise<PartState> {
  try {
    await withinTime(check, checkMs);
    return { component, problem: undefined };
  } catch (error) {
    return { component, problem: withCause(error as Error) };
  }
}

/** Loaded only if there is a mail server. */
async function checkMail(url: string, from: string): Promise<void> {
  const { smtpMailer } = await import('../server/platform/mail/smtp.ts');
  const mailer = smtpMailer(url, from);
  await mailer.check().finally(() => void mailer.close());
}

async function checkRedis(config: Connected['config']): Promise<void> {
  const { limiter, use } = await openRedisStore(config, () => undefined);
  await use().finally(() => void limiter.close?.());
}

/** The replicas for reads, by the name of their shard. */
export async function readReplicas(
  config: Connected['config'],
  shards: readonly ShardDatabase[],
): Promise<ReadonlyMap<string, ReplicaState>> {
  const { SVC_READ_URL: first, SVC_READ_SHARDS: others } = config;
  const urls = new Map([...(first ? [[firstShard, first] as const] : []), ...others]);
  const states = await onEachShard(
    shards.filter(({ name }) => urls.has(name)),
    async ({ name, db: primary }) => {
      const url = urls.get(name)?.reveal() ?? '';
      return [name, await withPool(url, (standby) => replicaState({ primary, standby }))] as const;
    },
  );
  return new Map(states);
}

/** The processes of the service that are connected to the database now. */
export async function runningProcesses(db: DatabasePool): Promise<RunningProcess[]> {
  const rows = await db.query<{ application_name: string }>(
    `SELECT DISTINCT application_name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'svc/%' ORDER BY 1`,
  );
  return rows.flatMap(({ application_name }) => processOf(application_name) ?? []);
}

/** The newest migration and, if PostgreSQL archives its log, when it last did. */
export async function readDatabase(
  db: DatabasePool,
): Promise<{ version: string; schema: string; archivedSecondsAgo: number | null }> {
  const [row] = await db.query<{ version: string; schema: string; archived: number | null }>(
    `SELECT current_setting('server_version') AS version, (SELECT max(name) FROM (SELECT name FROM schema_migrations UNION ALL SELECT name FROM compatible_migrations) all_names) AS schema,
       (SELECT extract(epoch FROM now() - last_archived_time)::float8 FROM pg_stat_archiver) AS archived`,
  );
  return { version: row?.version ?? '', schema: row?.schema ?? '', archivedSecondsAgo: row?.archived ?? null };
}
