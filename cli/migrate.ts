import { loadConfig } from '../server/config.ts';
import { explainDatabase } from '../server/platform/database-error.ts';
import { migrationNames } from '../server/platform/migration-files.ts';
import { migrate } from '../server/platform/migrations.ts';
import { withConnection } from './connect.ts';
import type { Flags } from './options.ts';

/** `migrate`: migrates the database, for services whose own login cannot. */
export async function migrateCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const config = loadConfig(process.env);
  await withConnection(config, (url) => migrate(url).catch(explainDatabase('DATABASE_URL')));
  for (const [name, url] of config.SVC_SHARDS) await migrate(url.reveal()).catch(explainDatabase('SVC_SHARDS', name));
  const newest = (await migrationNames()).at(-1) ?? '';
  return flags.json ? `${JSON.stringify({ migrated_to: newest })}\n` : `The database is migrated to ${newest}.\n`;
}
