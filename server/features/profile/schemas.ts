import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import { languages } from '../../customer-texts/languages.ts';
import { clearable, freeText, line, locale, name, nullable, timestamp } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';

/** The profile of a company: what its customers see of it on pages, in emails and on receipts. */

const email = () => Type.String({ format: 'email', maxLength: limits.emailLength });
const url = () => Type.String({ format: 'uri', maxLength: limits.urlLength });

const addressParts = {
  line1: line(),
  line2: line(),
  city: line(),
  state: line(),
  postal_code: line(),
  country: Type.String({ format: 'country', examples: ['US'] }),
};

type AddressPart = keyof typeof addressParts;

const each = <Names extends string, Schema extends TSchema>(
  names: readonly Names[],
  schema: (name: Names) => Schema,
): Record<Names, Schema> => Object.fromEntries(names.map((one) => [one, schema(one)])) as Record<Names, Schema>;

const partNames = Object.keys(addressParts) as AddressPart[];

export const postalAddress = Type.Object(
  each(partNames, () => nullable(Type.String())),
  { title: 'PostalAddress' },
);
export type PostalAddress = Static<typeof postalAddress>;

/** The emails to customers, in the order of the dashboard. Essential ones cannot be unsubscribed from. */
export const emailKinds = [
  'order_receipt',
  'refund_receipt',
  'renewal_receipt',
  'payment_failed',
  'final_notice',
  'card_expiring',
  'subscription_canceled',
  'upcoming_renewal',
] as const;

const fromName = name({ maxLength: limits.fromNameLength });
const upcomingDays = Type.Integer({ minimum: 1, maximum: limits.upcomingNoticeDaysMax });

const emailSettings = Type.Object({
  enabled: Type.Boolean(),
  ...each(emailKinds, () => Type.Boolean()),
  upcoming_renewal_days: upcomingDays,
  from_name: nullable(Type.String()),
  reply_to: nullable(Type.String()),
});
export type EmailSettings = Static<typeof emailSettings>;

const customerPageSettings = Type.Object({
  allow_cancel: Type.Boolean(),
  allow_end_renewal: Type.Boolean(),
  allow_update_card: Type.Boolean(),
  accept_declarations: Type.Boolean({
    description: 'Whether customers can cancel and withdraw on pages without signing in. Default: true in Europe.',
  }),
  allow_pause: Type.Boolean(),
  allow_subscribe_again: Type.Boolean(),
  headline: nullable(Type.String()),
  return_url: nullable(Type.String()),
});
export type CustomerPageSettings = Static<typeof customerPageSettings>;

const ownTextParts = {
  thank_you: freeText(limits.thankYouLength, {
    format: 'not-blank',
    description: 'Shown after a payment.',
    examples: ['Thank you! We pack your tea today.'],
  }),
  support: name({
    maxLength: limits.supportLineLength,
    description: 'How customers reach you: on pages and in emails.',
    examples: ['Call us on weekdays from 9 to 17: +44 20 7946 0000'],
  }),
  terms_text: name({
    maxLength: limits.termsTextLength,
    description: 'What customers agree to on checkout pages, with a link to the terms. It replaces our sentence.',
    examples: ['I accept the terms and have read about my right of withdrawal.'],
  }),
  terms_url: url(),
  terms_version: line({ maxLength: limits.termsVersionLength }),
};
const ownTextNames = Object.keys(ownTextParts) as (keyof typeof ownTextParts)[];

const ownTexts = Type.Object(
  each(ownTextNames, () => nullable(Type.String())),
  { title: 'OwnTexts' },
);
export type OwnTexts = Static<typeof ownTexts>;

const companyLocale = locale(
  'The language of pages whose visitor has none of our languages, and of emails and receipts of a customer without one. Null: English.',
);

export const profile = Type.Object({
  display_name: Type.String({ description: 'The name of the company unless it is set.' }),
  has_own_display_name: Type.Boolean(),
  logo_url: nullable(Type.String({ description: 'Relative to the base URL. It never shows another picture.' })),
  color: nullable(Type.String({ examples: ['#0a7d5c'] })),
  text_color: Type.String({ description: 'White or black: the color of text on `color`.' }),
  support_email: nullable(Type.String()),
  website: nullable(Type.String()),
  address: nullable(postalAddress),
  tax_id: nullable(Type.String()),
  terms_url: nullable(Type.String({ description: 'The terms to which customers agree on checkout pages.' })),
  terms_version: nullable(Type.String({ examples: ['2026-11-19'] })),
  locale: nullable(companyLocale),
  texts: Type.Object(
    each(languages, () => nullable(ownTexts)),
    { description: 'Your own texts by language. A language without a text has that of the language of the company.' },
  ),
  emails: emailSettings,
  customer_page: customerPageSettings,
  cancel_url: Type.String({ description: 'Where customers cancel without signing in. Relative to the base URL.' }),
  withdraw_url: Type.String({ description: 'Where customers withdraw from a contract. Relative to the base URL.' }),
  customer_page_url: Type.String({
    description: 'Where customers ask for a link to their page. Relative to the base URL.',
  }),
  updated_at: nullable(timestamp()),
});
export type Profile = Static<typeof profile>;

const optional = <Fields extends TProperties>(fields: Fields) =>
  Type.Partial(Type.Object(fields), { additionalProperties: false });

/** A part that is left out is empty. */
export const postalAddressInput = Type.Partial(Type.Object(each(partNames, (part) => clearable(addressParts[part]))), {
  additionalProperties: false,
  title: 'PostalAddressInput',
});

export const profileUpdate = optional({
  display_name: clearable(name({ maxLength: limits.displayNameLength })),
  color: clearable(Type.String({ format: 'color', examples: ['#0a7d5c'] })),
  support_email: clearable(email()),
  website: clearable(url()),
  address: clearable(postalAddressInput),
  tax_id: clearable(line({ maxLength: limits.taxIdLength })),
  terms_url: clearable(url()),
  terms_version: clearable(line({ maxLength: limits.termsVersionLength })),
  locale: clearable(companyLocale),
  texts: optional(
    each(languages, () => clearable(optional(each(ownTextNames, (part) => clearable(ownTextParts[part]))))),
  ),
  emails: optional({
    enabled: Type.Boolean(),
    ...each(emailKinds, () => Type.Boolean()),
    upcoming_renewal_days: upcomingDays,
    from_name: clearable(fromName),
    reply_to: clearable(email()),
  }),
  customer_page: optional({
    allow_cancel: Type.Boolean(),
    allow_end_renewal: Type.Boolean(),
    allow_update_card: Type.Boolean(),
    accept_declarations: Type.Boolean(),
    allow_pause: Type.Boolean(),
    allow_subscribe_again: Type.Boolean(),
    headline: clearable(name()),
    return_url: clearable(url()),
  }),
});
export type ProfileUpdate = Static<typeof profileUpdate>;
