import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { validate } from '@scalar/openapi-validator';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { errorCatalogue } from '../server/errors.ts';
import { errorCodesOf } from '../server/http/openapi.ts';
import { permissions } from '../server/http/permissions.ts';
import { document, routes } from './support/openapi.ts';
import { startTestService } from './support/service.ts';

type Json = Record<string, unknown>;

interface Media {
  readonly schema: Json;
  readonly example?: unknown;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Json }[];
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, { description: string; headers: Json; content: Record<string, Media> }>;
  readonly 'x-permission': string;
  readonly 'x-idempotency': 'required' | 'optional' | 'none';
}

const service = await startTestService();
after(() => service.stop());

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    name: `${method.toUpperCase()} ${path}`,
    operation: operation as unknown as Operation,
  })),
);

/** Every object in a JSON value, with where it is. */
function* nodesOf(value: unknown, path = '#'): Generator<{ node: Json; path: string }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { node: value as Json, path };
  for (const [key, inner] of Object.entries(value)) yield* nodesOf(inner, `${path}/${key.replaceAll('/', '~1')}`);
}

function resolved(reference: string): unknown {
  const keys = reference.split('/').slice(1);
  return keys.reduce<unknown>((node, key) => (node as Json | undefined)?.[key.replaceAll('~1', '/')], document);
}

/** Without references, and closed: what a schema does not name must not be there. */
function inlined(node: unknown, inside: readonly string[] = []): unknown {
  if (Array.isArray(node)) return node.map((entry) => inlined(entry, inside));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, examples: _, ...rest } = node as Json;
  // A customer shows subscriptions, which show a customer.
  if (typeof $ref === 'string') return inside.includes($ref) ? {} : inlined(resolved($ref), [...inside, $ref]);
  const written = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, inlined(inner, inside)]));
  return { ...(written.properties ? { additionalProperties: false } : {}), ...written };
}

function problemsOf(schema: unknown, value: unknown): string[] {
  const compiled = Compile(Type.Unsafe(inlined(schema) as object));
  return compiled.Check(value) ? [] : compiled.Errors(value).map((error) => `${error.instancePath} ${error.message}`);
}

/** `METHOD /path` of every route the router knows, read from its printed tree. */
function mountedRoutes(): string[] {
  const parents: string[] = [];
  return service.app
    .printRoutes()
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] = /^([│ ]*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
      const depth = indent.length / 4;
      parents.splice(depth, Infinity, part);
      return (methods?.split(', ') ?? []).map((method) => `${method} ${parents.join('')}`);
    });
}

test('every mounted route of the API is in the document, and nothing else is', () => {
  // A router answers HEAD and a browser's question before a call by itself; neither is an operation.
  const mounted = mountedRoutes().filter((route) => /^(GET|POST|PUT|PATCH|DELETE) \/(v1\/|capture$)/.test(route));
  const documented = operations.map(({ name }) => name.replace(/\{(\w+)\}/g, ':$1'));
  assert.ok(mounted.length > 10);
  assert.deepEqual(mounted.sort(), documented.sort());
});

test('the served document is the one the tests hold answers against', async () => {
  const served = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as Json;
  assert.deepEqual(served, JSON.parse(JSON.stringify(document)));
});

test('a page of any origin may read the document', async () => {
  const reply = await fetch(`${service.baseUrl}/openapi.json`, { headers: { origin: 'https://example.com' } });
  assert.equal(reply.headers.get('access-control-allow-origin'), '*');
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
});

test('the document is valid OpenAPI 3.1', () => {
  const result = validate(document);
  assert.deepEqual(result.errors ?? [], []);
  assert.equal(result.version, '3.1');
});

test('every reference leads to something', () => {
  const references = [...nodesOf(document)].flatMap(({ node, path }) =>
    typeof node.$ref === 'string' ? [{ path, $ref: node.$ref }] : [],
  );
  assert.ok(references.length > 0);
  for (const { path, $ref } of references) assert.ok(resolved($ref), `${path} refers to ${$ref}`);
});

test('every enum has values, each of them once, and names their type', () => {
  let count = 0;
  for (const { node, path } of nodesOf(document)) {
    if (!Array.isArray(node.enum)) continue;
    assert.ok(node.enum.length > 0, path);
    assert.equal(new Set(node.enum).size, node.enum.length, path);
    const types = new Set(node.enum.map((value) => (Number.isInteger(value) ? 'integer' : typeof value)));
    assert.deepEqual([node.type], [...types], path);
    count += 1;
  }
  assert.ok(count > 50);
});

// What generators and validators know by themselves.
const usualFormats = new Set(['uuid', 'email', 'date', 'date-time', 'uri', 'binary']);

