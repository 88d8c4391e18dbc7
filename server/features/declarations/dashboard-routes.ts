import { defineRoute, type Route } from '../../http/route.ts';
import { declaration, declarations } from './schemas.ts';
import { getDeclarations, handleDeclaration } from './service.ts';

const common = { tag: 'Customers', resource: 'declaration' } as const;

/** Used only by the dashboard. */
export function declarationRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/declarations',
      operationId: 'listDeclarations',
      summary: 'List what customers declared without signing in',
      permission: 'customers:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: declarations, shape: 'other' },
      errors: [],
      handle: ({ context }) => getDeclarations(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/declarations/:id/handle',
      operationId: 'handleDeclaration',
      summary: 'Mark a declaration as handled',
      permission: 'customers:write',
      category: 'write',
      idempotency: 'optional',
      success: { status: 200, schema: declaration, shape: 'other' },
      errors: ['resource_not_found'],
      handle: ({ context, params }) => handleDeclaration(context, params.id ?? ''),
    }),
  ];
}
