import { connects } from '../../company.ts';
import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ProcessorKind } from '../../vault/processors/kind.ts';
import { kindNamed, processorKinds } from '../../vault/processors/kinds.ts';
import type { Vault } from '../../vault/vault.ts';
import type { Connections } from './connections.ts';
import {
  requireNewAccount,
  requireOffered,
  requireSameAccount,
  requireWorking,
  storeCredentials,
  testConfiguration,
  testToWire,
} from './credentials.ts';
import {
  type ConnectionRow,
  countRefused,
  findConnection,
  findConnections,
  forgetAccount,
  forgetRefusals,
  hasOpenOperations,
  insertConnection,
  lockConnection,
  keepAccount,
  markRemoved,
  orderConnections,
  refreshCompany,
  setConnected,
  updateConnection,
} from './queries.ts';
import type {
  Connection,
  ConnectionTest,
  ConnectionCreate,
  ConnectionList,
  ConnectionTestResult,
  ConnectionUpdate,
} from './schemas.ts';
import { limits } from '../../limits.ts';

/** The processors that a company is connected to: owners connect, test, order and disconnect them. */

export interface ProcessorDependencies {
  readonly vault: Vault;
  readonly connections: Connections;
  readonly baseUrl: string;
  /** The URLs of acquirers that merchants may connect. */
  readonly acquirers: readonly string[];
  readonly forgetAccess: (companyId: string) => void;
}

function requireConnecting({ company }: RequestContext): void {
  if (connects(company.mode)) return;
  throw new ApiError('invalid_request', 'Sandbox companies cannot connect a processor. Switch to live.');
}

function toWire(row: ConnectionRow, { baseUrl, connections }: ProcessorDependencies): Connection {
  const described = kindNamed(row.kind);
  const { calls, failures, isBroken, last } = connections.health.of(row.id);
  return {
    ...{ id: row.id, kind: row.kind, kind_name: described.name, name: row.name },
    status: row.removed_at ? 'removed' : row.disconnected_at ? 'disconnected' : 'connected',
    position: row.disconnected_at ? null : row.position,
    ...{ rules: rulesOf(row), verifies_cards: row.verifies_cards },
    notice_url: described.sendsNotices && !row.removed_at ? noticeUrl(baseUrl, row.id) : null,
    notice_seen_at: row.notice_seen_at?.toISOString() ?? null,
    notice_refused_at: row.notice_refused_at?.toISOString() ?? null,
    notice_refusal: row.notice_refusal,
    refused_at: row.refused_at?.toISOString() ?? null,
    rejected_at: row.rejected_at?.toISOString() ?? null,
    ...{ rejection: row.rejection, rejected_operation: row.rejected_operation },
    code_wanted_at: row.code_wanted_at?.toISOString() ?? null,
    code_request: row.code_wanted_at ? (described.securityCodeRequest ?? null) : null,
    unlinked_at: row.unlinked_at?.toISOString() ?? null,
    health: {
      calls,
      failures,
      is_broken: isBroken,
      last_calls: last.map(({ at, outcome, reason }) => ({ at: at.toISOString(), outcome, reason })),
    },
    created_at: row.created_at.toISOString(),
    disconnected_at: row.disconnected_at?.toISOString() ?? null,
  };
}

function rulesOf({ rules: { currencies, brands, share } }: ConnectionRow): Connection['rules'] {
  return {
    ...(currencies && { currencies: [...currencies] }),
    ...(brands && { brands: [...brands] }),
    ...(share !== undefined && { share }),
  };
}

export const noticeUrl = (baseUrl: string, id: string): string =>
  `${baseUrl.replace(/\/+$/, '')}/processors/${id}/notices`;

const kindToWire = ({ kind, name, fields, sendsNotices }: ProcessorKind): ConnectionList['kinds'][number] => ({
  kind,
  name,
  sends_notices: sendsNotices,
  fields: fields
    .filter(({ isHidden }) => !isHidden)
    .map(({ name: field, label, help, isSecret, isOptional, choices }) => ({
      name: field,
      label,
      help,
      is_secret: isSecret,
      is_optional: isOptional === true,
      choices: choices ? [...choices] : null,
    })),
});

export async function listConnections(
  { db, company }: RequestContext,
  dependencies: ProcessorDependencies,
): Promise<ConnectionList> {
  const rows = await findConnections(db, company.id);
  const offered = processorKinds.filter(({ kind }) => kind !== 'acquirer' || dependencies.acquirers.length > 0);
  return {
    connections: rows.map((row) => toWire(row, dependencies)),
    kinds: connects(company.mode) ? offered.map((one) => kindToWire(withUrls(one, dependencies))) : [],
  };
}

