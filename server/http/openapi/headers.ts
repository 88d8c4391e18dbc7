import { componentReference, type Json } from './components.ts';

export const responseHeaders: Json = {
  'SVC-Request-Id': { description: 'Include it when you ask for support.', schema: { type: 'string' } },
  'SVC-Version': { description: 'The API version of the response.', schema: { type: 'string' } },
  'SVC-Idempotent-Replayed': {
    description: '`true` if this is the stored response of the idempotency key.',
    schema: { type: 'string' },
  },
  ETag: {
    description: 'The version of the object: it changes with each field that can be changed. Send it as `If-Match`.',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description: 'Number of requests that the strictest limit allows.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': { description: 'Number of remaining requests.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the limit is fully reset.', schema: { type: 'integer' } },
  'RateLimit-Policy': { description: '`count;w=seconds`.', schema: { type: 'string' } },
  'Retry-After': { description: 'Number of seconds to wait before a retry.', schema: { type: 'integer' } },
};

/** The headers of every response. */
export const commonHeaders = Object.keys(responseHeaders).filter(
  (name) => !['Retry-After', 'SVC-Idempotent-Replayed', 'ETag'].includes(name),
);

export const headerReferences = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, componentReference('headers', name)]));
