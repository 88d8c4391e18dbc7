import { ConfigurationError } from './configuration-error.ts';
import { isUnavailable } from './database.ts';
import { errorCode } from './error-code.ts';
import { OldPostgresError } from './postgres-version.ts';

/** A database that cannot be used. The message is for the operator who wrote its setting. */
export class UnusableDatabaseError extends Error {}

/**
 * For `catch`: reports an error that the operator can fix without a stack, and rethrows any other error unchanged.
 */
export function explainDatabase(
  setting: 'DATABASE_URL' | 'SVC_POOL_URL' | 'SVC_VAULT_DATABASE_URL' | 'SVC_SHARDS',
  shard?: string,
): (error: unknown) => never {
  const which = shard === undefined ? setting : `${setting}, shard "${shard}",`;
  return (error) => {
    if (!(error instanceof Error)) throw error;
    const code = errorCode(error) ?? '';
    if (error instanceof OldPostgresError)
      throw new ConfigurationError(`The server of ${which} ${error.message}.`, { cause: error });
    if (isUnavailable(error) || mistaken.test(code) || isOfTls(error)) {
      throw new UnusableDatabaseError(`The database of ${which} cannot be used: ${error.message}.`);
    }
    if (setting === 'SVC_VAULT_DATABASE_URL' && noVault.includes(code)) {
      throw new UnusableDatabaseError(
        `The database of ${setting} has no vault tables for this login: ${error.message}. Migrate the database first ` +
          '(`svc migrate` with the login of the owner), and use the login svc_vault here.',
      );
    }
    // A schema that is behind is named with its server.
    if (shard !== undefined) error.message = `The shard "${shard}" of ${setting}: ${error.message}`;
    throw error;
  };
}

/** A wrong login, an unknown database, or a host name that does not resolve. */
const mistaken = /^(28|3D|EAI_AGAIN$)/;

/** A certificate that does not match, or a server without TLS although the URL requires it. */
function isOfTls(error: Error): boolean {
  return /CERT|_TLS_|UNABLE_TO_VERIFY/.test(errorCode(error) ?? '') || /not support SSL/.test(error.message);
}

/** An unknown table, an unknown schema, or missing privileges. */
const noVault = ['42P01', '3F000', '42501'];
