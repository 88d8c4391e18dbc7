import { integerParameter } from '../../http/query-parameters.ts';
import { limits } from '../../limits.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { deletedExport, exportContent, exportCreate, exported, exportList } from './schemas.ts';
import { createExport, deleteExport, getExport, getExports, type Lists, readExport } from './service.ts';

/** The permission is that of the list, which depends on the request. */
const common = { tag: 'Exports', resource: 'export', permission: null, errors: [] } as const;
const reads = { ...common, method: 'GET', category: 'read', idempotency: 'none' } as const;

/** Used only by the dashboard. */
export function exportRoutes(lists: () => Lists): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/exports',
      operationId: 'createExport',
      summary: 'Export a list as CSV in the background',
      description: `A member can have ${limits.exportsOfMember} exports at once: another one replaces the oldest.`,
      category: 'write',
      idempotency: 'optional',
      isSearch: true,
      body: exportCreate,
      success: { status: 201, schema: exported, shape: 'resource' },
      errors: ['invalid_request'],
      handle: ({ context, body }) => createExport(context, lists(), body),
    }),
    defineRoute({
      ...reads,
      path: '/dashboard/exports',
      operationId: 'listExports',
      summary: 'List your exports of the last day',
      success: { status: 200, schema: exportList, shape: 'other' },
      handle: ({ context }) => getExports(context),
    }),
    defineRoute({
      ...reads,
      path: '/dashboard/exports/:id',
      operationId: 'getExport',
      summary: 'Retrieve an export',
      success: { status: 200, schema: exported, shape: 'resource' },
      handle: ({ context, params }) => getExport(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/dashboard/exports/:id',
      operationId: 'deleteExport',
      summary: 'Delete an export',
      description: 'Stops an export that is still running.',
      category: 'write',
      idempotency: 'none',
      success: { status: 200, schema: deletedExport, shape: 'other' },
      errors: ['resource_not_found'],
      handle: ({ context, params }) => deleteExport(context, params.id ?? ''),
    }),
    defineRoute({
      ...reads,
      path: '/dashboard/exports/:id/content',
      operationId: 'readExport',
      summary: 'Read the content of an export',
      parameters: { from: integerParameter(0, 1_000_000, 'The first piece.', 0) },
      success: { status: 200, schema: exportContent, shape: 'other' },
      handle: ({ context, params, query }) => readExport(context, params.id ?? '', query.from ?? 0),
    }),
  ];
}
