import { type ApiErrorCode, errorCatalogue } from '../../errors.ts';
import type { RouteBase } from '../route.ts';
import { errorSchema } from '../schemas.ts';
import { errorStatusIn } from '../versions/versions.ts';
import { type Components, componentReference, type Json, schemaReference } from './components.ts';
import { commonHeaders, headerReferences } from './headers.ts';

/** The errors that a call can return. */

interface Refusal {
  readonly code: ApiErrorCode;
  readonly status: number;
}

/** Returns every error code of a call: its own, and those of the common rules. */
export function refusalsOf(route: RouteBase, version: string): Refusal[] {
  const rendered = [...commonRefusals(route), ...ownRefusals(route)].map(({ code, status }) => ({
    code,
    status: errorStatusIn(version, route, { code, status }),
  }));
  const known = new Map(rendered.map((refusal) => [`${refusal.status} ${refusal.code}`, refusal]));
  return [...known.values()].toSorted((left, right) => left.status - right.status);
}

const usual = (...codes: ApiErrorCode[]): Refusal[] =>
  codes.map((code) => ({ code, status: errorCatalogue[code].status }));

function ownRefusals(route: RouteBase): Refusal[] {
  return route.errors.flatMap((error) => (typeof error === 'string' ? usual(error) : [error]));
}

function commonRefusals(route: RouteBase): Refusal[] {
  const keyed = route.idempotency !== 'none';
  const hasBody = route.method !== 'GET';
  const limited = route.category === 'coupon_validation' ? 'too_many_requests' : 'rate_limit_exceeded';
  return [
    ...usual('validation_error', 'invalid_request'),
    ...(hasBody ? [{ code: 'invalid_request', status: 413 } as const] : []),
    ...(route.idempotency === 'required' ? usual('missing_idempotency_key') : []),
    ...(keyed ? usual('invalid_idempotency_key', 'request_in_progress', 'idempotency_key_conflict') : []),
    ...(route.version && hasBody ? usual('resource_changed') : []),
    ...usual('invalid_api_version', 'api_version_sunset'),
    ...(route.path.includes(':') ? usual('resource_not_found') : []),
    ...usual(...keyRefusals, ...permissionRefusals),
    ...usual(limited, 'global_rate_limit_exceeded', 'internal_error', 'service_unavailable'),
  ];
}

const keyRefusals = [
  'missing_api_key',
  'invalid_api_key',
  'invalid_api_key_format',
  'expired_api_key',
  'revoked_api_key',
] as const;
const permissionRefusals = ['insufficient_permissions', 'ip_not_allowed'] as const;

/** Responses that are the same wherever they occur, by their codes. */
const sharedNames: Readonly<Record<string, string>> = {
  [keyRefusals.join()]: 'Unauthorized',
  [permissionRefusals.join()]: 'Forbidden',
  'rate_limit_exceeded,global_rate_limit_exceeded': 'TooManyRequests',
  internal_error: 'InternalError',
  service_unavailable: 'ServiceUnavailable',
};

export function errorResponses(route: RouteBase, version: string, components: Components): Json {
  const byStatus = Map.groupBy(refusalsOf(route, version), ({ status }) => status);
  const responses: Json = {};
  // Generators and linters expect the form of an error even if no other response is possible.
  if (!route.success) responses.default = anyError(components);
  for (const [status, refusals] of byStatus) {
    const codes = refusals.map(({ code }) => code);
    const response = errorResponse(status, codes, components);
    const name = sharedNames[codes.join()];
    if (name) components.responses[name] = response;
    responses[String(status)] = name ? componentReference('responses', name) : response;
  }
  return responses;
}

function anyError(components: Components): Json {
  return {
    description: 'This call only returns errors.',
    headers: headerReferences(commonHeaders),
    content: {
      'application/json': {
        schema: schemaReference(errorSchema, components),
        example: exampleError('not_implemented'),
      },
    },
  };
}

function errorResponse(status: number, codes: readonly ApiErrorCode[], components: Components): Json {
  const lines = codes.map((code) => `- \`${code}\`: ${errorCatalogue[code].meaning}`);
  const waits = status === 429 || status === 503 || codes.includes('request_in_progress');
  return {
    description: lines.join('\n'),
    headers: headerReferences(waits ? [...commonHeaders, 'Retry-After'] : commonHeaders),
    content: {
      'application/json': {
        schema: schemaReference(errorSchema, components),
        example: exampleError(codes[0] ?? 'internal_error'),
      },
    },
  };
}

function exampleError(code: ApiErrorCode): Json {
  const { type, meaning } = errorCatalogue[code];
  const fieldErrors = [{ field: 'email', code: 'required_field', message: 'is required' }];
  return {
    error: {
      type,
      code,
      message: code === 'validation_error' ? 'email: is required' : meaning,
      param: code === 'validation_error' ? 'email' : null,
      request_id: 'req_k3v5qz7m2n4p6r6s2t3u5w7x',
      field_errors: code === 'validation_error' ? fieldErrors : [],
    },
  };
}
