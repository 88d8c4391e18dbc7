import { errorCode } from './error-code.ts';

/** The disk of PostgreSQL, a file system, or the quota of a user on it. */
const fullCodes = ['53100', 'ENOSPC', 'EDQUOT'];
/** Programs of PostgreSQL report the error as text, and a connection that it refuses says only what it could not write. */
const fullText = /No space left on device|could not write init file/;

/** Whether an error, or what caused it, is a full disk. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return fullCodes.includes(errorCode(error) ?? '') || fullText.test(error.message) || isDiskFull(error.cause);
}
