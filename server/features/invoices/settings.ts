import { invalidField } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import type { Profile } from '../profile/schemas.ts';
import { profileOf } from '../profile/service.ts';
import type { InvoiceSettings, InvoiceSettingsUpdate } from './schemas.ts';
import type { TaxRate } from './tax.ts';
import { findSettings, lockSettings, type SettingsRow, updateSettings } from './settings-queries.ts';

/** How a company numbers its invoices, and whether its payments get any. */

export async function getInvoiceSettings(context: RequestContext): Promise<InvoiceSettings> {
  return toWire(context, await findSettings(context.db, context.company.id));
}

/** Locks the settings until the transaction ends. */
export async function lockedInvoiceSettings(context: RequestContext): Promise<InvoiceSettings> {
  return toWire(context, await lockSettings(context.db, context.company.id));
}

async function toWire({ db, company }: RequestContext, row: SettingsRow): Promise<InvoiceSettings> {
  const business_rules = row.business_rules.map((rule) => ({ ...rule, countries: [...rule.countries] }));
  return { ...row, tax_rates: [...row.tax_rates], business_rules, missing: missingOf(await profileOf(db, company)) };
}

/** An invoice names the seller and where the seller is. */
function missingOf({ address }: Profile): string[] {
  const parts = { line1: address?.line1, city: address?.city, country: address?.country };
  return Object.entries(parts).flatMap(([part, text]) => (text ? [] : [`address.${part}`]));
}

export async function changeInvoiceSettings(
  context: RequestContext,
  change: InvoiceSettingsUpdate,
): Promise<InvoiceSettings> {
  const { db, company } = context;
  return db.transaction(async (transaction) => {
    const within = { ...context, db: transaction };
    const { missing, ...settings } = await lockedInvoiceSettings(within);
    const { tax_rates, ...others } = change;
    const changed = { ...settings, ...others, ...(tax_rates && { tax_rates: wholeRates(tax_rates) }) };
    if (changed.enabled && change.enabled !== undefined && missing.length > 0) {
      const parts = missing.join(', ');
      throw invalidField(
        'enabled',
        `can be true once the profile of your company has ${parts}. Add them under Branding`,
      );
    }
    await updateSettings(transaction, company.id, changed);
    return { ...changed, missing };
  });
}

/** Two rates for the same products of a place on the same day could both apply. */
function wholeRates(given: NonNullable<InvoiceSettingsUpdate['tax_rates']>): TaxRate[] {
  const rates = given.map(({ region = null, category = null, valid_until = null, ...rate }) => ({
    ...rate,
    region,
    category,
    valid_until,
  }));
  const lasts = new Map<string, { readonly index: number; readonly rate: TaxRate }>();
  const byDay = rates
    .map((rate, index) => ({ rate, index }))
    .toSorted((one, other) => (one.rate.valid_from < other.rate.valid_from ? -1 : 1));
  for (const { rate, index } of byDay) {
    if (Math.round(rate.percentage * 100) / 100 !== rate.percentage) {
      throw invalidField(`tax_rates[${index}].percentage`, 'must have at most two decimals, for example 19.25');
    }
    if (rate.valid_until !== null && rate.valid_until < rate.valid_from) {
      throw invalidField(`tax_rates[${index}].valid_until`, 'must not be before valid_from');
    }
    const subject = [rate.country, rate.region ?? '', rate.category ?? ''].join('\n').toLowerCase();
    const before = lasts.get(subject);
    if (before && (before.rate.valid_until === null || before.rate.valid_until >= rate.valid_from)) {
      const message = `must be after the last day of tax_rates[${before.index}], which is for the same place and category`;
      throw invalidField(`tax_rates[${index}].valid_from`, message);
    }
    lasts.set(subject, { index, rate });
  }
  return rates;
}
