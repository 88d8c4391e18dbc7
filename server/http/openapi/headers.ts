import { componentReference, type Json } from './components.ts';

export const responseHeaders: Json = {
  'SVC-Request-Id': { description: 'Name it when you ask about this request.', schema: { type: 'string' } },
  'SVC-Version': { description: 'The version that served the request.', schema: { type: 'string' } },
  'SVC-Idempotent-Replayed': { description: '`true` on a stored answer.', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Requests the tightest limit allows.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'How many are left.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until it is full again.', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: '`count;w=seconds`.', schema: { type: 'string' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
};

/** What every answer has. */
export const commonHeaders = Object.keys(responseHeaders).filter(
  (name) => name !== 'Retry-After' && name !== 'SVC-Idempotent-Replayed',
);

export const headerReferences = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, componentReference('headers', name)]));
