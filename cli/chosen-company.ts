import { allCompanies, companyById } from '../server/features/companies/service.ts';
import { isUuid } from '../server/platform/ids.ts';
import type { Shards } from '../server/shards/shards.ts';
import { UsageError } from './command-error.ts';
import { onEachShard } from './connect.ts';
import type { Company } from '../server/company.ts';

/** With more companies, the command that lists them is named. */
const listedMax = 50;

/** `demo` and `live` work if there is one merchant. With several merchants, the ID of the company is required. */
export async function chosenCompany(shards: Shards, wanted: string | undefined): Promise<Company> {
  // With an ID, the directory names the only shard that has to be asked.
  if (wanted && isUuid(wanted)) {
    const found = await companyById(await shards.find(wanted), wanted);
    if (found) return found;
  }
  const companies = (await onEachShard(shards.all, (shard) => allCompanies({ all: [shard] }))).flat();
  const mode = { demo: 'sandbox', sandbox: 'sandbox', rehearsal: 'rehearsal', live: 'live' }[wanted ?? ''];
  const matching = companies.filter((company) => company.id === wanted || company.mode === mode);
  const [company] = matching;
  if (company && matching.length === 1) return company;
  const listed = companies.length > listedMax ? [] : companies;
  const known = listed.map(({ id, mode: kind, name }) => `  ${id}  ${kind}  ${name}`).join('\n');
  throw new UsageError(
    `Choose a company with --company demo, --company live or an ID:\n${known || (companies.length > 0 ? '  svc companies list shows them' : '  (none yet)')}`,
  );
}
