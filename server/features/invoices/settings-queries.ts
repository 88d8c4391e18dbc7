import type { Queryable } from '../../platform/database.ts';
import type { BusinessRule } from './business-rules.ts';
import type { TaxRate } from './tax.ts';

export interface SettingsRow {
  enabled: boolean;
  legal_name: string | null;
  invoice_prefix: string;
  credit_note_prefix: string;
  with_year: boolean;
  padding: number;
  tax_rates: readonly TaxRate[];
  attach_to_emails: boolean;
  business_rules: readonly BusinessRule[];
}

export const settingDefaults: SettingsRow = {
  enabled: false,
  legal_name: null,
  invoice_prefix: 'INV-',
  credit_note_prefix: 'CN-',
  with_year: true,
  padding: 6,
  tax_rates: [],
  attach_to_emails: false,
  business_rules: [],
};

const columns =
  'enabled, legal_name, invoice_prefix, credit_note_prefix, with_year, padding, tax_rates, attach_to_emails, business_rules';

export async function findSettings(db: Queryable, companyId: string): Promise<SettingsRow> {
  const [row] = await db.query<SettingsRow>(`SELECT ${columns} FROM invoice_settings WHERE company_id = $1`, [
    companyId,
  ]);
  return row ?? settingDefaults;
}

/** In a transaction. Creates the row if there is none, so that two first changes wait for each other. */
export async function lockSettings(db: Queryable, companyId: string): Promise<SettingsRow> {
  await updateSettings(db, companyId, settingDefaults, 'DO NOTHING');
  const [row] = await db.query<SettingsRow>(
    `SELECT ${columns} FROM invoice_settings WHERE company_id = $1 FOR NO KEY UPDATE`,
    [companyId],
  );
  if (!row) throw new Error('the settings of invoices were removed while they were changed');
  return row;
}

const replacing = `DO UPDATE SET enabled = excluded.enabled, legal_name = excluded.legal_name,
  invoice_prefix = excluded.invoice_prefix, credit_note_prefix = excluded.credit_note_prefix,
  with_year = excluded.with_year, padding = excluded.padding, tax_rates = excluded.tax_rates,
  attach_to_emails = excluded.attach_to_emails, business_rules = excluded.business_rules, updated_at = now()`;

export async function updateSettings(
  db: Queryable,
  companyId: string,
  row: SettingsRow,
  ifKnown: 'DO NOTHING' | typeof replacing = replacing,
): Promise<void> {
  await db.query(
    `INSERT INTO invoice_settings (company_id, ${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (company_id) ${ifKnown}`,
    [
      companyId,
      row.enabled,
      row.legal_name,
      row.invoice_prefix,
      row.credit_note_prefix,
      row.with_year,
      row.padding,
      JSON.stringify(row.tax_rates),
      row.attach_to_emails,
      JSON.stringify(row.business_rules),
    ],
  );
}
