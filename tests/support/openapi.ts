import assert from 'node:assert/strict';
import Type from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { apiRoutes } from '../../server/app.ts';
import { usualReferences } from '../../server/references.ts';
import { dashboardErrors } from '../../server/errors.ts';
import { documentedEvents } from '../../server/event-schemas.ts';
import { openApiDocument } from '../../server/http/openapi/document.ts';
import { refusalsOf } from '../../server/http/openapi/errors.ts';
import { latestVersion } from '../../server/http/versions/versions.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { Secret } from '../../server/platform/secret.ts';
import { originalKeys } from '../../server/platform/service-keys.ts';

import { vaultBehind } from './connect.ts';

/** Checks every response of a test against the OpenAPI document; an undocumented field or status fails. */

type Json = Record<string, unknown>;

const files = { put: async () => {}, delete: async () => {}, url: async () => '', origin: '' };
/** Only the declarations of the routes are used. */
const vault = vaultBehind(() => ({}));
const cards = {
  vault,
  clock: systemClock,
  tokenHashKey: originalKeys(new Secret(Buffer.alloc(32)))['card-tokens'],
  verifierOf: async () => undefined,
  noteVerification: () => undefined,
};
export const routes = apiRoutes(
  usualReferences,
  { files, clock: systemClock },
  cards,
  {} as Parameters<typeof apiRoutes>[3],
);
const documented = { routes, events: documentedEvents, baseUrl: 'http://service.test' };

interface Response {
  readonly $ref?: string;
  readonly content: { readonly 'application/json': { readonly schema: unknown } };
}

interface Document {
  readonly info: { readonly version: string; readonly 'x-api-version': string };
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, Response> }>>;
  readonly webhooks: Json;
  readonly components: { readonly schemas: Json; readonly responses: Json };
}

export const documentOf = (version: string): Document => openApiDocument(documented, version) as unknown as Document;
export const document = documentOf(latestVersion);

/** Resolves a reference, if there is one. */
export function resolve<Node>(node: Node, { components }: Pick<Document, 'components'> = document): Node {
  const { $ref } = node as { $ref?: string };
  if ($ref === undefined) return node;
  const [, , kind = '', name = ''] = $ref.split('/');
  return (components as Record<string, Json>)[kind]?.[name] as Node;
}

/** A customer contains subscriptions, which contain a customer: a schema inside itself is not expanded again. */
function inline(node: unknown, components: Document['components'], inside: readonly string[] = []): unknown {
  if (Array.isArray(node)) return node.map((entry) => inline(entry, components, inside));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref, ...rest } = node as Json;
  if (typeof $ref === 'string') {
    return inside.includes($ref) ? {} : inline(resolve(node, { components }), components, [...inside, $ref]);
  }
  const written: Json = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, inline(value, components, inside)]),
  );
  // Undocumented fields must not occur.
  return written.properties && written.additionalProperties === undefined
    ? { ...written, additionalProperties: false }
    : written;
}

type Answer = { readonly status: number; readonly text: string };

/** Compares responses with the document of one version. */
function checkerOf(version: string): (method: string, path: string, reply: Answer) => void {
  const versioned = version === latestVersion ? document : documentOf(version);
  const validators = new Map<string, Validator>();
  // A fixed segment (images/reorder) takes precedence over a parameter, as in the router.
  const patterns = Object.keys(versioned.paths)
    .map((pattern) => ({ pattern, expression: new RegExp(`^${pattern.replace(/\{\w+\}/g, '[^/]+')}$`) }))
    .toSorted((left, right) => left.pattern.split('{').length - right.pattern.split('{').length);

  const compile = (response: Response): Validator => {
    const { schema } = resolve(response, versioned).content['application/json'];
    return Compile(Type.Unsafe(inline(schema, versioned.components) as object));
  };

  const checkCode = (operationId: string, name: string, status: number, body: unknown): void => {
    const route = routes.find((one) => one.operationId === operationId);
    assert.ok(route);
    const { code } = (body as { error: { code: string } }).error;
    const listed = refusalsOf(route, version).filter((refusal) => refusal.status === status);
    assert.ok(
      listed.some((refusal) => refusal.code === code),
      `${name}: ${code} is not among the errors of ${operationId}`,
    );
  };

  return (method, path, reply) => {
    const [plain = ''] = path.split('?', 1);
    const { pattern = '' } = patterns.find(({ expression }) => expression.test(plain)) ?? {};
    const operation = versioned.paths[pattern]?.[method.toLowerCase()];
    if (!operation) return;
    const name = `${method} ${pattern} ${reply.status} in ${version}`;
    const response = operation.responses[String(reply.status)];
    assert.ok(response, `${name}: its documentation does not name this status`);
    const validator = validators.get(name) ?? compile(response);
    validators.set(name, validator);
    const body: unknown = JSON.parse(reply.text);
    // The document is for API keys; a team member can also get errors of the dashboard.
    if (((body as { error?: { code?: string } }).error?.code ?? '') in dashboardErrors) return;
    if (reply.status >= 400) checkCode(operation.operationId, name, reply.status, body);
    if (validator.Check(body)) return;
    const problems = validator.Errors(body).map((error) => `${error.instancePath} ${error.message}`);
    // Sparse fields omit otherwise required fields.
    const relevant =
      path.includes('fields[') || path.includes('fields%5B')
        ? problems.filter((problem) => !problem.includes('must have required properties'))
        : problems;
    assert.deepEqual(relevant, [], `the answer of ${name} differs from its documentation`);
  };
}

const checkers = new Map<string, ReturnType<typeof checkerOf>>();

export function checkAgainstDocument(
  method: string,
  path: string,
  reply: Answer & { readonly headers: Headers },
): void {
  const version = reply.headers.get('svc-version') ?? latestVersion;
  const check = checkers.get(version) ?? checkerOf(version);
  checkers.set(version, check);
  check(method, path, reply);
}
