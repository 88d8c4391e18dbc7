import Type, { type Static } from 'typebox';
import {
  clearable,
  defaulting,
  freeText,
  line,
  locale,
  metadata,
  metadataInput,
  metadataPatch,
  name,
  nullable,
  phone,
  timestamp,
  uniqueStrings,
  uuid,
} from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

const shown = nullable(Type.String({ maxLength: limits.textLength }));
const part = Type.Optional(clearable(freeText(limits.textLength)));

const addressFields = {
  name: Type.Optional(clearable(line())),
  line1: part,
  line2: part,
  city: part,
  state: part,
  postal_code: part,
  country: Type.Optional(clearable(Type.String({ format: 'country', examples: ['US'] }))),
  phone: Type.Optional(clearable(phone())),
};

const shippingAddressInput = Type.Object(addressFields, {
  additionalProperties: false,
  minProperties: 1,
  title: 'ShippingAddressInput',
});
export type ShippingAddressInput = Static<typeof shippingAddressInput>;

const shippingAddress = Type.Object(
  {
    id: uuid({ description: 'ID of the shipping address.' }),
    name: shown,
    line1: shown,
    line2: shown,
    city: shown,
    state: shown,
    postal_code: shown,
    country: shown,
    phone: shown,
  },
  { title: 'ShippingAddress' },
);
export type ShippingAddress = Static<typeof shippingAddress>;

const email = Type.String({ format: 'email', maxLength: limits.emailLength, examples: ['ada@example.com'] });
const ownPhone = phone({
  description:
    'International format with `+` and the country code. Returned in E.164 format, without spaces. Unique per company.',
});
const ownLocale = locale(
  'The language of emails, receipts and pages for this customer, with a country if you like. Null: emails and receipts have the language of your company, pages follow the browser. The checkout page sets it for a new customer.',
);
export const taxId = line({
  format: 'tax-id',
  maxLength: limits.taxIdLength,
  description:
    'The tax ID of the company, printed on invoices. Its form is checked for countries of the European Union, the United Kingdom, ' +
    'Norway and Switzerland, and it is stored without spaces: `DE 123 456 789` becomes `DE123456789`.',
  examples: ['DE123456789'],
});
const tags = uniqueStrings(line({ minLength: 1, maxLength: limits.tagLength, format: 'tag' }), {
  maxItems: limits.tags,
  description: 'Your own labels. You can filter customers by them.',
  examples: [['vip']],
});

const input = {
  email,
  first_name: name({ examples: ['Ada'] }),
  last_name: name({ examples: ['Lovelace'] }),
  phone: ownPhone,
};

export const customerCreate = Type.Object(
  {
    ...input,
    company: Type.Optional(clearable(name())),
    tax_id: Type.Optional(clearable(taxId)),
    locale: Type.Optional(clearable(ownLocale)),
    shipping_address: Type.Optional(clearable(shippingAddressInput)),
    tags: defaulting(tags, []),
    metadata: Type.Optional(metadataInput),
  },
  { additionalProperties: false, title: 'CustomerCreate' },
);
export type CustomerCreate = Static<typeof customerCreate>;

export const customerUpdate = Type.Object(
  {
    email: Type.Optional(input.email),
    first_name: Type.Optional(input.first_name),
    last_name: Type.Optional(input.last_name),
    phone: Type.Optional(input.phone),
    company: Type.Optional(clearable(name())),
    tax_id: Type.Optional(clearable(taxId)),
    locale: Type.Optional(clearable(ownLocale)),
    shipping_address: Type.Optional(clearable(shippingAddressInput)),
    tags: Type.Optional(tags),
    metadata: Type.Optional(metadataPatch),
  },
  { additionalProperties: false, title: 'CustomerUpdate' },
);
export type CustomerUpdate = Static<typeof customerUpdate>;

/** Refers to the schema by name, because these features build on customers. */
const expanded = (schema: string, field: string) =>
  Type.Optional(
    Type.Unsafe<object[]>({
      type: 'array',
      items: { $ref: `#/components/schemas/${schema}` },
      description: `With \`expand=${field}\`.`,
    }),
  );

export const customer = Type.Object(
  {
    id: uuid(),
    email,
    first_name: input.first_name,
    last_name: input.last_name,
    phone: ownPhone,
    company: nullable(Type.String()),
    tax_id: nullable(Type.String({ examples: ['DE123456789'] })),
    locale: nullable(ownLocale),
    shipping_address: nullable(shippingAddress),
    default_payment_method_id: nullable(uuid()),
    payment_methods: expanded('PaymentMethod', 'payment_methods'),
    subscriptions: expanded('Subscription', 'subscriptions'),
    tags,
    metadata,
    deleted: Type.Boolean({ description: 'True for a deleted customer with orders.' }),
    deleted_at: nullable(timestamp()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  {
    title: 'Customer',
    examples: [
      {
        id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        email: 'ada@example.com',
        first_name: 'Ada',
        last_name: 'Lovelace',
        phone: '+15551234567',
        company: null,
        tax_id: null,
        locale: 'de-AT',
        shipping_address: null,
        default_payment_method_id: null,
        tags: ['vip'],
        metadata: { crm_id: 'c-1001' },
        deleted: false,
        deleted_at: null,
        created_at: '2026-02-11T09:30:00.000Z',
        updated_at: '2026-02-11T09:30:00.000Z',
      },
    ],
  },
);
export type Customer = Static<typeof customer>;
