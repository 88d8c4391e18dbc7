import { ApiError } from '../errors.ts';
import type { Company } from '../features/companies/service.ts';
import type { RouteBase } from './route.ts';

/** Who asks: an API key, or a member of the team who is signed in to the dashboard. */
export interface Caller {
  readonly kind: 'key' | 'member';
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly string[];
  /** A publishable key: it lives in browsers and may do next to nothing. */
  readonly publishable: boolean;
  /** Until when what shows or changes secrets is done without asking for the password again. */
  readonly steppedUpUntilMs: number;
}

export interface Admitted {
  readonly company: Company;
  readonly caller: Caller;
}

/** Routes of the dashboard alone: what the API does not offer. */
export const isDashboardRoute = ({ path }: Pick<RouteBase, 'path'>): boolean => path.startsWith('/dashboard/');

type Asked = Pick<RouteBase, 'path' | 'permission' | 'publishable' | 'stepUp' | 'secretAnswer'>;

export function checkPermission(caller: Caller, route: Asked, nowMs: number): void {
  const { kind, permissions, publishable, steppedUpUntilMs } = caller;
  const refuse = (why: string): never => {
    throw new ApiError('insufficient_permissions', why);
  };
  if (publishable) {
    if (!route.publishable) refuse('A publishable key only captures cards; use a secret key.');
    return;
  }
  if (kind === 'key' && isDashboardRoute(route)) refuse('This is done in the dashboard, not with an API key.');
  if (route.permission && !permissions.includes(route.permission)) {
    const whose = kind === 'key' ? 'This API key' : 'Your role';
    refuse(`${whose} lacks the permission ${route.permission}.`);
  }
  const touchesSecrets = route.stepUp || route.secretAnswer;
  if (kind === 'member' && touchesSecrets && steppedUpUntilMs <= nowMs) {
    throw new ApiError('step_up_required', 'Confirm your password to go on.');
  }
}
