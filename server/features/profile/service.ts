import type { Company } from '../../company.ts';
import { ApiError, invalidField } from '../../errors.ts';
import { withLocale } from '../../http/locale.ts';
import { companyAddress } from '../../http/page-token.ts';
import { mustNameDuty } from '../../platform/order-duty.ts';
import type { UploadedFile } from '../../http/route.ts';
import { isLocalName } from '../../http/session-cookie.ts';
import { absoluteUrl, urlRule } from '../../platform/absolute-url.ts';
import type { Queryable } from '../../platform/database.ts';
import { prepareImage } from '../../platform/files/image.ts';
import { logoOf } from '../../platform/files/logo.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { textColorOn } from './color.ts';
import { changedTexts, termsAfter, textsOfAll } from './own-texts.ts';
import {
  findCurrentLogo,
  findLinkName,
  findLogo,
  findProfile,
  lockProfile,
  type ProfileRow,
  updateLinkName,
  updateLocale,
  updateLogo,
  updateProfile,
} from './queries.ts';
import type { CustomerPageSettings, EmailSettings, PostalAddress, Profile, ProfileUpdate } from './schemas.ts';

export { ownText, type OwnText, termsIn } from './own-texts.ts';

/** The color of a company that has not chosen one. */
export const defaultColor = '#4338ca';

const emailDefaults: EmailSettings = {
  enabled: true,
  order_receipt: true,
  refund_receipt: true,
  renewal_receipt: true,
  payment_failed: true,
  final_notice: true,
  card_expiring: true,
  subscription_canceled: true,
  upcoming_renewal: false,
  upcoming_renewal_days: 7,
  from_name: null,
  reply_to: null,
};

const customerPageDefaults: Omit<CustomerPageSettings, 'accept_declarations'> = {
  allow_cancel: true,
  allow_end_renewal: true,
  allow_update_card: true,
  allow_pause: false,
  allow_subscribe_again: false,
  headline: null,
  return_url: null,
};

export type ProfileOwner = Pick<Company, 'id' | 'name'>;

/** What customers see of the company: on pages, in emails and on receipts. */
export async function profileOf(db: Queryable, company: ProfileOwner): Promise<Profile> {
  return toProfile(await findProfile(db, company.id), company);
}

function toProfile(row: ProfileRow | undefined, { id, name }: ProfileOwner): Profile {
  const address = (page: string): string => withLocale(`/${page}/${companyAddress(id)}`, { fallback: row?.locale });
  return {
    display_name: row?.display_name ?? name,
    has_own_display_name: typeof row?.display_name === 'string',
    logo_url: row?.logo_id ? `/logos/${id}/${row.logo_id}.png` : null,
    color: row?.color ?? null,
    text_color: textColorOn(row?.color ?? defaultColor),
    support_email: row?.support_email ?? null,
    website: row?.website ?? null,
    address: row?.address ?? null,
    tax_id: row?.tax_id ?? null,
    terms_url: row?.terms_url ?? null,
    terms_version: row?.terms_version ?? null,
    locale: row?.locale ?? null,
    texts: textsOfAll(row?.texts ?? {}),
    emails: { ...emailDefaults, ...row?.emails },
    customer_page: {
      ...customerPageDefaults,
      accept_declarations: mustNameDuty(row?.address?.country),
      ...row?.customer_page,
    },
    cancel_url: address('cancel'),
    withdraw_url: address('withdraw'),
    customer_page_url: address('customer'),
    updated_at: row?.updated_at.toISOString() ?? null,
  };
}

/** Locks the profile until the transaction ends. */
export async function lockedProfile({ db, company }: RequestContext): Promise<Profile> {
  return toProfile(await lockProfile(db, company.id), company);
}

