import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { routes } from '../../tests/support/openapi.ts';
import { dashboardRoutes } from '../app.ts';
import { ApiError } from '../errors.ts';
import { userRoutes } from '../features/users/routes.ts';
import { limits } from '../limits.ts';
import { documentedAs, documentedUnique } from './schemas.ts';
import { validator } from './validate.ts';

type Json = Record<string, unknown>;

interface Node extends Json {
  readonly type?: string;
  readonly properties?: Record<string, Node>;
  readonly items?: Node;
  readonly anyOf?: Node[];
  readonly additionalProperties?: unknown;
}

const declared: readonly { name: string; body?: TSchema }[] = [
  ...routes.map((route) => ({ name: route.operationId, ...(route.body && { body: route.body }) })),
  ...dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0]).map((route) => ({
    name: route.operationId,
    ...(route.body && { body: route.body }),
  })),
  ...userRoutes({} as Parameters<typeof userRoutes>[0]).map((route) => ({
    name: `${route.method} ${route.path}`,
    ...(route.body && { body: route.body }),
  })),
];
const bodies = declared.flatMap(({ name, body }) => (body ? [{ name, body }] : []));

function refusalOf(schema: TSchema, value: unknown): ApiError {
  try {
    validator(schema)(value);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return assert.fail('it was accepted');
}

const manyFields = (count: number): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));

describe('what a refusal says', () => {
  const person = Type.Object(
    {
      name: Type.String({ maxLength: 5 }),
      tags: Type.Optional(Type.Array(Type.String({ maxLength: 5 }), { maxItems: 150 })),
      address: Type.Optional(
        Type.Union([Type.Object({ line1: Type.String() }, { additionalProperties: false }), Type.Null()]),
      ),
    },
    { additionalProperties: false },
  );

  test('lists every bad known field, ten unknown ones, and counts the others', () => {
    const { fieldErrors, message, param } = refusalOf(person, { ...manyFields(15), name: 7, address: { line2: 'x' } });
    const fields = fieldErrors.map(({ field }) => field);
    assert.deepEqual(fields.slice(0, 2), ['name', 'address.line1']);
    assert.equal(fields.length, 12);
    assert.equal(param, 'name');
    assert.equal(message, '12 fields are invalid. 6 more fields are unknown.');
  });

  test('counts nothing when ten or fewer fields are unknown', () => {
    assert.equal(refusalOf(person, { ...manyFields(10), name: 'Ada' }).message, '10 fields are invalid.');
    assert.equal(refusalOf(person, { name: 'Ada', nmae: 'Ada' }).message, 'nmae: is not a field of this request');
  });

  test('names unknown fields inside of arrays and of objects that may be null', () => {
    const list = Type.Object({ items: Type.Array(person, { maxItems: 3 }) }, { additionalProperties: false });
    const { fieldErrors } = refusalOf(list, {
      items: [{ name: 'Ada' }, { name: 'Bob', address: { line1: 'x', zip: 1 } }],
    });
    assert.deepEqual(
      fieldErrors.map(({ field }) => field),
      ['items[1].address.zip'],
    );
  });

  test('an object of nothing but unknown fields is not called empty', () => {
    const patch = Type.Object(
      { name: Type.Optional(Type.String()) },
      { additionalProperties: false, minProperties: 1 },
    );
    assert.deepEqual(
      refusalOf(patch, { nmae: 'x' }).fieldErrors.map(({ field }) => field),
      ['nmae'],
    );
    assert.equal(refusalOf(patch, {}).fieldErrors[0]?.message, 'must contain at least one field');
  });

  test('too many bad entries leave room for the unknown fields', () => {
    const tags = Array.from({ length: 150 }, () => 7);
    const { fieldErrors } = refusalOf(person, { ...manyFields(20), name: 'Ada', tags });
    assert.equal(fieldErrors.length, limits.fieldErrors);
    assert.equal(fieldErrors.filter(({ field }) => field.startsWith('k')).length, limits.unknownFields);
  });

  test('a text or an array over its limit is still called too long', () => {
    const { fieldErrors } = refusalOf(person, {
      name: '\u{1f600}'.repeat(6),
      tags: Array.from({ length: 151 }, () => 'a'),
    });
    assert.deepEqual(
      fieldErrors.map(({ message }) => message),
      ['must have at most 5 characters', 'must have at most 150 entries'],
    );
  });
});

