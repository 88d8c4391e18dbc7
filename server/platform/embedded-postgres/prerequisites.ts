import { userInfo } from 'node:os';
import { ConfigurationError } from '../configuration-error.ts';
import { serverAccount } from './account.ts';
import { packagedNativeFolder } from './binaries.ts';

/** Before a data folder is created: the programs are there, and there is a user that can run them. */
export async function checkPrerequisites(dataDirectory: string): Promise<void> {
  packagedNativeFolder();
  if ((await serverAccount(dataDirectory)) === null) requireUserName();
}

/** Containers may run as a user ID that /etc/passwd does not have. PostgreSQL does not. */
function requireUserName(): void {
  try {
    userInfo();
  } catch (cause) {
    throw new ConfigurationError(
      `The embedded PostgreSQL needs a user with a name, and the user ID ${process.getuid?.()} has none in /etc/passwd. ` +
        'Start as another user, or set DATABASE_URL.',
      { cause },
    );
  }
}