export async function changeProfile({ db, company, nowMs }: RequestContext, change: ProfileUpdate): Promise<Profile> {
  const { address, emails, customer_page, website, color, terms_url, terms_version, locale, texts, ...others } = change;
  const checked = (field: string, text: string | null | undefined) => checkedUrl(field, text, company.mode);
  const urls = {
    website: checked('website', website),
    terms_url: checked('terms_url', terms_url),
    return_url: checked('customer_page.return_url', customer_page?.return_url),
  };
  const day = new Date(nowMs).toISOString().slice(0, 10);
  return db.transaction(async (transaction) => {
    const row = await lockProfile(transaction, company.id);
    if (locale !== undefined && locale !== row.locale) await updateLocale(transaction, company.id, locale);
    await updateProfile(transaction, company.id, {
      ...row,
      ...others,
      ...(color !== undefined && { color: color?.toLowerCase() ?? null }),
      ...(urls.website !== undefined && { website: urls.website }),
      ...termsAfter(row, { terms_url: urls.terms_url, terms_version }, day),
      ...(texts && { texts: changedTexts(row.texts, texts, day, checked) }),
      ...(address !== undefined && { address: wholeAddress(address) }),
      emails: { ...row.emails, ...emails },
      customer_page: {
        ...row.customer_page,
        ...customer_page,
        ...(urls.return_url !== undefined && { return_url: urls.return_url }),
      },
    });
    return profileOf(transaction, company);
  });
}

/** An address without any content is no address. */
function wholeAddress(given: ProfileUpdate['address']): PostalAddress | null {
  const part = (text: string | null | undefined): string | null => text?.trim() || null;
  const address: PostalAddress = {
    line1: part(given?.line1),
    line2: part(given?.line2),
    city: part(given?.city),
    state: part(given?.state),
    postal_code: part(given?.postal_code),
    country: part(given?.country),
  };
  return Object.values(address).some((text) => text !== null) ? address : null;
}

/** Pages of the merchant are https; on the machine of a developer, http. */
function checkedUrl<Given extends string | null | undefined>(
  field: string,
  text: Given,
  mode: Company['mode'],
): string | Given {
  if (typeof text !== 'string') return text;
  const url = absoluteUrl(text);
  if (!url) throw invalidField(field, urlRule('https://shop.example.com'));
  if (url.username || url.password) throw invalidField(field, 'must not contain a user name or password');
  const isDeveloping = mode !== 'live' && url.protocol === 'http:' && isLocalName(url.hostname);
  if (url.protocol !== 'https:' && !isDeveloping) throw invalidField(field, 'must begin with https://');
  return url.href;
}

export interface PreparedLogo {
  readonly id: string;
  readonly png: Buffer;
}

/** Checks the file and makes the logo of it. Runs before any transaction, because decoding may take long. */
export async function prepareLogo({ nowMs }: RequestContext, file: UploadedFile | undefined): Promise<PreparedLogo> {
  if (!file) throw invalidField('file', 'is required', 'required_field');
  const image = await prepareImage(file.path);
  if ('problem' in image) {
    const fieldErrors = [{ field: 'file', code: 'invalid_value', message: image.problem } as const];
    throw new ApiError('validation_error', `file: ${image.problem}`, { fieldErrors, stored: false });
  }
  return { id: newId(nowMs), png: await logoOf(file.path) };
}

export async function setLogo({ db, company }: RequestContext, logo: PreparedLogo | null): Promise<Profile> {
  await updateLogo(db, company.id, logo);
  return profileOf(db, company);
}

/** The PNG, unless another logo has replaced it. */
export async function logoWith(db: Queryable, companyId: string, logoId: string): Promise<Buffer | undefined> {
  return findLogo(db, companyId, logoId);
}

export async function logoOfProfile(db: Queryable, companyId: string): Promise<Buffer | undefined> {
  return findCurrentLogo(db, companyId);
}

/** The name of the company in the readable addresses of its payment links. */
export async function linkNameOf(db: Queryable, companyId: string): Promise<string | null> {
  return findLinkName(db, companyId);
}

export async function setLinkName(db: Queryable, companyId: string, name: string): Promise<void> {
  await updateLinkName(db, companyId, name);
}
