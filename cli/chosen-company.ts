import { findCompanies } from '../server/features/companies/service.ts';
import type { DatabasePool } from '../server/platform/database.ts';
import { CommandError } from './command-error.ts';
import type { Company } from '../server/company.ts';

/** `demo` and `live` name the companies of the only merchant; with several merchants it takes the company's id. */
export async function chosenCompany(db: DatabasePool, wanted: string | undefined): Promise<Company> {
  const companies = await findCompanies(db);
  const mode = { demo: 'sandbox', sandbox: 'sandbox', live: 'live' }[wanted ?? ''];
  const matching = companies.filter((company) => company.id === wanted || company.mode === mode);
  const [company] = matching;
  if (company && matching.length === 1) return company;
  const known = companies.map(({ id, mode: kind, name }) => `  ${id}  ${kind}  ${name}`).join('\n');
  throw new CommandError(`Name one company with --company demo, --company live or its id:\n${known || '  (none yet)'}`);
}
