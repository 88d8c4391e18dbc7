import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Json, odd, openHostileClient, seed } from './support/hostile-client.ts';
import { document, resolve } from './support/openapi.ts';
import { anyText, isLongRun, rounds } from './support/random.ts';
import { someCustomer, someProduct } from './support/service.ts';

/** Every operation of the OpenAPI document, with any value in any field and any text in any parameter. */

const { service, send } = await openHostileClient();

interface Schema {
  readonly $ref?: string;
  readonly properties?: Record<string, Schema>;
  readonly anyOf?: readonly Schema[];
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { name: string; in: string }[];
  readonly requestBody?: { content: Record<string, { example?: unknown; schema: Schema }> };
}

const texts = [
  Object.values(odd).join(' '),
  '\0',
  '\ud800',
  'x'.repeat(300),
  'x'.repeat(2100),
  '㌫'.repeat(200),
  '../..',
  '-1',
  '2026-02-30',
  '9999-12-31T23:59:60Z',
  '00000000-0000-0000-0000-000000000000',
];
// JSON.stringify cannot write these; a marked string stands for them until the text is made.
const tokens = ['⟦1e400⟧', '⟦-0⟧', '⟦9007199254740993⟧', '⟦01⟧', '⟦NaN⟧', '⟦{"a":1,"a":2}⟧'];
const values: readonly unknown[] = [
  ...texts,
  ...[
    '⟦1e-400⟧',
    '⟦1E2⟧',
    -1,
    0,
    1.5,
    2 ** 31,
    2 ** 53,
    true,
    null,
    '',
    ' ',
    [],
    {},
    [null],
    [[]],
    { $ref: '#' },
    'x'.repeat(1e5),
  ],
];
const keys = ['__proto__', 'constructor', 'toString', '', 'a.b', 'items[0]', 'ключ', 'x'.repeat(5000)];

function toText(body: unknown): string {
  const text = JSON.stringify(body) ?? 'undefined';
  return text.replace(/"⟦(.*?)⟧"/g, (_, token: string) => token.replaceAll('\\"', '"'));
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed()).slice(0, 2500).replace(/%.?$/, '');

const unique: Record<string, () => unknown> = {
  email: () => someCustomer().email,
  phone: () => someCustomer().phone,
  sku: () => someProduct().sku,
};

/** The example of the reference, with fresh values where two objects may not share one. */
function exampleBody(operation: Operation | undefined): Json {
  const example = structuredClone(operation?.requestBody?.content['application/json']?.example ?? {}) as Json;
  for (const name of Object.keys(example)) example[name] = unique[name]?.() ?? example[name];
  return example;
}

/** An id that exists, where the collection can be listed and created in; any id elsewhere. */
async function idFor(collection: string): Promise<string> {
  const operations = document.paths[collection] as Record<string, unknown> | undefined;
  if (!operations?.get || !operations.post || collection.includes('{')) return randomUUID();
  const listed = await service.call('GET', `${collection}?limit=1`);
  if (listed.body.data[0]) return listed.body.data[0].id;
  const body = exampleBody(operations.post as Operation);
  return (await service.call('POST', collection, { body, idempotencyKey: randomUUID() })).body.id ?? randomUUID();
}

async function pathFor(template: string): Promise<string> {
  const [collection = ''] = template.split('/{');
  const id = template.includes('{id}') ? await idFor(collection) : '';
  return template.replace('{id}', id).replace(/\{\w+\}/g, () => randomUUID());
}

function fieldPaths(schema: Schema): string[][] {
  if (schema.$ref) return fieldPaths(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema);
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    [name],
    ...fieldPaths(inner).map((path) => [name, ...path]),
  ]);
  return [...own, ...(schema.anyOf ?? []).flatMap(fieldPaths)];
}

function withField(body: Json, [name = '', ...rest]: readonly string[], value: unknown): Json {
  const inner = typeof body[name] === 'object' && body[name] !== null ? (body[name] as Json) : {};
  return { ...body, [name]: rest.length > 0 ? withField(inner, rest, value) : value };
}

interface Mutation {
  readonly kind: 'replace' | 'remove' | 'add' | 'whole' | 'cut' | 'insert';
  readonly place: number;
  readonly key: string;
  readonly value: unknown;
}

interface FuzzedRequest {
  readonly mutations: Mutation[];
  readonly query: [name: string, value: string][];
  readonly id: string | null;
}

