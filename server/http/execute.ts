import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, errorBody } from '../errors.ts';
import type { Company } from '../company.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/database.ts';
import { readFrom } from '../platform/replica.ts';
import type { RequestContext } from '../request-context.ts';
import type { OpenShard } from '../shards/shards.ts';
import type { Admission } from './admit.ts';
import { type Auditing, auditingOf, type AuditLog } from './audit.ts';
import { checkExpansions } from './caller.ts';
import { type Answer, type KeyedRequest } from './key-queries.ts';
import { runOnce } from './idempotency.ts';
import { type Input, pathOf } from './input.ts';
import { keyedRequest } from './keyed-request.ts';
import type { Page } from './lists.ts';
import { checkIfMatch, versionsOf } from './object-versions.ts';
import { render, renderList } from './render.ts';
import type { PhasedAnswer, Route, RouteRequest } from './route.ts';
import { latestVersion, renderError } from './versions/versions.ts';
import type { ServiceKey } from '../platform/service-keys.ts';

/** Executes a route by its kind: one transaction, an effect outside of transactions, or phases. */

export interface ExecuteDependencies {
  readonly shardFor: (company: Company) => OpenShard;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly idempotencyHashKey: ServiceKey;
  readonly answerKey: ServiceKey;
  /** For the links in errors. */
  readonly baseUrl: string;
}

export async function execute(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  input: Input,
  dependencies: ExecuteDependencies,
): Promise<Answer> {
  const admission = request.admission as Admission;
  checkExpansions(admission.caller, route, input.expand);
  const auditing = auditingOf(dependencies.audit, route, request, admission, input, dependencies.clock.nowMs());
  const context = contextOf(request, admission, dependencies);
  const outside = { ...input, context: { ...context, auditFirst: auditing.first }, prepared: undefined };
  const call: Call = {
    route,
    input,
    context,
    outside,
    auditing,
    key: await keyedRequest(route, request, outside, dependencies),
    answers: answersOf(route, request, input, dependencies.baseUrl),
    shard: dependencies.shardFor(admission.company),
    versions: (object) =>
      route.version ? versionsOf(dependencies.idempotencyHashKey, admission.company.id, route.version, object) : [],
    ifMatch: admission.ifMatch,
  };
  const answer = await executeByKind(call);
  // Errors and replays have no result: they change nothing.
  if (answer.result !== undefined && !answer.replayed) auditing.afterwards(answer.result);
  if (answer.replayed) {
    reply.header('SVC-Idempotent-Replayed', 'true');
    reply.header('SVC-Version', answer.apiVersion);
  }
  if (route.version && answer.status === 200) setVersion(reply, call, answer);
  return answer;
}

/** A stored response has no result, but the latest API version shows the object as it was. */
function setVersion(reply: FastifyReply, { versions }: Call, { result, body, apiVersion }: Answer): void {
  const object: unknown = result ?? (apiVersion === latestVersion ? JSON.parse(body) : undefined);
  const [version] = object ? versions(object) : [];
  if (version) reply.header('ETag', version);
}

export function contextOf(
  request: FastifyRequest,
  { company, caller }: Pick<Admission, 'company' | 'caller'>,
  { shardFor }: Pick<ExecuteDependencies, 'shardFor'>,
): RequestContext {
  const { db, clock } = shardFor(company);
  return { requestId: request.id, company, caller, nowMs: clock.nowMs() + company.clockOffsetMs, db };
}

interface Call {
  readonly route: Route;
  readonly input: Input;
  readonly context: RequestContext;
  /** The request without a transaction. */
  readonly outside: RouteRequest<unknown, unknown>;
  readonly auditing: Auditing;
  readonly key: KeyedRequest | undefined;
  readonly answers: Answers;
  readonly shard: OpenShard;
  /** The versions that an object can have: with the current key, then with earlier ones. None on routes without versions. */
  readonly versions: (object: unknown) => readonly string[];
  readonly ifMatch: Admission['ifMatch'];
}

