import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { validate } from '@scalar/openapi-validator';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { errorCatalogue } from '../server/errors.ts';
import { eventTypes } from '../server/features/events/service.ts';
import { refusalsOf } from '../server/http/openapi/errors.ts';
import { publisher } from '../server/publisher.ts';
import { permissions } from '../server/http/permissions.ts';
import { latestVersion, supportedVersions } from '../server/http/versions/versions.ts';
import { methodNames } from '../sdk/generator/names.ts';
import { Svc } from '../sdk/node/src/index.ts';
import { mountedRoutes } from './support/mounted-routes.ts';
import { document, documentOf, resolve, routes } from './support/openapi.ts';
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
  readonly security?: readonly Json[];
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Json }[];
  readonly requestBody?: { readonly content: Record<string, Media> };
  readonly responses: Record<string, { description: string; headers: Json; content: Record<string, Media> }>;
  readonly 'x-permission': string;
  readonly 'x-idempotency': 'required' | 'optional' | 'none';
}

interface ShownDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
}

const service = await startTestService();
const sdk = new Svc('svc_test_sk_x', { baseUrl: service.baseUrl });
after(() => service.stop());

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    name: `${method.toUpperCase()} ${path}`,
    operation: resolvedOperation(operation as unknown as Operation),
  })),
);

/** Without references to shared parameters and answers. */
function resolvedOperation(operation: Operation): Operation {
  const responses = Object.entries(operation.responses).map(([status, response]) => [status, resolve(response)]);
  return {
    ...operation,
    parameters: operation.parameters.map((parameter) => resolve(parameter)),
    responses: Object.fromEntries(responses) as Operation['responses'],
  };
}

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

test('every mounted route of the API is in the document, and nothing else is', () => {
  // A router answers HEAD and a browser's question before a call by itself; neither is an operation.
  const mounted = mountedRoutes(service.app).filter((route) =>
    /^(GET|POST|PUT|PATCH|DELETE) \/(v1\/|capture$)/.test(route),
  );
  const documented = operations.map(({ name }) => name.replace(/\{(\w+)\}/g, ':$1'));
  assert.ok(mounted.length > 10);
  assert.deepEqual(mounted.toSorted(), documented.toSorted());
});

test('the served document is the one the tests hold answers against', async () => {
  const served = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as Json;
  assert.deepEqual(served, JSON.parse(JSON.stringify(document)));
});

test('the document of each version describes that version only', async () => {
  for (const version of supportedVersions) {
    const served = (await (await fetch(`${service.baseUrl}/openapi/${version}.json`)).json()) as typeof document;
    assert.deepEqual(served.info, documentOf(version).info);
    assert.equal(served.info['x-api-version'], version);
    // A form that Python, the strictest of the package managers, takes for a version.
    assert.match(served.info.version, /^\d+(\.(0|[1-9]\d*))*$/);
    assert.deepEqual((served.components.schemas.ApiVersion as Json).enum, [version]);
    assert.deepEqual(validate(served).errors ?? [], []);
  }
  assert.equal((await fetch(`${service.baseUrl}/openapi/2025-06-18.json`)).status, 404);
});