/** Every schema inside of one, with a way to put a value in its place. */
function* places(node: Node, wrap: (value: unknown) => unknown): Generator<{ node: Node; wrap: typeof wrap }> {
  yield { node, wrap };
  for (const [name, inner] of Object.entries(node.properties ?? {})) {
    yield* places(inner, (value) => wrap({ [name]: value }));
  }
  if (node.items) yield* places(node.items, (value) => wrap([value]));
  for (const branch of node.anyOf ?? []) yield* places(branch, wrap);
}

describe('the cost of a refusal', () => {
  const keywords = new Set(
    ['type', 'properties', 'required', 'additionalProperties', 'minProperties', 'items', 'minItems', 'maxItems'].concat(
      ['anyOf', 'enum', 'const', 'minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'format', '~refine'],
      ['title', 'description', 'examples', 'default', 'deprecated', 'multipleOf', documentedAs, documentedUnique],
    ),
  );

  test('every body has only schemas whose unknown fields are counted without looking at each', () => {
    for (const { name, body } of bodies) {
      for (const { node } of places(body as Node, (value) => value)) {
        const unusual = Object.keys(node).filter((keyword) => !keywords.has(keyword));
        assert.deepEqual(unusual, [], `${name}: known-fields.ts does not read these keywords`);
        if (node.type === 'array') assert.equal(typeof node.maxItems, 'number', `${name}: an array without maxItems`);
        const types = (node.anyOf ?? []).map(({ type }) => type);
        const containers = types.filter((type) => type === 'object' || type === 'array');
        assert.equal(new Set(containers).size, containers.length, `${name}: a union of several objects`);
      }
    }
  });

  const cpuMs = (work: () => unknown): number => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };

  /** The least of several: what the machine does beside it only adds. */
  const leastCpuMs = (work: () => unknown): number => {
    let least = Infinity;
    for (let round = 0; round < 5; round += 1) least = Math.min(least, cpuMs(work));
    return least;
  };

  const entries = limits.jsonValues - 100;
  const hostile = {
    fields: manyFields(entries),
    numbers: Array.from({ length: entries }, (_, index) => index),
    objects: Array.from({ length: entries / 2 }, () => ({ k: 1 })),
    text: ' '.repeat(limits.bodyBytes - 10_000),
    letters: 'a.'.repeat(limits.bodyBytes / 2 - 10_000),
    phone: `+1${' '.repeat(limits.bodyBytes - 10_000)}`,
  };
  const parseMs = leastCpuMs(() => JSON.parse(JSON.stringify(hostile.fields)));

  /** Each different schema once, in the first body that has it. */
  function* differentPlaces(): Generator<{
    name: string;
    body: TSchema;
    wrap: (value: unknown) => unknown;
    shown: string;
  }> {
    const seen = new Set<string>();
    for (const { name, body } of bodies) {
      for (const { node, wrap } of places(body as Node, (value) => value)) {
        const shown = JSON.stringify(node);
        if (!seen.has(shown)) yield { name, body, wrap, shown };
        seen.add(shown);
      }
    }
  }

  test('is bounded for any value of every field of every body', () => {
    const most = 2 * parseMs + 10;
    const slow: string[] = [];
    for (const { name, body, wrap, shown } of differentPlaces()) {
      const check = validator(body);
      for (const [kind, value] of Object.entries(hostile)) {
        const sent = wrap(value);
        const work = (): void => {
          try {
            check(sent);
          } catch {}
        };
        // Once is enough to see that it is cheap; the machine may have been busy otherwise.
        if (cpuMs(work) > most && leastCpuMs(work) > most) slow.push(`${name}: ${kind} in ${shown.slice(0, 100)}`);
      }
    }
    assert.deepEqual(slow, []);
  });
});
