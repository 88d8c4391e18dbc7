import Type, { type Static } from 'typebox';
import { clearable, freeText, name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';
import { type ExemptCategory, exemptCategories } from './business-rules.ts';
import { taxId } from '../customers/schemas.ts';
import { postalAddress, postalAddressInput } from '../profile/schemas.ts';

export const invoiceKinds = ['invoice', 'credit_note'] as const;
export const invoiceCauses = [
  'payment_recorded',
  'refund_settled',
  'refund_returned',
  'refunded_to_credit',
  'payment_voided',
  'invoice_canceled',
  'invoice_corrected',
] as const;

export const invoiceKind = choice(invoiceKinds, {
  title: 'InvoiceKind',
  description: 'A `credit_note` takes its amount off an invoice.',
});

const amount = (description: string) =>
  Type.Integer({ description: `${description}, in the smallest unit of the currency.` });

const line = Type.Object(
  {
    description: Type.String(),
    quantity: nullable(Type.Integer()),
    unit_price: nullable(amount('The price of one')),
    amount: nullable(amount('The total of the line. Null for a product that the price of a plan includes')),
  },
  { title: 'InvoiceLine' },
);

const seller = Type.Object(
  { name: Type.String(), address: nullable(postalAddress), tax_id: nullable(Type.String()) },
  { title: 'InvoiceSeller', description: 'Your company as it was when the order was paid.' },
);

const buyer = Type.Object(
  {
    name: Type.String(),
    company: nullable(Type.String()),
    tax_id: nullable(Type.String()),
    email: Type.String(),
    address: nullable(postalAddress),
  },
  {
    title: 'InvoiceBuyer',
    description: 'The customer at the time of the payment. Null if the caller lacks `customers:read`.',
  },
);

const tax = Type.Object(
  {
    name: Type.String({ examples: ['VAT'] }),
    percentage: Type.Number({ examples: [19] }),
    gross_amount: amount('What the customer paid at this rate, with the tax'),
    net_amount: amount('The same without the tax'),
    tax_amount: amount('The tax in it'),
  },
  { title: 'InvoiceTax' },
);

export const invoice = Type.Object(
  {
    id: uuid(),
    number: Type.String({ description: 'Unique in your company, and without gaps in its series.' }),
    series: Type.String({ description: 'What is written before the number. A new series begins with 1.' }),
    kind: invoiceKind,
    cause: choice(invoiceCauses, {
      title: 'InvoiceCause',
      description:
        '`payment_recorded`: the order was paid. `refund_settled`: a refund settled. `refund_returned`: the money of that refund came back, ' +
        'so this invoice reverses its credit note. `refunded_to_credit`: the part of a refund that went to the credit of the customer. ' +
        '`payment_voided`: the payment was canceled. `invoice_canceled`: the buyer was corrected, so this credit note takes off the whole ' +
        'invoice. `invoice_corrected`: the invoice with the corrected buyer.',
    }),
    order_id: uuid(),
    order_number: Type.String(),
    refund_id: nullable(uuid({ description: 'The refund transaction, for `refund_settled` and `refund_returned`.' })),
    corrects_id: nullable(uuid({ description: 'The earlier document that this one corrects.' })),
    reason: nullable(Type.String({ description: 'Why the buyer was corrected.' })),
    customer_id: uuid(),
    currency: Type.String({ examples: ['eur'] }),
    lines: Type.Array(line),
    subtotal: amount('The sum of the lines'),
    discount_amount: amount('The discount of a coupon'),
    uncaptured_amount: amount('The part of an authorization that was not captured'),
    amount: amount('What the document is about: subtotal less discount and the part that was not captured'),
    credit_applied: amount('The part of the amount of an invoice that the credit of the customer paid'),
    taxes: nullable(
      Type.Array(tax, {
        description:
          'The tax that the amount includes, by rate. Null if you keep no rate for the place and the product of each line. The gross amounts ' +
          'have the sum `amount`.',
      }),
    ),
    tax_note: nullable(
      Type.String({
        description: 'The text of your rule for business buyers abroad, if it applies: then the tax is 0%.',
      }),
    ),
    seller,
    buyer: nullable(buyer),
    e_invoice_missing: nullable(
      Type.Array(Type.String(), {
        description:
          'What the document lacks to be an e-invoice, for example the tax ID of your company. Empty: `GET /v1/invoices/{id}/xml` has it. ' +
          'Null if the caller lacks `customers:read`.',
      }),
    ),
    locale: Type.String({
      description: 'The language of the PDF and the XML: that of the customer at the time of the payment, else `en`.',
      examples: ['de-AT'],
    }),
    issued_on: Type.String({
      format: 'date',
      description: 'The day of the payment or its correction, in the time zone of the company.',
      examples: ['2026-02-11'],
    }),
    livemode: Type.Boolean(),
    created_at: timestamp(),
  },
  {
    title: 'Invoice',
    examples: [
      {
        id: '019c4c21-4a00-7e15-8d2f-1b0a9c8d7e6f',
        number: 'INV-2026-000042',
        series: 'INV-2026-',
        kind: 'invoice',
        cause: 'payment_recorded',
        order_id: '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c',
        order_number: 'K7Q2M5X9',
        refund_id: null,
        corrects_id: null,
        reason: null,
        customer_id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
        currency: 'eur',
        lines: [{ description: 'Tea pot', quantity: 2, unit_price: 4900, amount: 9800 }],
        subtotal: 9800,
        discount_amount: 0,
        uncaptured_amount: 0,
        amount: 9800,
        credit_applied: 0,
        taxes: [{ name: 'VAT', percentage: 19, gross_amount: 9800, net_amount: 8235, tax_amount: 1565 }],
        tax_note: null,
        seller: {
          name: 'Ada’s Engines GmbH',
          address: {
            line1: 'Hauptstraße 1',
            line2: null,
            city: 'Berlin',
            state: null,
            postal_code: '10115',
            country: 'DE',
          },
          tax_id: 'DE123456789',
        },
        buyer: { name: 'Grace Hopper', company: null, tax_id: null, email: 'grace@example.com', address: null },
        e_invoice_missing: [],
        locale: 'de',
        issued_on: '2026-02-11',
        livemode: false,
        created_at: '2026-02-11T09:33:00.000Z',
      },
    ],
  },
);
export type Invoice = Static<typeof invoice>;

export const invoiceCorrectionCreate = Type.Object(
  {
    reason: freeText(limits.textLength, { description: 'Printed on both documents.' }),
    name: Type.Optional(name({ description: 'The name of the buyer. What you leave out stays as it is.' })),
    company: Type.Optional(clearable(name())),
    tax_id: Type.Optional(clearable(taxId)),
    address: Type.Optional(clearable(postalAddressInput)),
  },
  { additionalProperties: false, title: 'InvoiceCorrectionCreate' },
);
export type InvoiceCorrectionCreate = Static<typeof invoiceCorrectionCreate>;

export const invoiceCorrection = Type.Object(
  {
    credit_note_id: uuid({ description: 'The credit note of the whole invoice.' }),
    invoice_id: uuid({ description: 'The new invoice.' }),
    corrects_id: uuid({ description: 'The invoice that both correct.' }),
    amount: amount('The amount of both'),
    currency: Type.String({ examples: ['eur'] }),
    reason: Type.String(),
  },
  {
    title: 'InvoiceCorrection',
    examples: [
      {
        credit_note_id: '019c4c25-1c00-7a15-8d2f-1b0a9c8d7e6f',
        invoice_id: '019c4c25-1c00-7a16-9b2c-6d5e4f3a2b1c',
        corrects_id: '019c4c21-4a00-7e15-8d2f-1b0a9c8d7e6f',
        amount: 9800,
        currency: 'eur',
        reason: 'The company was missing',
      },
    ],
  },
);
export type InvoiceCorrection = Static<typeof invoiceCorrection>;

const linkFields = {
  number: Type.String({ examples: ['INV-2026-000042'] }),
  expires_at: timestamp({ description: 'Request this again for a new link.' }),
};
const linkExample = {
  number: 'INV-2026-000042',
  expires_at: '2026-02-12T09:33:00.000Z',
};
const urlExample = (format: string): string =>
  `https://pay.example.com/documents/019c4c1e-0000-7a3b-9d1c-2b8f3a4e5d60/019c4c21-4a00-7e15-8d2f-1b0a9c8d7e6f.${format}?expires=1770889980&signature=…`;

export const invoicePdf = Type.Object(
  {
    ...linkFields,
    url: Type.String({ description: 'The document as a PDF. Anyone with the link can open it until it expires.' }),
  },
  { title: 'InvoicePdf', examples: [{ ...linkExample, url: urlExample('pdf') }] },
);

export const invoiceXml = Type.Object(
  {
    ...linkFields,
    url: Type.String({ description: 'The document as XML. Anyone with the link can open it until it expires.' }),
  },
  { title: 'InvoiceXml', examples: [{ ...linkExample, url: urlExample('xml') }] },
);
export const invoiceMonth = Type.Object(
  {
    month: Type.String({ examples: ['2026-02'] }),
    url: Type.String({ description: 'The ZIP file. Anyone with the link can download it until it expires.' }),
    expires_at: linkFields.expires_at,
  },
  {
    title: 'InvoiceMonth',
    examples: [
      {
        month: '2026-02',
        url: 'https://pay.example.com/invoice-months/019c4c1e-0000-7a3b-9d1c-2b8f3a4e5d60/2026-02.zip?expires=1770889980&signature=…',
        expires_at: linkExample.expires_at,
      },
    ],
  },
);
export type InvoiceMonth = Static<typeof invoiceMonth>;
export type InvoiceLink = Static<typeof invoicePdf>;

const prefix = (description: string) =>
  Type.String({
    description: `${description} Capital letters, digits and / _ . -, not ending with a digit; at most 20.`,
    maxLength: limits.invoicePrefixLength,
    pattern: '^[A-Z0-9/_.\\-]{0,19}([A-Z/_.\\-]|^)$',
    examples: ['INV-'],
  });

const rateFields = {
  country: Type.String({ format: 'country', examples: ['DE'] }),
  name: name({ maxLength: limits.taxNameLength, examples: ['VAT'] }),
  percentage: Type.Number({ minimum: 0, maximum: 100, description: 'At most two decimals.', examples: [19] }),
  valid_from: Type.String({ format: 'date', description: 'The first day.', examples: ['2026-01-01'] }),
};

const rateText = (description: string) => name({ maxLength: limits.textLength, description });
const region = rateText('A state or province, as in addresses. Null: the whole country.');
const category = rateText('The category of products. Null: all without a rate of their own.');
const lastDay = Type.String({ format: 'date', description: 'The last day. Null: without an end.' });

const settingFields = {
  enabled: Type.Boolean({ description: 'Whether payments get invoices from now on.' }),
  invoice_prefix: prefix('What the numbers of invoices begin with.'),
  credit_note_prefix: prefix('What the numbers of credit notes begin with. The same prefix makes one series of both.'),
  with_year: Type.Boolean({ description: 'Whether the year follows the prefix. Then a new series begins each year.' }),
  padding: Type.Integer({
    minimum: 1,
    maximum: limits.invoicePaddingMax,
    description: 'How many digits a number has at least.',
  }),
  attach_to_emails: Type.Boolean({
    description: 'Whether receipts and refund receipts by email carry the invoice or credit note as a PDF.',
  }),
};

const taxRate = Type.Object(
  { ...rateFields, region: nullable(region), category: nullable(category), valid_until: nullable(lastDay) },
  { title: 'TaxRate' },
);

const taxRateInput = Type.Object(
  {
    ...rateFields,
    region: Type.Optional(clearable(region)),
    category: Type.Optional(clearable(category)),
    valid_until: Type.Optional(clearable(lastDay)),
  },
  { additionalProperties: false, title: 'TaxRateInput' },
);

const businessRule = Type.Object(
  {
    countries: Type.Array(Type.String({ format: 'country', examples: ['FR'] }), {
      minItems: 1,
      maxItems: limits.businessRuleCountries,
    }),
    category: choice(Object.keys(exemptCategories) as ExemptCategory[], {
      description: 'For e-invoices: `reverse_charge` is AE, `export` is G, `not_subject` is O.',
    }),
    name: name({ maxLength: limits.taxNameLength, examples: ['VAT'] }),
    text: name({ maxLength: limits.textLength, examples: ['Reverse charge: the customer owes the tax.'] }),
  },
  { additionalProperties: false, title: 'BusinessRule' },
);

export const invoiceSettings = Type.Object({
  ...settingFields,
  tax_rates: Type.Array(taxRate, { description: 'The tax that your prices include.' }),
  business_rules: Type.Array(businessRule, {
    description: 'What a business buyer in another country means for the tax. The first rule for the country applies.',
  }),
  legal_name: nullable(Type.String({ description: 'The name of the seller. Null: the display name of the company.' })),
  missing: Type.Array(Type.String(), {
    description: 'What the profile of the company lacks before invoices can be switched on.',
  }),
});
export type InvoiceSettings = Static<typeof invoiceSettings>;

export const invoiceSettingsUpdate = Type.Partial(
  Type.Object({
    ...settingFields,
    legal_name: clearable(name({ maxLength: limits.displayNameLength })),
    tax_rates: Type.Array(taxRateInput, { maxItems: limits.taxRates, description: 'Replaces all rates.' }),
    business_rules: Type.Array(businessRule, { maxItems: limits.businessRules, description: 'Replaces all rules.' }),
  }),
  { additionalProperties: false },
);
export type InvoiceSettingsUpdate = Static<typeof invoiceSettingsUpdate>;
