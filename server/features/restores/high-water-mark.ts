import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { errorCode } from '../../platform/error-code.ts';

/**
 * The latest live transaction that this machine saw recorded, in a file beside the database. A database that does not have
 * it any longer was restored from a backup, or lost commits in a failover.
 */
const shape = Type.Object({
  /** Which database it speaks of. */
  installation: Type.String(),
  companyId: Type.String(),
  transactionId: Type.String(),
  recordedAtMs: Type.Integer(),
});
export type HighWaterMark = Static<typeof shape>;

const isMark = Compile(shape);

/** Undefined when there is none, or none that can be read. */
export async function readMark(file: string): Promise<HighWaterMark | undefined> {
  try {
    const mark: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isMark.Check(mark) ? mark : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whole or not at all, also when several processes share the folder. */
export async function writeMark(file: string, mark: HighWaterMark): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(mark), { mode: 0o600 });
  await rename(draft, file);
}
