import Type, { type Static } from 'typebox';
import { timestamp, typedEmail, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { browserInput } from '../checkout-sessions/service.ts';

/** What the customer page sends. */

/** One of the two cards. */
export const cardChoice = Type.Object(
  {
    card_token: Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength })),
    payment_method_id: Type.Optional(uuid()),
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);
export type CardChoice = Static<typeof cardChoice>;

export const paymentsAfter = Type.Object({ starting_after: uuid() }, { additionalProperties: false });

export const renewalPayment = Type.Object(
  { declines: Type.Integer({ minimum: 0, maximum: 1_000 }), browser: Type.Optional(browserInput) },
  { additionalProperties: false },
);

const seats = Type.Integer({ minimum: 1, maximum: limits.quantityMax });

export const planChoice = Type.Object({ plan_id: uuid(), quantity: seats }, { additionalProperties: false });
export type PlanChoice = Static<typeof planChoice>;

/** With what the preview has shown. */
export const planChosen = Type.Object(
  {
    plan_id: uuid(),
    quantity: seats,
    at: timestamp(),
    expected_amount: Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax }),
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);
export type PlanChosen = Static<typeof planChosen>;

/** The day on which it continues. */
export const pauseChosen = Type.Object({ until: Type.String({ format: 'date' }) }, { additionalProperties: false });

/** With what the page has shown to be charged at once. */
export const chargeSeen = Type.Object(
  {
    expected_amount: Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax }),
    browser: Type.Optional(browserInput),
  },
  { additionalProperties: false },
);

export const linkRequest = Type.Object({ email: typedEmail() }, { additionalProperties: false });
