import type { Queryable } from '../../platform/database.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { NotedCall } from './health.ts';
import { type NotedOperation, refusedBy, rejectionAfter } from './rejections.ts';
import { type ConnectionRow, endRejection, setCodeWanted, setRefused, setRejected, setUnlinked } from './queries.ts';

/** What the answers of a processor say about the account of a connection, kept with the connection for people. */

/** Where a call was made, and for what. */
export interface NotedAt {
  readonly companyId: string;
  readonly connectionId: string;
  readonly operation: NotedOperation;
}

/** The connections as they are known here. */
interface Book {
  readonly of: (companyId: string) => Promise<readonly ConnectionRow[]>;
  readonly databaseOf: (companyId: string) => Promise<Queryable>;
  readonly forget: (companyId: string) => void;
}

/** Whether charges come without the reference of the card network. Only an approved charge shows it. */
function isUnlinkedAfter({ kind, unlinked_at }: ConnectionRow, operation: NotedOperation, call: NotedCall): boolean {
  const isApproved = operation === 'charge' && call.outcome === 'approved' && !call.isLookup;
  if (!isApproved || !kindNamed(kind).hidesNetworkReferences) return unlinked_at !== null;
  return call.networkTransactionId === undefined;
}

/** Other processes and people see it, until the processor answers a charge otherwise. */
async function keepRefusals(
  { of, databaseOf, forget }: Book,
  { companyId, connectionId, operation }: NotedAt,
  call: NotedCall,
): Promise<void> {
  const row = (await of(companyId)).find(({ id }) => id === connectionId);
  if (!row) return;
  const wasRefused = row.refused_at !== null;
  const isRefused = refusedBy(row, operation, call) ?? wasRefused;
  const isUnlinked = isUnlinkedAfter(row, operation, call);
  if (wasRefused === isRefused && (row.unlinked_at !== null) === isUnlinked) return;
  const db = await databaseOf(companyId);
  await setRefused(db, companyId, connectionId, isRefused);
  // What the credentials lacked is of no interest once they are taken.
  if (wasRefused && !isRefused) await endRejection(db, companyId, connectionId, operation);
  await setUnlinked(db, companyId, connectionId, isUnlinked);
  forget(companyId);
}

async function keepRejection(
  { of, databaseOf, forget }: Book,
  { companyId, connectionId, operation }: NotedAt,
  call: NotedCall,
): Promise<void> {
  const row = (await of(companyId)).find(({ id }) => id === connectionId);
  if (!row) return;
  const { rejection, rejected_operation } = rejectionAfter(row, operation, call);
  if (row.rejection === rejection && row.rejected_operation === rejected_operation) return;
  const db = await databaseOf(companyId);
  if (rejection === null) await endRejection(db, companyId, connectionId, operation);
  else await setRejected(db, companyId, connectionId, rejection, operation);
  forget(companyId);
}

/** Until a customer has paid without a security code. */
async function keepCodeRule(
  { of, databaseOf, forget }: Book,
  { companyId, connectionId }: NotedAt,
  call: NotedCall,
): Promise<void> {
  const isWanted = call.wantsSecurityCode === true;
  if (!isWanted && call.paidWithoutCode !== true) return;
  const row = (await of(companyId)).find(({ id }) => id === connectionId);
  if (!row || (row.code_wanted_at !== null) === isWanted) return;
  await setCodeWanted(await databaseOf(companyId), companyId, connectionId, isWanted);
  forget(companyId);
}

/** It is for people only, and the next operation notes it again. */
export function keepFindings(book: Book, at: NotedAt, call: NotedCall): void {
  keepRefusals(book, at, call)
    .then(() => keepRejection(book, at, call))
    .catch(() => undefined);
  keepCodeRule(book, at, call).catch(() => undefined);
}
