import Type, { type Static } from 'typebox';
import {
  defaulting,
  locale,
  metadata,
  metadataInput,
  nullable,
  timestamp,
  uniqueStrings,
  uuid,
} from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { captureMode } from '../orders/schemas.ts';

const checkoutMode = choice(['payment', 'subscription', 'setup'], {
  title: 'CheckoutMode',
  description:
    '`payment` charges once for `items`. `subscription` subscribes to `plan_id`. `setup` is for sessions only: it saves a card of ' +
    '`customer_id` without a charge. The bank may confirm it, so that it can be charged later without the customer.',
});
export const checkoutStatus = choice(['open', 'completed', 'expired'], { title: 'CheckoutSessionStatus' });
const collected = choice(['shipping', 'company'], { title: 'CheckoutField' });

const quantity = (description: string) => Type.Integer({ minimum: 1, maximum: limits.quantityMax, description });

export const checkoutItemFields = {
  quantity: quantity('How many the customer buys, or with which number an adjustable quantity begins.'),
  quantity_min: Type.Optional(quantity('The smallest quantity that the customer can choose. Default: `quantity`.')),
  quantity_max: Type.Optional(quantity('The largest quantity that the customer can choose. Default: `quantity`.')),
};

const itemInput = Type.Object(
  { product_id: uuid(), ...checkoutItemFields },
  { additionalProperties: false, title: 'CheckoutItemInput' },
);

const returnUrl = (description: string) =>
  Type.String({
    format: 'uri',
    minLength: 1,
    maxLength: limits.urlLength,
    description,
    examples: ['https://shop.example.com/thanks'],
  });

/** What a session and a payment link sell, and what their page asks for. */
export const offerFields = {
  mode: checkoutMode,
  items: Type.Optional(
    Type.Array(itemInput, {
      minItems: 1,
      maxItems: limits.checkoutItems,
      description: 'With mode `payment`. Prices come from the catalog when the customer pays.',
    }),
  ),
  plan_id: Type.Optional(uuid({ description: 'With mode `subscription`.' })),
  capture: Type.Optional(captureMode),
  success_url: Type.Optional(
    returnUrl(
      'Where the page leads after the payment. `{CHECKOUT_SESSION_ID}` in it is replaced by the ID. Without it, the page shows the result itself.',
    ),
  ),
  coupon_code: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.textLength,
      description: 'A code that is already applied when the page opens.',
    }),
  ),
  allow_coupons: defaulting(Type.Boolean({ description: 'Whether the customer can enter a code.' }), false),
  collect: defaulting(
    uniqueStrings(collected as never, {
      maxItems: 2,
      description:
        'What the page asks for besides name, email address and phone number. `company`: company name and tax ID, both optional.',
    }),
    [] as never,
  ),
  metadata: Type.Optional(metadataInput),
};

export const checkoutSessionCreate = Type.Object(
  {
    ...offerFields,
    customer_id: Type.Optional(
      uuid({
        description:
          'A customer you have identified; required with mode `setup`. The page then offers the saved cards. Without it, the customer enters name and email address.',
      }),
    ),
    cancel_url: Type.Optional(returnUrl('Where the page leads if the customer turns back.')),
    locale: Type.Optional(
      locale(
        'The language of the page. Default: that of the customer; if it is not known, the page follows the browser.',
      ),
    ),
    expires_in: defaulting(
      Type.Integer({
        minimum: limits.checkoutSecondsMin,
        maximum: limits.checkoutSecondsMax,
        description: 'Seconds until the session expires.',
      }),
      limits.checkoutSeconds,
    ),
  },
  { additionalProperties: false, title: 'CheckoutSessionCreate' },
);
export type CheckoutSessionCreate = Static<typeof checkoutSessionCreate>;

const item = Type.Object(
  {
    product_id: uuid(),
    quantity: Type.Integer(),
    quantity_min: Type.Integer(),
    quantity_max: Type.Integer(),
  },
  { title: 'CheckoutItem' },
);

/** The same fields in responses. */
export const shownOffer = {
  mode: checkoutMode,
  items: Type.Array(item),
  plan_id: nullable(uuid()),
  capture: captureMode,
  success_url: nullable(Type.String()),
  coupon_code: nullable(Type.String()),
  allow_coupons: Type.Boolean(),
  collect: Type.Array(collected),
  metadata,
};

export const exampleOffer = {
  mode: 'payment',
  items: [{ product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718', quantity: 1, quantity_min: 1, quantity_max: 10 }],
  plan_id: null,
  capture: 'automatic',
  success_url: 'https://shop.example.com/thanks?session={CHECKOUT_SESSION_ID}',
  coupon_code: null,
  allow_coupons: true,
  collect: ['shipping'],
  metadata: { cart_id: 'c-1001' },
};

const nextAction = Type.Object(
  {
    type: choice(['confirm_with_bank'], { title: 'CheckoutNextActionType' }),
    expires_at: timestamp({ description: 'When the payment ends if the bank has not confirmed it.' }),
  },
  {
    title: 'CheckoutNextAction',
    description:
      'What the customer has to do before the payment in progress is decided. The page leads there. Null if it waits for nothing.',
  },
);

export const checkoutSession = Type.Object(
  {
    id: uuid(),
    ...shownOffer,
    status: checkoutStatus,
    url: nullable(
      Type.String({
        format: 'uri',
        description:
          'The page to send the customer to. Null when the session is over, and for callers without `checkout_sessions:write`.',
      }),
    ),
    customer_id: nullable(uuid({ description: 'The customer of the session, or null if the page asked for one.' })),
    cancel_url: nullable(Type.String()),
    locale: nullable(locale('The language of the page. Null: it follows the browser.')),
    payment_link_id: nullable(uuid()),
    order_id: nullable(uuid({ description: 'The order that was paid, or whose funds are held.' })),
    subscription_id: nullable(uuid()),
    payment_method_id: nullable(uuid({ description: 'The card that was saved, with mode `setup`.' })),
    next_action: nullable(nextAction),
    livemode: Type.Boolean(),
    expires_at: timestamp(),
    completed_at: nullable(timestamp()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'CheckoutSession',
    examples: [
      {
        id: '019c4c25-1a00-7a11-8b2c-3d4e5f60718a',
        ...exampleOffer,
        status: 'completed',
        url: null,
        customer_id: null,
        cancel_url: 'https://shop.example.com/cart',
        locale: 'de-AT',
        payment_link_id: null,
        order_id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c',
        subscription_id: null,
        payment_method_id: null,
        next_action: null,
        livemode: false,
        expires_at: '2026-02-12T09:30:00.000Z',
        completed_at: '2026-02-11T09:33:00.000Z',
        created_at: '2026-02-11T09:30:00.000Z',
        updated_at: '2026-02-11T09:33:00.000Z',
      },
    ],
  },
);
export type CheckoutSession = Static<typeof checkoutSession>;
