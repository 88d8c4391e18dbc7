import { languageName } from '../../components/language-field.tsx';
import { type Language, languages } from '../../../../server/customer-texts/languages.ts';
import { type Body, editedFields, shown } from '../../edits.ts';
import { branding } from '../../texts/branding.ts';
import type { Profile } from '../../types.ts';

/** The settings of all sections as one draft, which is saved with one request. */

export const defaultColor = '#4338ca';
export const colorPattern = /^#[0-9a-f]{6}$/i;

const addressParts = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'] as const;

const textParts = ['thank_you', 'support', 'terms_text', 'terms_url', 'terms_version'] as const;
export type TextPart = (typeof textParts)[number];
export type TextsDraft = Readonly<Record<TextPart, string>>;
export type TextsName = `texts_${Language}`;

/** The own texts of each language are one field of the draft. */
const eachLanguage = <Value>(valueFor: (language: Language) => Value): Record<TextsName, Value> =>
  Object.fromEntries(languages.map((language) => [`texts_${language}`, valueFor(language)])) as Record<
    TextsName,
    Value
  >;

const textsDraft = (texts: Profile['texts'][Language]): TextsDraft =>
  Object.fromEntries(textParts.map((part) => [part, texts?.[part] ?? ''])) as TextsDraft;

const textsBody = (draft: TextsDraft): Record<TextPart, string | null> =>
  Object.fromEntries(textParts.map((part) => [part, set(draft[part])])) as Record<TextPart, string | null>;

export function draftOf({ address, emails, customer_page, ...profile }: Profile) {
  return {
    ...eachLanguage((language) => textsDraft(profile.texts[language])),
    display_name: profile.has_own_display_name ? profile.display_name : '',
    color: profile.color ?? '',
    support_email: profile.support_email ?? '',
    website: profile.website ?? '',
    line1: address?.line1 ?? '',
    line2: address?.line2 ?? '',
    city: address?.city ?? '',
    state: address?.state ?? '',
    postal_code: address?.postal_code ?? '',
    country: address?.country ?? '',
    tax_id: profile.tax_id ?? '',
    terms_url: profile.terms_url ?? '',
    terms_version: profile.terms_version ?? '',
    locale: profile.locale ?? '',
    ...emails,
    upcoming_renewal_days: String(emails.upcoming_renewal_days),
    from_name: emails.from_name ?? '',
    reply_to: emails.reply_to ?? '',
    ...customer_page,
    headline: customer_page.headline ?? '',
    return_url: customer_page.return_url ?? '',
  };
}
export type BrandingDraft = ReturnType<typeof draftOf>;

const set = (text: string): string | null => text.trim() || null;

/** Each setting is changed on its own. */
const within = (name: string, parts: object): Body =>
  Object.fromEntries(Object.entries(parts).map(([part, value]) => [`${name}.${part}`, value]));

export const kinds = Object.entries(branding.kinds) as [keyof typeof branding.kinds, string][];

export function bodyOf(draft: BrandingDraft): Body {
  return {
    display_name: set(draft.display_name),
    color: set(draft.color),
    support_email: set(draft.support_email),
    website: set(draft.website),
    tax_id: set(draft.tax_id),
    terms_url: set(draft.terms_url),
    terms_version: set(draft.terms_version),
    locale: draft.locale || null,
    ...within('texts', Object.fromEntries(languages.map((one) => [one, textsBody(draft[`texts_${one}`])]))),
    address: Object.fromEntries(addressParts.map((part) => [part, set(draft[part])])),
    ...within('emails', {
      enabled: draft.enabled,
      ...Object.fromEntries(kinds.map(([kind]) => [kind, draft[kind]])),
      upcoming_renewal_days: Number(draft.upcoming_renewal_days),
      from_name: set(draft.from_name),
      reply_to: set(draft.reply_to),
    }),
    ...within('customer_page', {
      allow_update_card: draft.allow_update_card,
      allow_end_renewal: draft.allow_end_renewal,
      allow_cancel: draft.allow_cancel,
      accept_declarations: draft.accept_declarations,
      allow_pause: draft.allow_pause,
      allow_subscribe_again: draft.allow_subscribe_again,
      headline: set(draft.headline),
      return_url: set(draft.return_url),
    }),
  };
}

export const fields = editedFields<BrandingDraft>({
  display_name: branding.displayName,
  color: branding.color,
  support_email: branding.supportEmail,
  website: branding.website,
  address: {
    label: branding.address,
    of: addressParts,
    path: 'address.line1',
    show: (draft) => shown(addressParts.map((part) => draft[part].trim()).filter(Boolean)),
  },
  tax_id: branding.taxId,
  terms_url: branding.terms,
  terms_version: branding.termsVersion,
  ...eachLanguage((language) => ({
    label: branding.textsIn(languageName(language)),
    path: `texts.${language}`,
    show: (draft: BrandingDraft) => shown(textParts.map((part) => draft[`texts_${language}`][part]).filter(Boolean)),
  })),
  locale: { label: branding.language, show: ({ locale }) => (locale ? languageName(locale) : branding.noLanguage) },
  enabled: branding.enabled,
  ...branding.kinds,
  upcoming_renewal_days: { label: branding.upcomingDays, path: 'emails.upcoming_renewal_days' },
  from_name: { label: branding.fromName, path: 'emails.from_name' },
  reply_to: { label: branding.replyTo, path: 'emails.reply_to' },
  allow_update_card: branding.allowUpdateCard,
  allow_end_renewal: branding.allowEndRenewal,
  allow_cancel: branding.allowCancel,
  accept_declarations: branding.acceptDeclarations,
  allow_pause: branding.allowPause,
  allow_subscribe_again: branding.allowSubscribeAgain,
  headline: { label: branding.headline, path: 'customer_page.headline' },
  return_url: { label: branding.returnUrl, path: 'customer_page.return_url' },
});

export const check = ({ color }: BrandingDraft): Record<string, string | undefined> => ({
  color: color === '' || colorPattern.test(color) ? undefined : branding.colorInvalid,
});

/** The section that has a field of the API. */
export function sectionOf(field: string): keyof typeof branding.sections {
  if (field.startsWith('texts.')) return 'texts';
  if (field.startsWith('emails.')) return 'emails';
  if (field.startsWith('customer_page.')) return 'customer-page';
  return /^(address|tax_id)/.test(field) ? 'receipts' : 'brand';
}
