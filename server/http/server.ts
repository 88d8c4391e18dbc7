import { createServer } from 'node:http';
import multipart from '@fastify/multipart';
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { ApiError, errorBody, quoted, unavailable } from '../errors.ts';
import { limits } from '../limits.ts';
import { withinRanges } from '../platform/addresses.ts';
import { DatabaseClosedError, isUnavailable } from '../platform/database.ts';
import { StorageError } from '../platform/files/storage-error.ts';
import type { Admissions } from './admissions.ts';
import { isDiskFull } from '../platform/disk-full.ts';
import { errorCode } from '../platform/error-code.ts';
import { newRequestId } from '../platform/ids.ts';
import type { Logger } from '../platform/log.ts';
import { histogram } from '../platform/metrics.ts';
import { countingWrites } from '../platform/written-rows.ts';
import type { AnsweredRequest, CardWatch, RequestRecorder, SentRequest } from './observers.ts';
import { strangerTimeouts } from '../platform/stranger-connections.ts';
import type { Tracing, RequestSpan } from '../platform/telemetry/tracing.ts';
import type { Admitted } from './caller.ts';
import { answerBrokenRequest, hostProblem, refuseExpectation } from './broken-requests.ts';
import { compressAnswers } from './compression.ts';
import { createDiscard } from './discard.ts';
import { parseJsonBody } from './json.ts';
import { takeFromAddress } from './limiting.ts';
import { boundIntake, knownCaller } from './intake.ts';
import { apiSteps, type HttpDependencies } from './api-caller.ts';
import { mountPreflight } from './cross-origin.ts';
import { jsonType, mountRoutes, notJson, refuseForms } from './mount.ts';
import { rememberPaths } from './paths.ts';
import type { Route } from './route.ts';
import { notMultipart } from './uploads.ts';
import { latestVersion, supportedVersion } from './versions/versions.ts';
import { chargeRest, enter, isPaced, leave, newWork, overloaded, readLater, type Work } from './work.ts';
import { UnknownShardError } from '../shards/shards.ts';
import { withoutSchemas } from '../platform/without-schemas.ts';

export interface ServerOptions {
  readonly log: Logger;
  readonly tracing: Tracing;
  readonly baseUrl: string;
  /** What browsers see at an address that does not exist. Programs get an error as JSON. */
  readonly missingPage: (request: FastifyRequest, reply: FastifyReply) => FastifyReply;
  /** Called for each request that is rejected because of overload. */
  readonly onRefused: () => void;
  readonly trustProxy: readonly string[];
  /** Undefined if requests are not logged. */
  readonly recorder: RequestRecorder | undefined;
  readonly cardWatch: CardWatch;
}

declare module 'fastify' {
  interface FastifyRequest {
    span: RequestSpan | null;
    answer: string | null;
    /** The beginning of a body that is too long to be logged as a whole. */
    beginning: string | null;
  }
}

const requestTimeoutMs = 60_000;
const keepAliveTimeoutMs = 72_000;

function newFastify(dependencies: HttpDependencies, options: ServerOptions): FastifyInstance {
  return Fastify({
    ...withoutSchemas,
    serverFactory: (handle) => {
      // Node's own rejection of a request without a host would have no body.
      const server = createServer({ requireHostHeader: false, ...strangerTimeouts }, (request, response) => {
        if (dependencies.earlyRefusal.refuse(request, response)) server.emit(knownCaller, request.socket);
        else handle(request, response);
      });
      return Object.assign(server, { requestTimeout: requestTimeoutMs, keepAliveTimeout: keepAliveTimeoutMs });
    },
    // Routes that need a key declare a higher limit.
    bodyLimit: limits.publicBodyBytes,
    trustProxy: options.trustProxy.length > 0 && withinRanges(options.trustProxy),
    requestIdHeader: false,
    genReqId: newRequestId,
    // Our own hook rejects requests while closing, see the first hook.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      const answer = (outcome: Error): void => sendError(outcome, request, reply, options);
      request.work = newWork();
      takeFromAddress(request, reply as FastifyReply, dependencies).then(() => answer(error), answer);
    },
    routerOptions: { maxParamLength: 16_384 },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, options.baseUrl),
  });
}

