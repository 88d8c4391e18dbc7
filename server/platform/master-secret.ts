import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Config, ConfigurationError } from '../config.ts';
import { Secret } from './secret.ts';
import { writeOnce } from './write-once.ts';

const lengthMin = 32;

/** From the environment, or from the data folder. Only a first embedded start makes one up. */
export async function loadMasterSecret(config: Config): Promise<Secret<Buffer>> {
  if (config.SVC_MASTER_SECRET) return new Secret(Buffer.from(config.SVC_MASTER_SECRET.reveal()));
  const file = join(config.dataDir, 'master.secret');
  const hasData = existsSync(join(config.dataDir, 'postgres'));
  if (!config.DATABASE_URL && !hasData && !existsSync(file))
    await writeOnce(file, randomBytes(32).toString('base64url'));
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text.length >= lengthMin) return new Secret(Buffer.from(text));
  throw new ConfigurationError(config.DATABASE_URL ? notSet : lost(file));
}

const notSet =
  'SVC_MASTER_SECRET is not set. Beside your own DATABASE_URL it must be: at least 32 random characters, the same on ' +
  'every node and kept as long as the database, for example from: node -p "crypto.randomBytes(32).toString(\'base64url\')"';

const lost = (file: string): string =>
  `${file} is missing or damaged, and there is data that was made with it: without it no API key works. Put it back ` +
  'from a backup (or set SVC_MASTER_SECRET to its content), or start with an empty SVC_DATA_DIR.';
