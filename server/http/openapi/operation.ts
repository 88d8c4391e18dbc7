import { limits } from '../../limits.ts';
import { permissionNotes } from '../permissions.ts';
import type { RouteBase } from '../route.ts';
import { queryParametersOf } from '../route-parameters.ts';
import { renderSchema } from '../versions/versions.ts';
import { type Components, componentReference, type Json, schemaReference } from './components.ts';
import { errorResponses } from './errors.ts';
import { commonHeaders, headerReferences } from './headers.ts';

export function operation(route: RouteBase, version: string, components: Components): Json {
  const body = requestBody(route, components);
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: describe(route),
    tags: [route.tag],
    ...(route.publishable && { security: [{ publishableKey: [] }, { secretKey: [] }] }),
    parameters: [
      ...pathParameters(route),
      ...queryParameters(route, components),
      ...headerParameters(route, version, components),
    ],
    ...(body && { requestBody: body }),
    responses: { ...success(route, version, components), ...errorResponses(route, version, components) },
    'x-permission': route.permission,
    ...(route.expand && { 'x-expand-permissions': route.expand }),
    'x-idempotency': route.idempotency,
    'x-rate-limit': route.category,
  };
}

function describe(route: RouteBase): string {
  const idempotency = {
    required: 'The header `X-SVC-Idempotency-Key` is required.',
    optional: 'The header `X-SVC-Idempotency-Key` is optional.',
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

/** The ids of events and requests are not plain UUIDs. */
function idForm({ resource }: RouteBase, name: string | undefined): Json {
  if (name === 'requestId') return { pattern: '^req_[a-z2-7]{24}$', examples: ['req_k3v5qz7m2n4p6r6s2t3u5w7x'] };
  return name === 'eventId' || (resource === 'event' && name === 'id')
    ? { pattern: '^evt_[0-9a-f]{32}$', examples: ['evt_019c4c1f50007c008d223e4f50617283'] }
    : { format: 'uuid' };
}

function queryParameters(route: RouteBase, components: Components): Json[] {
  return Object.entries(queryParametersOf(route))
    .filter(([name]) => name !== 'expand' || route.expand)
    .map(([name, parameter]) => ({
      name,
      in: 'query',
      required: false,
      description: parameter.description,
      schema: schemaReference(parameter.schema, components),
      ...(parameter.repeatable && { style: 'form', explode: false }),
    }));
}

function headerParameters(route: RouteBase, version: string, { parameters, schemas }: Components): Json[] {
  schemas.ApiVersion = { title: 'ApiVersion', type: 'string', enum: [version] };
  parameters.Version = {
    name: 'SVC-Version',
    in: 'header',
    required: false,
    description:
      'The version that this document describes. Send it with every request. Without it, the pinned version of ' +
      'the company is used.',
    schema: componentReference('schemas', 'ApiVersion'),
  };
  if (route.idempotency === 'none') return [componentReference('parameters', 'Version')];
  const required = route.idempotency === 'required';
  const name = required ? 'RequiredIdempotencyKey' : 'IdempotencyKey';
  parameters[name] = {
    name: 'X-SVC-Idempotency-Key',
    in: 'header',
    required,
    description: `A new UUID for each new operation, and the same one for a repeat. Valid for ${limits.idempotencyKeyHours} hours.`,
    schema: { type: 'string', minLength: 1, maxLength: limits.idempotencyKeyLength, pattern: '^[A-Za-z0-9_-]+$' },
  };
  const own = [componentReference('parameters', 'Version'), componentReference('parameters', name)];
  if (!route.version) return own;
  parameters.IfMatch = {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of the object as you read it. If the object has changed since, the request changes nothing and returns 412 ' +
      '`resource_changed`. Without this header, the request always changes the object.',
    schema: { type: 'string', pattern: ifMatchPattern },
  };
  return [...own, componentReference('parameters', 'IfMatch')];
}

const ifMatchPattern = String.raw`^(\*|(W/)?"[!#-~]*"(, *(W/)?"[!#-~]*")*)$`;

function requestBody(route: RouteBase, components: Components): Json | undefined {
  if (route.upload) {
    const { field, description } = route.upload;
    const file = { type: 'string', format: 'binary', description };
    const schema = { type: 'object', required: [field], properties: { [field]: file }, additionalProperties: false };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (!route.body) return undefined;
  const content = {
    schema: schemaReference(route.body, components),
    ...(route.bodyExample !== undefined && { example: route.bodyExample }),
  };
  const { required = [] } = route.body as { required?: readonly string[] };
  return { required: required.length > 0, content: { 'application/json': content } };
}

/** Returns nothing for a call that is never executed. */
function success(route: RouteBase, version: string, components: Components): Json {
  if (!route.success) return {};
  const { status } = route.success;
  const replayed = route.idempotency === 'none' ? [] : ['SVC-Idempotent-Replayed'];
  const schema = renderSchema(version, route, schemaReference(route.success.schema, components));
  return {
    [status]: {
      description: status === 201 ? 'Created.' : 'Done.',
      headers: headerReferences([...commonHeaders, ...replayed, ...(route.version ? ['ETag'] : [])]),
      content: { 'application/json': { schema } },
    },
  };
}