/** Fastify with our own rules for every case a client can cause, so that every response has our format. */
export async function buildServer(
  routes: readonly Route[],
  dependencies: HttpDependencies,
  options: ServerOptions,
): Promise<FastifyInstance> {
  const { admissions, limiter, clock } = dependencies;
  const app = newFastify(dependencies, options);
  const paths = rememberPaths(app);
  const discard = createDiscard();
  boundIntake(app, withinRanges(options.trustProxy));
  // A browser that has received the header never uses plain HTTP again.
  const isSecure = options.baseUrl.startsWith('https:');
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
  });
  app.decorateRequest('admitted', null);
  app.decorateRequest('admission', null);
  app.decorateRequest('answer', null);
  app.decorateRequest('beginning', null);
  app.decorateRequest('span', null);
  app.server.on('checkExpectation', (request, response) => refuseExpectation(request, response, options.baseUrl));
  app.setErrorHandler<Error>((error, request, reply) => sendRefusal(error, request, reply, options));

  // Callbacks instead of promises: these hooks run on every request, and each promise costs a turn of the queue.
  app.addHook('onRequest', (request, reply, done) => {
    const { url } = request.routeOptions;
    request.work = newWork();
    reply.header('SVC-Request-Id', request.id);
    reply.header('X-Content-Type-Options', 'nosniff');
    if (isSecure) reply.header('Strict-Transport-Security', 'max-age=31536000');
    request.span = options.tracing.startRequestSpan({ method: request.method, route: url, headers: request.headers });
    // Decided here, before the body is read.
    const refusal = hostProblem(request.raw) ?? paths.refusalOf(request, url);
    const next = (): void => (refusal ? done(refusal) : done());
    if (!refusal && closing) return done(unavailable('The service is shutting down. Retry on a new connection.'));
    if (!refusal && request.routeOptions.config.rateLimit !== undefined) return request.span.run(done);
    return void takeFromAddress(request, reply, dependencies).then(next, done);
  });
  runHandlersInContext(app, options);
  app.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload === 'string') request.answer = payload;
    if (typeof payload === 'string' || Buffer.isBuffer(payload)) request.work.answerBytes = payload.length;
    leave(admissions, request);
    if (!reply.hasHeader('Cache-Control')) reply.header('Cache-Control', 'no-store');
    // A connection that its client keeps open must not delay the shutdown.
    if (closing) reply.header('Connection', 'close');
    const discarded = discard(request, reply);
    if (discarded) void discarded.then(() => done(null, payload));
    else done(null, payload);
  });
  compressAnswers(app);
  app.addHook('onResponse', (request, reply, done) => {
    chargeRest(limiter, clock, request);
    if (isPaced(request, reply.statusCode)) readLater(request.raw.socket);
    if (request.work.isShed) {
      request.span?.end(reply.statusCode);
      options.onRefused();
    } else observe(request, reply, options);
    const { admitted } = request;
    if (options.recorder && admitted && isLogged(request, admitted, reply)) {
      options.recorder.record(answered(request, admitted, reply));
    }
    if (admitted && request.method !== 'GET' && reply.statusCode < 300) {
      options.cardWatch.look(sent(request, admitted));
    }
    // A response whose headers were sent before the shutdown began could not announce that the connection closes.
    if (closing) setImmediate(() => app.server.closeIdleConnections());
    done();
  });

  await app.register(multipart, { throwFileSizeLimit: false });
  parseBodiesAsJson(app, admissions, options.recorder?.beginningLength ?? Infinity);
  refuseForms(app);
  for (const route of routes) if (route.publishable) mountPreflight(app, route);
  mountRoutes(app, dependencies, routes, apiSteps(dependencies));
  // Never called, but it makes the hooks run for unknown paths.
  app.setNotFoundHandler(() => undefined);
  return app;
}

