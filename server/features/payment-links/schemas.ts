import Type, { type Static } from 'typebox';
import { clearable, defaulting, line, locale, metadataPatch, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { checkoutItemFields, exampleOffer, offerFields, shownOffer } from '../checkout-sessions/schemas.ts';
import { productCreate } from '../products/schemas.ts';

const maxPayments = Type.Integer({
  minimum: 1,
  maximum: limits.redemptionsMax,
  description: 'How many payments the link takes. Payments in progress count.',
});
const endsAt = timestamp({ description: 'When the link stops to take payments.' });
const name = line({ description: 'For your own use. Customers do not see it.', examples: ['Instagram, tea pots'] });

const slug = line({
  format: 'slug',
  minLength: 1,
  maxLength: limits.slugLength,
  description: 'The last part of a readable address, unique among your links: `autumn` in `/pay/tea-house/autumn`.',
  examples: ['autumn'],
});

const linkLocale = locale(
  'The language of the page. Null: it follows the browser. The address of a visit can ask for another one with `?locale=`.',
);

const newProduct = Type.Object(
  {
    name: productCreate.properties.name,
    pricing: productCreate.properties.pricing,
    requires_shipping: defaulting(Type.Boolean(), false),
  },
  { additionalProperties: false, title: 'PaymentLinkProduct' },
);
export type NewProduct = Static<typeof newProduct>;

const itemInput = Type.Object(
  {
    ...checkoutItemFields,
    product_id: Type.Optional(uuid({ description: 'A product of the catalog. Required unless `product` is set.' })),
    product: Type.Optional({
      ...newProduct,
      description: 'A product that is created together with the link. Requires `products:write`.',
    }),
  },
  { additionalProperties: false, title: 'PaymentLinkItemInput' },
);
export type PaymentLinkItemInput = Static<typeof itemInput>;

export const paymentLinkCreate = Type.Object(
  {
    name,
    ...offerFields,
    items: Type.Optional(
      Type.Array(itemInput, {
        minItems: 1,
        maxItems: limits.checkoutItems,
        description:
          'With mode `payment`. Each has a `product_id`, or a `product` that is created. Prices come from the catalog when the customer pays.',
      }),
    ),
    max_payments: Type.Optional(maxPayments),
    ends_at: Type.Optional(endsAt),
    slug: Type.Optional(slug),
    locale: Type.Optional(linkLocale),
  },
  { additionalProperties: false, title: 'PaymentLinkCreate' },
);
export type PaymentLinkCreate = Static<typeof paymentLinkCreate>;

export const paymentLinkUpdate = Type.Object(
  {
    name: Type.Optional(name),
    active: Type.Optional(Type.Boolean({ description: 'An inactive link takes no payments.' })),
    success_url: Type.Optional(clearable(offerFields.success_url)),
    allow_coupons: Type.Optional(Type.Boolean()),
    max_payments: Type.Optional(maxPayments),
    ends_at: Type.Optional(endsAt),
    slug: Type.Optional(clearable(slug)),
    locale: Type.Optional(clearable(linkLocale)),
    metadata: Type.Optional(metadataPatch),
  },
  { additionalProperties: false, minProperties: 1, title: 'PaymentLinkUpdate' },
);
export type PaymentLinkUpdate = Static<typeof paymentLinkUpdate>;

export const paymentLink = Type.Object(
  {
    id: uuid(),
    name: Type.String(),
    url: Type.String({ format: 'uri', description: 'Send it to customers. Each visit opens a checkout session.' }),
    slug: nullable(Type.String()),
    readable_url: nullable(
      Type.String({
        format: 'uri',
        description:
          'The address with the name of your company and `slug`. Null unless both are set. `url` works too, also after a change of these.',
      }),
    ),
    ...shownOffer,
    locale: nullable(linkLocale),
    active: Type.Boolean(),
    max_payments: nullable(Type.Integer()),
    ends_at: nullable(timestamp()),
    payments: Type.Integer({ description: 'Payments that succeeded or are in progress.' }),
    livemode: Type.Boolean(),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'PaymentLink',
    examples: [
      {
        id: '019c4c26-2b00-7a11-8b2c-3d4e5f60718b',
        name: 'Instagram, tea pots',
        url: 'https://pay.example.com/pay/1T7YbGm9zQ4x2VwN8kR5sJ3hL6dC0fAeB7uP1iOyMqXt',
        slug: 'autumn',
        readable_url: 'https://pay.example.com/pay/tea-house/autumn',
        ...exampleOffer,
        locale: null,
        active: true,
        max_payments: 100,
        ends_at: null,
        payments: 12,
        livemode: false,
        created_at: '2026-02-11T09:30:00.000Z',
        updated_at: '2026-02-11T09:30:00.000Z',
      },
    ],
  },
);
export type PaymentLink = Static<typeof paymentLink>;

export const linkVisits = Type.Object(
  {
    days: Type.Integer({ description: 'How many days back visits are counted.' }),
    visits: Type.Integer({ description: `The latest visits of these days, at most ${limits.countedVisits}.` }),
    started: Type.Integer({ description: 'Those in which the customer tried to pay.' }),
    paid: Type.Integer({ description: 'Those that were paid.' }),
  },
  { title: 'PaymentLinkVisits' },
);
export type LinkVisits = Static<typeof linkVisits>;

export const linkName = Type.Object(
  {
    prefix: Type.String({ description: 'What addresses of a sandbox begin with.' }),
    name: nullable(Type.String({ description: '`tea-house` in `/pay/tea-house/autumn`.' })),
  },
  { title: 'PaymentLinkName' },
);
export type LinkName = Static<typeof linkName>;

export const linkNameChange = Type.Object(
  { name: line({ format: 'slug', minLength: 3, maxLength: limits.slugLength, examples: ['tea-house'] }) },
  { additionalProperties: false, title: 'PaymentLinkNameChange' },
);
