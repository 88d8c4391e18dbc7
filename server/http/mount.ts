import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { ApiError, errorBody, notFound, validationError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { AuditLog } from './audit.ts';
import type { AdmissionControl } from '../platform/admission-control.ts';
import type { Database, DatabasePool, Queryable } from '../platform/database.ts';
import { daySeconds } from '../platform/durations.ts';
import { readId, readRequestId } from '../platform/ids.ts';
import { openBytes, sealBytes } from '../platform/sealing.ts';
import type { RateLimit } from '../platform/rate-limiter/rate-limiter.ts';
import { auditEntry, concerning } from './audit.ts';
import { authenticate, type Identities } from './authenticate.ts';
import { type Admitted, checkExpansions, checkPermission, isDashboardRoute } from './caller.ts';
import type { EarlyRefusal } from './early-refusal.ts';
import { type Answer, checkIdempotencyKey, hashFields, type KeyedRequest, runOnce } from './idempotency.ts';
import { type Page, pageRequest } from './lists.ts';
import { readQuery } from './query-parameters.ts';
import { type LimitDependencies, takeFromAddress, takeFromCompany } from './limiting.ts';
import { render, renderList } from './render.ts';
import { refusingCardTesters } from './refused-cards.ts';
import type { Route, RouteBase, RouteRequest, UploadedFile } from './route.ts';
import { queryParametersOf } from './route-parameters.ts';
import { receiveUpload } from './uploads.ts';
import { validator } from './validate.ts';
import { checkRoom, enter, noteQuery } from './work.ts';
import { checkVersion, latestVersion, renderError } from './versions/versions.ts';
import type { RequestContext } from '../request-context.ts';

/** The common rules, applied to a route from what its declaration says. */

export const jsonType = 'application/json; charset=utf-8';

export interface HttpDependencies extends LimitDependencies {
  readonly db: DatabasePool;
  readonly identities: Identities;
  readonly audit: AuditLog;
  readonly refusedCards: RateLimit | null;
  readonly admission: AdmissionControl;
  readonly earlyRefusal: EarlyRefusal;
  readonly idempotencyHashKey: Buffer;
  readonly answerKey: Buffer;
  readonly uploadDirectory: string;
}

/** What the checks before the body found out about a request. */
interface Admission extends Admitted {
  readonly apiVersion: string;
  readonly versionNamed: boolean;
  readonly idempotencyKey: string | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    uploadField?: string;
  }
  interface FastifyRequest {
    /** Known before it is admitted, so that a refusal is logged for whom it concerns. */
    admitted: Admitted | null;
    admission: Admission | null;
  }
}

export function mountRoute(app: FastifyInstance, route: Route, dependencies: HttpDependencies): void {
  const readInput = inputReader(route);
  if (route.publishable) mountPreflight(app, route);
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: route.bodyBytes ?? limits.bodyBytes,
    config: { rateLimit: 'own', ...(route.upload && { uploadField: route.upload.field }) },
    onRequest: async (request, reply) => {
      if (route.publishable) allowAnyOrigin(reply);
      request.admission = await admit(route, request, reply, dependencies);
    },
    handler: async (request, reply) => {
      noteQuery(request);
      await enter(dependencies.admission, request);
      const answer = await serve(route, request, reply, readInput, dependencies);
      return reply.code(answer.status).header('Content-Type', jsonType).send(answer.body);
    },
    errorHandler: (error, request) => {
      const version = request.admission?.apiVersion;
      throw version && error instanceof ApiError ? renderError(version, route, error) : error;
    },
  });
}

const exposedHeaders =
  'SVC-Request-Id, SVC-Version, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset';

function allowAnyOrigin(reply: FastifyReply): void {
  reply.header('Access-Control-Allow-Origin', '*').header('Access-Control-Expose-Headers', exposedHeaders);
}

/** A browser asks before it sends a key to another origin. */
function mountPreflight(app: FastifyInstance, route: Route): void {
  app.options(route.path, async (_request, reply) => {
    allowAnyOrigin(reply);
    return reply
      .code(204)
      .header('Access-Control-Allow-Methods', route.method)
      .header('Access-Control-Allow-Headers', 'Authorization, Content-Type, SVC-Version, X-SVC-Idempotency-Key')
      .header('Access-Control-Max-Age', String(daySeconds))
      .send();
  });
}