test('the document of an older version has its shapes and statuses', () => {
  const { paths } = documentOf('2025-11-04');
  const schemaOf = (path: string, method: string): unknown =>
    paths[path]?.[method]?.responses['200']?.content['application/json'].schema;
  const customer = { $ref: '#/components/schemas/Customer' };
  assert.deepEqual(schemaOf('/v1/customers/{id}', 'get'), {
    type: 'object',
    required: ['data'],
    properties: { data: customer },
  });
  assert.deepEqual(schemaOf('/v1/customers', 'get'), { $ref: '#/components/schemas/CustomerList' });
  const codes = documentedCodes(paths['/v1/orders/{id}/refund']?.post as unknown as Operation);
  assert.ok(codes.get('400')?.includes('invalid_state_transition'));
  assert.ok(!codes.get('422')?.includes('invalid_state_transition'));
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

test('every enum of a body has a name, by which generated code calls its type', () => {
  const unnamed = [...nodesOf(document.components.schemas)].filter(
    ({ node, path }) => Array.isArray(node.enum) && path.split('/').length > 2,
  );
  assert.deepEqual(
    unnamed.map(({ path }) => path),
    [],
  );
});

test('every object in a body has a name, by which generated code calls its type', () => {
  const unnamed = [...nodesOf(document.components.schemas)].filter(
    ({ node, path }) =>
      node.type === 'object' && node.properties && path.split('/').length > 2 && !path.includes('/examples/'),
  );
  assert.deepEqual(
    unnamed.map(({ path }) => path),
    [],
  );
});

/** The enums in what a version answers and sends, by their names. */
function answeredEnums(version: string): Record<string, unknown> {
  const versioned = documentOf(version);
  const answers = Object.values(versioned.paths).flatMap((methods) =>
    Object.values(methods).map(({ responses }) => responses),
  );
  const seen = new Set<string>();
  const look = (value: unknown): void => {
    for (const { node } of nodesOf(value)) {
      if (typeof node.$ref !== 'string' || seen.has(node.$ref)) continue;
      seen.add(node.$ref);
      look(resolve(node, versioned));
    }
  };
  look([answers, versioned.webhooks]);
  const names = [...seen].map((reference) => reference.split('/').at(-1) ?? '').toSorted();
  const enums = names.map((name) => [name, (versioned.components.schemas[name] as Json | undefined)?.enum] as const);
  return Object.fromEntries(enums.filter(([, values]) => values !== undefined));
}

test('the enums that a version answers with are those it was released with', async () => {
  const file = new URL('enums.json', import.meta.url);
  const enums = Object.fromEntries(supportedVersions.map((version) => [version, answeredEnums(version)]));
  if (process.env.SVC_UPDATE_ENUMS === '1') await writeFile(file, `${JSON.stringify(enums, null, 2)}\n`);
  const released = JSON.parse(await readFile(file, 'utf8')) as unknown;
  assert.deepEqual(enums, released, 'strict clients break: make a version. Only before a release: SVC_UPDATE_ENUMS=1');
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

test('no two different schemas have the same title', () => {
  const schemas = new Map<string, string>();
  for (const route of routes) {
    const plain = JSON.parse(JSON.stringify([route.body, route.success?.schema])) as unknown;
    for (const { node } of nodesOf(plain)) {
      if (typeof node.title !== 'string') continue;
      // A default is that of the field, not of what it refers to.
      const text = JSON.stringify({ ...node, default: undefined });
      assert.equal(schemas.get(node.title) ?? text, text, `two schemas are called ${node.title}`);
      schemas.set(node.title, text);
    }
  }
});

test('every event of the catalogue is a webhook with a payload of its own, and part of the union', () => {
  const { oneOf, discriminator } = document.components.schemas.Event as {
    oneOf: { $ref: string }[];
    discriminator: { propertyName: string; mapping: Record<string, string> };
  };
  assert.deepEqual(Object.keys(document.webhooks), eventTypes);
  assert.equal(discriminator.propertyName, 'type');
  for (const [index, type] of eventTypes.entries()) {
    const { post } = document.webhooks[type] as { post: Operation };
    const $ref = String(post.requestBody?.content['application/json']?.schema.$ref);
    assert.equal($ref, oneOf[index]?.$ref);
    assert.equal($ref, discriminator.mapping[type]);
    const { properties } = resolved($ref) as { properties: Record<string, Json> };
    assert.equal(properties.type?.const, type);
    const data = resolve(properties.data) as { properties: { object: { $ref: string } } };
    assert.ok(resolved(data.properties.object.$ref), type);
  }
});

test('an image is sent as a file', () => {
  const upload = operations.find(({ operation }) => operation.operationId === 'uploadProductImage');
  const schema = upload?.operation.requestBody?.content['multipart/form-data']?.schema as { properties: Json };
  assert.equal((schema.properties.file as Json).format, 'binary');
});

test('a publishable key opens what captures cards in a browser, and nothing else', () => {
  const open = operations.filter(({ operation }) => JSON.stringify(operation.security)?.includes('publishableKey'));
  assert.deepEqual(
    open.map(({ name }) => name),
    ['POST /v1/card_tokens'],
  );
});

const deliveries = Object.values(document.webhooks).map((item) => (item as { post: Operation }).post);

test('operation ids are unique names', () => {
  const ids = [...operations.map(({ operation }) => operation), ...deliveries].map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/);
});

test('every operation has a summary, a declared tag and a description of its permission', () => {
  const described = (document as unknown as { tags: { name: string; description?: string }[] }).tags;
  for (const { name, description } of described) assert.match(description ?? '', /^[A-Z].*\.$/, name);
  const tags = described.map(({ name }) => name);
  for (const { name, operation } of operations) {
    assert.match(operation.summary, /^[A-Z].*[^.]$/, name);
    assert.equal(operation.tags.length, 1, name);
    assert.ok(tags.includes(operation.tags[0] ?? ''), name);
    assert.ok(operation.description.includes(`\`${operation['x-permission']}\``), name);
  }
});

// Generators write the file of a tag once for paths and once for webhooks, so the second would replace the first.
test('no operation of a path has the tag of a webhook, also in another case', () => {
  const tagsOf = (all: readonly Operation[]): Set<string> =>
    new Set(all.flatMap(({ tags }) => tags.map((tag) => tag.toLowerCase().replaceAll(/[^a-z]/g, ''))));
  const paths = tagsOf(operations.map(({ operation }) => operation));
  const webhooks = tagsOf(deliveries);
  assert.deepEqual([...webhooks], ['webhooks']);
  assert.ok(!paths.has('webhooks'));
});

test('a default is a plain value of one type: generated clients cannot compile or send others', () => {
  const nodes = [...nodesOf(document)].filter(
    ({ node, path }) => 'default' in node && !/\/(properties|responses)$/.test(path),
  );
  assert.ok(nodes.length > 10);
  const objects = nodes.filter(({ node }) => node.default !== null && !Array.isArray(node.default));
  assert.deepEqual(
    objects.filter(({ node }) => typeof node.default === 'object' || 'anyOf' in resolve(node)).map(({ path }) => path),
    [],
  );
});

test('the license is that of the package, and every address is one that the publisher has given', () => {
  const { info, externalDocs } = document as unknown as { info: Json; externalDocs: { url: string } };
  const { license } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Json;
  assert.deepEqual(info.license, { name: 'Apache License 2.0', identifier: license });
  const { homepage, contact } = publisher;
  const expected = { ...(homepage && { url: homepage }), ...(contact && { email: contact }) };
  assert.deepEqual(info.contact ?? {}, expected);
  assert.equal(externalDocs.url, 'http://service.test/docs');
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
const readsByPost = new Set(['POST /v1/coupons/validate', 'POST /v1/subscriptions/{id}/change_plan/preview']);

test('every operation names a permission: read to read, write to write', () => {
  for (const { name, method, operation } of operations) {
    const permission = operation['x-permission'];
    assert.ok((permissions as readonly string[]).includes(permission), name);
    const kind = method === 'GET' || readsByPost.has(name) ? 'read' : 'write';
    assert.match(permission, new RegExp(`:${kind}$`), name);
  }
});

// What the contract states as required, and the grant of credit, which is money. The contract leaves every other change open, and we
// honour a key there.
const keyRequired = new Set([
  'POST /v1/orders',
  'POST /v1/coupons',
  'POST /v1/products',
  'PATCH /v1/products/{id}',
  'POST /v1/customers/{id}/credit',
]);

test('an idempotency key is required where the contract says so, accepted on other changes, and documented', () => {
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
    failures.map(([status, response]) => [
      status,
      [...resolve(response).description.matchAll(/^- `(\w+)`:/gm)].map((match) => match[1] ?? ''),
    ]),
  );
}

test('every error code of an operation is listed, under a status the catalogue gives it', () => {
  for (const route of routes) {
    const { operation } = operations.find((one) => one.operation.operationId === route.operationId) ?? {};
    assert.ok(operation);
    const byStatus = documentedCodes(operation);
    const listed = [...byStatus].flatMap(([status, codes]) => codes.map((code) => `${status} ${code}`));
    const refusals = refusalsOf(route, latestVersion).map(({ status, code }) => `${status} ${code}`);
    assert.deepEqual(listed.toSorted(), refusals.toSorted(), route.operationId);
    for (const [status, codes] of byStatus) {
      for (const code of codes) {
        const entry: { status: number; otherStatuses?: readonly number[] } =
          errorCatalogue[code as keyof typeof errorCatalogue];
        assert.ok([entry.status, ...(entry.otherStatuses ?? [])].includes(Number(status)), `${code} as ${status}`);
      }
    }
  }
});

test('every code of the catalogue is an answer of some operation, and those that are reserved of none', () => {
  const answered = new Set(operations.flatMap(({ operation }) => [...documentedCodes(operation).values()].flat()));
  for (const [code, entry] of Object.entries(errorCatalogue)) {
    assert.equal(answered.has(code), !('reserved' in entry), code);
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

// The contract has them and says that they are not enabled.
const neverCarriedOut = new Set(['POST /v1/subscriptions/{id}/pause', 'POST /v1/subscriptions/{id}/resume']);

test('every answer has a description, its headers and a schema; a failure also an example that fits', () => {
  for (const { name, operation } of operations) {
    const success = Object.keys(operation.responses).filter((status) => Number(status) < 400);
    assert.equal(success.length, neverCarriedOut.has(name) ? 0 : 1, name);
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
  for (const route of routes.filter(({ success }) => success?.shape === 'resource')) {
    const title: unknown = route.success && 'title' in route.success.schema ? route.success.schema.title : undefined;
    assert.ok(typeof title === 'string', route.operationId);
    const component = document.components.schemas[title] as { examples?: unknown[] };
    assert.ok(component.examples?.length, `${title} has no example`);
  }
});

test('every example is valid for its schema', () => {
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
  for (const source of sources) {
    const reply = await fetch(new URL(source, page.url), { headers: { accept: 'text/html' } });
    assert.equal(reply.status, 200, source);
  }
  assert.doesNotMatch(html.replaceAll(/<pre[\s\S]*?<\/pre>/g, ''), /https?:\/\//);
});

test('the reference page forbids the browser to load or send anything elsewhere', async () => {
  for (const path of ['/docs', '/docs/orders', '/docs/api/', '/docs/api/orders', '/docs/api/webhook-events']) {
    const reply = await fetch(service.baseUrl + path);
    const policy = Object.fromEntries(
      (reply.headers.get('content-security-policy') ?? '').split(';').map((rule) => {
        const [name = '', ...sources] = rule.trim().split(/\s+/);
        return [name, sources];
      }),
    );
    assert.deepEqual(policy['default-src'], ["'none'"]);
    assert.deepEqual(policy['script-src'], ["'self'"]);
    assert.deepEqual(policy['connect-src'], ["'self'"]);
    assert.deepEqual(policy['frame-ancestors'], ["'none'"]);
    for (const source of Object.values(policy).flat()) {
      assert.match(source, /^('none'|'self')$/);
    }
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
  }
});

test('the reference shows every call of every version with samples, and its pages contain no script', async () => {
  for (const version of supportedVersions) {
    const start = version === latestVersion ? '/docs/api/' : `/docs/api/${version}/`;
    const document = (await (await fetch(`${service.baseUrl}/openapi/${version}.json`)).json()) as ShownDocument;
    const shown = document.tags.filter(({ name }) => name !== 'Webhooks');
    const pages = shown.map(({ name }) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'));
    const texts = await Promise.all(pages.map(async (page) => (await fetch(service.baseUrl + start + page)).text()));
    const html = texts.join('');
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { operationId } of Object.values(methods)) {
        assert.ok(html.includes(`<h2 id="${operationId}">`), operationId);
        const name = methodNames[operationId] ?? '';
        const method = name.split('.').reduce((part: any, key) => part?.[key], sdk);
        assert.equal(typeof method, 'function', `svc.${name}`);
        assert.ok(html.includes(`.<span class="c-name">${name.split('.').at(-1)}</span>(`), name);
      }
      assert.ok(html.includes(`<code>${path}</code>`), path);
    }
    assert.doesNotMatch(html, /<script[^>]*>[^<]|<style|\son\w+=|javascript:/);
    const events = await (await fetch(`${service.baseUrl}${start}webhook-events`)).text();
    for (const type of eventTypes) assert.ok(events.includes(`id="${type}"`), type);
  }
});

test('a page of the guides or the reference needs less than 300 kB with everything that it loads', async () => {
  const sizeOf = async (path: string): Promise<number> => {
    const reply = await service.app.inject({ url: path, headers: { 'accept-encoding': 'br' } });
    return reply.rawPayload.length;
  };
  for (const path of [
    '/docs',
    '/docs/orders',
    '/docs/api/',
    '/docs/api/orders',
    '/docs/api/subscriptions',
    '/docs/api/webhook-events',
  ]) {
    const html = await (await fetch(service.baseUrl + path)).text();
    const parts = [...html.matchAll(/(?:src|href)="(\/(?:docs\/\w+\.(?:js|css)[^"]*|fonts\/[^"]+|logo))"/g)].map(
      ([, one = '']) => one,
    );
    const sizes = await Promise.all([path, ...new Set(parts)].map(sizeOf));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(parts.length >= 5 && bytes < 300_000, `${path}: ${bytes} bytes`);
  }
});

test('a route has one of the three kinds: one transaction, an effect, or phases', () => {
  const kindsOf = ({ handle, effect, phased }: (typeof routes)[number]): number =>
    [handle, effect, phased].filter(Boolean).length;
  assert.deepEqual(
    routes.filter((route) => kindsOf(route) !== 1).map(({ operationId }) => operationId),
    [],
  );
});
