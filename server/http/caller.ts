import type { Caller } from '../request-context.ts';
import { ApiError } from '../errors.ts';
import { rightsOfKey } from './permissions.ts';
import type { RouteBase } from './route.ts';
import type { Company } from '../company.ts';

export interface Admitted {
  readonly company: Company;
  readonly caller: Caller;
}

/** Whether the route belongs to the dashboard and not to the API. */
export const isDashboardRoute = ({ path }: Pick<RouteBase, 'path'>): boolean => path.startsWith('/dashboard/');

/** Returns the permissions of `needed` that the caller lacks. The service itself, which has no caller, lacks none. */
export function lackingOf(caller: Caller | undefined, needed: readonly string[]): string[] {
  const missing = caller ? needed.filter((permission) => !caller.permissions.includes(permission)) : [];
  if (missing.length === 0 || caller?.kind !== 'key') return missing;
  const rights = rightsOfKey(caller.permissions);
  return missing.filter((permission) => !rights.includes(permission));
}

/**
 * The one rule for actions on objects that carry permissions (keys, roles, members, expansions): the caller must have
 * those permissions too. `why` says what requires them, as in "which the role Admin has".
 */
export function requirePermissions(
  caller: Caller | undefined,
  needed: readonly string[],
  why?: string,
  param?: string,
): void {
  const lacking = lackingOf(caller, needed);
  if (lacking.length === 0) return;
  const whose = caller?.kind === 'key' ? 'This API key' : 'Your role';
  const names = `the permission${lacking.length > 1 ? 's' : ''} ${lacking.join(', ')}`;
  const message = `${whose} does not have ${names}${why ? `, which ${why}` : ''}.`;
  throw new ApiError('insufficient_permissions', message, { ...(param && { param }) });
}

/** Actions of a member on secrets and permissions require a recent confirmation of the password. */
export function requireStepUp(caller: Caller | undefined, nowMs: number): void {
  if (caller?.kind === 'member') checkStepUp(caller.steppedUpUntilMs, nowMs);
}

export function checkStepUp(untilMs: number, nowMs: number): void {
  if (untilMs <= nowMs) throw new ApiError('step_up_required', 'Confirm your password to continue.');
}

/** An expansion shows objects that the permission of the route does not cover. */
export function checkExpansions(
  caller: Caller,
  { expand = {} }: Pick<RouteBase, 'expand'>,
  names: ReadonlySet<string>,
): void {
  for (const name of names) {
    const needed = expand[name];
    if (needed) requirePermissions(caller, [needed], `expand=${name} requires`, 'expand');
  }
}

type Asked = Pick<RouteBase, 'path' | 'permission' | 'publishable' | 'stepUp'>;

export function checkPermission(caller: Caller, route: Asked, nowMs: number): void {
  const { kind, publishable } = caller;
  const refuse = (why: string): never => {
    throw new ApiError('insufficient_permissions', why);
  };
  if (publishable) {
    if (!route.publishable) refuse('A publishable key can only create card tokens. Use a secret key.');
    return;
  }
  if (kind === 'key' && isDashboardRoute(route)) refuse('This route does not accept API keys. Use the dashboard.');
  if (route.permission) requirePermissions(caller, [route.permission]);
  if (route.stepUp) requireStepUp(caller, nowMs);
}
