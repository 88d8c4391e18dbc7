import { ApiError } from '../../errors.ts';
import { parseMoment } from '../query-parameters.ts';
import type { RouteBase } from '../route.ts';
import { version20251104 } from './2025-11-04.ts';
import { latestVersion } from './latest.ts';

export { latestVersion };

/**
 * Handlers know only the latest version. A step rewrites the response of the next newer version into its own; a
 * request of an old version passes through the steps from the newest down to it.
 */
export interface VersionStep {
  readonly version: string;
  readonly differences: readonly string[];
  readonly response: (route: RouteBase, body: unknown) => unknown;
  /**
   * Applies the change of `response` to a schema, so that the API reference of the version describes its responses.
   */
  readonly schema: (route: RouteBase, schema: object) => object;
  readonly errorStatus: (route: RouteBase, error: Pick<ApiError, 'code' | 'status'>) => number;
  /** Rewrites an event, if events differ. */
  readonly event?: (event: object) => object;
}

/** Newest first. */
const olderSteps: readonly VersionStep[] = [version20251104];
export const supportedVersions = [latestVersion, ...olderSteps.map((step) => step.version)];
const lastRetired = '2025-06-18';

/** Returns the version if it is supported. */
export function supportedVersion(version: string | string[] | undefined): string | undefined {
  return supportedVersions.find((supported) => supported === version);
}

export function checkVersion(requested: string): string {
  if (supportedVersions.includes(requested)) return requested;
  const newest = `Supported: ${supportedVersions.join(', ')}.`;
  if (requested.length === 10 && parseMoment(requested) !== undefined && requested <= lastRetired) {
    throw new ApiError('api_version_sunset', `Version ${requested} is retired. ${newest}`, { param: 'SVC-Version' });
  }
  throw new ApiError('invalid_api_version', `SVC-Version is not a known version. ${newest}`, {
    param: 'SVC-Version',
  });
}

function stepsTo(version: string, steps = olderSteps): readonly VersionStep[] {
  return steps.filter((step) => step.version >= version);
}

export function renderResponse(version: string, route: RouteBase, body: unknown, steps = olderSteps): unknown {
  return version === latestVersion
    ? body
    : stepsTo(version, steps).reduce((rewritten, step) => step.response(route, rewritten), body);
}

export function renderSchema(version: string, route: RouteBase, schema: object): object {
  return stepsTo(version).reduce((rewritten, step) => step.schema(route, rewritten), schema);
}

/** Returns how a version differs from the latest. */
export function differencesOf(version: string): readonly string[] {
  return stepsTo(version).flatMap(({ differences }) => differences);
}

/** Whether events of the version differ from those of the latest. */
export function rewritesEvents(version: string): boolean {
  return stepsTo(version).some((step) => step.event !== undefined);
}

export function renderEvent(version: string, event: object): object {
  return stepsTo(version).reduce((rewritten, step) => step.event?.(rewritten) ?? rewritten, event);
}

export function errorStatusIn(
  version: string,
  route: RouteBase,
  error: Pick<ApiError, 'code' | 'status'>,
  steps = olderSteps,
): number {
  return stepsTo(version, steps).reduce(
    (status, step) => step.errorStatus(route, { code: error.code, status }),
    error.status,
  );
}

export function renderError(version: string, route: RouteBase, error: ApiError, steps = olderSteps): ApiError {
  const status = errorStatusIn(version, route, error, steps);
  if (status === error.status) return error;
  const { code, message, param, fieldErrors, headers, stored } = error;
  return new ApiError(code, message, { param, fieldErrors, headers, stored, status });
}
