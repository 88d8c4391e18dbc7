import { defineRoute, type Route } from '../../http/route.ts';
import { cardWarnings, cardWarningsDismiss } from './schemas.ts';
import { dismissCardWarnings, getCardWarnings } from './service.ts';

const common = {
  tag: 'Company',
  resource: 'card warning',
  success: { status: 200, schema: cardWarnings, shape: 'other' },
  errors: [],
} as const;

/** Used only by the dashboard. */
export function cardWarningRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/card_warnings',
      operationId: 'listCardWarnings',
      summary: 'List fields with possible card numbers',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      handle: ({ context }) => getCardWarnings(context),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/dashboard/card_warnings/dismiss',
      operationId: 'dismissCardWarnings',
      summary: 'Dismiss the warnings',
      // Members who can change the integration.
      permission: 'api_keys:write',
      category: 'write',
      idempotency: 'optional',
      body: cardWarningsDismiss,
      handle: ({ context, body }) => dismissCardWarnings(context, body.seen_by),
    }),
  ];
}
