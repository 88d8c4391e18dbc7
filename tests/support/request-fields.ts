import { randomUUID } from 'node:crypto';
import type { TSchema } from 'typebox';
import { dashboardRoutes } from '../../server/app.ts';
import { userRoutes } from '../../server/features/users/routes.ts';
import type { Person } from './dashboard.ts';
import { document, routes as apiRoutes } from './openapi.ts';
import type { Reply, TestService } from './service.ts';

/** Lists every field of every request body, read from the schemas that validate them. */

export interface RequestField {
  /** The operation, or method and path of a route without an operation id. */
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly keyed: boolean;
  /** The field as errors name it, with the first entry of an array for all of them: `items[0].quantity`. */
  readonly field: string;
  readonly schemas: readonly Json[];
}

export type Json = Record<string, unknown>;

interface Body {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly keyed: boolean;
  readonly schema: TSchema;
}

function bodies(): Body[] {
  const inDashboard = dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0]);
  const routes = [...apiRoutes, ...inDashboard].map((route) => ({ ...route, keyed: route.idempotency !== 'none' }));
  const ofPeople = userRoutes({} as Parameters<typeof userRoutes>[0]).map((route) => ({
    ...route,
    keyed: false,
    operationId: `${route.method} ${route.path}`,
  }));
  return [...routes, ...ofPeople].flatMap(({ operationId, method, path, keyed, body }) =>
    body ? [{ operation: operationId, method, path, keyed, schema: body }] : [],
  );
}

/** Returns each alternative of a value. */
function alternatives(schema: Json): Json[] {
  return Array.isArray(schema['anyOf']) ? (schema['anyOf'] as Json[]).flatMap(alternatives) : [schema];
}

export const takesNull = (schemas: readonly Json[]): boolean => schemas.some(({ type }) => type === 'null');

interface SchemaField {
  readonly field: string;
  readonly schema: Json;
  readonly schemas: Json[];
  readonly required: boolean;
}

export function* fieldsOf(schema: Json, at = ''): Generator<SchemaField> {
  for (const { properties, required = [], items } of alternatives(schema)) {
    for (const [name, inner] of Object.entries((properties ?? {}) as Record<string, Json>)) {
      const field = at ? `${at}.${name}` : name;
      yield { field, schema: inner, schemas: alternatives(inner), required: (required as string[]).includes(name) };
      yield* fieldsOf(inner, field);
    }
    if (items) {
      yield { field: `${at}[0]`, schema: items as Json, schemas: alternatives(items as Json), required: true };
      yield* fieldsOf(items as Json, `${at}[0]`);
    }
  }
}

/** Returns a part of the API document without references. */
export function inlined(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inlined);
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, ...beside } = node as Json;
  if (typeof $ref === 'string') {
    const [, , kind = '', name = ''] = $ref.split('/');
    return { ...(inlined((document.components as unknown as Record<string, Json>)[kind]?.[name]) as Json), ...beside };
  }
  return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, inlined(inner)]));
}

export const requestFields: readonly RequestField[] = bodies().flatMap(({ schema, ...body }) =>
  [...fieldsOf(schema as unknown as Json)].map((found) => ({ ...body, ...found })),
);

/** Returns a body with only this field. */
export function bodyWith(field: string, value: unknown): unknown {
  const [, name, rest = ''] = /^(?:\.?([\w-]+)|\[0\])(.*)$/.exec(field) ?? [];
  const inner = rest === '' ? value : bodyWith(rest, value);
  return name === undefined ? [inner] : { [name]: inner };
}

let calls = 0;

/** Sends the body for an object that does not exist: the fields are checked first. */
export function sendBody(
  service: TestService,
  owner: Person,
  { method, path, keyed }: RequestField,
  body: unknown,
): Promise<Reply> {
  const url = path.replace(/:eventId/, `evt_${randomUUID().replaceAll('-', '')}`).replace(/:\w+/g, () => randomUUID());
  calls += 1;
  const options = {
    ...(keyed && { idempotencyKey: randomUUID() }),
    // Each request has another address, because rejected cards and passwords are counted by address.
    headers: { 'x-forwarded-for': `198.51.${calls >> 8}.${calls & 255}` },
  };
  if (path.startsWith('/dashboard/')) return owner.in(method, url, body, options);
  return service.call(method, url, { body, ...options });
}