async function admit(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: HttpDependencies,
): Promise<Admission> {
  const { identities, clock } = dependencies;
  let admitted: Admitted;
  try {
    admitted = await authenticate(identities, request);
    request.admitted = admitted;
    checkPermission(admitted.caller, route, clock.nowMs());
  } catch (error) {
    if (error instanceof ApiError) await takeFromAddress(request, reply, dependencies);
    throw error;
  }
  await takeFromCompany(request, reply, dependencies, admitted.company.id, route.category);
  checkRoom(dependencies.admission, request);
  const { authorization } = request.headers;
  if (authorization && !admitted.caller.publishable)
    dependencies.earlyRefusal.remember(authorization, request.work.flow);
  const requested = request.headers['svc-version'];
  // The dashboard's own calls are as new as itself.
  const pinned = admitted.caller.kind === 'key' ? admitted.company.apiVersion : latestVersion;
  const versioned = !isDashboardRoute(route);
  const apiVersion = versioned ? checkVersion(String(requested ?? pinned)) : latestVersion;
  reply.header('SVC-Version', apiVersion);
  const header = request.headers['x-svc-idempotency-key'];
  const idempotencyKey =
    route.idempotency === 'none' ? undefined : checkIdempotencyKey(header, route.idempotency === 'required');
  return { ...admitted, apiVersion, versionNamed: versioned && requested !== undefined, idempotencyKey };
}

export function notJson(): ApiError {
  return new ApiError('invalid_request', 'Send the body as JSON, with the header Content-Type: application/json.');
}

type Input = Omit<RouteRequest<unknown, unknown>, 'context' | 'prepared'> & {
  readonly fields: ReadonlySet<string> | undefined;
};

/** `payment_methods/:pm_id` names a payment method. */
function namedBy({ path }: RouteBase, name: string): string {
  const [, collection = ''] = new RegExp(`(\\w+)/:${name}\\b`).exec(path) ?? [];
  return collection.replace(/s$/, '').replaceAll('_', ' ');
}

const emptyBody = Type.Object({}, { additionalProperties: false });

function inputReader(route: Route): (request: FastifyRequest, file: UploadedFile | undefined) => Input {
  const parameters = queryParametersOf(route);
  const fieldsName = `fields[${route.fields?.name}]`;
  const checkBody = validator(route.body ?? emptyBody);
  const pathNames = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');

  return (request, file) => {
    const params = request.params as Record<string, string>;
    for (const name of pathNames) {
      const id = (name === 'requestId' ? readRequestId : readId)(params[name] ?? '');
      if (id === undefined) throw notFound(name === 'id' ? route.resource : namedBy(route, name), name);
      params[name] = id;
    }
    const { values, problems, unnamed } = readQuery(parameters, request.query as Record<string, unknown>);
    if (problems.length > 0) throw validationError(problems, unnamed);
    const expand = (values.expand as string[] | undefined) ?? [];
    const fields = values[fieldsName] as string[] | undefined;
    return {
      params,
      query: values,
      expand: new Set(expand),
      file,
      body: route.method === 'GET' || file ? undefined : checkBody(request.body === undefined ? {} : request.body),
      fields: fields && new Set(['id', ...fields, ...expand]),
      ...(route.list && { page: pageRequest(values) }),
    };
  };
}

async function serve(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  readInput: ReturnType<typeof inputReader>,
  dependencies: HttpDependencies,
): Promise<Answer> {
  const { admission } = request;
  if (!admission) throw new Error(`${route.operationId} was reached without admission`);
  if (!route.upload) {
    if (request.isMultipart()) throw notJson();
    return answerWith(undefined);
  }
  const upload = await receiveUpload(request, route.upload, dependencies.uploadDirectory);
  try {
    return await answerWith(upload.file);
  } finally {
    await upload.discard();
  }

  async function answerWith(file: UploadedFile | undefined): Promise<Answer> {
    const input = readInput(request, file);
    const answer = (): Promise<Answer> => execute(route, request, reply, input, file, dependencies);
    if (!route.testedCard || !admission) return answer();
    const { company, caller } = admission;
    const nowMs = dependencies.clock.nowMs() + company.clockOffsetMs;
    const context = { requestId: request.id, company, caller, nowMs, db: dependencies.db };
    const tested = await route.testedCard({ ...input, context, prepared: undefined });
    return refusingCardTesters(dependencies, admission, request.ip, tested, answer);
  }
}

