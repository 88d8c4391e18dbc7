import { ApiError } from '../../errors.ts';
import { lackingOf } from '../../http/caller.ts';
import { type Permission, usualPermissions } from '../../http/permissions.ts';
import { limits } from '../../limits.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { secondMs } from '../../platform/durations.ts';
import type { RequestContext } from '../../request-context.ts';
import type { KeyDependencies } from './management.ts';
import { type ApiKey, findEndedLookups, revokeNamed } from './queries.ts';
import type { TrialKey } from './schemas.ts';
import { createApiKey, reserveApiKey, type ReservedKey, trialPrefix } from './service.ts';

/**
 * Keys with which the API reference sends requests for a signed-in member: only in the sandbox, with no more permissions
 * than the member has, for an hour at most, and no longer than the session of the member.
 */

/** A password is asked for before these are used, which a key that is made without one must not avoid. */
const withheld: readonly Permission[] = ['team_members:write', 'webhook_endpoints:write'];

const nameFor = ({ caller }: RequestContext): string => `${trialPrefix}${caller?.name ?? ''}`;

/** The list of keys does not show those of earlier visits to the reference. */
export async function withoutOldTrials(
  control: ControlQueryable,
  keys: readonly ApiKey[],
  nowMs: number,
): Promise<ApiKey[]> {
  const isOld = ({ revokedAt, expiresAt }: ApiKey): boolean =>
    revokedAt !== null || (expiresAt !== null && expiresAt.getTime() <= nowMs);
  const isTrial = ({ name }: ApiKey): boolean => name.startsWith(trialPrefix);
  const shown = keys.filter((key) => !isTrial(key) || !isOld(key));
  const trials = shown.filter(isTrial).map(({ lookupId }) => lookupId);
  const ended = trials.length > 0 ? await findEndedLookups(control, trials) : new Set<string>();
  return shown.filter(({ lookupId }) => !ended.has(lookupId));
}

export function reserveTrialKey(
  { company, caller }: RequestContext,
  { control, pepper, clock }: KeyDependencies,
): Promise<ReservedKey> {
  if (!caller?.session) throw new Error('a key for the API reference belongs to a session');
  if (company.mode !== 'sandbox') {
    throw new ApiError(
      'invalid_request',
      'The API reference sends requests only to the sandbox. Switch to the sandbox.',
    );
  }
  return reserveApiKey(control, pepper, company, clock.nowMs(), 'secret', caller.session);
}

/** A member has a few such keys at a time, since what was copied from one page should last while another is read. */
export async function makeTrialKey(
  context: RequestContext,
  { clock, forgetAccess }: KeyDependencies,
  reserved: ReservedKey,
): Promise<TrialKey> {
  const nowMs = clock.nowMs();
  const name = nameFor(context);
  const expiresAt = new Date(nowMs + limits.trialKeySeconds * secondMs);
  const permissions = usualPermissions.filter(
    (permission) => !withheld.includes(permission) && lackingOf(context.caller, [permission]).length === 0,
  );
  const { id, text } = await context.db.transaction(async (transaction) => {
    await revokeNamed(transaction, context.company.id, name, new Date(nowMs), expiresAt, limits.trialKeys - 1);
    const made = await createApiKey(transaction, reserved, nowMs, { name, permissions, expiresAt });
    return { id: made.key.id, text: made.text };
  });
  forgetAccess(context.company.id);
  return { id, key: text.reveal(), permissions, expires_at: expiresAt.toISOString() };
}
