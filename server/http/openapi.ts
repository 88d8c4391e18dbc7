import type { TSchema } from 'typebox';
import { type ApiErrorCode, errorCatalogue } from '../errors.ts';
import { limits } from '../limits.ts';
import { documentedPattern } from './formats.ts';
import { queryParametersOf } from './mount.ts';
import { permissionNotes } from './permissions.ts';
import type { RouteBase } from './route.ts';
import { errorSchema } from './schemas.ts';
import { latestVersion, supportedVersions } from './versions/versions.ts';

/** The OpenAPI 3.1 document, made from the same declarations that validate, permit and limit. */

type Json = Record<string, unknown>;

export function openApiDocument(routes: readonly RouteBase[], baseUrl: string): Json {
  const schemas: Json = {};
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Payments API',
      version: latestVersion,
      description:
        'Customers, vaulted cards, catalog, orders that charge, refunds, subscriptions, coupons, team and webhooks. ' +
        'Amounts are integers in cents. A declined card is not an error: the order comes back as `failed`.',
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A secret key, such as `svc_test_sk_…`.' },
      },
      headers: responseHeaders,
      schemas,
    },
  };
}

const responseHeaders: Json = {
  'SVC-Request-Id': { description: 'Name it when you ask about this request.', schema: { type: 'string' } },
  'SVC-Version': { description: 'The version that served the request.', schema: { type: 'string' } },
  'SVC-Idempotent-Replayed': { description: '`true` on a stored answer.', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Requests the tightest limit allows.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'How many are left.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until it is full again.', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: '`count;w=seconds`.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
};

const headerReferences = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const commonHeaders = Object.keys(responseHeaders).filter(
  (name) => name !== 'Retry-After' && name !== 'SVC-Idempotent-Replayed',
);

/** A titled schema becomes a component and is referred to by its name. */
function reference(schema: TSchema, schemas: Json): Json {
  const plain = JSON.parse(JSON.stringify(schema)) as Json;
  return hoist(plain, schemas) as Json;
}

function hoist(node: unknown, schemas: Json): unknown {
  if (Array.isArray(node)) return node.map((inner) => hoist(inner, schemas));
  if (typeof node !== 'object' || node === null) return node;
  const { title, examples, ...rest } = node as Json;
  const inner: Json = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, hoist(value, schemas)]));
  const written = { ...inner, ...patternOf(rest), ...(examples !== undefined && { examples }) };
  if (typeof title !== 'string') return title === undefined ? written : { ...written, title: hoist(title, schemas) };
  schemas[title] = { title, ...written };
  return { $ref: `#/components/schemas/${title}` };
}

function patternOf({ type, format, pattern }: Json): Json {
  if (type !== 'string' || typeof format !== 'string') return {};
  const documented = documentedPattern(format, typeof pattern === 'string' ? pattern : undefined);
  return documented === undefined ? {} : { pattern: documented };
}

function operation(route: RouteBase, schemas: Json): Json {
  const body = requestBody(route, schemas);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: describe(route),
    tags: [route.tag],
    parameters: [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)],
    ...(body && { requestBody: body }),
    responses: { [route.success.status]: success(route, schemas), ...errorResponses(route, schemas) },
    'x-permission': route.permission,
    ...(route.expand && { 'x-expand-permissions': route.expand }),
    'x-idempotency': route.idempotency,
    'x-rate-limit': route.category,
  };
}

function describe(route: RouteBase): string {
  const idempotency = {
    required: 'The header `X-SVC-Idempotency-Key` is required.',
    optional: 'The header `X-SVC-Idempotency-Key` is honoured.',
    none: '',
  }[route.idempotency];
  const note = route.permission && permissionNotes[route.permission];
  const permission = [`Permission: \`${route.permission}\`.`, note].filter(Boolean).join(' ');
  return [route.description, permission, idempotency].filter(Boolean).join('\n\n');
}

function pathParameters(route: RouteBase): Json[] {
  return [...route.path.matchAll(/:(\w+)/g)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: { type: 'string', ...idForm(route, match[1]) },
  }));
}

const eventIdExample = 'evt_019c4c1f50007c008d223e4f50617283';

/** Events and requests are not named by a bare UUID. */
function idForm({ resource }: RouteBase, name: string | undefined): Json {
  if (name === 'requestId') return { examples: ['req_k3v5qz7m2n4p6r6s2t3u5w7x'] };
  return name === 'eventId' || (resource === 'event' && name === 'id')
    ? { examples: [eventIdExample] }
    : { format: 'uuid' };
}