/** An owner chooses among the URLs that the operator offers: any URL could point into the operator's network. */
function withUrls(kind: ProcessorKind, { acquirers }: ProcessorDependencies): ProcessorKind {
  if (kind.kind !== 'acquirer') return kind;
  return {
    ...kind,
    fields: kind.fields.map((field) => (field.name === 'url' ? { ...field, choices: acquirers } : field)),
  };
}

/** A connection whose credentials are stored. */
interface StoredConnection {
  readonly id: string;
  readonly account_id: string | null;
}

export async function requireRoom(db: Queryable, companyId: string): Promise<void> {
  if ((await findConnections(db, companyId)).length < limits.connections) return;
  throw new ApiError('invalid_request', `A company can have at most ${limits.connections} connections.`);
}

/** Runs before the transaction: the vault checks and stores the credentials. */
export async function storeNew(
  { db, company, nowMs, auditFirst, ...rest }: RequestContext,
  dependencies: ProcessorDependencies,
  input: ConnectionCreate,
): Promise<StoredConnection> {
  requireConnecting({ db, company, nowMs, ...rest });
  requireOffered(input, dependencies);
  const { vault } = dependencies;
  await requireRoom(db, company.id);
  const account = await requireWorking(vault, company, input);
  await requireNewAccount(db, vault, { companyId: company.id, kind: input.kind }, account);
  const id = newId(nowMs);
  // The vault may store the credentials although its answer is lost.
  await auditFirst?.(db);
  await storeCredentials(vault, company.id, id, input);
  return { id, account_id: account.id };
}

export async function connect(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  input: ConnectionCreate,
  stored: StoredConnection,
): Promise<Connection> {
  const { name, requestLifeMs } = kindNamed(input.kind);
  const row = { company_id: context.company.id, ...stored, kind: input.kind, name: input.name ?? name };
  await addConnection(context.db, { ...row, request_life_ms: requestLifeMs });
  return changed(context, dependencies, stored.id);
}

/** Records a connection whose credentials the vault has. */
export async function addConnection(db: Queryable, row: Parameters<typeof insertConnection>[1]): Promise<void> {
  if (!(await insertConnection(db, row))) {
    const message = 'This account is already connected. To change its credentials, replace them in that connection.';
    throw new ApiError('resource_already_exists', message, { param: 'configuration' });
  }
  await refreshCompany(db, row.company_id);
}

async function existing({ db, company }: RequestContext, id: string, find = findConnection): Promise<ConnectionRow> {
  const row = await find(db, company.id, id);
  if (!row) throw notFound('connection');
  return row;
}

/** What every change ends with: charges use it at once in this process. */
async function changed(context: RequestContext, dependencies: ProcessorDependencies, id: string): Promise<Connection> {
  await refreshCompany(context.db, context.company.id);
  dependencies.connections.forget(context.company.id);
  dependencies.forgetAccess(context.company.id);
  return toWire(await existing(context, id), dependencies);
}

/** Runs before the transaction if the credentials change. */
export async function replaceCredentials(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
  { configuration }: ConnectionUpdate,
): Promise<void> {
  if (!configuration) return;
  const { kind: name, removed_at } = await existing(context, id);
  const { kind } = kindNamed(name);
  if (removed_at) throw removed();
  const replaced = { kind, configuration, connectionId: id };
  if (configuration.url !== undefined) requireOffered(replaced, dependencies);
  const { vault } = dependencies;
  const place = { companyId: context.company.id, connectionId: id };
  const account = await requireWorking(vault, context.company, replaced);
  await requireSameAccount(context.db, vault, place, account.id);
  await context.auditFirst?.(context.db);
  await storeCredentials(dependencies.vault, context.company.id, id, replaced);
}

function removed(): ApiError {
  const message = 'The credentials of this connection were removed. Connect the processor again.';
  return new ApiError('invalid_state_transition', message, { param: 'id' });
}

export const getConnection = async (
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
  find = findConnection,
): Promise<Connection> => toWire(await existing(context, id, find), dependencies);

/** Locks the connection until the transaction ends. */
export const lockedConnection = (
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
): Promise<Connection> => getConnection(context, dependencies, id, lockConnection);

export async function change(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
  { name, rules, verifies_cards, configuration }: ConnectionUpdate,
): Promise<Connection> {
  const row = await existing(context, id);
  // New credentials were tested before.
  if (configuration) await forgetRefusals(context.db, row.company_id, id);
  await updateConnection(context.db, row, {
    ...(name !== undefined && { name }),
    ...(rules && { rules }),
    ...(verifies_cards !== undefined && { verifies_cards }),
  });
  return changed(context, dependencies, id);
}

