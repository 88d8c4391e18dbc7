import { currentRestore, noteRestored } from '../server/features/restores/service.ts';
import { chosenShard } from './chosen-shard.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';

/** `restored`: marks the database as restored from a backup, before the service starts. */
export async function restoredCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, clock }) => {
    const { db } = chosenShard(shards, flags.shard);
    const isNew = await noteRestored(db, clock.nowMs(), 'svc restored');
    const restore = await currentRestore(db);
    if (flags.json) return `${JSON.stringify({ restored: true, noticed_at: restore?.noticed_at ?? null })}\n`;
    const since = isNew ? '' : ` since ${restore?.noticed_at.toISOString()}`;
    return `The database is marked as restored${since}. Live subscriptions are not billed until \`svc reconcile\` has compared the records with the processors.\n`;
  });
}
