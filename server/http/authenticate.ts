import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Company } from '../company.ts';
import { isUuid } from '../platform/ids.ts';
import type { Admitted } from './caller.ts';
import type { SessionCookie } from './session-cookie.ts';

export type Refusal =
  | 'invalid_api_key_format'
  | 'invalid_api_key'
  | 'expired_api_key'
  | 'revoked_api_key'
  | 'ip_not_allowed';

/** What a valid API key gives access to. */
export interface Access<Key = PresentedKey> {
  readonly key: Key;
  readonly company: Company;
}

interface PresentedKey {
  readonly id: string;
  readonly kind: 'secret' | 'publishable';
  readonly name: string;
  readonly permissions: readonly string[];
}

export interface ApiKeyDirectory {
  find(text: string, address: string): Promise<Access | Refusal>;
  /** Forgets what is cached of a company, or of all. Called by a process that changed a key or company, before it answers. */
  forget(companyId?: string): void;
}

const messages: Readonly<Record<Refusal, string>> = {
  invalid_api_key_format: 'The API key is malformed. Keys look like svc_test_sk_…; copy the whole key.',
  invalid_api_key: 'This API key does not exist.',
  expired_api_key: 'This API key has expired. Create a new one.',
  revoked_api_key: 'This API key was revoked. Create a new one.',
  ip_not_allowed: 'This API key is not allowed from your IP address.',
};

/** Finds the team member that a session belongs to; undefined when its user is not an active member of the company. */
export interface MemberDirectory {
  find(token: string, companyId: string): Promise<Admitted | undefined>;
}

export interface Identities {
  readonly directory: ApiKeyDirectory;
  readonly members: MemberDirectory;
  readonly cookie: SessionCookie;
}

/**
 * A request with an API key belongs to the key, even if it also has a cookie. A request of the dashboard names its
 * company in a header.
 */
export async function authenticate(identities: Identities, request: FastifyRequest): Promise<Admitted> {
  const { authorization, 'svc-company': companyId } = request.headers;
  if (companyId !== undefined && authorization === undefined) {
    return authenticateMember(identities, request, String(companyId));
  }
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (!token) {
    if (authorization?.trim()) throw refused('invalid_api_key_format');
    throw new ApiError('missing_api_key', 'Send your API key in the header Authorization: Bearer <API_KEY>.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  const found = await identities.directory.find(token, request.ip);
  if (typeof found === 'string') throw refused(found);
  const { key, company } = found;
  const { id, name, permissions } = key;
  const publishable = key.kind === 'publishable';
  return { company, caller: { kind: 'key', id, name, permissions, publishable, steppedUpUntilMs: Infinity } };
}

async function authenticateMember(
  { members, cookie }: Identities,
  request: FastifyRequest,
  companyId: string,
): Promise<Admitted> {
  cookie.checkSameSite(request);
  const token = cookie.read(request);
  if (!token) throw new ApiError('missing_session', 'You are not signed in.');
  const found = isUuid(companyId) ? await members.find(token, companyId.toLowerCase()) : undefined;
  if (!found) throw new ApiError('insufficient_permissions', 'You are not in the team of this company.');
  return found;
}

function refused(refusal: Refusal): ApiError {
  const headers = refusal === 'ip_not_allowed' ? {} : { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
  return new ApiError(refusal, messages[refusal], { headers });
}
