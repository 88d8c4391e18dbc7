/** Files cannot be stored at the moment: the disk is full or read-only, or the store does not answer. */
export class StorageError extends Error {}

/**
 * Runs work on files and converts errors of system calls: only the disk causes them, and the caller cannot fix them.
 */
export async function storing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new StorageError(`a file could not be stored: ${error.message}`, { cause: error });
  }
}
