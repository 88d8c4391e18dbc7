import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import Type, { type Static } from 'typebox';
import { checkOf } from '../../platform/schema-check.ts';
import { errorCode } from '../../platform/error-code.ts';

/**
 * The latest live transaction that this machine saw recorded, and the latest connections to processors, in a file outside the
 * database. A database without one of them was restored from a backup, or lost commits in a failover.
 */
const connection = Type.Object({
  company_id: Type.String(),
  id: Type.String(),
  kind: Type.String(),
  /** Null if the processor does not name its account. */
  account: Type.Union([Type.String(), Type.Null()]),
});
export type MarkedConnection = Static<typeof connection>;

const shape = Type.Object({
  /** The id of the database that the mark belongs to. */
  installation: Type.String(),
  companyId: Type.String(),
  transactionId: Type.String(),
  recordedAtMs: Type.Integer(),
  connections: Type.Optional(Type.Array(connection)),
});
export type HighWaterMark = Static<typeof shape>;

const isMark = checkOf(shape);

/** Returns undefined if there is no readable mark. */
export async function readMark(file: string): Promise<HighWaterMark | undefined> {
  try {
    const mark: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isMark.Check(mark) ? mark : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the file atomically, because several processes may share the folder. */
export async function writeMark(file: string, mark: HighWaterMark): Promise<void> {
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(mark), { mode: 0o600 });
  await rename(draft, file);
}
