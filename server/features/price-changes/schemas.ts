import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

const plans = {
  plan_id: uuid({ description: 'The plan whose subscribers change.' }),
  to_plan_id: uuid({ description: 'Their plan from the next renewal on. It has the same currency.' }),
  subscription_ids: Type.Optional(
    Type.Array(uuid(), {
      minItems: 1,
      maxItems: limits.priceChangeChosen,
      description: 'The chosen subscriptions. Default: all of the plan.',
    }),
  ),
};

export const priceChangeRequest = Type.Object(plans, { additionalProperties: false, title: 'PriceChangeRequest' });
export type PriceChangeRequest = Static<typeof priceChangeRequest>;

export const priceChangeCreate = Type.Object(
  {
    ...plans,
    expected_count: Type.Optional(
      Type.Integer({ minimum: 0, description: 'The `count` of a preview. Another count is refused.' }),
    ),
  },
  { additionalProperties: false, title: 'PriceChangeCreate' },
);
export type PriceChangeCreate = Static<typeof priceChangeCreate>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

/** Why subscriptions are left out, with the same names in the preview. */
const exceptionKinds = ['past_due', 'change_scheduled', 'not_renewing'] as const;

export const priceChangePreview = Type.Object(
  {
    currency: Type.String(),
    count: count('Subscriptions that change.'),
    seats: count('Their seats.'),
    amount_before: Type.Integer({ description: 'The sum of their cycles now, before discounts.' }),
    amount_after: Type.Integer({ description: 'The sum of their cycles with the new plan, before discounts.' }),
    first_renewal_at: nullable(timestamp()),
    last_renewal_at: nullable(timestamp()),
    exceptions: Type.Array(
      Type.Object(
        { kind: choice(exceptionKinds), count: Type.Integer({ minimum: 1 }) },
        { title: 'ExpectedException' },
      ),
    ),
  },
  { title: 'PriceChangePreview' },
);
export type PriceChangePreview = Static<typeof priceChangePreview>;

const plan = Type.Object(
  { id: uuid(), name: Type.String(), amount: Type.Integer(), currency: Type.String() },
  { title: 'PriceChangePlan' },
);

export const priceChange = Type.Object(
  {
    id: uuid(),
    status: choice(['in_progress', 'completed', 'paused', 'undone'], {
      title: 'PriceChangeStatus',
      description: '`completed`: every subscription has its change scheduled or is an exception.',
    }),
    working: Type.Boolean({ description: 'Whether the worker still schedules or takes back changes.' }),
    plan,
    to_plan: plan,
    chosen: nullable(Type.Integer({ description: 'How many subscriptions were chosen; null for all of the plan.' })),
    waiting: count('Subscriptions without their change yet.'),
    scheduled: count('Subscriptions that change at their next renewal.'),
    changed: count('Subscriptions that renewed with the new plan.'),
    left: count('Subscriptions that ended, or whose change was taken back or replaced, before their renewal.'),
    undone: count('Subscriptions whose change was taken back together.'),
    refused: count('Exceptions.'),
    exceptions: Type.Array(
      Type.Object({ subscription_id: uuid(), reason: Type.String() }, { title: 'PriceChangeException' }),
      { description: `The first ${limits.priceChangeExceptions}.` },
    ),
    created_at: timestamp(),
  },
  { title: 'PriceChange' },
);
export type PriceChange = Static<typeof priceChange>;

export const priceChanges = Type.Object({ data: Type.Array(priceChange) }, { title: 'PriceChanges' });
