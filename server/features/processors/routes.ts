import { defineEffect, defineRoute, type Route } from '../../http/route.ts';
import {
  connectionCreate,
  connectionList,
  connectionOrder,
  connectionTest,
  connectionTestResult,
  connectionUpdate,
  connection,
} from './schemas.ts';
import {
  change,
  connect,
  disconnect,
  forgetCredentials,
  listConnections,
  type ProcessorDependencies,
  reconnect,
  remove,
  reorder,
  replaceCredentials,
  storeNew,
  testConnection,
  testUnsaved,
} from './service.ts';

export type { ProcessorDependencies };

const common = {
  tag: 'Processors',
  resource: 'connection',
  category: 'write',
  idempotency: 'optional',
  permission: 'company:write',
  stepUp: true,
  success: { status: 200, schema: connection, shape: 'resource' },
  errors: [],
} as const;
const tests = {
  ...common,
  method: 'POST',
  audit: 'none',
  success: { status: 200, schema: connectionTestResult, shape: 'resource' },
} as const;
const path = '/dashboard/processors';

/** Used only by the dashboard. */
export function processorRoutes(dependencies: ProcessorDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path,
      operationId: 'listProcessors',
      summary: 'List the processors of the company, and the kinds that it can connect',
      permission: 'company:read',
      stepUp: false,
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: connectionList, shape: 'resource' },
      handle: ({ context }) => listConnections(context, dependencies),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path,
      operationId: 'connectProcessor',
      summary: 'Connect a processor to the live company',
      body: connectionCreate,
      errors: ['resource_already_exists'],
      success: { status: 201, schema: connection, shape: 'resource' },
      prepare: ({ context, body }) => storeNew(context, dependencies, body),
      handle: ({ context, body, prepared }) => connect(context, dependencies, body, prepared),
    }),
    defineEffect({
      ...tests,
      path: `${path}/test`,
      operationId: 'testProcessorCredentials',
      summary: 'Test credentials with a harmless call, without storing them',
      body: connectionTest,
      effect: ({ context, body }) => testUnsaved(context, dependencies, body),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/order`,
      operationId: 'orderProcessors',
      summary: 'Set the order in which processors are tried',
      body: connectionOrder,
      success: { status: 200, schema: connectionList, shape: 'resource' },
      handle: ({ context, body }) => reorder(context, dependencies, body.connection_ids),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      path: `${path}/:id`,
      operationId: 'updateProcessor',
      summary: 'Change the name, the rules or the credentials of a connection',
      body: connectionUpdate,
      prepare: ({ context, params, body }) => replaceCredentials(context, dependencies, params.id ?? '', body),
      handle: ({ context, params, body }) => change(context, dependencies, params.id ?? '', body),
    }),
    defineEffect({
      ...tests,
      path: `${path}/:id/test`,
      operationId: 'testProcessor',
      summary: 'Test a connection with a harmless call',
      stepUp: false,
      effect: ({ context, params }) => testConnection(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/disconnect`,
      operationId: 'disconnectProcessor',
      summary: 'Stop new charges at a processor',
      handle: ({ context, params }) => disconnect(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${path}/:id/reconnect`,
      operationId: 'reconnectProcessor',
      summary: 'Use a disconnected processor again',
      handle: ({ context, params }) => reconnect(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'removeProcessor',
      summary: 'Remove the credentials of a disconnected processor',
      prepare: ({ context, params }) => forgetCredentials(context, dependencies, params.id ?? ''),
      handle: ({ context, params }) => remove(context, dependencies, params.id ?? ''),
    }),
  ];
}