function executeByKind(call: Call): Promise<PhasedAnswer> {
  const { route, outside, key, answers, auditing } = call;
  if (route.phased) {
    const inDoubt = (): void => auditing.afterwards();
    return route.phased(outside, { key, answer: answers.answer, refusal: answers.refusal, inDoubt });
  }
  const prepare = preparationOf(call);
  return key ? executeKeyed(call, key, prepare) : executeOnce(call, prepare);
}

type Prepare = Route['prepare'];

function preparationOf(call: Call): Prepare {
  const { effect, prepare = effect } = call.route;
  if (!prepare || !call.ifMatch) return prepare;
  // What is prepared can have effects, so the version is checked before it, too.
  return async (outside) => {
    await checkUnchanged(call, call.shard.db);
    return prepare(outside);
  };
}

async function executeOnce(call: Call, prepare: Prepare): Promise<PhasedAnswer> {
  const { route, outside, auditing, shard } = call;
  if (route.mayUseReplica) {
    const answer = await readFrom(shard, (db) => work(call, db, undefined));
    return { ...answer, replayed: false };
  }
  const { db } = shard;
  const prepared = await prepare?.(outside);
  const answer =
    auditing.needsTransaction || call.ifMatch
      ? await db.transaction((transaction) => work(call, transaction, prepared))
      : await work(call, db, prepared);
  return { ...answer, replayed: false };
}

async function executeKeyed(call: Call, key: KeyedRequest, prepare: Prepare): Promise<PhasedAnswer> {
  const { route, outside, answers, shard } = call;
  return runOnce(
    shard.db,
    key,
    {
      work: (transaction, prepared) => work(call, transaction, prepared),
      ...(prepare && { prepare: () => prepare(outside) }),
      ...(route.clockAfter && { livesFrom: route.clockAfter }),
    },
    answers.refusal,
  );
}

/** Runs inside the transaction, if there is one. For an effect, it only writes the audit entry and the response. */
async function work(call: Call, db: Database, prepared: unknown): Promise<Answer> {
  const { route, input, context, auditing, answers } = call;
  if (call.ifMatch) await checkUnchanged(call, db);
  const result = route.effect ? prepared : await route.handle?.({ ...input, context: { ...context, db }, prepared });
  await auditing.withChange(db, result);
  return route.list ? answers.answerList(result as Page<unknown>) : answers.answer(result);
}

/** Locks the object that the request changes, and rejects the request if the client has read another version of it. */
async function checkUnchanged({ route, input, context, versions, ifMatch }: Call, db: Database): Promise<void> {
  if (!ifMatch || !route.current) return;
  const object = await route.current({ ...input, context: { ...context, db }, prepared: undefined });
  if (object) checkIfMatch(ifMatch, route, versions(object));
}

/** How results and errors become the answer, in the version of the request. */
interface Answers {
  readonly answer: (result: unknown, version?: string) => Answer;
  readonly answerList: (page: Page<unknown>) => Promise<Answer>;
  /** The answer to keep under an idempotency key. Undefined for errors that are not kept. */
  readonly refusal: (error: unknown, version?: string) => Answer | undefined;
}

function answersOf(route: Route, request: FastifyRequest, input: Input, baseUrl: string): Answers {
  const { apiVersion } = request.admission as Admission;
  const rendering = { route, apiVersion, path: pathOf(route, input), fields: input.fields };
  return {
    answer(result, version = apiVersion) {
      if (!route.success) throw new Error(`${route.operationId} can only be refused`);
      const body = render({ ...rendering, apiVersion: version }, result);
      return { status: route.success.status, body, apiVersion: version, result };
    },
    async answerList(page) {
      request.work.rows = page.items.length;
      request.work.scannedRows = page.scanned ?? 0;
      return { status: 200, body: await renderList(rendering, page), apiVersion };
    },
    refusal(error, version = apiVersion) {
      if (!(error instanceof ApiError) || !error.stored) return undefined;
      const rendered = renderError(version, route, error);
      const body = JSON.stringify(errorBody(rendered, request.id, baseUrl));
      return { status: rendered.status, body, apiVersion: version };
    },
  };
}