async function execute(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  input: Input,
  file: UploadedFile | undefined,
  dependencies: HttpDependencies,
): Promise<Answer> {
  const { db, clock } = dependencies;
  const { company, caller, apiVersion, versionNamed, idempotencyKey } = request.admission as Admission;
  checkExpansions(caller, route, input.expand);
  const nowMs = clock.nowMs() + company.clockOffsetMs;
  const contextOn = (database: Database): RequestContext => ({
    requestId: request.id,
    company,
    caller,
    nowMs,
    db: database,
  });
  const entry = auditEntry(route, request, { company, caller }, input, clock.nowMs());

  let told = false;
  const auditFirst = async (database: Queryable): Promise<void> => {
    if (entry && !told) await dependencies.audit.record(database, [entry]);
    told = true;
  };
  const outside = { ...input, context: { ...contextOn(db), auditFirst }, prepared: undefined };
  const atOnce = entry && (caller.kind === 'member' || route.toldAtOnce) ? entry : undefined;
  const prepare = async (): Promise<unknown> => route.prepare?.(outside);
  const work = async (database: Database, prepared: unknown): Promise<Answer> => {
    const result = await route.handle({ ...input, context: contextOn(database), prepared });
    // What people do is told in the transaction in which it is done.
    if (atOnce && !told) await dependencies.audit.record(database, [concerning(atOnce, result)]);
    return route.list ? answerWithList(result as Page<unknown>) : answerWith(result);
  };
  const fieldsToHash = async (): Promise<unknown> => {
    if (file) return { file: file.sha256 };
    const fields = route.fieldsToHash ? await route.fieldsToHash(outside) : input.body;
    // A secret is shown again only to the member it was shown to: others may see the key, and the rest, in the log.
    return route.secretAnswer && caller.kind === 'member' ? { ...(fields as object), caller: caller.id } : fields;
  };

  const rendering = { route, apiVersion, path: pathOf(route, input), fields: input.fields };
  const key = idempotencyKey !== undefined && {
    companyId: company.id,
    key: idempotencyKey,
    method: request.method,
    path: rendering.path,
    fieldHashes: hashFields(dependencies.idempotencyHashKey, company.id, await fieldsToHash()),
    requestId: request.id,
    apiVersion,
    versionNamed,
    nowMs,
    ...(route.secretAnswer && { seal: answerSeal(dependencies.answerKey, company.id) }),
  };
  const refusal = (error: unknown, version = apiVersion): Answer | undefined => {
    if (!(error instanceof ApiError) || !error.stored) return undefined;
    const rendered = renderError(version, route, error);
    return { status: rendered.status, body: JSON.stringify(errorBody(rendered, request.id)), apiVersion: version };
  };
  let given: unknown;
  const answerWith = (result: unknown, version = apiVersion): Answer => {
    given = result;
    if (!route.success) throw new Error(`${route.operationId} has no answer but refusals`);
    const body = render({ ...rendering, apiVersion: version }, result);
    return { status: route.success.status, body, apiVersion: version };
  };
  const answerWithList = async (page: Page<unknown>): Promise<Answer> => {
    request.work.rows = page.items.length;
    return { status: 200, body: await renderList(rendering, page), apiVersion };
  };
  const tell = (result?: unknown): void => {
    if (entry && !told) dependencies.audit.write(concerning(entry, result));
  };
  const phases = { key: key || undefined, answer: answerWith, refusal, inDoubt: tell };
  let answer: Answer & { replayed: boolean };
  if (route.phased) answer = await route.phased(outside, phases);
  else if (!key) {
    const prepared = await prepare();
    const done = atOnce ? db.transaction((inner) => work(inner, prepared)) : work(db, prepared);
    answer = { ...(await done), replayed: false };
  } else {
    const { clockAfter: livesFrom } = route;
    answer = await runOnce(
      db,
      key,
      { work, ...(route.prepare && { prepare }), ...(livesFrom && { livesFrom }) },
      refusal,
    );
  }
  // A refusal changed nothing, and is no entry.
  if (given !== undefined && !answer.replayed && (!atOnce || route.phased)) tell(given);
  if (answer.replayed) {
    reply.header('SVC-Idempotent-Replayed', 'true');
    reply.header('SVC-Version', answer.apiVersion);
  }
  return answer;
}

function answerSeal(key: Buffer, companyId: string): NonNullable<KeyedRequest['seal']> {
  return {
    close: (text) => sealBytes(key, Buffer.from(text), companyId).toString('base64'),
    open: (text) => openBytes(key, Buffer.from(text, 'base64'), companyId).toString(),
  };
}

/** The path of this very call, ids in lower case. */
function pathOf(route: Route, { params }: Input): string {
  return route.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}
