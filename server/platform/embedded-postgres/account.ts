import { readFile, stat } from 'node:fs/promises';
import { ConfigurationError } from '../configuration-error.ts';

export interface Account {
  uid: number;
  gid: number;
}

/** Returns the user to run PostgreSQL as. Null means the current user; PostgreSQL refuses to run as root. */
export async function serverAccount(dataDirectory: string): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  if (process.platform !== 'linux') {
    throw new ConfigurationError('PostgreSQL does not run as root. Start as an ordinary user, or set DATABASE_URL.');
  }
  const owner = await stat(dataDirectory).catch(() => null);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const passwd = await readFile('/etc/passwd', 'utf8');
  const entry = /^nobody:[^:]*:(\d+):(\d+):/m.exec(passwd);
  if (!entry) {
    throw new ConfigurationError(
      'PostgreSQL does not run as root, and there is no user "nobody" to run it as. Set DATABASE_URL.',
    );
  }
  return { uid: Number(entry[1]), gid: Number(entry[2]) };
}