function queryParameters(route: RouteBase, schemas: Json): Json[] {
  return Object.entries(queryParametersOf(route))
    .filter(([name]) => name !== 'expand' || route.expand)
    .map(([name, parameter]) => ({
      name,
      in: 'query',
      required: false,
      description: parameter.description,
      schema: reference(parameter.schema, schemas),
      ...(parameter.repeatable && { style: 'form', explode: false }),
    }));
}

function headerParameters(route: RouteBase): Json[] {
  const version = {
    name: 'SVC-Version',
    in: 'header',
    required: false,
    description: 'Overrides the version that is pinned for the company.',
    schema: { type: 'string', enum: supportedVersions },
  };
  if (route.idempotency === 'none') return [version];
  return [
    version,
    {
      name: 'X-SVC-Idempotency-Key',
      in: 'header',
      required: route.idempotency === 'required',
      description: `A fresh UUID for each new operation, the same one when it is repeated; remembered for ${limits.idempotencyKeyHours} hours.`,
      schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyLength, pattern: '^[A-Za-z0-9_-]+$' },
    },
  ];
}

function requestBody(route: RouteBase, schemas: Json): Json | undefined {
  if (route.upload) {
    const { field, description } = route.upload;
    const file = { type: 'string', contentMediaType: 'application/octet-stream', description };
    const schema = { type: 'object', required: [field], properties: { [field]: file } };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (!route.body) return undefined;
  const content = {
    schema: reference(route.body, schemas),
    ...(route.bodyExample !== undefined && { example: route.bodyExample }),
  };
  const { required = [] } = route.body as { required?: readonly string[] };
  return { required: required.length > 0, content: { 'application/json': content } };
}

function success(route: RouteBase, schemas: Json): Json {
  const schema = reference(route.success.schema, schemas);
  const replayed = route.idempotency === 'none' ? [] : ['SVC-Idempotent-Replayed'];
  return {
    description: route.success.status === 201 ? 'Created.' : 'Done.',
    headers: headerReferences([...commonHeaders, ...replayed]),
    content: { 'application/json': { schema } },
  };
}

/** Every code a call can answer with: its own, and those the common rules bring. */
export function errorCodesOf(route: RouteBase): ApiErrorCode[] {
  const has = (condition: boolean, ...codes: ApiErrorCode[]): ApiErrorCode[] => (condition ? codes : []);
  return [
    ...new Set<ApiErrorCode>([
      'validation_error',
      'invalid_request',
      ...has(route.idempotency === 'required', 'missing_idempotency_key'),
      ...has(
        route.idempotency !== 'none',
        'invalid_idempotency_key',
        'request_in_progress',
        'idempotency_key_conflict',
      ),
      'invalid_api_version',
      'api_version_sunset',
      ...has(route.path.includes(':'), 'resource_not_found'),
      ...route.errors,
      'missing_api_key',
      'invalid_api_key',
      'invalid_api_key_format',
      'expired_api_key',
      'revoked_api_key',
      'insufficient_permissions',
      'ip_not_allowed',
      route.category === 'coupon_validation' ? 'too_many_requests' : 'rate_limit_exceeded',
      'global_rate_limit_exceeded',
      'internal_error',
      'service_unavailable',
    ]),
  ];
}

function statusesOf(code: ApiErrorCode, route: RouteBase): number[] {
  const { status } = errorCatalogue[code];
  return code === 'invalid_request' && route.method !== 'GET' ? [status, 413] : [status];
}

function errorResponses(route: RouteBase, schemas: Json): Json {
  const schema = reference(errorSchema, schemas);
  const byStatus = Map.groupBy(
    errorCodesOf(route).flatMap((code) => statusesOf(code, route).map((status) => ({ code, status }))),
    ({ status }) => status,
  );
  const responses: Json = {};
  for (const [status, entries] of byStatus) {
    const lines = entries.map(({ code }) => `- \`${code}\`: ${errorCatalogue[code].meaning}`);
    responses[String(status)] = {
      description: lines.join('\n'),
      headers: headerReferences(status === 429 || status === 503 ? [...commonHeaders, 'Retry-After'] : commonHeaders),
      content: { 'application/json': { schema, example: exampleError(entries[0]?.code ?? 'internal_error') } },
    };
  }
  return responses;
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
      request_id: 'req_k3v5qz7m2n4p6r8s1t3u5w7x',
      field_errors: code === 'validation_error' ? fieldErrors : [],
    },
  };
}
