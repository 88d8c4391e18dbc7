import { ApiError, invalidField } from '../../errors.ts';
import type { Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { FieldProblem, Vault } from '../../vault/vault.ts';
import { keepAccount } from './queries.ts';
import type { ConnectionCreate, ConnectionTestResult } from './schemas.ts';

/** Checks, tests and stores the credentials of a connection. Only the vault keeps them. */

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
 * credentials belong to; null if the processor does not report it.
 */
export async function requireWorking(
  vault: Pick<Vault, 'test'>,
  companyId: string,
  change: Change,
): Promise<string | null> {
  // An acquirer is the operator's own, and may start later. Its URL tells it from others.
  const { url } = change.configuration;
  if (change.kind === 'acquirer') return url === undefined ? null : new URL(url).href;
  const result = await testedConfiguration(vault, companyId, change);
  const { works, problem } = testToWire(result);
  if (!works) throw new ApiError('invalid_request', problem ?? '', { param: 'configuration' });
  return accountOf(result);
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
  const place = { companyId, connectionId };
  const known =
    (await keepAccount(db, companyId, connectionId, null)) ??
    (await keepAccount(db, companyId, connectionId, accountOf(await vault.test(place)) ?? accountId));
  if (known === accountId) return;
  throw invalidField(
    'configuration',
    `must be of the account ${known}, which has the payments of this connection. These are of ${accountId}. ` +
      'Connect that account as a new processor',
  );
}

export async function testConfiguration(
  vault: Pick<Vault, 'test'>,
  companyId: string,
  change: Change,
): Promise<ConnectionTestResult> {
  return testToWire(await testedConfiguration(vault, companyId, change));
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

export function testToWire(result: TestResult): ConnectionTestResult {
  if (result.outcome === 'works' && result.livemode) return { works: true, account: result.account, problem: null };
  if (result.outcome === 'works') {
    const problem = 'These are credentials of the test mode. Enter those of the live mode.';
    return { works: false, account: result.account, problem };
  }
  return { works: false, account: null, problem: result.problem };
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
