import Type, { type Static } from 'typebox';
import {
  clearable,
  freeText,
  line,
  metadata,
  metadataInput,
  nullable,
  phone,
  timestamp,
  uuid,
} from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { couponSnapshot } from '../coupons/schemas.ts';
import { consent } from '../consents/schemas.ts';
import { customer } from '../customers/schemas.ts';
import { paymentMethodSummary } from '../payment-methods/schemas.ts';
import { orderStatuses, transactionStatuses } from './transitions.ts';
import { choice } from '../../platform/choice.ts';
import { failureCodes } from '../../vault/processors/processor.ts';

export const orderStatus = choice(orderStatuses, { title: 'OrderStatus' });
export const transactionType = choice(['sale', 'refund', 'auth'], { title: 'TransactionType' });
export const transactionStatus = choice(transactionStatuses, { title: 'TransactionStatus' });

const shown = nullable(Type.String({ maxLength: limits.textLength }));
const part = Type.Optional(clearable(freeText(limits.textLength)));
const currency = Type.String({ format: 'currency', description: 'Lowercase ISO 4217 code.', examples: ['usd'] });
const cents = (description: string) => Type.Integer({ minimum: 0, maximum: limits.orderTotalCentsMax, description });

export const shippingInput = Type.Object(
  {
    name: Type.Optional(clearable(line())),
    line1: part,
    line2: part,
    city: part,
    state: part,
    postal_code: part,
    country: Type.Optional(clearable(Type.String({ format: 'country', examples: ['US'] }))),
    phone: Type.Optional(clearable(phone())),
  },
  { additionalProperties: false, title: 'ShippingInput' },
);
export type ShippingInput = Static<typeof shippingInput>;

export const shipping = Type.Object(
  {
    name: shown,
    line1: shown,
    line2: shown,
    city: shown,
    state: shown,
    postal_code: shown,
    country: shown,
    phone: shown,
  },
  { title: 'Shipping' },
);
export type Shipping = Static<typeof shipping>;

export const failureCode = choice(failureCodes, {
  title: 'FailureCode',
  description: 'Why the charge was declined.',
});

export const captureMode = choice(['automatic', 'manual'], {
  title: 'CaptureMode',
  default: 'automatic',
  description:
    'With `manual`, the charge is only authorized: the order stays `pending` and its funds are held until `capture_before`. ' +
    'Capture or void it before then.',
});
export type CaptureMode = Static<typeof captureMode>;

/** The fields of 3-D Secure, from a server of the merchant. */
const externalAuthentication = Type.Object(
  {
    cavv: Type.String({
      minLength: 20,
      maxLength: 40,
      pattern: '^[A-Za-z0-9+/]{18,40}={0,2}$',
      description: 'The proof of the bank, in base64.',
    }),
    eci: Type.String({ minLength: 2, maxLength: 2, pattern: '^0[0-7]$', examples: ['05'] }),
    directory_server_id: uuid({ description: 'The ID that the directory server has given to the authentication.' }),
    version: Type.String({
      minLength: 3,
      maxLength: 5,
      pattern: '^2\\.[0-9](\\.[0-9])?$',
      description: 'The version of 3-D Secure.',
      examples: ['2.2.0'],
    }),
  },
  {
    additionalProperties: false,
    title: 'ExternalAuthentication',
    description:
      'If you have a 3-D Secure server of your own: what it says about this payment. It is passed on to the processor and not stored.',
  },
);

const orderItemInput = Type.Object(
  { product_id: uuid(), quantity: Type.Integer({ minimum: 1, maximum: limits.quantityMax }) },
  { additionalProperties: false, title: 'OrderItemInput' },
);

export const orderCreate = Type.Object(
  {
    customer_id: uuid(),
    payment_method_id: Type.Optional(uuid({ description: 'Default: the customer’s default card.' })),
    items: Type.Array(orderItemInput, {
      minItems: 1,
      maxItems: limits.orderItems,
      description: 'Prices come from the catalog. If a product appears twice, its quantities are added.',
    }),
    currency: Type.Optional(currency),
    coupon_code: Type.Optional(Type.String({ minLength: 1, maxLength: limits.textLength })),
    capture: Type.Optional(captureMode),
    off_session: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Say `true` if the customer is absent and has agreed to such charges. The card needs a `mandate`. The bank then rarely ' +
          'asks for the customer.',
      }),
    ),
    use_credit: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether the credit of the customer pays first: `credit_applied` of the order. The card pays the rest, and is not charged if ' +
          'there is none. Not with `capture: manual`.',
      }),
    ),
    authentication: Type.Optional(externalAuthentication),
    description: Type.Optional(clearable(freeText(limits.descriptionLength))),
    shipping: Type.Optional(clearable(shippingInput)),
    metadata: Type.Optional(metadataInput),
  },
  { additionalProperties: false, title: 'OrderCreate' },
);
export type OrderCreate = Static<typeof orderCreate>;

export const orderRefund = Type.Object(
  {
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.orderTotalCentsMax,
        description:
          'Amount in the smallest unit of the currency. Default: the remaining balance. Null is not allowed.',
      }),
    ),
  },
  { additionalProperties: false, title: 'OrderRefund' },
);
export type OrderRefund = Static<typeof orderRefund>;

