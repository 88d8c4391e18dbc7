import assert from 'node:assert/strict';
import Type from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { apiRoutes, usualReferences } from '../../server/app.ts';
import { openApiDocument } from '../../server/http/openapi.ts';
import { latestVersion } from '../../server/http/versions/versions.ts';
import { systemClock } from '../../server/platform/clock.ts';

/** Every answer a test gets is held against the OpenAPI document; a field or status it does not name fails. */

type Json = Record<string, unknown>;

const files = { put: async () => {}, delete: async () => {}, url: async () => '' };
const never = (): never => assert.fail('only the declarations of the routes are used');
const vault = {
  store: never,
  fingerprint: never,
  remove: never,
  charge: never,
  refund: never,
  void: never,
  lookup: never,
  connect: never,
  connectedTo: never,
  isReady: never,
};
const cards = { vault, clock: systemClock, tokenHashKey: Buffer.alloc(32) };
export const routes = apiRoutes(
  usualReferences,
  { files, clock: systemClock },
  cards,
  {} as Parameters<typeof apiRoutes>[3],
);
export const document = openApiDocument(routes, 'http://service.test') as {
  paths: Record<string, Record<string, { responses: Record<string, { content: Json }> }>>;
  components: { schemas: Json };
};

/** A customer shows subscriptions, which show a customer: what is inside of itself is not looked into again. */
function inline(node: unknown, inside: readonly string[] = []): unknown {
  if (Array.isArray(node)) return node.map((entry) => inline(entry, inside));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, ...rest } = node as Json;
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? '';
    return inside.includes(name) ? {} : inline(document.components.schemas[name], [...inside, name]);
  }
  const written: Json = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, inline(value, inside)]));
  // What the document does not name must not be there.
  return written.properties && written.additionalProperties === undefined
    ? { ...written, additionalProperties: false }
    : written;
}

const validators = new Map<string, Validator>();

// A fixed segment (images/reorder) wins over a parameter, as in the router.
const patterns = Object.entries(document.paths)
  .map(([pattern, operations]) => ({
    pattern,
    operations,
    expression: new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`),
  }))
  .sort((left, right) => left.pattern.split('{').length - right.pattern.split('{').length);

function operationOf(method: string, path: string) {
  const [plain = ''] = path.split('?', 1);
  const found = patterns.find(({ expression }) => expression.test(plain));
  return { pattern: found?.pattern, operation: found?.operations[method.toLowerCase()] };
}

export function checkAgainstDocument(
  method: string,
  path: string,
  reply: { status: number; headers: Headers; text: string },
): void {
  const { pattern, operation } = operationOf(method, path);
  const version = reply.headers.get('svc-version') ?? latestVersion;
  if (!operation || version !== latestVersion) return;
  const response = operation.responses[String(reply.status)];
  assert.ok(response, `${method} ${pattern} answered ${reply.status}, which its documentation does not name`);
  const name = `${method} ${pattern} ${reply.status}`;
  let validator = validators.get(name);
  if (!validator) {
    const { schema } = response.content['application/json'] as { schema: unknown };
    validator = Compile(Type.Unsafe(inline(schema) as object));
    validators.set(name, validator);
  }
  const body: unknown = JSON.parse(reply.text);
  if (validator.Check(body)) return;
  const problems = validator.Errors(body).map((error) => `${error.instancePath} ${error.message}`);
  // Sparse fields leave out what is required otherwise.
  const relevant =
    path.includes('fields[') || path.includes('fields%5B')
      ? problems.filter((problem) => !problem.includes('must have required properties'))
      : problems;
  assert.deepEqual(relevant, [], `the answer of ${name} differs from its documentation`);
}
