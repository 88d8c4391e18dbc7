import { defineRoute, type Route } from '../../http/route.ts';
import type { ControlQueryable } from '../../platform/database.ts';
import { getName, reserveName, useName } from './names.ts';
import { linkName, linkNameChange, linkVisits } from './schemas.ts';
import { getVisits } from './service.ts';

const ofName = {
  tag: 'Checkout',
  resource: 'company',
  path: '/dashboard/payment_link_name',
  success: { status: 200, schema: linkName, shape: 'other' },
} as const;

/** Used only by the dashboard. */
export function paymentLinkDashboardRoutes(control: ControlQueryable): Route[] {
  return [
    defineRoute({
      tag: 'Checkout',
      resource: 'payment link',
      method: 'GET',
      path: '/dashboard/payment_links/:id/visits',
      operationId: 'getPaymentLinkVisits',
      summary: 'Count the visits of a payment link, and how many of them paid',
      permission: 'payment_links:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: linkVisits, shape: 'other' },
      errors: [],
      handle: ({ context, params }) => getVisits(context, params.id ?? ''),
    }),
    defineRoute({
      ...ofName,
      method: 'GET',
      operationId: 'getPaymentLinkName',
      summary: 'Show the name of the company in the addresses of payment links',
      permission: 'payment_links:read',
      category: 'read',
      idempotency: 'none',
      errors: [],
      handle: ({ context }) => getName(context),
    }),
    defineRoute({
      ...ofName,
      method: 'POST',
      operationId: 'changePaymentLinkName',
      summary: 'Change the name of the company in the addresses of payment links',
      description: 'Addresses with an earlier name keep working.',
      permission: 'company:write',
      category: 'write',
      idempotency: 'optional',
      body: linkNameChange,
      errors: ['invalid_request'],
      prepare: ({ context, body }) => reserveName(context, control, body.name),
      handle: ({ context, prepared }) => useName(context, prepared),
    }),
  ];
}
