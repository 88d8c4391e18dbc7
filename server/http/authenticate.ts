import { ApiError } from '../errors.ts';
import type { Access, ApiKeyDirectory, Refusal } from '../features/api-keys/service.ts';
import type { Permission } from './permissions.ts';

const messages: Readonly<Record<Refusal, string>> = {
  invalid_api_key_format: 'The API key is malformed. Keys look like svc_test_sk_… and are copied whole.',
  invalid_api_key: 'This API key does not exist.',
  expired_api_key: 'This API key has expired. Create a new one.',
  revoked_api_key: 'This API key was revoked. Create a new one.',
  ip_not_allowed: 'This API key may not be used from your address.',
};

export async function authenticate(
  directory: ApiKeyDirectory,
  authorization: string | undefined,
  address: string,
): Promise<Access> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (!token) {
    if (authorization?.trim()) throw refused('invalid_api_key_format');
    throw new ApiError('missing_api_key', 'Send your API key in the header Authorization: Bearer <API_KEY>.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  const found = await directory.find(token, address);
  if (typeof found === 'string') throw refused(found);
  return found;
}

function refused(refusal: Refusal): ApiError {
  const headers = refusal === 'ip_not_allowed' ? {} : { 'WWW-Authenticate': 'Bearer error="invalid_token"' };
  return new ApiError(refusal, messages[refusal], { headers });
}

export function checkPermission(
  access: Access,
  { permission: needed, publishable: open }: { permission: Permission; publishable?: boolean },
): void {
  const publishable = access.key.kind === 'publishable';
  if (publishable ? open : access.key.permissions.includes(needed)) return;
  const why = publishable
    ? 'A publishable key only captures cards; use a secret key.'
    : `This API key lacks the permission ${needed}.`;
  throw new ApiError('insufficient_permissions', why);
}
