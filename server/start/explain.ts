import { ConfigurationError, wrongSettingsCode } from '../platform/configuration-error.ts';
import { UnusableDatabaseError } from '../platform/database-error.ts';
import { isDiskFull } from '../platform/disk-full.ts';
import { MigrationError } from '../platform/migrations.ts';
import { StartError } from './listen.ts';

interface Explained {
  readonly message: string;
  readonly exitCode: number;
}

/**
 * What the operator can fix is explained in one line; for any other error, the stack shows where it happened. The exit
 * code says whether another start with the same settings can succeed: a database or a port may be there later.
 */
export function explain(error: Error): Explained {
  if (error instanceof ConfigurationError) return { message: error.message, exitCode: wrongSettingsCode };
  return { message: messageOf(error), exitCode: 1 };
}

function messageOf(error: Error): string {
  const expected = [MigrationError, UnusableDatabaseError, StartError];
  if (expected.some((kind) => error instanceof kind)) return error.message;
  if (isDiskFull(error)) return `The service could not start because the disk is full: ${error.message}`;
  return `The service could not start.\n${error.stack ?? String(error)}`;
}
