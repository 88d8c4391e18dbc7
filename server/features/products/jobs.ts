import type { Queryable } from '../../platform/database.ts';
import type { FileStore } from '../../platform/files/file-store.ts';
import { forgetUnreferencedFiles, takeUnreferencedFiles } from './queries.ts';

/** The entry is deleted only after the file: a crash in between, or a failed deletion, repeats it. */
export async function deleteUnreferencedFiles(db: Queryable, files: FileStore, batch: number): Promise<number> {
  const keys = await takeUnreferencedFiles(db, batch);
  const results = await Promise.allSettled(keys.map((key) => files.delete(key)));
  const gone = keys.filter((_, index) => results[index]?.status === 'fulfilled');
  if (gone.length > 0) await forgetUnreferencedFiles(db, gone);
  return keys.length;
}