/** Reading the body leaves the context of the request, so its span and its count of rows begin after that. */
function runHandlersInContext(app: FastifyInstance, { tracing }: ServerOptions): void {
  if (tracing.enabled) {
    app.addHook('preHandler', (request, _reply, done) => (request.span ? request.span.run(done) : done()));
  }
  app.addHook('preHandler', ({ method, work }, _reply, done) => {
    if (method === 'GET') done();
    else countingWrites(work, done);
  });
}

function parseBodiesAsJson(app: FastifyInstance, admissions: Admissions, beginningLength: number): void {
  app.removeContentTypeParser(['application/json', 'text/plain']);
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.length > beginningLength) request.beginning = bytes.toString('utf8', 0, beginningLength);
    if (bytes.length === 0) return done(null, undefined);
    request.work.bodyBytes = bytes.length;
    const parse = (): void => {
      const body = readJson(bytes as Buffer, request.work);
      if (body instanceof ApiError) done(body);
      else done(null, body);
    };
    const entering = enter(admissions, request);
    return entering ? void entering.then(parse, done) : parse();
  });
  app.addContentTypeParser('*', (request, _payload, done) => {
    const { uploadField } = request.routeOptions.config;
    done(uploadField ? notMultipart(uploadField) : notJson());
  });
}

function readJson(bytes: Buffer, work: Work): unknown {
  const result = parseJsonBody(bytes);
  work.bodyValues = result.valueCount;
  if (result.ok) return result.value;
  const { syntax, path, message } = result.problem;
  if (syntax || path === '') return new ApiError('invalid_request', message);
  const fieldErrors = [{ field: path, code: 'invalid_value', message } as const];
  return new ApiError('validation_error', `${quoted(path)}: ${message}`, { fieldErrors });
}

