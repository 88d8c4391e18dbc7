import { isUnavailable } from './database.ts';
import { errorCode } from './error-code.ts';

/** A database that cannot be used, in words for whoever wrote its setting. */
export class UnusableDatabaseError extends Error {}

/** For `catch`: what the writer of the setting can mend is said without a stack; anything else goes on as it is. */
export function explainDatabase(setting: 'DATABASE_URL' | 'SVC_VAULT_DATABASE_URL'): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Error)) throw error;
    const code = errorCode(error) ?? '';
    if (isUnavailable(error) || mistaken.test(code) || isOfTls(error)) {
      throw new UnusableDatabaseError(`The database of ${setting} cannot be used: ${error.message}.`);
    }
    if (setting === 'SVC_VAULT_DATABASE_URL' && noVault.includes(code)) {
      throw new UnusableDatabaseError(
        `The database of ${setting} has no vault tables for this login: ${error.message}. Migrate the database first ` +
          '(`npm run svc -- migrate` with the login of the owner), and use the login svc_vault here.',
      );
    }
    throw error;
  };
}

/** A wrong login, or no such database; a name that does not resolve. */
const mistaken = /^(28|3D|EAI_AGAIN$)/;

/** A certificate that does not fit, or a server without TLS where the address asks for it. */
function isOfTls(error: Error): boolean {
  return /CERT|_TLS_|UNABLE_TO_VERIFY/.test(errorCode(error) ?? '') || /not support SSL/.test(error.message);
}

/** No such table, no such schema, no right to it. */
const noVault = ['42P01', '3F000', '42501'];
