import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from './configuration-error.ts';
import type { Queryable } from './database.ts';
import { deriveKey, Secret } from './secret.ts';
import { compareSecrets, type Keys, rememberSecrets } from './secret-checks.ts';
import { writeOnce } from './write-once.ts';

const lengthMin = 32;

interface SecretSettings {
  readonly SVC_MASTER_SECRET: Secret<string> | undefined;
  readonly DATABASE_URL: Secret<string> | undefined;
  readonly dataDir: string;
}

/**
 * Reads the secret from the environment or from the data folder. Only a first start with the embedded database
 * generates one.
 */
export async function loadMasterSecret(config: SecretSettings): Promise<Secret<Buffer>> {
  if (config.SVC_MASTER_SECRET) return new Secret(Buffer.from(config.SVC_MASTER_SECRET.reveal()));
  const file = join(config.dataDir, 'master.secret');
  const hasData = existsSync(join(config.dataDir, 'postgres'));
  if (!config.DATABASE_URL && !hasData && !existsSync(file))
    await writeOnce(file, randomBytes(32).toString('base64url'));
  const text = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (text.length >= lengthMin) return new Secret(Buffer.from(text));
  throw new ConfigurationError(config.DATABASE_URL ? notSet : lost(file));
}

const table = 'secret_checks';
const keysOf = (secret: Secret<Buffer>): Keys => new Map([['master', deriveKey(secret, 'secret-check')]]);

/** For the service: the first start on a database records which secret belongs to it. */
export async function rememberMasterSecret(db: Queryable, secret: Secret<Buffer>): Promise<void> {
  await rememberSecrets(db, table, keysOf(secret));
  await checkMasterSecret(db, secret);
}

/** With a different secret no existing API key works, and keys created with it would not work later. */
export async function checkMasterSecret(db: Queryable, secret: Secret<Buffer>): Promise<void> {
  const { different } = await compareSecrets(db, table, keysOf(secret));
  if (different.length > 0) throw new ConfigurationError(another);
}

const another =
  'The master secret (SVC_MASTER_SECRET, or master.secret in SVC_DATA_DIR) does not belong to this database. With another ' +
  'secret, no API key works. Use the secret that the database was created with.';

const notSet =
  'SVC_MASTER_SECRET is not set. It is required with DATABASE_URL: at least 32 random characters, the same for ' +
  'every process and never changed. To create one: node -p "crypto.randomBytes(32).toString(\'base64url\')"';

const lost = (file: string): string =>
  `${file} is missing or damaged, but the database was created with it. Without it, no API key works. Restore it ` +
  'from a backup (or set SVC_MASTER_SECRET to its content), or start with an empty SVC_DATA_DIR.';
