import type { ControlQueryable } from '../../platform/database.ts';

/** Returns the company that has the name now; undefined if it is free and this company has as many as it may have. */
export async function claimName(
  control: ControlQueryable,
  name: string,
  companyId: string,
  most: number,
): Promise<string | undefined> {
  await control.query(
    `INSERT INTO company_names (name, company_id)
     SELECT $1, $2 WHERE (SELECT count(*) FROM company_names WHERE company_id = $2) < $3
     ON CONFLICT (name) DO NOTHING`,
    [name, companyId, most],
  );
  return findCompanyOfName(control, name);
}

export async function findCompanyOfName(control: ControlQueryable, name: string): Promise<string | undefined> {
  const [row] = await control.query<{ company_id: string }>('SELECT company_id FROM company_names WHERE name = $1', [
    name,
  ]);
  return row?.company_id;
}
