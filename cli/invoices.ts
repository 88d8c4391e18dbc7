import Type from 'typebox';
import { ApiError } from '../server/errors.ts';
import { invoiceSettingsUpdate } from '../server/features/invoices/schemas.ts';
import { changeInvoiceSettings, getInvoiceSettings } from '../server/features/invoices/settings.ts';
import { profileUpdate } from '../server/features/profile/schemas.ts';
import { changeProfile, profileOf } from '../server/features/profile/service.ts';
import { validator } from '../server/http/validate.ts';
import { newRequestId } from '../server/platform/ids.ts';
import type { RequestContext } from '../server/request-context.ts';
import { auditOperator } from './audit.ts';
import { chosenCompany } from './chosen-company.ts';
import { CommandError } from './command-error.ts';
import { withDatabase } from './connect.ts';
import type { Flags } from './options.ts';

const seller = Type.Pick(profileUpdate, ['display_name', 'address', 'tax_id']);
const checkSettings = validator(
  Type.Object({ ...invoiceSettingsUpdate.properties, seller: Type.Optional(seller) }, { additionalProperties: false }),
);

/** `invoices settings`: what the dashboard has under Settings and Branding. */
export async function invoicesCommand([, text]: readonly string[], flags: Flags): Promise<string> {
  return withDatabase(async ({ shards, clock }) => {
    const company = await chosenCompany(shards, flags.company);
    const { db } = shards.of(company);
    const context = { db, company, nowMs: clock.nowMs() + company.clockOffsetMs, requestId: newRequestId() };
    try {
      if (text !== undefined) await change(context, text);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const fields = error.fieldErrors.map(({ field, message }) => `  ${field} ${message}`);
      throw new CommandError([error.message, ...fields].join('\n'));
    }
    const { display_name, address, tax_id } = await profileOf(db, company);
    const shown = { ...(await getInvoiceSettings(context)), seller: { display_name, address, tax_id } };
    return `${JSON.stringify(shown, null, flags.json ? 0 : 2)}\n`;
  });
}

async function change(context: RequestContext, text: string): Promise<void> {
  const { seller: given, ...settings } = checkSettings(parsed(text));
  await context.db.transaction(async (db) => {
    const within = { ...context, db };
    if (given) await changeProfile(within, given);
    await changeInvoiceSettings(within, settings);
    const fields = [...Object.keys(settings), ...Object.keys(given ?? {})];
    await auditOperator(db, context.company, { action: 'updateInvoiceSettings', objectId: context.company.id, fields });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError('The settings must be JSON, for example {"enabled": true}.');
  }
}
