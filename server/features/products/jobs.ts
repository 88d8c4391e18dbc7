import type { Queryable } from '../../platform/database.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import { dueUnreferencedFiles, forgetUnreferencedFiles } from './queries.ts';

/** The entry goes only after the file is gone, so that a crash in between repeats the deletion. */
export async function deleteUnreferencedFiles(db: Queryable, files: FileStore, batch: number): Promise<number> {
  const keys = await dueUnreferencedFiles(db, batch);
  for (const key of keys) await files.delete(key);
  if (keys.length > 0) await forgetUnreferencedFiles(db, keys);
  return keys.length;
}
