import { allCompanies } from '../server/features/companies/service.ts';
import type { Shards } from '../server/shards/shards.ts';
import { UsageError } from './command-error.ts';
import type { Company } from '../server/company.ts';

/** `demo` and `live` work if there is one merchant. With several merchants, the ID of the company is required. */
export async function chosenCompany(shards: Shards, wanted: string | undefined): Promise<Company> {
  const companies = await allCompanies(shards);
  const mode = { demo: 'sandbox', sandbox: 'sandbox', live: 'live' }[wanted ?? ''];
  const matching = companies.filter((company) => company.id === wanted || company.mode === mode);
  const [company] = matching;
  if (company && matching.length === 1) return company;
  const known = companies.map(({ id, mode: kind, name }) => `  ${id}  ${kind}  ${name}`).join('\n');
  throw new UsageError(`Choose a company with --company demo, --company live or an ID:\n${known || '  (none yet)'}`);
}