test('a format of our own has a pattern beside it', () => {
  const own = [...nodesOf(document)].filter(({ node }) => node.type === 'string' && typeof node.format === 'string');
  const bare = own.filter(({ node }) => !usualFormats.has(String(node.format)) && typeof node.pattern !== 'string');
  assert.deepEqual(
    bare.map(({ path, node }) => `${path} ${String(node.format)}`),
    [],
  );
});

test('every pattern is a regular expression that all languages have', () => {
  const patterns = [...nodesOf(document)].flatMap(({ node }) =>
    typeof node.pattern === 'string' ? [node.pattern] : [],
  );
  assert.ok(patterns.length > 0);
  for (const pattern of new Set(patterns)) {
    assert.ok(new RegExp(pattern, 'u'));
    assert.doesNotMatch(pattern, /\(\?(?!:)|\\[pPkbB1-9]/, pattern);
  }
});

test('one title never stands for two different schemas', () => {
  const schemas = new Map<string, string>();
  for (const route of routes) {
    const plain = JSON.parse(JSON.stringify([route.body, route.success.schema])) as unknown;
    for (const { node } of nodesOf(plain)) {
      if (typeof node.title !== 'string') continue;
      const text = JSON.stringify(node);
      assert.equal(schemas.get(node.title) ?? text, text, `two schemas are called ${node.title}`);
      schemas.set(node.title, text);
    }
  }
});

test('operation ids are unique names', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/);
});

test('every operation has a summary, a declared tag and a description of its permission', () => {
  const tags = (document as unknown as { tags: { name: string }[] }).tags.map(({ name }) => name);
  for (const { name, operation } of operations) {
    assert.match(operation.summary, /^[A-Z].*[^.]$/, name);
    assert.equal(operation.tags.length, 1, name);
    assert.ok(tags.includes(operation.tags[0] ?? ''), name);
    assert.ok(operation.description.includes(`\`${operation['x-permission']}\``), name);
  }
});

test('path parameters are exactly those of the path, and no parameter is named twice', () => {
  for (const { name, path, operation } of operations) {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    assert.deepEqual(
      inPath.map((parameter) => `{${parameter.name}}`),
      path.match(/\{\w+\}/g) ?? [],
      name,
    );
    assert.ok(inPath.every(({ required }) => required));
    const names = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
    assert.equal(new Set(names).size, names.length, name);
  }
});

// Reads that are a POST, because their input does not fit a query.
const readsByPost = new Set(['POST /v1/coupons/validate']);

test('every operation names a permission: read to read, write to write', () => {
  for (const { name, method, operation } of operations) {
    const permission = operation['x-permission'];
    assert.ok((permissions as readonly string[]).includes(permission), name);
    const kind = method === 'GET' || readsByPost.has(name) ? 'read' : 'write';
    assert.match(permission, new RegExp(`:${kind}$`), name);
  }
});

// What the contract states as required; it leaves every other change open, and we honour a key there.
const keyRequired = new Set(['POST /v1/orders', 'POST /v1/coupons', 'POST /v1/products', 'PATCH /v1/products/{id}']);

test('an idempotency key is required where the contract says so, honoured on every other change, and documented', () => {
  for (const { name, method, operation } of operations) {
    const rule = method === 'GET' || readsByPost.has(name) ? 'none' : keyRequired.has(name) ? 'required' : 'optional';
    assert.equal(operation['x-idempotency'], rule, name);
    const header = operation.parameters.find((parameter) => parameter.name === 'X-SVC-Idempotency-Key');
    assert.equal(header?.required, rule === 'none' ? undefined : rule === 'required', name);
  }
});

function documentedCodes(operation: Operation): Map<string, string[]> {
  const failures = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
  return new Map(
    failures.map(([status, { description }]) => [
      status,
      [...description.matchAll(/^- `(\w+)`:/gm)].map((match) => match[1] ?? ''),
    ]),
  );
}

test('every error code of an operation is listed, under a status the catalogue gives it', () => {
  for (const route of routes) {
    const { operation } = operations.find((one) => one.operation.operationId === route.operationId) ?? {};
    assert.ok(operation);
    const byStatus = documentedCodes(operation);
    assert.deepEqual(new Set([...byStatus.values()].flat()), new Set(errorCodesOf(route)), route.operationId);
    for (const [status, codes] of byStatus) {
      for (const code of codes) {
        const entry: { status: number; otherStatuses?: readonly number[] } =
          errorCatalogue[code as keyof typeof errorCatalogue];
        assert.ok([entry.status, ...(entry.otherStatuses ?? [])].includes(Number(status)), `${code} as ${status}`);
      }
    }
  }
});

