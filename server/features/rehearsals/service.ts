import type { Company } from '../../company.ts';
import { ApiError, notFound } from '../../errors.ts';
import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { companyConnections } from '../processors/service.ts';
import { dueChannel, findLastRehearsal, findLastRehearsals, insertRehearsal, type RehearsalRow } from './queries.ts';
import { type Rehearsal, type RehearsalStart, stepNames } from './schemas.ts';

/** Rehearsals of connections with test accounts. The worker makes their steps. */

export { openRehearsal } from './company.ts';
/** The channel on which the database announces a new rehearsal. */
export const rehearsalsChannel = dueChannel;

export const toWire = ({ id, connection_id, state, steps, started_at, ended_at }: RehearsalRow): Rehearsal => ({
  id,
  connection_id,
  state,
  current: state === 'running' ? (stepNames[steps.length] ?? null) : null,
  steps: [...steps],
  started_at: started_at.toISOString(),
  ended_at: ended_at?.toISOString() ?? null,
});

/** The last one of each connection. */
export async function getRehearsals({ db, company }: RequestContext): Promise<{ data: Rehearsal[] }> {
  return { data: (await findLastRehearsals(db, company.id)).map(toWire) };
}

/** The last one of a connection, which may still run. */
export const lastRehearsal = (
  db: Queryable,
  companyId: string,
  connectionId: string,
): Promise<RehearsalRow | undefined> => findLastRehearsal(db, companyId, connectionId);

const fallbackCurrency = 'usd';

/** Begins a rehearsal; one that is running goes on. */
export async function beginRehearsal(
  db: Queryable,
  company: Company,
  connectionId: string,
  nowMs: number,
  { currency }: RehearsalStart = {},
): Promise<RehearsalRow> {
  const connection = (await companyConnections(db, company.id)).find(({ id }) => id === connectionId.toLowerCase());
  if (!connection) throw notFound('connection');
  if (company.mode !== 'rehearsal') {
    throw new ApiError('invalid_request', 'Only connections of the rehearsal company are rehearsed. Switch to it.');
  }
  if (connection.disconnected_at) {
    const message = 'This processor is disconnected. Reconnect it before you rehearse.';
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  const row = {
    company_id: company.id,
    id: newId(nowMs),
    connection_id: connection.id,
    currency: currency ?? connection.rules.currencies?.[0] ?? fallbackCurrency,
  };
  const begun = (await insertRehearsal(db, row)) ?? (await findLastRehearsal(db, company.id, connection.id));
  if (!begun) throw notFound('rehearsal');
  return begun;
}