function toApiError(error: FastifyError | Error, bodyLimit: number): ApiError {
  if (error instanceof ApiError) return error;
  if (error.message === 'aborted') return new ApiError('invalid_request', 'The request body is incomplete.');
  if (error instanceof DatabaseClosedError) return unavailable('The service is shutting down. Retry shortly.');
  const isFull = isDiskFull(error);
  if (isUnavailable(error) || error instanceof UnknownShardError) {
    return unavailable(
      `${isFull ? 'The disk of the database is full' : 'The database is unavailable'}. Retry shortly.`,
    );
  }
  if (error instanceof StorageError) {
    return unavailable(`The file storage is ${isFull ? 'full' : 'unavailable'}. Retry shortly.`);
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
  if (errorCode(error) === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const most = bodyLimit < 1024 * 1024 ? `${bodyLimit / 1024} KiB` : `${bodyLimit / 1024 / 1024} MiB`;
    const message = `The body is larger than ${most}.`;
    return new ApiError('invalid_request', message, { status: 413 });
  }
  if (status >= 400 && status < 500) return new ApiError('invalid_request', quoted(error.message), { status: 400 });
  return new ApiError('internal_error', 'An error occurred in the service. Retry with the same idempotency key.');
}

const isMissing = (error: Error): boolean => error instanceof ApiError && error.code === 'resource_not_found';

/** A person typed or followed an address. The paths of the API always answer as an API does. */
const wantsPage = ({ method, url, headers }: FastifyRequest): boolean =>
  method === 'GET' && headers.accept?.includes('text/html') === true && !/^\/(v1|dashboard)\//.test(url);

function sendRefusal(error: Error, request: FastifyRequest, reply: FastifyReply, options: ServerOptions): void {
  if (isMissing(error) && wantsPage(request)) void options.missingPage(request, reply.code(404));
  else sendError(error, request, reply, options);
}

function sendError(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
  { log, baseUrl }: Pick<ServerOptions, 'log' | 'baseUrl'>,
): void {
  if (error === overloaded) request.work.isShed = true;
  const known = toApiError(error, request.routeOptions.bodyLimit ?? limits.publicBodyBytes);
  if (known !== error && known.status >= 500) {
    const failure = isDiskFull(error) ? 'request failed: the disk is full' : 'request failed';
    const context = { err: error, request_id: request.id, company: request.admission?.company.id };
    inSpan(request, () => log.error(context, failure));
  }
  if (known.status === 413) reply.header('Connection', 'close');
  if (!reply.hasHeader('SVC-Version')) reply.header('SVC-Version', versionOfRefusal(request));
  void reply
    .code(known.status)
    .headers(known.headers)
    .header('SVC-Request-Id', request.id)
    .header('Content-Type', jsonType)
    .send(JSON.stringify(errorBody(known, request.id, baseUrl)));
}

/**
 * The version of a request that was rejected before its version was known. These errors are the same in all versions.
 */
function versionOfRefusal({ headers, admitted }: FastifyRequest): string {
  const pinned = admitted?.caller.kind === 'key' ? admitted.company.apiVersion : undefined;
  return supportedVersion(headers['svc-version']) ?? supportedVersion(pinned) ?? latestVersion;
}

const observeDuration = histogram('svc_http_request_duration_seconds');

function observe(request: FastifyRequest, reply: FastifyReply, { log }: ServerOptions): void {
  const route = request.routeOptions.url ?? 'unknown';
  const company = request.admission?.company.id;
  const labels = { method: request.method, route, status: String(reply.statusCode) };
  observeDuration(labels, reply.elapsedTime / 1000);
  // Otherwise these requests would fill a terminal next to `svc listen`.
  const level = followed.includes(route) && reply.statusCode < 400 ? 'debug' : 'info';
  const answer = {
    request_id: request.id,
    company,
    caller: request.admission?.caller.id,
    method: request.method,
    route,
    status: reply.statusCode,
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
  };
  inSpan(request, () => log[level](answer, 'request'));
  request.span?.end(reply.statusCode, company ? { 'svc.company': company } : {});
}

/** Gives log lines the trace of the request. */
function inSpan({ span }: FastifyRequest, work: () => void): void {
  if (span) span.run(work);
  else work();
}

// The routes that clients poll.
const followed: readonly (string | undefined)[] = [
  '/v1/requests',
  '/v1/requests/:requestId',
  '/v1/events/feed',
  '/dashboard/plans/preview',
];

/**
 * The request log leaves out requests beyond the rate limit, followers of the log itself, and reads of the dashboard.
 */
function isLogged(request: FastifyRequest, { caller }: Admitted, reply: FastifyReply): boolean {
  const isMemberRead = caller.kind === 'member' && request.method === 'GET';
  return (
    reply.statusCode !== 429 && !request.work.isShed && !isMemberRead && !followed.includes(request.routeOptions.url)
  );
}

function sent(request: FastifyRequest, { company }: Admitted): SentRequest {
  return {
    company,
    operation: `${request.method} ${request.routeOptions.url}`,
    body: request.body,
    idempotencyKey: request.headers['x-svc-idempotency-key']?.toString(),
  };
}

function answered(request: FastifyRequest, { company, caller }: Admitted, reply: FastifyReply): AnsweredRequest {
  const idempotencyKey = request.headers['x-svc-idempotency-key'];
  return {
    company,
    requestId: request.id,
    method: request.method,
    path: request.url.split('?')[0] ?? '',
    query: request.url.includes('?') ? (request.query as object) : undefined,
    status: reply.statusCode,
    durationMs: reply.elapsedTime,
    actor: caller,
    address: request.ip,
    apiVersion: request.admission?.apiVersion ?? null,
    idempotencyKey: idempotencyKey === undefined ? null : String(idempotencyKey),
    requestBody: request.body,
    requestBeginning: request.beginning,
    responseBody: request.answer,
  };
}
