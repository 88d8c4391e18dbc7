import { loadConfig } from '../server/config.ts';
import { readMigrations } from '../server/platform/migration-files.ts';
import { migrate } from '../server/platform/migrations.ts';
import { CommandError } from './command-error.ts';
import { databasesOf, explainShard, tryEachShard, withConnection } from './connect.ts';
import type { Flags } from './options.ts';
import { withProgress } from './progress.ts';

/**
 * `migrate`: migrates the databases of all shards, for services whose own login cannot. One that fails does not keep the others
 * from it; a second run continues with those that are left.
 */
export async function migrateCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const config = loadConfig(process.env);
  const migrations = await readMigrations();
  const results = await withConnection(config, (firstUrl) =>
    withProgress('Migrating', () =>
      tryEachShard(databasesOf(config, firstUrl), ({ name, url }) =>
        migrate(url, migrations).catch(explainShard(name)),
      ),
    ),
  );
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
  const [first] = failures;
  if (first && results.length === 1) throw first;
  const newest = migrations.at(-1)?.name ?? '';
  const migrated = results.length - failures.length;
  if (flags.json) {
    if (first) process.exitCode = 1;
    const failed = failures.map(({ message }) => message);
    return `${JSON.stringify({ migrated_to: newest, databases: migrated, failed })}\n`;
  }
  if (first)
    throw new CommandError(
      `${failures.map(({ message }) => `${message}\n`).join('')}${migrated} of ${results.length} databases are migrated to ${newest}. ` +
        'Run `svc migrate` again once the others can be used: it continues with them.',
    );
  return results.length === 1
    ? `The database is migrated to ${newest}.\n`
    : `The databases of ${results.length} shards are migrated to ${newest}.\n`;
}
