import Type, { type Static } from 'typebox';
import { defineRoute, type Route } from '../../http/route.ts';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';
import type { OfCompany, RequestContext } from '../../request-context.ts';
import { disputeReasons, disputeStates } from '../../vault/processors/notices.ts';
import { createdAt } from '../../platform/ids.ts';
import { limits } from '../../limits.ts';
import { choiceParameter, textParameter } from '../../http/query-parameters.ts';
import type { NumberedCharge, Orders } from '../orders/service.ts';

/** Chargebacks of which the processor does not say which payment they are about: a member of the company decides. */

export interface ChargebackDependencies {
  readonly orders: OfCompany<Pick<Orders, 'unmatched'>>;
}

const shownMax = 50;

const payment = Type.Object({
  transaction_id: uuid(),
  order_id: uuid(),
  order_number: Type.String(),
  amount: Type.Integer(),
  currency: Type.String(),
  card_last4: nullable(Type.String()),
  created_at: timestamp(),
});

const chargebackPayments = Type.Object({ data: Type.Array(payment) }, { title: 'ChargebackPayments' });
export type ChargebackPayments = Static<typeof chargebackPayments>;

const unmatchedChargebackList = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        id: uuid(),
        processor: Type.String({ description: 'The name of the connection.' }),
        processor_chargeback_id: Type.String(),
        date: nullable(Type.String({ description: 'As `YYYY-MM-DD`.' })),
        card_first6: nullable(Type.String()),
        card_last4: nullable(Type.String()),
        amount: nullable(Type.String({ description: 'In whole units; the processor does not name the currency.' })),
        reason: choice(disputeReasons),
        reason_text: nullable(Type.String({ description: 'The reason in the words of the processor.' })),
        closed_as: nullable(
          choice(disputeStates, { description: 'How its dispute was closed before the processor reported it again.' }),
        ),
        created_at: timestamp(),
        dismissed_at: nullable(timestamp()),
        payments: Type.Array(payment, { description: 'The payments that fit by card, amount and date.' }),
      }),
    ),
  },
  { title: 'UnmatchedChargebackList' },
);
export type UnmatchedChargebackList = Static<typeof unmatchedChargebackList>;

const match = Type.Object({ transaction_id: uuid() }, { additionalProperties: false, title: 'ChargebackMatch' });

const paymentToWire = (charge: NumberedCharge): Static<typeof payment> => ({
  transaction_id: charge.id,
  order_id: charge.order_id,
  order_number: charge.order_number,
  amount: charge.amount,
  currency: charge.currency,
  card_last4: charge.card_last4,
  created_at: createdAt(charge.id),
});

async function shown(
  { orders }: ChargebackDependencies,
  context: RequestContext,
  state: (typeof listedStates)[number] = 'open',
): Promise<UnmatchedChargebackList> {
  const found = await orders(context).unmatched.list(context, state, shownMax);
  return {
    data: found.map((row) => ({
      id: row.id,
      processor: row.connection_name,
      processor_chargeback_id: row.processor_id,
      date: row.date,
      card_first6: row.first6,
      card_last4: row.last4,
      amount: row.amount,
      reason: row.reason,
      reason_text: row.reason_text,
      closed_as: row.closed_as,
      created_at: row.created_at.toISOString(),
      dismissed_at: row.state === 'dismissed' ? row.updated_at.toISOString() : null,
      payments: row.payments.map(paymentToWire),
    })),
  };
}

const common = {
  tag: 'Disputes',
  resource: 'chargeback',
  success: { status: 200, schema: unmatchedChargebackList, shape: 'other' },
  errors: [],
} as const;
const changes = {
  ...common,
  method: 'POST',
  category: 'write',
  idempotency: 'optional',
  permission: 'orders:write',
} as const;
const path = '/dashboard/chargebacks';
const listedStates = ['open', 'dismissed'] as const;

/** Used only by the dashboard. */
export function chargebackRoutes(dependencies: ChargebackDependencies): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path,
      operationId: 'listUnmatchedChargebacks',
      summary: 'List chargebacks that fit no payment, or several',
      parameters: {
        state: choiceParameter(
          listedStates,
          'Those that wait for a decision, or the last 50 that were dismissed.',
          'open',
        ),
      },
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      handle: ({ context, query }) => shown(dependencies, context, query.state),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: `${path}/:id/payments`,
      operationId: 'searchChargebackPayments',
      summary: 'Search the payments of the connection that reported a chargeback',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      isSearch: true,
      parameters: { q: textParameter(limits.searchLength, 'An order number, or its beginning, or an amount.') },
      success: { status: 200, schema: chargebackPayments, shape: 'other' },
      async handle({ context, params, query }) {
        const found = await dependencies.orders(context).unmatched.search(context, params.id ?? '', query.q ?? '');
        return { data: found.map(paymentToWire) };
      },
    }),
    defineRoute({
      ...changes,
      path: `${path}/:id/match`,
      operationId: 'matchChargeback',
      summary: 'Choose the payment that a chargeback is about, which opens its dispute',
      body: match,
      async handle({ context, params, body }) {
        await dependencies.orders(context).unmatched.match(context, params.id ?? '', body.transaction_id);
        return shown(dependencies, context);
      },
    }),
    defineRoute({
      ...changes,
      path: `${path}/:id/dismiss`,
      operationId: 'dismissChargeback',
      summary: 'Record that a chargeback is about no payment that was made here',
      async handle({ context, params }) {
        await dependencies.orders(context).unmatched.dismiss(context, params.id ?? '');
        return shown(dependencies, context);
      },
    }),
  ];
}
