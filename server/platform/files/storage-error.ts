/** Files cannot be stored at the moment: the disk is full or read-only, or the store does not answer. */
export class StorageError extends Error {}

/** Runs what works with files. Only the disk fails with a system call, and then in a way that the caller cannot mend. */
export async function storing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new StorageError(`a file could not be stored: ${error.message}`, { cause: error });
  }
}
