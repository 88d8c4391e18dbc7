import { ApiError, invalidField } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import { Secret } from '../../platform/secret.ts';
import { kindNamed } from '../../vault/processors/kinds.ts';
import type { FieldProblem, Vault } from '../../vault/vault.ts';
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

/** A connection that does not work is not stored: the owner sees at once what is wrong. */
export async function requireWorking(vault: Pick<Vault, 'test'>, companyId: string, change: Change): Promise<void> {
  // An acquirer is the operator's own, and may start later.
  if (change.kind === 'acquirer') return;
  const result = await testConfiguration(vault, companyId, change);
  if (!result.works) throw new ApiError('invalid_request', result.problem ?? '', { param: 'configuration' });
}

export async function testConfiguration(
  vault: Pick<Vault, 'test'>,
  companyId: string,
  { kind, configuration, connectionId }: Change,
): Promise<ConnectionTestResult> {
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
  return testToWire(result);
}

export function testToWire(
  result: Exclude<Awaited<ReturnType<Vault['test']>>, FieldProblem> | FieldProblem,
): ConnectionTestResult {
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
