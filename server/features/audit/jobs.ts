import type { Queryable } from '../../platform/database.ts';
import { deleteOldEntries } from './queries.ts';

/** For how many days audit entries are kept; 0 keeps them for ever. */
export interface AuditDays {
  /** Entries of people and operators. */
  readonly people: number;
  /** Entries of API keys: at least one for each order. */
  readonly keys: number;
}

/** Job: deletes a batch of audit entries beyond their retention, and returns how many it deleted. */
export async function forgetOldEntries(db: Queryable, { people, keys }: AuditDays, batch: number): Promise<number> {
  return people === 0 && keys === 0 ? 0 : deleteOldEntries(db, people || null, keys || null, batch);
}
