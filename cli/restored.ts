import { join } from 'node:path';
import { currentRestore, markName, noteRestored } from '../server/features/restores/service.ts';
import { findResidents } from '../server/shards/inspect-queries.ts';
import { setFences } from '../server/shards/move/queries.ts';
import { firstShard, type ShardDatabase, type Shards } from '../server/shards/shards.ts';
import { chosenShard } from './chosen-shard.ts';
import { withDatabase } from './connect.ts';
import { readDirectory } from './doctor-shard-queries.ts';
import type { Flags } from './options.ts';

/** `restored`: marks the database as restored from a backup, before the service starts. */
export async function restoredCommand(_words: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, clock, config }) => {
    const shard = chosenShard(shards, flags.shard);
    const { db } = shard;
    const moved = await fenceMoved(shards, shard);
    const isNew = await noteRestored(db, clock.nowMs(), 'svc restored', join(config.dataDir, markName(shard.name)));
    const restore = await currentRestore(db);
    if (flags.json)
      return `${JSON.stringify({ restored: true, noticed_at: restore?.noticed_at ?? null, moved: [...moved.keys()] })}\n`;
    const since = isNew ? '' : ` since ${restore?.noticed_at.toISOString()}`;
    return `The database is marked as restored${since}. Requests that move money and renewals are closed until the worker has compared the records of each live company with its processors.\n${movedText(moved)}`;
  });
}

/**
 * Companies that have moved away since the backup are in it, and would be billed on two shards. The directory was not
 * restored, so it knows where they are; after a restore of the first shard it does not.
 */
async function fenceMoved({ control }: Shards, { name, db }: ShardDatabase): Promise<Map<string, string>> {
  if (name === firstShard) return new Map();
  const directory = await readDirectory(control);
  const places = (await findResidents(db)).map((id) => [id, directory.get(id) ?? firstShard] as const);
  const moved = new Map(places.filter(([, place]) => place !== name));
  await setFences(db, [...moved.keys()], 'left');
  return moved;
}

function movedText(moved: ReadonlyMap<string, string>): string {
  if (moved.size === 0) return '';
  const lines = [...moved].map(([id, place]) => `  svc companies move --company ${id} --to ${place}\n`);
  return `These companies are on another shard since the backup. Their rows in it are not used; these commands remove them:\n${lines.join('')}`;
}
