import type { Company } from '../../server/company.ts';
import { numberInvoices } from '../../server/features/invoices/jobs.ts';
import { settingDefaults, updateSettings } from '../../server/features/invoices/settings-queries.ts';
import { changeInvoiceSettings } from '../../server/features/invoices/settings.ts';
import type { InvoiceSettingsUpdate } from '../../server/features/invoices/schemas.ts';
import { changeProfile } from '../../server/features/profile/service.ts';
import { contextOf, openShop, succeeded } from './orders.ts';
import { silentLog } from './silent-log.ts';
import type { TestService } from './service.ts';

/** Companies whose payments get invoices, and their numbers. */

export const sellerAddress = { line1: 'Hauptstraße 1', postal_code: '10115', city: 'Berlin', country: 'DE' };

/** Switches invoices on, as the dashboard does. */
export async function withInvoices(
  service: TestService,
  company: Company = service.company,
  change: InvoiceSettingsUpdate = {},
): Promise<void> {
  const context = { ...contextOf(service), company };
  await changeProfile(context, { address: sellerAddress, tax_id: 'DE123456789' });
  await changeInvoiceSettings(context, { enabled: true, ...change });
}

/** Does what the worker does a few seconds after the payments. */
export async function numberNow({ db, clock }: Pick<TestService, 'db' | 'clock'>, companyId: string): Promise<void> {
  await db.query(`UPDATE invoices SET due_at = now() WHERE company_id = $1 AND number IS NULL`, [companyId]);
  await numberInvoices(db, clock, silentLog);
}

/** Switches invoices on for the company of a customer, without a complete profile. */
export async function invoicesFor({ db }: Pick<TestService, 'db'>, customerId: string): Promise<string> {
  const [row] = await db.query<{ company_id: string }>('SELECT company_id FROM customers WHERE id = $1', [customerId]);
  const companyId = row?.company_id ?? '';
  await updateSettings(db, companyId, { ...settingDefaults, enabled: true });
  return companyId;
}

/** The numbers of the company, in the order of their documents. */
export async function numbersOf({ db }: Pick<TestService, 'db'>, companyId: string): Promise<(string | null)[]> {
  const rows = await db.query<{ full_number: string | null }>(
    'SELECT full_number FROM invoices WHERE company_id = $1 ORDER BY id',
    [companyId],
  );
  return rows.map(({ full_number }) => full_number);
}

/** What is sold in the country of the seller. */
export const germanRate = { country: 'DE', name: 'VAT', percentage: 19, valid_from: '2020-01-01' };

/** For clients that call every operation: the company has an invoice, which is an e-invoice too. */
export async function someInvoice(service: TestService): Promise<void> {
  await withInvoices(service, service.company, { tax_rates: [germanRate] });
  await succeeded(service, await openShop(service));
  await numberNow(service, service.company.id);
}
