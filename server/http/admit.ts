import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Admissions } from './admissions.ts';
import { checkAgentKey } from './agent-calls.ts';
import { authenticate, type Identities } from './authenticate.ts';
import { type Admitted, checkPermission, isDashboardRoute } from './caller.ts';
import type { EarlyRefusal } from './early-refusal.ts';
import { checkIdempotencyKey } from './idempotency.ts';
import { type LimitDependencies, takeFromAddress, takeFromCompany } from './limiting.ts';
import { type IfMatch, readIfMatch } from './object-versions.ts';
import type { Route } from './route.ts';
import { checkVersion, latestVersion } from './versions/versions.ts';
import { checkRoom } from './work.ts';

/** The checks before the body is read: caller, permission, rate limits, room, version, idempotency key. */

export interface AdmitDependencies extends LimitDependencies {
  readonly identities: Identities;
  readonly admissions: Admissions;
  readonly earlyRefusal: EarlyRefusal;
}

/** What these checks found. */
export interface Admission extends Admitted {
  readonly apiVersion: string;
  readonly versionNamed: boolean;
  readonly idempotencyKey: string | undefined;
  /** The version of the object that the request wants to change. */
  readonly ifMatch: IfMatch | undefined;
}

export async function admit(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: AdmitDependencies,
): Promise<Admission> {
  const { identities, clock } = dependencies;
  let admitted: Admitted;
  try {
    admitted = await authenticate(identities, request);
    request.admitted = admitted;
    // A publishable key is in the hands of anyone.
    request.work.isKnown = !admitted.caller.publishable;
    checkPermission(admitted.caller, route, clock.nowMs());
    checkAgentKey(admitted, route, request);
  } catch (error) {
    if (error instanceof ApiError) await takeFromAddress(request, reply, dependencies);
    throw error;
  }
  request.work.shard = admitted.company.shard;
  await takeFromCompany(request, reply, dependencies, admitted.company.id, route.category);
  checkRoom(dependencies.admissions, request);
  const { authorization } = request.headers;
  if (authorization && !admitted.caller.publishable) dependencies.earlyRefusal.remember(authorization, request.work);
  const requested = request.headers['svc-version'];
  // The dashboard uses the version that it was built with, which is the latest.
  const pinned = admitted.caller.kind === 'key' ? admitted.company.apiVersion : latestVersion;
  const versioned = !isDashboardRoute(route);
  const apiVersion = versioned ? checkVersion(String(requested ?? pinned)) : latestVersion;
  reply.header('SVC-Version', apiVersion);
  const header = request.headers['x-svc-idempotency-key'];
  const idempotencyKey =
    route.idempotency === 'none' ? undefined : checkIdempotencyKey(header, route.idempotency === 'required');
  const ifMatch = route.current && readIfMatch(request.headers['if-match']);
  return { ...admitted, apiVersion, versionNamed: versioned && requested !== undefined, idempotencyKey, ifMatch };
}
