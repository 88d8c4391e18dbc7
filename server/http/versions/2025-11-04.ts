import type { RouteBase } from '../route.ts';
import type { VersionStep } from './versions.ts';

const isResource = ({ success }: RouteBase): boolean => success?.shape === 'resource';

export const version20251104: VersionStep = {
  version: '2025-11-04',
  differences: [
    'A single resource is wrapped in `data`.',
    'Refunding an order that cannot be refunded returns 400 instead of 422.',
  ],
  response: (route, body) => (isResource(route) ? { data: body } : body),
  schema: (route, schema) =>
    isResource(route) ? { type: 'object', required: ['data'], properties: { data: schema } } : schema,
  errorStatus: (route, error) =>
    route.operationId === 'refundOrder' && error.code === 'invalid_state_transition' ? 400 : error.status,
};
