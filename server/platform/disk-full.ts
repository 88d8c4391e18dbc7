import { errorCode } from './error-code.ts';

/** The disk of PostgreSQL, a file system, or the quota of a user on it. */
const fullCodes = ['53100', 'ENOSPC', 'EDQUOT'];
/** Programs of PostgreSQL report the error as text. */
const fullText = /No space left on device/;

/** Whether an error, or what caused it, is a full disk. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return fullCodes.includes(errorCode(error) ?? '') || fullText.test(error.message) || isDiskFull(error.cause);
}
