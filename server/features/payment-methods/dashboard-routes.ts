import Type from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { nullable, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { ensureActiveCustomer } from '../customers/service.ts';
import { findVerifications } from './card-rule-queries.ts';

const cardChecks = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        payment_method_id: uuid(),
        outcome: choice(['verified', 'declined']),
        avs_result: nullable(Type.String()),
        cvv_result: nullable(Type.String()),
      }),
    ),
  },
  { title: 'CardChecks' },
);

/** Used only by the dashboard. */
export function paymentMethodDashboardRoutes(): Route[] {
  return [
    defineRoute({
      tag: 'Payment methods',
      resource: 'customer',
      method: 'GET',
      path: '/dashboard/customers/:id/card_checks',
      operationId: 'listCardChecks',
      summary: 'Show what processors answered when the cards of a customer were verified',
      permission: 'payment_methods:read',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: cardChecks, shape: 'other' },
      errors: [],
      handle: async ({ context, params: { id = '' } }) => {
        await ensureActiveCustomer(context, id, 'id', { deletedToo: true });
        const found = await findVerifications(context.db, context.company.id, id);
        return { data: found.map((row) => ({ payment_method_id: row.id, ...row.verification })) };
      },
    }),
  ];
}
