import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { booleanParameter, choiceParameter, textParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { LinkDependencies } from '../checkout-sessions/service.ts';
import { paymentLink, paymentLinkCreate, paymentLinkUpdate } from './schemas.ts';
import { changeLink, createLink, getLink, getLinks, lockedLink } from './service.ts';

const common = { tag: 'Checkout', resource: 'payment link' } as const;
const writes = { permission: 'payment_links:write', category: 'write', idempotency: 'optional' } as const;
const path = '/v1/payment_links';
const fields = { name: 'payment_links', schema: paymentLink };

export function paymentLinkRoutes(dependencies: LinkDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      ...writes,
      method: 'POST',
      path,
      operationId: 'createPaymentLink',
      summary: 'Create a payment link',
      description:
        'A link that can be paid many times. Each visit opens a checkout session. An item with a `product` creates that product together with the link.',
      body: paymentLinkCreate,
      bodyExample: {
        name: 'Instagram, tea pots',
        mode: 'payment',
        items: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 1, quantity_max: 10 }],
      },
      success: { status: 201, schema: paymentLink, shape: 'resource' },
      errors: ['resource_not_found', 'invalid_request', 'merchant_not_configured', 'resource_already_exists'],
      handle: ({ context, body }) => createLink(context, dependencies, body),
    }),
    defineList({
      ...common,
      path,
      operationId: 'listPaymentLinks',
      summary: 'List payment links',
      permission: 'payment_links:read',
      fields,
      sorts: [],
      filters: {
        q: textParameter(limits.searchLength, 'Only links with this text in their name.'),
        active: booleanParameter('Only active, or only inactive links.'),
        mode: choiceParameter(['payment', 'subscription'], 'Only links of this kind.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('PaymentLinkList', paymentLink, path), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getLinks(context, dependencies, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id`,
      operationId: 'getPaymentLink',
      summary: 'Retrieve a payment link',
      permission: 'payment_links:read',
      category: 'read',
      idempotency: 'none',
      fields,
      version: paymentLinkUpdate,
      success: { status: 200, schema: paymentLink, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getLink(context, dependencies, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      ...writes,
      method: 'PATCH',
      path: `${path}/:id`,
      operationId: 'updatePaymentLink',
      summary: 'Update a payment link',
      description:
        'What a link sells cannot change. A link that is inactive, full or over takes no payments, also on pages that are already open. ' +
        'A limit or an end can be changed but not removed.',
      body: paymentLinkUpdate,
      bodyExample: { active: false },
      success: { status: 200, schema: paymentLink, shape: 'resource' },
      errors: ['invalid_request', 'resource_already_exists'],
      current: ({ context, params }) => lockedLink(context, dependencies, params.id ?? ''),
      handle: ({ context, params, body }) => changeLink(context, dependencies, params.id ?? '', body),
    }),
  ];
}
