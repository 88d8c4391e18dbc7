import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config.ts';
import { readBrand } from '../pages/brand.ts';
import { ConfigurationError } from '../platform/configuration-error.ts';
import { checkPrerequisites } from '../platform/embedded-postgres/prerequisites.ts';
import { errorCode } from '../platform/error-code.ts';
import { fixedKeyStore } from '../vault/key-store.ts';
import { freePort } from './listen.ts';

/** Settings that name something of this machine are tried before anything is created: files, the address, the user. */
export async function checkMachine(config: Config): Promise<void> {
  const { SVC_ROLES: roles, SVC_VAULT_KEYS: vaultKeys, SVC_RECEIPT_FONT: font } = config;
  await webhookAuthorities(config);
  readBrand(config);
  if (font !== undefined) await access(font, constants.R_OK).catch(unreadable('SVC_RECEIPT_FONT', font));
  if (vaultKeys && roles.includes('vault')) fixedKeyStore(vaultKeys);
  if (listens(config)) await freePort(config.HOST);
  if (!config.DATABASE_URL && !config.SVC_VAULT_DATABASE_URL) {
    await checkPrerequisites(join(config.dataDir, 'postgres'));
  }
}

/** A worker serves only its health checks, and a vault only other processes. */
const listens = ({ SVC_ROLES: roles, SVC_HEALTH_PORT, SVC_VAULT_TOKEN }: Config): boolean =>
  roles.includes('api') || SVC_HEALTH_PORT !== 0 || (roles.includes('vault') && SVC_VAULT_TOKEN !== undefined);

/** The additional authorities as PEM; undefined if there are none. */
export async function webhookAuthorities({ SVC_WEBHOOK_CA: file }: Config): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const pem = await readFile(file, 'utf8').catch(unreadable('SVC_WEBHOOK_CA', file));
  try {
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no certificate');
    createSecureContext({ ca: pem });
    return pem;
  } catch (cause) {
    throw new ConfigurationError(`SVC_WEBHOOK_CA: the file ${file} is not a list of certificates in PEM form.`, {
      cause,
    });
  }
}

function unreadable(setting: string, file: string): (error: unknown) => never {
  return (error) => {
    const code = errorCode(error) ?? 'unknown';
    throw new ConfigurationError(`${setting}: the file ${file} cannot be read (${code}).`, { cause: error });
  };
}