export async function reorder(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  ids: readonly string[],
): Promise<ConnectionList> {
  const { db, company } = context;
  const connected = (await findConnections(db, company.id)).filter(({ disconnected_at }) => !disconnected_at);
  const known = connected.map(({ id }) => id).toSorted();
  if (JSON.stringify(known) !== JSON.stringify([...ids].map((id) => id.toLowerCase()).toSorted())) {
    throw invalidField('connection_ids', 'must name every connected processor once');
  }
  await orderConnections(db, company.id, ids);
  await refreshCompany(db, company.id);
  dependencies.connections.forget(company.id);
  dependencies.forgetAccess(company.id);
  return listConnections(context, dependencies);
}

export async function testConnection(
  context: RequestContext,
  { vault }: ProcessorDependencies,
  id: string,
): Promise<ConnectionTestResult> {
  const { company } = context;
  const { kind } = await existing(context, id);
  return testToWire(await vault.test({ companyId: company.id, connectionId: id }), { ...company, kind });
}

export async function testUnsaved(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  { kind, configuration, connection_id: connectionId }: ConnectionTest,
): Promise<ConnectionTestResult> {
  requireConnecting(context);
  if (connectionId !== undefined) await existing(context, connectionId);
  if (connectionId === undefined || configuration.url !== undefined)
    requireOffered({ kind, configuration }, dependencies);
  const tested = { kind, configuration, ...(connectionId !== undefined && { connectionId }) };
  return testConfiguration(dependencies.vault, context.company, tested);
}

/** New charges no longer use it. Its credentials stay, for refunds, lookups and disputes. */
export async function disconnect(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
): Promise<Connection> {
  const row = await existing(context, id);
  await setConnected(context.db, row.company_id, id, false);
  return changed(context, dependencies, id);
}

export async function reconnect(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
): Promise<Connection> {
  const row = await existing(context, id);
  if (row.removed_at) throw removed();
  await setConnected(context.db, row.company_id, id, true);
  return changed(context, dependencies, id);
}

/** How many connections wait for other credentials, or for other settings of their account. */
export const refusedConnections = countRefused;

/** The connections of a company. */
export const companyConnections = findConnections;
export { type ConnectionRow, testToWire };

/** Changes a connection from the command line. Returns whether the company can no longer charge. */
export async function setCompanyConnection(
  db: Queryable,
  companyId: string,
  id: string,
  wanted:
    | 'connected'
    | 'disconnected'
    | 'removed'
    | { readonly movedTo: string | null }
    | { readonly rules: ConnectionRow['rules'] },
): Promise<boolean> {
  if (wanted === 'removed') await markRemoved(db, companyId, id);
  else if (wanted === 'connected' || wanted === 'disconnected') {
    await setConnected(db, companyId, id, wanted === 'connected');
  } else if ('movedTo' in wanted) {
    await forgetAccount(db, companyId, id);
    await keepAccount(db, companyId, id, wanted.movedTo);
    await forgetRefusals(db, companyId, id);
  } else await updateConnection(db, { company_id: companyId, id }, wanted);
  await refreshCompany(db, companyId);
  return (await findConnections(db, companyId)).every(({ disconnected_at }) => disconnected_at !== null);
}

/** Moves a connection before the others. */
export async function orderCompanyConnections(db: Database, companyId: string, first: string): Promise<void> {
  await db.transaction(async (transaction) => {
    const rows = (await findConnections(transaction, companyId)).filter(({ disconnected_at }) => !disconnected_at);
    const others = rows.map(({ id }) => id).filter((id) => id !== first);
    await orderConnections(transaction, companyId, [first, ...others]);
    await refreshCompany(transaction, companyId);
  });
}

/** Credentials are removed only when nothing is left that needs them to become known. */
export async function requireNothingOpen(db: Queryable, companyId: string, id: string): Promise<void> {
  const row = await findConnection(db, companyId, id);
  if (!row) throw notFound('connection');
  if (!row.disconnected_at) {
    const message = 'Disconnect this processor first. Its credentials are still used for charges.';
    throw new ApiError('invalid_state_transition', message, { param: 'id' });
  }
  if (await hasOpenOperations(db, companyId, id)) {
    const message = 'Some payments have no outcome yet, and only this processor knows it. Wait until all are known.';
    throw new ApiError('resource_in_use', message);
  }
}

/** Runs before the transaction: without credentials, nothing can be refunded or looked up there any more. */
export async function forgetCredentials(
  context: RequestContext,
  { vault }: ProcessorDependencies,
  id: string,
): Promise<void> {
  const { db, company, auditFirst } = context;
  await requireNothingOpen(db, company.id, id);
  await auditFirst?.(db);
  await vault.forget({ companyId: company.id, connectionId: id });
}

export async function remove(
  context: RequestContext,
  dependencies: ProcessorDependencies,
  id: string,
): Promise<Connection> {
  const row = await existing(context, id);
  await markRemoved(context.db, row.company_id, id);
  return changed(context, dependencies, id);
}