const kinds = ['replace', 'replace', 'remove', 'add', 'whole', 'cut', 'insert'] as const;
const text = fc.oneof(fc.constantFrom(...texts), anyText(60));
const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom(...kinds),
  place: fc.nat(10_000),
  key: fc.constantFrom(...keys),
  value: fc.oneof(fc.constantFrom(...values), fc.constantFrom(...tokens), text, fc.jsonValue({ maxDepth: 3 })),
});

/** What is sent in any case, before chance decides: one mutation of each kind. */
const examples = [...new Set(kinds)].map((kind, index): [FuzzedRequest] => [
  { mutations: [{ kind, place: 17, key: keys[index] ?? '', value: values[index] }], query: [], id: null },
]);

interface Place {
  readonly holder: Json;
  readonly key: string;
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Json;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

function mutate(base: unknown, mutations: readonly Mutation[]): string {
  let body = structuredClone(base);
  let rewrite = (written: string): string => written;
  for (const { kind, place, key, value } of mutations) {
    const places = placesIn(body);
    const chosen = places[place % Math.max(places.length, 1)];
    if (kind === 'whole') body = structuredClone(value);
    else if (kind === 'cut') rewrite = (written) => written.slice(0, place % (written.length + 1));
    else if (kind === 'insert') {
      rewrite = (written) => written.slice(0, place % written.length) + key + written.slice(place % written.length);
    } else if (chosen && kind === 'remove') delete chosen.holder[chosen.key];
    else if (chosen) {
      const property = { value: structuredClone(value), enumerable: true, configurable: true, writable: true };
      Object.defineProperty(chosen.holder, kind === 'add' ? key : chosen.key, property);
    }
  }
  return rewrite(toText(body));
}

const returnsWhatWasSent = new Set(['createCustomer', 'createProduct']);

for (const [template, operations] of Object.entries(document.paths)) {
  for (const [methodName, declared] of Object.entries(operations)) {
    const operation = declared as unknown as Operation;
    const method = methodName.toUpperCase();
    const schema = operation.requestBody?.content['application/json']?.schema;
    const names = operation.parameters
      .map((one) => resolve(one))
      .filter((parameter) => parameter.in === 'query')
      .map(({ name }) => name);

    if (names.length > 0) {
      test(`${operation.operationId} answers any text in any query parameter with less than 500`, async () => {
        const path = await pathFor(template);
        for (const name of names) for (const value of texts) await send(method, `${path}?${name}=${encoded(value)}`);
      });
    }

    if (schema) {
      test(`${operation.operationId} answers any value in any field with less than 500, or returns it as sent`, async () => {
        const path = await pathFor(template);
        const fields = fieldPaths(schema);
        // Each value meets a fifth of the fields, each field a fifth of the values; in a long run, all of them.
        const stride = isLongRun || fields.length < 6 ? 1 : 5;
        for (const [index, field] of fields.entries()) {
          for (const value of values.filter((_, at) => at % stride === index % stride)) {
            const body = withField(exampleBody(operation), field, value);
            const reply = await send(method, path, { raw: toText(body), idempotencyKey: randomUUID() });
            if (reply.status >= 300 || !returnsWhatWasSent.has(operation.operationId)) continue;
            const sent = Object.entries(JSON.parse(toText(body)) as Json).filter(([, given]) => given !== null);
            assert.partialDeepStrictEqual(reply.body, Object.fromEntries(sent));
          }
        }
      });
    }

    test(`fuzz: ${operation.operationId} answers every input with less than 500`, async () => {
      const request = fc.record({
        mutations: fc.array(mutation, { minLength: 1, maxLength: 3 }),
        query: fc.array(fc.tuple(fc.constantFrom(...names, 'unknown'), text), { maxLength: 3 }),
        id: fc.option(text, { freq: 8 }),
      });
      const survives = fc.asyncProperty<[FuzzedRequest]>(request, async ({ mutations, query, id }) => {
        const known = id === null ? template : template.replace('{id}', `a${encoded(id)}`);
        const search = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&');
        await send(method, (await pathFor(known)) + (method === 'GET' ? `?${search}` : ''), {
          idempotencyKey: randomUUID(),
          ...(schema && { raw: mutate(exampleBody(operation), mutations) }),
        });
      });
      await fc.assert(survives, {
        numRuns: rounds(4),
        examples,
        interruptAfterTimeLimit: 20_000 * rounds(1),
        ...seed,
      });
    });
  }
}
