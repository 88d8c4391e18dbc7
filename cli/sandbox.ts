import { CardNumber } from '../server/vault/card-number.ts';
import { type FailureCode, failureReasons } from '../server/vault/processors/processor.ts';
import { setDecline } from '../server/vault/processors/sandbox/queries.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError, UsageError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import { withVault, withVaultTables } from './open-vault.ts';
import type { Flags } from './options.ts';
import { auditOperator } from './audit.ts';

const isFailureCode = (text: string): text is FailureCode => Object.hasOwn(failureReasons, text);

/** `sandbox decline --number N --code C`: adds a card number that declines for one company. */
export async function sandboxCommand([action]: readonly string[], flags: Flags): Promise<string> {
  if (action !== 'decline') throw new UsageError('Use sandbox decline --number DIGITS --code CODE.');
  const digits = flags.number ?? '';
  if (!/^\d{12,19}$/.test(digits)) throw new UsageError('--number must be a card number of 12 to 19 digits.');
  const code = flags.code ?? '';
  if (code !== 'none' && !isFailureCode(code)) {
    throw new UsageError(`--code must be none or one of ${Object.keys(failureReasons).join(', ')}.`);
  }
  return withDatabase(async (connected) => {
    const company = await chosenCompany(connected.shards, flags.company ?? 'demo');
    if (company.mode !== 'sandbox')
      throw new CommandError('Only a sandbox company can have test cards. Use --company demo.');
    const fingerprint = await withVault(connected, (vault) =>
      vault.fingerprint(company.id, 'sandbox', new CardNumber(digits)),
    );
    const declines = code === 'none' ? null : code;
    await withVaultTables(connected, company.shard, (vaultDb) =>
      setDecline(vaultDb, company.id, fingerprint, declines),
    );
    await auditOperator(connected.shards.of(company).db, company, {
      action: 'setDecline',
      objectId: null,
      fields: ['number', 'code'],
    });
    if (flags.json) return `${JSON.stringify({ company_id: company.id, code: code === 'none' ? null : code })}\n`;
    return code === 'none' ? 'The number no longer declines.\n' : `The number now declines with ${code}.\n`;
  });
}
