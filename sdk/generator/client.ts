import { type ApiOperation, operations, referenceOf, type Schema, schemaNamed } from './document.ts';
import { methodNames } from './names.ts';

/** What the generators of all SDKs share: the namespaces of the client, its methods, and which schemas requests and responses use. */

export interface Namespace {
  readonly name: string;
  readonly methods: { readonly name: string; readonly operation: ApiOperation }[];
  readonly inner: Map<string, Namespace>;
}

export function namespaces(): Map<string, Namespace> {
  const roots = new Map<string, Namespace>();
  for (const operation of operations) {
    const path = methodNames[operation.id]?.split('.');
    if (!path) throw new Error(`${operation.id} has no place in the client: add it to sdk/generator/names.ts`);
    const method = path.pop() ?? '';
    let level = roots;
    let found: Namespace | undefined;
    for (const name of path) {
      found = level.get(name) ?? { name, methods: [], inner: new Map() };
      level.set(name, found);
      level = found.inner;
    }
    found?.methods.push({ name: method, operation });
  }
  const unknown = Object.keys(methodNames).filter((id) => !operations.some((operation) => operation.id === id));
  if (unknown.length > 0) throw new Error(`the document has no ${unknown.join(', ')}`);
  return roots;
}

export const capitalized = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

/** IDs are named after their object: `/customers/{id}` takes a `customerId`. */
export function idNames({ path }: ApiOperation): string[] {
  return [...path.matchAll(/(\w+)\/\{\w+\}/g)].map(([, resource = '']) => {
    return `${resource.replace(/s$/, '').replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}Id`;
  });
}

/** `Retrieve an order.` */
export const sentenceOf = ({ summary }: ApiOperation): string => `${summary}${summary.endsWith('.') ? '' : '.'}`;

const eventSchemas = (schemaNamed('Event').oneOf ?? []).map((one) => referenceOf(one) ?? '');

/** Every event type, with the schema of its event and that of its object. */
export const eventTypes = eventSchemas.map((name) => {
  const { type, data } = schemaNamed(name).properties ?? {};
  const dataSchema = referenceOf(data) ?? '';
  const object = referenceOf(schemaNamed(dataSchema).properties?.object) ?? '';
  return { type: String(type?.const), event: name, data: dataSchema, object };
});

/** Lists and errors are hand-written; an event is a union over its types. */
const writtenByHand = new Set([
  'Error',
  'ErrorType',
  'ErrorCode',
  'FieldErrorCode',
  'Event',
  'EventType',
  ...eventTypes.flatMap(({ event, data }) => [event, data]),
]);
export const isPrinted = (name: string): boolean => !name.endsWith('List') && !writtenByHand.has(name);

export function referencesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(referencesIn);
  if (typeof node !== 'object' || node === null) return [];
  const own = referenceOf(node);
  return own ? [own] : Object.values(node).flatMap(referencesIn);
}

function reachableFrom(names: readonly string[], seen = new Set<string>()): Set<string> {
  for (const name of names) {
    if (seen.has(name)) continue;
    seen.add(name);
    reachableFrom(referencesIn(schemaNamed(name)), seen);
  }
  return seen;
}

/** Schemas that requests send, and schemas that responses contain. Some are in both. */
export const sent: ReadonlySet<string> = reachableFrom(operations.flatMap(({ body }) => referencesIn(body)));
export const answered: ReadonlySet<string> = reachableFrom(operations.flatMap(({ answer }) => referencesIn(answer)));

export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export interface QueryParameter {
  readonly name: string;
  readonly schema: Schema;
  readonly description: string | undefined;
  /** `created_at[gte]` and similar parameters are one parameter with bounds. */
  readonly bounds: readonly string[];
}

/** The parameters of the query, with `expand` and `fields`. */
export function queryParameters({ query, expand, fieldsOf, id }: ApiOperation): QueryParameter[] {
  const found = new Map<string, QueryParameter>();
  for (const { name, schema, description } of query) {
    const [, group = name, bound] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    const bounds = [...(found.get(group)?.bounds ?? []), ...(bound ? [bound] : [])];
    found.set(group, { name: group, schema, description: bound ? undefined : description, bounds });
  }
  const choice = (name: string, values: readonly string[], description: string): void => {
    found.set(name, { name, schema: { type: 'array', items: { enum: values } }, description, bounds: [] });
  };
  if (expand.length > 0) choice('expand', expand, 'References to return as complete objects.');
  if (fieldsOf) choice('fields', fieldsIn(id), 'Returns only these fields; `id` is always included.');
  return [...found.values()];
}

function fieldsIn(id: string): readonly string[] {
  const operation = operations.find((one) => one.id === id);
  const name = operation?.item ?? referenceOf(operation?.answer) ?? '';
  const listed = schemaNamed(name).properties?.data?.items;
  return Object.keys(schemaNamed(referenceOf(listed) ?? name).properties ?? {});
}

/** Whether the schema is a list of texts or numbers that are named. */
export const isEnum = (schema: Schema): boolean => schema.enum !== undefined;

/** The schema without null, and whether it had it. */
export function withoutNull(schema: Schema): { readonly schema: Schema; readonly nullable: boolean } {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  if (!others || others.length === schema.anyOf?.length) return { schema, nullable: false };
  const [only = {}] = others;
  return { schema: others.length === 1 ? only : { ...schema, anyOf: others }, nullable: true };
}
