import Type, { type Static } from 'typebox';
import { clearable, defaulting, freeText, name, nullable, timestamp, uniqueStrings, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { reasonNames } from './eligibility.ts';

const cents = (options: object = {}) => Type.Integer({ minimum: 1, maximum: limits.amountCentsMax, ...options });
const times = (description: string) => Type.Integer({ minimum: 1, maximum: limits.redemptionsMax, description });
const couponKind = choice(['generated', 'promo'], { title: 'CouponKind' });
const couponDuration = choice(['once', 'repeating', 'forever'], { title: 'CouponDuration' });
const scope = choice(['none', 'all', 'specific'], { title: 'CouponScope' });
const ids = uniqueStrings(uuid(), { maxItems: limits.couponScopeIds });
const prefix = freeText(limits.couponPrefixLength, {
  format: 'code-prefix',
  description: 'Letters, digits, - and _.',
});

/** The discount. Exactly one of `percentage` and `amount` is set. */
const fields = {
  name: name({ description: 'For a promo coupon, the name in upper case is the code.' }),
  description: clearable(freeText(limits.descriptionLength)),
  percentage: Type.Number({
    minimum: 1,
    maximum: 100,
    description: 'At most two decimals. Alone, it replaces the amount of the coupon.',
  }),
  amount: clearable(
    cents({ description: 'Discount in cents. With `currency` alone, it replaces the percentage of the coupon.' }),
  ),
  max_discount_amount: clearable(cents({ description: 'Maximum discount of a percentage, in cents.' })),
  currency: Type.String({
    format: 'currency',
    description: 'Currency of `amount`. Required with `amount`, not allowed with `percentage`.',
  }),
  duration: couponDuration,
  duration_in_cycles: clearable(
    Type.Integer({ minimum: 1, maximum: limits.billingCyclesMax, description: 'Only with `duration: repeating`.' }),
  ),
  minimum_amount: Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax }),
  max_redemptions: times(
    'Maximum number of redemptions in total. Default: no limit. You can raise a limit but not remove it.',
  ),
  max_redemptions_per_customer: times('Maximum number of redemptions per customer.'),
  max_redemptions_per_code: times('Maximum number of redemptions per code.'),
  first_time_customer_only: Type.Boolean({ description: 'Only for customers without a previous purchase.' }),
  starts_at: timestamp(),
  expires_at: timestamp({ description: 'You can move this date but not remove it.' }),
  active: Type.Boolean(),
  product_scope: scope,
  plan_scope: scope,
  product_ids: ids,
  plan_ids: ids,
  code_prefix: prefix,
};

type Fields = typeof fields;
const optional = Object.fromEntries(
  Object.entries(fields).map(([field, schema]) => [field, Type.Optional(schema)]),
) as unknown as { [Name in keyof Fields]: ReturnType<typeof Type.Optional<Fields[Name]>> };

export const codeBatch = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: limits.couponCodesPerCall }),
    prefix: Type.Optional(prefix),
    length: defaulting(
      Type.Integer({
        minimum: limits.couponCodeLengthMin,
        maximum: limits.couponCodeLengthMax,
        description: 'Number of random characters after the prefix.',
      }),
      limits.couponCodeLength,
    ),
  },
  { additionalProperties: false, title: 'CodeBatch' },
);
export type CodeBatch = Static<typeof codeBatch>;

export const couponCreate = Type.Object(
  {
    ...optional,
    kind: defaulting(couponKind, 'generated'),
    name: fields.name,
    duration: defaulting(fields.duration, 'once'),
    minimum_amount: defaulting(fields.minimum_amount, 0),
    first_time_customer_only: defaulting(fields.first_time_customer_only, false),
    active: defaulting(fields.active, true),
    product_scope: defaulting(scope, 'all'),
    plan_scope: defaulting(scope, 'all'),
    product_ids: defaulting(ids, []),
    plan_ids: defaulting(ids, []),
    codes: Type.Optional(codeBatch),
  },
  { additionalProperties: false, title: 'CouponCreate' },
);
export type CouponCreate = Static<typeof couponCreate>;

export const couponUpdate = Type.Object(optional, { additionalProperties: false, title: 'CouponUpdate' });
export type CouponUpdate = Static<typeof couponUpdate>;

export const couponArchive = Type.Object(
  { archived: Type.Boolean() },
  { additionalProperties: false, title: 'CouponArchive' },
);

export const couponCode = Type.Object(
  {
    id: uuid(),
    coupon_id: uuid(),
    code: Type.String(),
    active: Type.Boolean({ description: 'Whether the coupon is active.' }),
    redemptions: Type.Integer(),
    max_redemptions: nullable(Type.Integer()),
    created_at: timestamp(),
  },
  {
    title: 'CouponCode',
    examples: [
      {
        id: '019c4c20-1000-7e00-8f44-506172839405',
        coupon_id: '019c4c20-0000-7e00-8f44-506172839404',
        code: 'TEA-7KQ2M5XW9R',
        active: true,
        redemptions: 0,
        max_redemptions: 1,
        created_at: '2026-02-11T09:40:00.000Z',
      },
    ],
  },
);
export type CouponCode = Static<typeof couponCode>;

