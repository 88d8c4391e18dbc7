import type { Queryable } from '../../platform/database.ts';
import type { StoredTexts } from './own-texts.ts';
import type { CustomerPageSettings, EmailSettings, PostalAddress } from './schemas.ts';

export interface ProfileRow {
  display_name: string | null;
  logo_id: string | null;
  color: string | null;
  support_email: string | null;
  website: string | null;
  address: PostalAddress | null;
  tax_id: string | null;
  terms_url: string | null;
  terms_version: string | null;
  /** Of the company itself, because everything that makes an address for customers needs it. */
  locale: string | null;
  texts: StoredTexts;
  emails: Partial<EmailSettings>;
  customer_page: Partial<CustomerPageSettings>;
  updated_at: Date;
}

const columns = `display_name, logo_id, color, support_email, website, address, tax_id, terms_url, terms_version, emails, customer_page, texts, updated_at,
  (SELECT c.locale FROM companies c WHERE c.id = company_id) AS locale`;

export async function findProfile(db: Queryable, companyId: string): Promise<ProfileRow | undefined> {
  const [row] = await db.query<ProfileRow>(`SELECT ${columns} FROM company_profiles WHERE company_id = $1`, [
    companyId,
  ]);
  return row;
}

/** In a transaction. Creates the row if there is none. */
export async function lockProfile(db: Queryable, companyId: string): Promise<ProfileRow> {
  await db.query('INSERT INTO company_profiles (company_id) VALUES ($1) ON CONFLICT DO NOTHING', [companyId]);
  const [row] = await db.query<ProfileRow>(
    `SELECT ${columns} FROM company_profiles WHERE company_id = $1 FOR NO KEY UPDATE`,
    [companyId],
  );
  if (!row) throw new Error('a profile was removed while it was changed');
  return row;
}

export async function updateProfile(
  db: Queryable,
  companyId: string,
  row: Omit<ProfileRow, 'logo_id' | 'locale' | 'updated_at'>,
): Promise<void> {
  await db.query(
    `UPDATE company_profiles SET display_name = $2, color = $3, support_email = $4, website = $5, address = $6,
       tax_id = $7, emails = $8, customer_page = $9, terms_url = $10, terms_version = $11, texts = $12, updated_at = now()
     WHERE company_id = $1`,
    [
      companyId,
      row.display_name,
      row.color,
      row.support_email,
      row.website,
      row.address && JSON.stringify(row.address),
      row.tax_id,
      JSON.stringify(row.emails),
      JSON.stringify(row.customer_page),
      row.terms_url,
      row.terms_version,
      JSON.stringify(row.texts),
    ],
  );
}

export async function updateLocale(db: Queryable, companyId: string, locale: string | null): Promise<void> {
  await db.query('UPDATE companies SET locale = $2 WHERE id = $1', [companyId, locale]);
}

/** The first part of the readable addresses of the company. */
export async function findLinkName(db: Queryable, companyId: string): Promise<string | null> {
  const [row] = await db.query<{ link_name: string | null }>(
    'SELECT link_name FROM company_profiles WHERE company_id = $1',
    [companyId],
  );
  return row?.link_name ?? null;
}

export async function updateLinkName(db: Queryable, companyId: string, name: string): Promise<void> {
  await db.query(
    `INSERT INTO company_profiles (company_id, link_name) VALUES ($1, $2)
     ON CONFLICT (company_id) DO UPDATE SET link_name = excluded.link_name`,
    [companyId, name],
  );
}

export async function updateLogo(
  db: Queryable,
  companyId: string,
  logo: { readonly id: string; readonly png: Buffer } | null,
): Promise<void> {
  await db.query(
    `INSERT INTO company_profiles (company_id, logo_id, logo) VALUES ($1, $2, $3)
     ON CONFLICT (company_id) DO UPDATE SET logo_id = excluded.logo_id, logo = excluded.logo, updated_at = now()`,
    [companyId, logo?.id ?? null, logo?.png ?? null],
  );
}

export async function findCurrentLogo(db: Queryable, companyId: string): Promise<Buffer | undefined> {
  const [row] = await db.query<{ logo: Buffer | null }>('SELECT logo FROM company_profiles WHERE company_id = $1', [
    companyId,
  ]);
  return row?.logo ?? undefined;
}

export async function findLogo(db: Queryable, companyId: string, logoId: string): Promise<Buffer | undefined> {
  const [row] = await db.query<{ logo: Buffer }>(
    'SELECT logo FROM company_profiles WHERE company_id = $1 AND logo_id = $2',
    [companyId, logoId],
  );
  return row?.logo;
}