test('every operation lists what the common rules can answer', () => {
  const everywhere: Record<string, string[]> = {
    400: ['validation_error', 'invalid_api_version', 'api_version_sunset'],
    401: ['missing_api_key', 'invalid_api_key', 'invalid_api_key_format', 'expired_api_key', 'revoked_api_key'],
    403: ['insufficient_permissions', 'ip_not_allowed'],
    429: ['global_rate_limit_exceeded'],
    500: ['internal_error'],
    503: ['service_unavailable'],
  };
  const withKey = { 400: ['invalid_idempotency_key'], 409: ['request_in_progress'], 422: ['idempotency_key_conflict'] };
  for (const { name, path, method, operation } of operations) {
    const byStatus = documentedCodes(operation);
    const lists = (expected: Record<string, string[]>): void => {
      for (const [status, codes] of Object.entries(expected)) {
        for (const code of codes) assert.ok(byStatus.get(status)?.includes(code), `${name} lacks ${code}`);
      }
    };
    lists(everywhere);
    if (operation['x-idempotency'] !== 'none') lists(withKey);
    if (operation['x-idempotency'] === 'required') lists({ 400: ['missing_idempotency_key'] });
    if (path.includes('{')) lists({ 404: ['resource_not_found'] });
    if (method !== 'GET') lists({ 400: ['invalid_request'], 413: ['invalid_request'] });
  }
});

test('every answer has a description, its headers and a schema; a failure also an example that fits', () => {
  for (const { name, operation } of operations) {
    const success = Object.keys(operation.responses).filter((status) => Number(status) < 400);
    assert.equal(success.length, 1, name);
    for (const [status, response] of Object.entries(operation.responses)) {
      assert.ok(response.description, `${name} ${status}`);
      assert.ok(response.headers['SVC-Request-Id'], `${name} ${status}`);
      const media = response.content['application/json'];
      assert.ok(media, `${name} ${status}`);
      if (Number(status) < 400) continue;
      assert.ok(media.example, `${name} ${status}`);
      assert.deepEqual(problemsOf(media.schema, media.example), [], `${name} ${status}`);
    }
  }
});

test('every JSON body has an example, and it is a request this operation accepts', () => {
  for (const { name, operation } of operations) {
    const media = operation.requestBody?.content['application/json'];
    if (!media) continue;
    assert.ok(media.example, name);
    assert.deepEqual(problemsOf(media.schema, media.example), [], name);
  }
});

test('every object an operation returns has an example', () => {
  for (const route of routes.filter(({ success }) => success.shape === 'resource')) {
    const { title } = route.success.schema as { title?: string };
    assert.ok(title, route.operationId);
    const component = document.components.schemas[title] as { examples?: unknown[] };
    assert.ok(component.examples?.length, `${title} has no example`);
  }
});

test('every example fits the schema it stands in', () => {
  let count = 0;
  for (const { node, path } of nodesOf(document)) {
    if (!Array.isArray(node.examples) || path.endsWith('/properties')) continue;
    for (const example of node.examples) {
      assert.deepEqual(problemsOf(node, example), [], path);
      count += 1;
    }
  }
  assert.ok(count > 0);
});

test('the reference page loads nothing from another host', async () => {
  const page = await fetch(`${service.baseUrl}/docs/api`);
  assert.equal(page.status, 200);
  assert.equal(new URL(page.url).origin, service.baseUrl);
  const html = await page.text();
  const sources = [...html.matchAll(/(?:src|href)\s*=\s*["']?([^"'\s>]+)/g)].map((match) => match[1] ?? '');
  assert.deepEqual(
    sources.filter((source) => new URL(source, page.url).origin !== service.baseUrl),
    [],
  );
  for (const source of sources) assert.equal((await fetch(new URL(source, page.url))).status, 200, source);
  assert.doesNotMatch(html, /https?:\/\//);
});

test('the reference page forbids the browser to load or send anything elsewhere', async () => {
  for (const path of ['/docs/api/', '/docs/api/js/scalar.js']) {
    const reply = await fetch(service.baseUrl + path);
    const policy = Object.fromEntries(
      (reply.headers.get('content-security-policy') ?? '').split(';').map((rule) => {
        const [name = '', ...sources] = rule.trim().split(/\s+/);
        return [name, sources];
      }),
    );
    assert.deepEqual(policy['default-src'], ["'none'"]);
    assert.deepEqual(policy['connect-src'], ["'self'"]);
    assert.deepEqual(policy['frame-ancestors'], ["'none'"]);
    for (const source of Object.values(policy).flat()) {
      assert.match(source, /^('none'|'self'|'unsafe-inline'|'nonce-[^']+'|'sha256-[^']+'|data:)$/);
    }
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
  }
});

test('the reference page does not ask for the fonts or the telemetry of its maker', async () => {
  const html = await (await fetch(`${service.baseUrl}/docs/api/`)).text();
  assert.match(html, /"withDefaultFonts":\s*false/);
  assert.match(html, /"telemetry":\s*false/);
  assert.match(html, /"url":\s*"\/openapi\.json"/);
});
