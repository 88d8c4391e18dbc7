import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from './configuration-error.ts';
import type { AnyQueryable } from './database.ts';
import { deriveKey, Secret } from './secret.ts';
import { compareSecrets, type Keys, rememberSecrets } from './secret-checks.ts';
import { writeOnce } from './write-once.ts';

const lengthMin = 32;

/** While the master secret changes, the previous one still decrypts what the current one cannot decrypt yet. */
export interface MasterSecrets {
  readonly current: Secret<Buffer>;
  readonly previous: Secret<Buffer> | undefined;
}

interface SecretSettings {
  readonly SVC_MASTER_SECRET: Secret<string> | undefined;
  readonly SVC_MASTER_SECRET_PREVIOUS: Secret<string> | undefined;
  readonly DATABASE_URL: Secret<string> | undefined;
  readonly dataDir: string;
}

const secretOf = (text: string): Secret<Buffer> => new Secret(Buffer.from(text));

/** The file has the current secret in its first line and, during a rotation, the previous one in its second. */
export const secretFileOf = (config: Pick<SecretSettings, 'dataDir'>): string => join(config.dataDir, 'master.secret');

/**
 * Reads the secrets from the environment or from the data folder. Only a first start with the embedded database
 * generates one.
 */
export async function loadMasterSecrets(config: SecretSettings): Promise<MasterSecrets> {
  const { SVC_MASTER_SECRET, SVC_MASTER_SECRET_PREVIOUS: before } = config;
  if (SVC_MASTER_SECRET) {
    return { current: secretOf(SVC_MASTER_SECRET.reveal()), previous: before && secretOf(before.reveal()) };
  }
  const file = secretFileOf(config);
  const hasData = existsSync(join(config.dataDir, 'postgres'));
  if (!config.DATABASE_URL && !hasData && !existsSync(file))
    await writeOnce(file, randomBytes(32).toString('base64url'));
  const [text = '', previous] = (await readFile(file, 'utf8').catch(() => '')).trim().split('\n');
  if (text.length >= lengthMin) return { current: secretOf(text), previous: previous ? secretOf(previous) : undefined };
  throw new ConfigurationError(config.DATABASE_URL ? notSet : lost(file));
}

const table = 'secret_checks';
const keysOf = (secret: Secret<Buffer>): Keys => new Map([['master', deriveKey(secret, 'secret-check')]]);

/** The first start on a database records which secret belongs to it. */
export async function rememberMasterSecret(db: AnyQueryable, secret: Secret<Buffer>): Promise<void> {
  await rememberSecrets(db, table, keysOf(secret));
}

/** With a different secret no existing API key works, and keys created with it would not work later. */
export async function checkMasterSecret(
  db: AnyQueryable,
  secret: Secret<Buffer>,
): Promise<'same' | 'different' | 'none'> {
  const { different, known } = await compareSecrets(db, table, keysOf(secret));
  if (known === 0) return 'none';
  return different.length > 0 ? 'different' : 'same';
}

/** Stops 0.1.0, which derives its keys from the master secret and cannot read what new keys encrypt. */
export async function stopDerivedKeys(db: AnyQueryable): Promise<void> {
  await db.query(`UPDATE ${table} SET digest = $1 WHERE name = 'master'`, [randomBytes(32)]);
}

const notSet =
  'SVC_MASTER_SECRET is not set. It is required with DATABASE_URL: at least 32 random characters, the same for ' +
  'every process. To create one: node -p "crypto.randomBytes(32).toString(\'base64url\')"';

const lost = (file: string): string =>
  `${file} is missing or damaged, but the database was created with it. Without it, no API key works. Restore it ` +
  'from a backup (or set SVC_MASTER_SECRET to its content), or start with an empty SVC_DATA_DIR.';
