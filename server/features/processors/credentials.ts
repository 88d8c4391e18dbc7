import type { Company } from '../../company.ts';
import { ApiError, invalidField, quoted } from '../../errors.ts';
import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { FieldProblem, Vault } from '../../vault/vault.ts';
import { type ConnectionRow, findConnections, keepAccount } from './queries.ts';
import type { ConnectionCreate, ConnectionTestResult } from './schemas.ts';

/** Checks, tests and stores the credentials of a connection. Only the vault keeps them. */

/** A company that connects processors: with test accounts, or with live ones. */
export type Connecting = Pick<Company, 'id' | 'mode'>;

/** The account that credentials belong to. */
export interface Account {
  /** Null if the processor does not report it. */
  readonly id: string | null;
  /** The connections of the company with the same credentials. */
  readonly sameAs: readonly string[];
}

export type Configured = Pick<ConnectionCreate, 'kind' | 'configuration'>;

/** A configuration for a connection that exists: fields that are left out keep their values. */
export interface Change extends Configured {
  readonly connectionId?: string;
}

export function requireOffered(
  { kind, configuration }: Configured,
  { acquirers }: { readonly acquirers: readonly string[] },
): void {
  if (kind !== 'acquirer' || acquirers.includes(configuration.url ?? '')) return;
  const known =
    acquirers.length > 0 ? `one of ${acquirers.join(', ')}` : 'an acquirer that your operator offers (SVC_ACQUIRERS)';
  throw invalidField('configuration.url', `must be ${known}`);
}

function refuseInvalid(problem: FieldProblem | undefined): void {
  if (problem) throw invalidField(`configuration.${problem.field}`, problem.problem);
}

/**
 * A connection that does not work is not stored: the owner sees at once what is wrong. Returns the account that the
 * credentials belong to.
 */
export async function requireWorking(
  vault: Pick<Vault, 'test'>,
  company: Connecting,
  change: Change,
): Promise<Account> {
  // An acquirer is the operator's own, and may start later. Its URL tells it from others.
  const { url } = change.configuration;
  if (change.kind === 'acquirer') return { id: url === undefined ? null : new URL(url).href, sameAs: [] };
  const result = await testedConfiguration(vault, company.id, change);
  const { works, problem } = testToWire(result, company);
  if (!works) throw new ApiError('invalid_request', problem ?? '', { param: 'configuration' });
  return { id: accountOf(result), sameAs: 'sameAs' in result ? (result.sameAs ?? []) : [] };
}

const accountOf = (result: TestResult): string | null =>
  result.outcome === 'works' ? (result.accountId ?? null) : null;

/**
 * New credentials must be of the same account. Another account does not have the payments of this connection: it would
 * report those in doubt as never made, and refund none.
 */
export async function requireSameAccount(
  db: Queryable,
  vault: Pick<Vault, 'test'>,
  { companyId, connectionId }: { readonly companyId: string; readonly connectionId: string },
  accountId: string | null,
): Promise<void> {
  if (accountId === null) return;
  const kept = await keepAccount(db, companyId, connectionId, null);
  const known = kept ?? accountOf(await vault.test({ companyId, connectionId })) ?? accountId;
  if (kept === null) await keepAccount(db, companyId, connectionId, known);
  if (known === accountId) return;
  throw invalidField(
    'configuration',
    `must be of the account ${quoted(known)}, which has the payments of this connection. These are of ${quoted(accountId)}. ` +
      'Connect that account as a new processor',
  );
}

/**
 * An account is connected once. Of two connections, each would get the notices of the other, and a charge that failed
 * at the account would be sent to it again. `replacedId` is the connection whose credentials are replaced.
 */
export async function requireNewAccount(
  db: Queryable,
  vault: Pick<Vault, 'test'>,
  { companyId, kind, replacedId }: Pick<Configured, 'kind'> & { companyId: string; replacedId?: string | undefined },
  { id, sameAs }: Account,
): Promise<void> {
  const others = (await findConnections(db, companyId)).filter(
    (row) => row.kind === kind && row.removed_at === null && row.id !== replacedId,
  );
  const { sharesAccountIds } = kindNamed(kind);
  for (const other of others) {
    if (sameAs.includes(other.id)) throw alreadyConnected(other);
    if (id === null || sharesAccountIds) continue;
    if ((await learnAccount(db, vault, other)) === id) throw alreadyConnected(other);
  }
}

/** The account of a connection, from its credentials if it was not recorded when they were entered. */
async function learnAccount(
  db: Queryable,
  vault: Pick<Vault, 'test'>,
  { company_id: companyId, id, account_id }: ConnectionRow,
): Promise<string | null> {
  if (account_id) return account_id;
  const learned = accountOf(await vault.test({ companyId, connectionId: id }));
  if (learned !== null) await keepAccount(db, companyId, id, learned);
  return learned;
}

function alreadyConnected({ id, name, disconnected_at }: ConnectionRow): ApiError {
  const message = disconnected_at
    ? `This account is connected as “${quoted(name)}” (${id}), which is disconnected. Reconnect it instead.`
    : `This account is already connected as “${quoted(name)}” (${id}). To change its credentials, replace them there.`;
  return new ApiError('resource_already_exists', message, { param: 'configuration' });
}

export async function testConfiguration(
  vault: Pick<Vault, 'test'>,
  company: Connecting,
  change: Change,
): Promise<ConnectionTestResult> {
  return testToWire(await testedConfiguration(vault, company.id, change), { ...company, kind: change.kind });
}

type TestResult = Awaited<ReturnType<Vault['test']>>;

async function testedConfiguration(
  vault: Pick<Vault, 'test'>,
  companyId: string,
  { kind, configuration, connectionId }: Change,
): Promise<TestResult> {
  const { timeoutMs } = kindNamed(kind);
  const unsaved = {
    companyId,
    id: connectionId ?? newId(0),
    kind,
    configuration: new Secret(configuration),
    timeoutMs,
    keepsOmitted: connectionId !== undefined,
  };
  const result = await vault.test(unsaved);
  if (result.outcome === 'invalid') refuseInvalid(result);
  return result;
}

const otherModes: Readonly<Record<'live' | 'test', string>> = {
  live: 'These are credentials of the test mode. Enter those of the live mode.',
  test: 'These are credentials of a live account. A rehearsal needs those of a test account, or of an account in test mode.',
};

/** A live company takes only live accounts, and a rehearsal only test accounts. An acquirer does not say which it is. */
export function testToWire(
  result: TestResult,
  { mode, kind }: Pick<Company, 'mode'> & { readonly kind?: string },
): ConnectionTestResult {
  if (result.outcome !== 'works') return { works: false, account: null, problem: result.problem, advice: null };
  const { account, livemode, advice = null } = result;
  const wanted = mode === 'live' ? 'live' : 'test';
  if (livemode === (wanted === 'live') || (wanted === 'test' && kind === 'acquirer')) {
    return { works: true, account, problem: null, advice };
  }
  return { works: false, account, problem: otherModes[wanted], advice: null };
}

export async function storeCredentials(
  vault: Pick<Vault, 'connect'>,
  companyId: string,
  id: string,
  { kind, configuration, connectionId }: Change,
): Promise<void> {
  const { timeoutMs } = kindNamed(kind);
  const stored = { companyId, id, kind, configuration: new Secret(configuration), timeoutMs };
  const problem = await vault.connect({ ...stored, keepsOmitted: connectionId !== undefined });
  refuseInvalid(problem);
}