const example = {
  id: '019c4c20-0000-7e00-8f44-506172839404',
  kind: 'generated',
  name: 'Tea week',
  description: null,
  percentage: 12.5,
  amount: null,
  max_discount_amount: 2000,
  currency: null,
  duration: 'once',
  duration_in_cycles: null,
  minimum_amount: 0,
  max_redemptions: 100,
  max_redemptions_per_customer: 1,
  max_redemptions_per_code: 1,
  first_time_customer_only: false,
  starts_at: null,
  expires_at: null,
  active: true,
  archived_at: null,
  product_scope: 'all',
  plan_scope: 'all',
  product_ids: [],
  plan_ids: [],
  code_prefix: 'TEA-',
  total_redemptions: 0,
  created_at: '2026-02-11T09:40:00.000Z',
  updated_at: '2026-02-11T09:40:00.000Z',
};

const limit = (description: string) => nullable(times(`${description} Null means no limit.`));

const shown = {
  id: uuid(),
  kind: couponKind,
  ...fields,
  percentage: nullable(fields.percentage),
  currency: nullable(fields.currency),
  max_redemptions: limit('Maximum number of redemptions in total.'),
  max_redemptions_per_customer: limit('Maximum number of redemptions per customer.'),
  max_redemptions_per_code: limit('Maximum number of redemptions per code.'),
  starts_at: nullable(timestamp()),
  expires_at: nullable(timestamp()),
  code_prefix: nullable(prefix),
  archived_at: nullable(timestamp()),
  total_redemptions: Type.Integer({ description: 'Number of redemptions with a successful charge.' }),
  created_at: timestamp(),
  updated_at: timestamp(),
};

export const coupon = Type.Object(shown, { title: 'Coupon', examples: [example] });
export type Coupon = Static<typeof coupon>;

export const couponWithCodes = Type.Object(
  { ...shown, codes: Type.Array(couponCode, { description: 'The codes that were created with the coupon.' }) },
  { title: 'CouponWithCodes', examples: [{ ...example, codes: [] }] },
);
export type CouponWithCodes = Static<typeof couponWithCodes>;

export const mintedCodes = Type.Object(
  { data: Type.Array(couponCode) },
  { title: 'MintedCodes', examples: [{ data: [] }] },
);

const cartItem = Type.Object(
  { product_id: uuid(), quantity: Type.Integer({ minimum: 1, maximum: limits.quantityMax }) },
  { additionalProperties: false, title: 'CartItem' },
);

export const couponValidate = Type.Object(
  {
    code: Type.String({ minLength: 1, maxLength: limits.textLength }),
    amount: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax })),
    currency: Type.Optional(Type.String({ format: 'currency' })),
    customer_id: Type.Optional(uuid()),
    plan_id: Type.Optional(uuid()),
    product_ids: Type.Optional(Type.Array(uuid(), { maxItems: limits.orderItems })),
    items: Type.Optional(Type.Array(cartItem, { minItems: 1, maxItems: limits.orderItems })),
  },
  {
    additionalProperties: false,
    title: 'CouponValidate',
    description: 'Send one of `amount`, `items` and `plan_id` to calculate the discount for.',
  },
);
export type CouponValidate = Static<typeof couponValidate>;

export const couponVerdict = Type.Union(
  [
    Type.Object(
      {
        valid: Type.Literal(true),
        code: Type.String(),
        coupon_id: uuid(),
        name: Type.String(),
        kind: couponKind,
        percentage: nullable(Type.Number()),
        amount: nullable(Type.Integer()),
        currency: nullable(Type.String()),
        max_discount_amount: nullable(Type.Integer()),
        duration: couponDuration,
        duration_in_cycles: nullable(Type.Integer()),
        discount_amount: Type.Integer(),
        total_after_discount: Type.Integer(),
      },
      { title: 'ValidCoupon' },
    ),
    Type.Object(
      {
        valid: Type.Literal(false),
        reason: choice(reasonNames, { title: 'CouponReason', description: 'Why the code cannot be used.' }),
        code: Type.String(),
      },
      { title: 'InvalidCoupon' },
    ),
  ],
  {
    title: 'CouponVerdict',
    examples: [{ valid: false, reason: 'code_not_found', code: 'TEA25' }],
  },
);
export type CouponVerdict = Static<typeof couponVerdict>;

/** The coupon of an order or a subscription, as it was then. */
export const couponSnapshot = Type.Object(
  {
    id: uuid(),
    code: Type.String(),
    name: nullable(Type.String()),
    kind: couponKind,
    percentage: nullable(Type.Number()),
    amount: nullable(Type.Integer()),
    currency: nullable(Type.String()),
    duration: couponDuration,
    duration_in_cycles: nullable(Type.Integer()),
    max_discount_amount: nullable(Type.Integer()),
    discount_amount: Type.Integer(),
  },
  { title: 'CouponSnapshot' },
);
export type CouponSnapshot = Static<typeof couponSnapshot>;