export const orderCapture = Type.Object(
  {
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.orderTotalCentsMax,
        description:
          'Amount in the smallest unit of the currency, at most `authorized_amount`; the rest is released. Default: all of it. Null ' +
          'is not allowed.',
      }),
    ),
  },
  { additionalProperties: false, title: 'OrderCapture' },
);
export type OrderCapture = Static<typeof orderCapture>;

const orderItem = Type.Object(
  {
    product_id: uuid(),
    quantity: Type.Integer(),
    name: Type.String(),
    sku: Type.String(),
    unit_price: nullable(
      Type.Integer({ description: 'Price at the time of the purchase, in the smallest unit of the currency.' }),
    ),
    total: nullable(Type.Integer()),
  },
  { title: 'OrderItem' },
);
export type OrderItem = Static<typeof orderItem>;

const orderTransaction = Type.Object(
  {
    id: uuid(),
    type: transactionType,
    status: transactionStatus,
    amount: Type.Integer(),
    currency: Type.String(),
    processor_transaction_id: nullable(Type.String({ description: 'For reconciliation with the processor.' })),
    failure_code: nullable(failureCode),
    failure_reason: nullable(Type.String()),
    created_at: timestamp(),
  },
  { title: 'OrderTransaction' },
);
export type OrderTransaction = Static<typeof orderTransaction>;

export const order = Type.Object(
  {
    id: uuid(),
    order_number: Type.String({ description: 'A short number for people, unique per merchant.' }),
    status: orderStatus,
    customer_id: uuid(),
    customer: Type.Optional(customer),
    consents: Type.Optional(
      Type.Array(consent, {
        description: 'What the customer agreed to on the checkout page. Only with `expand=consents`.',
      }),
    ),
    payment_method: paymentMethodSummary,
    items: Type.Array(orderItem),
    currency: Type.String(),
    subtotal: cents('Before the discount.'),
    discount_amount: cents('Discount of the coupon.'),
    total: cents('Amount charged.'),
    amount: cents('The same as `total`.'),
    authorized_amount: nullable(
      cents('Funds that were held for the order; null unless it was created with `capture: manual`.'),
    ),
    capture_before: nullable(
      timestamp({
        description: 'Until when the held funds can be captured. Null unless funds are held now.',
      }),
    ),
    captured_amount: cents('Amount taken from the card. With `credit_applied`, it is the limit of all refunds.'),
    credit_applied: cents(
      'The part of `total` that the credit of the customer pays; the card pays the rest. 0 once the charge is declined.',
    ),
    credit_refunded: cents('The part of `refunded_amount` that was given back as credit.'),
    refunded_amount: cents('Amount refunded, including refunds that have not settled.'),
    coupon: nullable(couponSnapshot),
    transactions: Type.Array(orderTransaction),
    subscription_id: nullable(uuid()),
    subscription_cycle: nullable(
      Type.Integer({ description: 'Null before the first charge has succeeded, and for a change of plan.' }),
    ),
    subscription_change: nullable(
      Type.Integer({
        description: 'The number of the change of plan that the order pays for; null for every other order.',
      }),
    ),
    attempt_count: Type.Integer({ description: 'Number of declined charges of this order.' }),
    next_retry_at: nullable(timestamp()),
    failure_code: nullable(failureCode),
    failure_reason: nullable(Type.String()),
    authentication_url: nullable(
      Type.String({
        format: 'uri',
        description:
          'A page where the customer can confirm this payment with the bank: send the customer there. Null unless the bank asked for ' +
          'it. It ends when the order is paid or canceled, or after 30 days.',
      }),
    ),
    description: nullable(Type.String()),
    shipping: nullable(shipping),
    metadata,
    request_id: nullable(Type.String()),
    livemode: Type.Boolean(),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Order',
    examples: [
      {
        id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c',
        order_number: 'K7M2QX4R',
        status: 'succeeded',
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        payment_method: { id: '019c4c20-1a2b-7c3d-8e4f-5a6b7c8d9e0f', card_last_four: '4242', card_brand: 'visa' },
        items: [
          {
            product_id: '019c4c1e-9a10-7d20-a1b2-c3d4e5f60718',
            quantity: 2,
            name: 'Tea pot',
            sku: 'tea-pot-6',
            unit_price: 4900,
            total: 9800,
          },
        ],
        currency: 'usd',
        subtotal: 9800,
        discount_amount: 0,
        total: 9800,
        amount: 9800,
        authorized_amount: null,
        capture_before: null,
        captured_amount: 9800,
        credit_applied: 0,
        credit_refunded: 0,
        refunded_amount: 0,
        coupon: null,
        transactions: [
          {
            id: '019c4c21-4a00-7e12-8c3d-7e6f5a4b3c2d',
            type: 'sale',
            status: 'succeeded',
            amount: 9800,
            currency: 'usd',
            processor_transaction_id: 'sbx_019c4c214a007e128c3d7e6f5a4b3c2d',
            failure_code: null,
            failure_reason: null,
            created_at: '2026-02-11T09:33:00.000Z',
          },
        ],
        subscription_id: null,
        subscription_cycle: null,
        subscription_change: null,
        attempt_count: 0,
        next_retry_at: null,
        failure_code: null,
        failure_reason: null,
        authentication_url: null,
        description: null,
        shipping: null,
        metadata: {},
        request_id: 'req_3k7q2m5x9w4t6y8p2r5v7n3b',
        livemode: false,
        created_at: '2026-02-11T09:33:00.000Z',
        updated_at: '2026-02-11T09:33:00.020Z',
      },
    ],
  },
);
export type Order = Static<typeof order>;
