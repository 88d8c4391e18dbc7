import type { Company } from '../../company.ts';
import type { Database } from '../../platform/database.ts';
import { firstIdOf, idTimeMs } from '../../platform/ids.ts';
import { profileOf } from '../profile/service.ts';
import { type EmailDependencies, mail } from './mail.ts';
import { draftsOf, mailedTypes } from './occasions.ts';
import { findEventsBetween } from './queries.ts';

/** Writes the emails of a history that has just been written, each at the time of its event. */
export async function writePastEmails(
  db: Database,
  dependencies: EmailDependencies,
  company: Company,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): Promise<void> {
  const profile = await profileOf(db, company);
  const events = await findEventsBetween(db, company.id, [firstIdOf(fromMs), firstIdOf(untilMs)], mailedTypes);
  for (const event of events) {
    const context = { requestId: '', company, nowMs: idTimeMs(event.id), db };
    for (const draft of draftsOf(event)) await mail({ context, dependencies, profile }, draft);
  }
}
