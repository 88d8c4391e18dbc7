import { text } from 'node:stream/consumers';
import type { Config } from '../server/config.ts';
import { ConfigurationError } from '../server/platform/configuration-error.ts';
import { explainDatabase } from '../server/platform/database-error.ts';
import { migrate } from '../server/platform/migrations.ts';
import {
  findForeignTables,
  findResidentsOfAny,
  findWrongSettings,
  isSameDatabase,
  readWalLevel,
} from '../server/shards/inspect-queries.ts';
import { findShard } from '../server/shards/queries.ts';
import { parseShards } from '../server/shards/settings.ts';
import type { ShardDatabase, Shards } from '../server/shards/shards.ts';
import { CommandError, UsageError } from './command-error.ts';
import { onEachShard, withPool, withShards } from './connect.ts';
import type { Flags } from './options.ts';

/** `shards add`: checks and migrates a database, and prints the setting that makes it a shard. */
export async function addShard(config: Config, given: string | undefined, flags: Flags): Promise<string> {
  if (!given) throw new UsageError('Use shards add NAME=URL. With - the entry is read from standard input.');
  if (!config.DATABASE_URL)
    throw new CommandError(
      'The embedded PostgreSQL is always the only shard. Move its data to a PostgreSQL server first, and set DATABASE_URL; see docs/scaling.md.',
    );
  const { name, url } = newShard(config, given === '-' ? (await text(process.stdin)).trim() : given);
  return withShards(config, (shards) =>
    withPool(url, async (db) => {
      await refuseUnusable({ name, db }, shards);
      await migrate(url).catch(explainDatabase('SVC_SHARDS', name));
      const entries = [...config.SVC_SHARDS].map(([known, secret]) => `${known}=${secret.reveal()}`);
      const setting = [...entries, `${name}=${url}`].join(' ');
      const walLevel = await readWalLevel(db);
      if (flags.json) return `${JSON.stringify({ name, wal_level: walLevel, SVC_SHARDS: setting })}\n`;
      return `The shard "${name}" is migrated and can be used. Set this for every process, and restart them one after the other:

SVC_SHARDS="${setting}"
${config.SVC_VAULT_SHARDS.size > 0 ? '\nAdd it to SVC_VAULT_SHARDS too, with the login of the vault.\n' : ''}${walLevel === 'logical' ? '' : `\nIts server has wal_level = ${walLevel}. Companies can be placed on it and move to it. Before they can leave it, run ALTER SYSTEM SET wal_level = 'logical' there and restart the server.\n`}`;
    }),
  );
}

function newShard({ SVC_SHARDS }: Config, entry: string): { readonly name: string; readonly url: string } {
  try {
    const [added, ...more] = parseShards(entry);
    if (!added || more.length > 0)
      throw new ConfigurationError('must name one shard, for example b=postgres://host-b/svc');
    const [name, url] = added;
    if (SVC_SHARDS.has(name)) throw new ConfigurationError(`names the shard "${name}", which SVC_SHARDS has already`);
    return { name, url: url.reveal() };
  } catch (error) {
    throw error instanceof ConfigurationError ? new CommandError(`NAME=URL ${error.message}.`) : error;
  }
}

/** Before anything changes: the server, its settings, and whose database it is. */
async function refuseUnusable({ name, db }: ShardDatabase, { all, control }: Shards): Promise<void> {
  const wrong = await findWrongSettings(db).catch(explainDatabase('SVC_SHARDS', name));
  if (wrong.length > 0) throw new CommandError(`The server of the shard "${name}" ${wrong.join(', and ')}.`);
  const tables = await findForeignTables(db);
  if (tables.length > 0)
    throw new CommandError(
      `The database of the shard "${name}" has tables of another program (${tables.join(', ')}). Create an empty database.`,
    );
  await onEachShard(all, async (known) => {
    if (await isSameDatabase(known.db, db))
      throw new CommandError(`The database of the shard "${name}" is that of the shard "${known.name}".`);
  });
  // A database of another installation, or of a shard that had another name.
  for (const id of await findResidentsOfAny(db)) {
    const place = await findShard(control, id);
    if (place !== name)
      throw new CommandError(
        `The database of the shard "${name}" has the company ${id}, which the directory places on the shard "${place}". Use an empty database.`,
      );
  }
}
