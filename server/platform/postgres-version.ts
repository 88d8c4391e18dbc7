import { ConfigurationError } from './configuration-error.ts';

/** The oldest PostgreSQL that the service runs on. */
const oldest = 15;

/** Null, or what is wrong with the version of the server, as a part of a sentence. */
export const versionProblem = `CASE WHEN current_setting('server_version_num')::integer < ${oldest}0000
  THEN 'is PostgreSQL ' || current_setting('server_version') || '; use ${oldest} or newer' END`;

/** The server is too old. `explainDatabase` says which setting names it. */
export class OldPostgresError extends ConfigurationError {}

type Query = (text: string) => Promise<readonly { readonly problem?: string | null }[]>;

/** Before anything is created: an older server accepts the migrations, and fails later. */
export async function refuseOldPostgres(query: Query): Promise<void> {
  const [row] = await query(`SELECT ${versionProblem} AS problem`);
  if (row?.problem) throw new OldPostgresError(row.problem);
}
