import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigurationError } from '../config.ts';
import { Secret } from './secret.ts';

/** From the environment, or from the data folder. Only an embedded start makes one up. */
export async function loadMasterSecret(config: Config): Promise<Secret<Buffer>> {
  if (config.SVC_MASTER_SECRET) return new Secret(Buffer.from(config.SVC_MASTER_SECRET.reveal()));
  const file = join(config.dataDir, 'master.secret');
  if (!config.DATABASE_URL) {
    // Fails where the file exists: two first starts at once must end up with the same secret.
    await writeFile(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 }).catch(ignoreExisting);
  }
  const text = await readFile(file, 'utf8').catch(() => {
    throw new ConfigurationError(
      'SVC_MASTER_SECRET is not set. Beside your own DATABASE_URL it must be: at least 32 random characters, the same on ' +
        'every node and kept as long as the database, for example from: node -p "crypto.randomBytes(32).toString(\'base64url\')"',
    );
  });
  return new Secret(Buffer.from(text.trim()));
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
