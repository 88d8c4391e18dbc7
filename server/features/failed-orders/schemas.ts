import Type, { type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

/** Used only by the dashboard. */

/** Why no payment link can ask for the money of the order. */
const obstacle = choice(['subscription', 'not_for_sale', 'price_changed', 'not_owed']);
export type Obstacle = Static<typeof obstacle>;

const orderLink = Type.Object({
  id: uuid(),
  url: Type.String(),
  active: Type.Boolean(),
  sent_at: nullable(timestamp({ description: 'When the link was last emailed to the customer.' })),
});
export type OrderLink = Static<typeof orderLink>;

export const whatNow = Type.Object({
  sends_emails: Type.Boolean({ description: 'Whether the installation can send emails.' }),
  link: nullable(orderLink),
  obstacle: nullable(obstacle),
  paid_by: nullable(
    Type.Object({
      id: uuid(),
      order_number: Type.String(),
      by_link: Type.Boolean({ description: 'Whether it was paid with the payment link of the failed order.' }),
    }),
  ),
});
export type WhatNow = Static<typeof whatNow>;

export const linkRequest = Type.Object(
  { send: Type.Boolean({ description: 'Whether the customer gets the link by email.' }) },
  { additionalProperties: false },
);

export const sentRequest = Type.Object({
  is_new: Type.Boolean({ description: 'False if the customer got this email within the same hour.' }),
});
export type SentRequest = Static<typeof sentRequest>;

export const sentLink = Type.Object({ link: orderLink, is_new: Type.Boolean() });
export type SentLink = Static<typeof sentLink>;
