import { defineRoute, type Route } from '../../http/route.ts';
import {
  changeApiKey,
  endApiKey,
  getApiKey,
  getApiKeys,
  type KeyDependencies,
  lockedApiKey,
  makeApiKey,
  reserveNewKey,
  reserveRotation,
  rotateApiKey,
} from './management.ts';
import {
  apiKey,
  apiKeyCreate,
  apiKeyList,
  apiKeyRotate,
  apiKeyUpdate,
  newApiKey,
  rotatedApiKey,
  trialKey,
} from './schemas.ts';
import { makeTrialKey, reserveTrialKey } from './trial.ts';

export type { KeyDependencies };

const common = {
  tag: 'API keys',
  resource: 'API key',
  category: 'write',
  stepUp: true,
  idempotency: 'optional',
  permission: 'api_keys:write',
  success: { status: 200, schema: apiKey, shape: 'resource' },
  errors: ['invalid_request'],
} as const;

/** Used only by the dashboard. */
export function apiKeyRoutes(dependencies: KeyDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/api_keys',
      operationId: 'listApiKeys',
      summary: 'List API keys',
      permission: 'api_keys:read',
      category: 'read',
      stepUp: false,
      idempotency: 'none',
      success: { status: 200, schema: apiKeyList, shape: 'other' },
      handle: ({ context }) => getApiKeys(context, dependencies),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/api_keys',
      operationId: 'createApiKey',
      summary: 'Create an API key',
      secretAnswer: true,
      body: apiKeyCreate,
      success: { status: 201, schema: newApiKey, shape: 'resource' },
      prepare: ({ context, body }) => reserveNewKey(context, dependencies, body),
      handle: ({ context, body, prepared }) => makeApiKey(context, dependencies, body, prepared),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/api_keys/trial',
      operationId: 'createTrialKey',
      summary: 'Create a key for the API reference',
      permission: null,
      stepUp: false,
      secretAnswer: true,
      success: { status: 201, schema: trialKey, shape: 'other' },
      prepare: ({ context }) => reserveTrialKey(context, dependencies),
      handle: ({ context, prepared }) => makeTrialKey(context, dependencies, prepared),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/api_keys/:id',
      operationId: 'getApiKey',
      summary: 'Retrieve an API key',
      permission: 'api_keys:read',
      category: 'read',
      stepUp: false,
      idempotency: 'none',
      version: apiKeyUpdate,
      handle: ({ context, params }) => getApiKey(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: '/dashboard/api_keys/:id',
      operationId: 'updateApiKey',
      summary: 'Update an API key',
      body: apiKeyUpdate,
      current: ({ context, params }) => lockedApiKey(context, dependencies, params.id ?? ''),
      handle: ({ context, params, body }) => changeApiKey(context, dependencies, params.id ?? '', body),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/api_keys/:id/rotate',
      operationId: 'rotateApiKey',
      summary: 'Rotate an API key',
      secretAnswer: true,
      body: apiKeyRotate,
      success: { status: 201, schema: rotatedApiKey, shape: 'resource' },
      prepare: ({ context, params }) => reserveRotation(context, dependencies, params.id ?? ''),
      handle: ({ context, params, body, prepared }) =>
        rotateApiKey(context, dependencies, params.id ?? '', body.grace_period_hours, prepared),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/dashboard/api_keys/:id',
      operationId: 'revokeApiKey',
      summary: 'Revoke an API key',
      handle: ({ context, params }) => endApiKey(context, dependencies, params.id ?? ''),
    }),
  ];
}
