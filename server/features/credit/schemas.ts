import Type, { type Static } from 'typebox';
import { freeText, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

/** The shapes of credit: what the merchant owes a customer, in each currency. */

const currency = Type.String({ format: 'currency', description: 'Lowercase ISO 4217 code.', examples: ['usd'] });

export const creditCreate = Type.Object(
  {
    type: choice(['grant', 'take_back'], {
      title: 'CreditChange',
      description: '`grant` adds the amount to the balance, `take_back` subtracts it.',
    }),
    amount: Type.Integer({
      minimum: 1,
      maximum: limits.amountCentsMax,
      description: 'In the smallest unit of the currency. To take back, at most the balance.',
    }),
    currency,
    reason: freeText(limits.textLength, {
      description: 'Why, for your team. The customer does not see it.',
    }),
  },
  { additionalProperties: false, title: 'CreditCreate' },
);
export type CreditCreate = Static<typeof creditCreate>;

const creditTypes = [
  'grant',
  'take_back',
  'plan_change',
  'order',
  'order_failed',
  'order_voided',
  'refund',
  'customer_deleted',
] as const;
export type CreditType = (typeof creditTypes)[number];

const someEntry = {
  id: '019c4c1e-b000-7c11-9d22-3e4f50617283',
  customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
  type: 'grant',
  amount: 1500,
  balance: 1500,
  currency: 'usd',
  reason: 'Late delivery in March',
  order_id: null,
  subscription_id: null,
  actor: 'Ada Lovelace',
  livemode: false,
  created_at: '2026-02-11T09:30:00.000Z',
};

export const creditEntry = Type.Object(
  {
    id: uuid(),
    customer_id: uuid(),
    type: choice(creditTypes, {
      title: 'CreditType',
      description:
        'Why the balance changed. `plan_change`: credit of a change of plan; `order`: it paid for an order; `order_failed` and `order_voided`: it came back, because the charge of the rest was declined or voided; `refund`: an order was ' +
        'refunded to it; `customer_deleted`: the rest ended with the customer.',
    }),
    amount: Type.Integer({ description: 'Negative if it lowers the balance.' }),
    balance: Type.Integer({ description: 'The balance in this currency after the entry.' }),
    currency: Type.String(),
    reason: nullable(Type.String({ description: 'Of `grant` and `take_back`.' })),
    order_id: nullable(uuid()),
    subscription_id: nullable(uuid()),
    actor: nullable(Type.String({ description: 'The member or API key that granted it or took it back.' })),
    livemode: Type.Boolean(),
    created_at: timestamp(),
  },
  { title: 'CreditEntry', examples: [someEntry] },
);
export type CreditEntry = Static<typeof creditEntry>;

export const customerCredit = Type.Object(
  {
    customer_id: uuid(),
    balances: Type.Array(
      Type.Object(
        { currency: Type.String(), amount: Type.Integer({ description: 'Never negative.' }) },
        { title: 'CreditBalance' },
      ),
      { description: 'One for each currency that has entries.' },
    ),
    entries: Type.Array(creditEntry, { description: 'The newest first.' }),
    has_more: Type.Boolean({ description: 'Whether there are older entries.' }),
  },
  {
    title: 'CustomerCredit',
    examples: [
      {
        customer_id: someEntry.customer_id,
        balances: [{ currency: 'usd', amount: 1500 }],
        entries: [someEntry],
        has_more: false,
      },
    ],
  },
);
export type CustomerCredit = Static<typeof customerCredit>;

export const creditOwed = Type.Object({
  data: Type.Array(
    Type.Object({ currency: Type.String(), amount: Type.Integer(), customers: Type.Integer({ minimum: 0 }) }),
  ),
});
export type CreditOwed = Static<typeof creditOwed>;
