import { defineRoute, type Route } from '../../http/route.ts';
import { deletedView, savedView, savedViewCreate, savedViewList } from './schemas.ts';
import { getViews, removeView, saveView } from './service.ts';

/** Without a permission: a view holds filters only, and the list that it opens checks who may read it. */
const common = { tag: 'Saved views', resource: 'view', permission: null, audit: 'none' } as const;
const path = '/dashboard/saved_views';

/** Used only by the dashboard. */
export function savedViewRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path,
      operationId: 'listSavedViews',
      summary: 'List your saved views',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: savedViewList, shape: 'other' },
      errors: [],
      handle: ({ context }) => getViews(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path,
      operationId: 'createSavedView',
      summary: 'Save a view',
      description: 'Replaces your view of the same list with the same name.',
      category: 'write',
      idempotency: 'optional',
      body: savedViewCreate,
      success: { status: 201, schema: savedView, shape: 'other' },
      errors: ['invalid_request'],
      handle: ({ context, body }) => saveView(context, body),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'deleteSavedView',
      summary: 'Delete a saved view',
      category: 'write',
      idempotency: 'none',
      success: { status: 200, schema: deletedView, shape: 'other' },
      errors: ['resource_not_found'],
      handle: ({ context, params }) => removeView(context, params.id ?? ''),
    }),
  ];
}
