import Type, { type Static } from 'typebox';
import { clearable, documentedAs, freeText, line, nullable, phone, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { brandNames } from '../../platform/card-brands.ts';
import type { Billing } from '../../vault/processors/processor.ts';

const part = Type.Optional(clearable(freeText(limits.textLength)));

const billingDetails = Type.Object(
  {
    name: Type.Optional(clearable(line())),
    email: Type.Optional(clearable(Type.String({ format: 'email', maxLength: limits.emailLength }))),
    phone: Type.Optional(clearable(phone())),
    address: Type.Optional(
      clearable(
        Type.Object(
          {
            line1: part,
            line2: part,
            city: part,
            state: part,
            postal_code: part,
            country: Type.Optional(clearable(Type.String({ format: 'country', examples: ['US'] }))),
          },
          { additionalProperties: false, title: 'BillingAddress' },
        ),
      ),
    ),
  },
  { additionalProperties: false, title: 'BillingDetails', description: 'Required by the processor for some cards.' },
);
export type BillingDetails = Static<typeof billingDetails>;

/** Billing details as processors receive them. */
export function toBilling(details: BillingDetails): Billing {
  const { name = null, email = null, address } = details;
  return {
    name,
    email,
    phone: details.phone ?? null,
    line1: address?.line1 ?? null,
    line2: address?.line2 ?? null,
    city: address?.city ?? null,
    state: address?.state ?? null,
    postalCode: address?.postal_code ?? null,
    country: address?.country ?? null,
  };
}

/** A string by the contract and the API reference; a number is accepted too. */
const monthOrYear = (description: string, pattern: string, example: string) => {
  const text = Type.String({ minLength: 1, maxLength: 4 });
  return Type.Union([text, Type.Integer()], {
    [documentedAs]: Type.String({ pattern, description, examples: [example] }),
  });
};

/** The schema accepts any text, because the vault checks it; the API reference documents the valid form. */
const digits = (maxLength: number, description: string, pattern: string) =>
  Type.String({ maxLength, [documentedAs]: Type.String({ pattern, description }) });

/** The fields of a card. The vault checks their format and never repeats the input. */
const rawCard = Type.Object(
  {
    number: digits(40, '12 to 19 digits; spaces and hyphens are ignored.', '^[ -]*[0-9](?:[ -]*[0-9]){11,18}[ -]*$'),
    exp_month: monthOrYear('1 to 12.', '^(0?[1-9]|1[0-2])$', '12'),
    exp_year: monthOrYear('Two or four digits.', '^([0-9]{2}|[0-9]{4})$', '2030'),
    cvc: digits(10, '3 or 4 digits. Never stored.', '^[0-9]{3,4}$'),
  },
  { additionalProperties: false, title: 'CardInput' },
);

const paymentFollows = Type.Optional(
  Type.Boolean({
    default: false,
    description:
      'Say `true` if you charge the card next. Then the security code is not used to verify the card, but kept in memory ' +
      'for at most 15 minutes and sent with the first charge.',
  }),
);

export const cardTokenCreate = Type.Object(
  { card: rawCard, billing_details: Type.Optional(clearable(billingDetails)), payment_follows: paymentFollows },
  { additionalProperties: false, title: 'CardTokenCreate' },
);
export type CardTokenCreate = Static<typeof cardTokenCreate>;

const cardBrand = choice(brandNames, { title: 'CardBrand' });

export const paymentMethodSummary = Type.Object(
  { id: uuid(), card_last_four: Type.String(), card_brand: cardBrand },
  { title: 'PaymentMethodSummary' },
);

const cardSummary = { brand: cardBrand, last4: Type.String(), exp_month: Type.Integer(), exp_year: Type.Integer() };

export const cardToken = Type.Object(
  {
    id: Type.String({
      pattern: '^cct_',
      description: `Works once and expires after ${limits.cardTokenSeconds / 60} minutes.`,
    }),
    card: Type.Object(cardSummary, { title: 'TokenCard' }),
    expires_at: timestamp(),
  },
  {
    title: 'CardToken',
    examples: [
      {
        id: 'cct_8pQz1VbN4sKx7Rw2Ty5Ua9Lc3Md6He0J',
        card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2030 },
        expires_at: '2026-02-11T09:45:00.000Z',
      },
    ],
  },
);
export type CardToken = Static<typeof cardToken>;

const useOptions = {
  set_as_default: Type.Optional(Type.Boolean({ default: false })),
  update_subscriptions: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Moves the customer’s active, paused and past-due subscriptions to this card.',
    }),
  ),
  billing_details: Type.Optional(clearable(billingDetails)),
};

export const paymentMethodAttach = Type.Object(
  {
    card_token: Type.String({ minLength: 1, maxLength: 100, examples: ['cct_8pQz1VbN4sKx7Rw2Ty5Ua9Lc3Md6He0J'] }),
    ...useOptions,
  },
  { additionalProperties: false, title: 'PaymentMethodAttach' },
);
export type PaymentMethodAttach = Static<typeof paymentMethodAttach>;

export const cardCapture = Type.Object(
  { customer_id: uuid(), card: rawCard, payment_follows: paymentFollows, ...useOptions },
  { additionalProperties: false, title: 'CardCapture' },
);
export type CardCapture = Static<typeof cardCapture>;

export const paymentMethodUpdate = Type.Object(
  {
    set_as_default: Type.Optional(
      Type.Boolean({
        description:
          'Makes this card the default. `false` is not allowed for the default card, because a customer always has a default.',
      }),
    ),
    update_subscriptions: Type.Optional(
      Type.Boolean({
        description:
          'Moves the customer’s active, paused and past-due subscriptions to this card. Past-due subscriptions ' +
          'are charged immediately.',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1, title: 'PaymentMethodUpdate' },
);
export type PaymentMethodUpdate = Static<typeof paymentMethodUpdate>;

export const paymentMethodDelete = Type.Object(
  { replacement_payment_method_id: Type.Optional(uuid()) },
  { additionalProperties: false, title: 'PaymentMethodDelete' },
);

export const paymentMethod = Type.Object(
  {
    id: uuid(),
    type: Type.Literal('card'),
    customer_id: uuid(),
    is_default: Type.Boolean({ description: 'Used for new orders and subscriptions without a payment method.' }),
    card: Type.Object(
      {
        ...cardSummary,
        fingerprint: Type.String({
          description: 'Identifies the card number within a company: the same each time the same card is saved.',
        }),
      },
      { title: 'Card' },
    ),
    billing_details: nullable(billingDetails),
    mandate: nullable(
      Type.Object(
        { created_at: timestamp() },
        {
          title: 'Mandate',
          description:
            'The bank authenticated the customer, who agreed to later charges: the card can be charged with `off_session: true`. Null if ' +
            'it did not.',
        },
      ),
    ),
    created_at: timestamp(),
  },
  {
    title: 'PaymentMethod',
    examples: [
      {
        id: '019c4c20-1a2b-7c3d-8e4f-5a6b7c8d9e0f',
        type: 'card',
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        is_default: true,
        card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2030, fingerprint: 'Zr1q0sX2mK9vB4nT7yL3aQ' },
        billing_details: null,
        mandate: null,
        created_at: '2026-02-11T09:32:00.000Z',
      },
    ],
  },
);
export type PaymentMethod = Static<typeof paymentMethod>;
