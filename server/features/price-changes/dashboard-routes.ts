import { uuidParameter } from '../../http/query-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import { priceChange, priceChangeCreate, priceChangePreview, priceChangeRequest, priceChanges } from './schemas.ts';
import {
  createPriceChange,
  getPriceChange,
  getPriceChanges,
  controlPriceChange,
  previewPriceChange,
} from './service.ts';

const common = { tag: 'Subscriptions', resource: 'price change', errors: [] } as const;
const reads = {
  ...common,
  permission: 'subscriptions:read',
  category: 'read',
  idempotency: 'none',
} as const;
const writes = {
  ...common,
  method: 'POST',
  permission: 'subscriptions:write',
  category: 'write',
  idempotency: 'optional',
  success: { status: 200, schema: priceChange, shape: 'resource' },
} as const;

/** Used only by the dashboard. */
export function priceChangeRoutes(): Route[] {
  return [
    defineRoute({
      ...writes,
      path: '/dashboard/price_changes',
      operationId: 'createPriceChange',
      summary: 'Move the subscribers of a plan to another plan at their next renewal',
      body: priceChangeCreate,
      success: { status: 201, schema: priceChange, shape: 'resource' },
      handle: ({ context, body }) => createPriceChange(context, body),
    }),
    defineRoute({
      ...reads,
      method: 'POST',
      path: '/dashboard/price_changes/preview',
      operationId: 'previewPriceChange',
      summary: 'Preview the counts and sums of a price change',
      audit: 'none',
      body: priceChangeRequest,
      success: { status: 200, schema: priceChangePreview, shape: 'other' },
      handle: ({ context, body }) => previewPriceChange(context, body),
    }),
    defineRoute({
      ...reads,
      method: 'GET',
      path: '/dashboard/price_changes',
      operationId: 'listPriceChanges',
      summary: 'List the latest price changes',
      parameters: { plan_id: uuidParameter('Only those of this plan.') },
      success: { status: 200, schema: priceChanges, shape: 'other' },
      handle: ({ context, query }) => getPriceChanges(context, query.plan_id),
    }),
    defineRoute({
      ...reads,
      method: 'GET',
      path: '/dashboard/price_changes/:id',
      operationId: 'getPriceChange',
      summary: 'Retrieve a price change with its progress and exceptions',
      success: { status: 200, schema: priceChange, shape: 'resource' },
      handle: ({ context, params }) => getPriceChange(context, params.id ?? ''),
    }),
    defineRoute({
      ...writes,
      path: '/dashboard/price_changes/:id/pause',
      operationId: 'pausePriceChange',
      summary: 'Pause a price change: subscriptions that have not renewed keep their plan until it is resumed',
      handle: ({ context, params }) => controlPriceChange(context, params.id ?? '', 'pause'),
    }),
    defineRoute({
      ...writes,
      path: '/dashboard/price_changes/:id/resume',
      operationId: 'resumePriceChange',
      summary: 'Resume a price change',
      handle: ({ context, params }) => controlPriceChange(context, params.id ?? '', 'resume'),
    }),
    defineRoute({
      ...writes,
      path: '/dashboard/price_changes/:id/undo',
      operationId: 'undoPriceChange',
      summary: 'Undo a price change for the subscriptions that have not renewed yet',
      handle: ({ context, params }) => controlPriceChange(context, params.id ?? '', 'undo'),
    }),
  ];
}
