import { defaultLocale } from '../../customer-texts/languages.ts';
import { type Words, wordsFor } from '../../customer-texts/words.ts';
import { ApiError, notFound, tooManyRequests } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { addressBucket } from '../../platform/addresses.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { createdAt, idTimeMs, newId } from '../../platform/ids.ts';
import type { RateLimiter } from '../../platform/rate-limiter/rate-limiter.ts';
import { readsLikeAddress, withoutAddresses } from '../../platform/web-addresses.ts';
import type { RequestContext } from '../../request-context.ts';
import { emailKeyOf } from '../customers/service.ts';
import { writeRequestedMail } from '../mails/service.ts';
import type { Profile } from '../profile/schemas.ts';
import { profileOf } from '../profile/service.ts';
import { endRenewal } from '../subscriptions/service.ts';
import {
  type DeclarationRow,
  findDeclarationOf,
  findDeclaredOrder,
  insertDeclaration,
  listDeclarations,
  markHandled,
  recordEnd,
} from './queries.ts';
import type { Declaration, DeclarationInput, DeclarationKind, Declarations } from './schemas.ts';

/**
 * What customers declare on a page of the merchant without signing in. It takes effect when it arrives, so it is stored and confirmed
 * in one commit; what it means for a contract is for the merchant to say, unless the order number shows which subscription to end.
 */

export interface DeclarationDependencies {
  readonly limiter: RateLimiter;
  readonly clock: Clock;
}

/** What the page shows. It never says whether the order is known. */
export interface Received {
  readonly email: string;
  readonly time: string;
}

/** In UTC, which is the same wherever the email is read. */
const timeText = (row: Pick<DeclarationRow, 'id'>, { locale }: Words): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(idTimeMs(row.id));

export async function declare(
  { limiter, clock }: DeclarationDependencies,
  context: RequestContext,
  kind: DeclarationKind,
  input: DeclarationInput,
  address: string,
): Promise<Received> {
  const { company, db, locale = defaultLocale } = context;
  const emailKey = emailKeyOf(input.email);
  const key = `{${company.id}}:declarations`;
  const network = addressBucket(address);
  const decisions = await limiter.consume(
    [
      { key: `${key}:${network}`, limit: limits.declarationsPerAddress },
      { key: `${key}:day ${network}`, limit: limits.declarationsPerAddressAndDay },
      { key: `${key}:email ${emailKey}`, limit: limits.declarationsPerEmail },
      { key: `${key}:company`, limit: limits.declarationsPerCompany },
    ],
    clock.nowMs(),
  );
  const refused = decisions.find(({ allowed }) => !allowed);
  if (refused) throw tooManyRequests('Too many declarations. Try again later.', refused.retryAfterSeconds);
  const words = await wordsFor(locale);
  return db.transaction(async (transaction) => {
    const inside = { ...context, db: transaction };
    const profile = await profileOf(transaction, company);
    const row = await record(inside, kind, input, locale);
    if (row.isNew) await confirm(inside, words, profile, row, await endOf(inside, profile, row));
    return { email: row.email, time: timeText(row, words) };
  });
}

type Recorded = DeclarationRow & { readonly isNew: boolean };

async function record(
  { db, company, nowMs }: RequestContext,
  kind: DeclarationKind,
  input: DeclarationInput,
  locale: string,
): Promise<Recorded> {
  const found = await findDeclaredOrder(db, company.id, emailKeyOf(input.email), input.contract.trim());
  const row: DeclarationRow = {
    id: newId(nowMs),
    request: input.request.toLowerCase(),
    kind,
    name: input.name.trim(),
    email: input.email,
    contract: input.contract.trim(),
    message: input.message?.trim() || null,
    locale,
    customer_id: found?.customer_id ?? null,
    order_id: found?.order_id ?? null,
    subscription_id: found?.subscription_id ?? null,
    ends_at: null,
    handled_at: null,
  };
  if (await insertDeclaration(db, company.id, row)) return { ...row, isNew: true };
  const before = await findDeclarationOf(db, company.id, row.request);
  return { ...(before ?? row), isNew: false };
}

/** Who has the order number has the receipt. A renewal that cannot be ended now is left to the merchant. */
async function endOf(context: RequestContext, { customer_page }: Profile, row: DeclarationRow): Promise<Date | null> {
  const { db, company, nowMs } = context;
  if (row.kind !== 'cancel' || !customer_page.allow_end_renewal) return null;
  if (row.subscription_id === null || row.customer_id === null) return null;
  try {
    const { end_date, current_period_end } = await endRenewal(context, row.subscription_id, row.customer_id);
    if (end_date === null || current_period_end === null) return null;
    const endsAt = new Date(current_period_end);
    await recordEnd(db, company.id, row.id, endsAt, new Date(nowMs));
    return endsAt;
  } catch (error) {
    if (error instanceof ApiError) return null;
    throw error;
  }
}

async function confirm(
  { db, company, nowMs }: RequestContext,
  words: Words,
  profile: Profile,
  row: DeclarationRow,
  endsAt: Date | null,
): Promise<void> {
  const { declarations: texts } = words.texts;
  const values = { merchant: profile.display_name, time: timeText(row, words) };
  const { subject, received, follows } = texts[row.kind];
  const next = endsAt
    ? words.fill(texts.cancel.ends, { name: row.contract, date: words.date(endsAt) })
    : words.fill(follows, values);
  // A stranger may have typed these for another address than theirs, and would choose a text that we send.
  const content: readonly (readonly [string, string | null])[] = [
    [texts.name, readsLikeAddress(row.name) ? null : row.name],
    [texts.email, row.email],
    [texts.contract, withoutAddresses(row.contract)],
    [texts.message, row.message && withoutAddresses(row.message)],
  ];
  const lines = content.flatMap(([label, value]) => (value === null ? [] : [`${label}: ${value}`]));
  await writeRequestedMail(db, company.id, nowMs, {
    recipient: row.email,
    subject: words.fill(subject, values),
    body: [words.fill(received, values), '', ...lines, '', next, ''].join('\n'),
    ...{ as: 'answer', about: row.id },
  });
  await notifyMerchant(db, company.id, profile, row, endsAt, nowMs);
}

async function notifyMerchant(
  db: Database,
  companyId: string,
  { support_email }: Profile,
  row: DeclarationRow,
  endsAt: Date | null,
  nowMs: number,
): Promise<void> {
  if (support_email === null) return;
  const what = row.kind === 'cancel' ? 'cancellation' : 'withdrawal';
  const done = endsAt
    ? `The subscription does not renew. It ends on ${endsAt.toISOString().slice(0, 10)}.`
    : 'Please answer the customer. The dashboard shows it under Declarations.';
  const body = [
    `A ${what} arrived at ${createdAt(row.id)}.`,
    '',
    `Name: ${row.name}`,
    `Email: ${row.email}`,
    `Order or subscription: ${row.contract}`,
    ...(row.message === null ? [] : [`Message: ${row.message}`]),
    '',
    done,
    '',
  ].join('\n');
  const subject = `A customer sent a ${what}`;
  await writeRequestedMail(db, companyId, nowMs, {
    recipient: support_email,
    subject,
    body,
    as: 'notice',
    about: row.id,
  });
}

const toWire = (row: DeclarationRow): Declaration => {
  const { id, kind, name, email, contract, message, customer_id, order_id, subscription_id } = row;
  return {
    ...{ id, kind, name, email, contract, message, customer_id, order_id, subscription_id },
    ends_at: row.ends_at?.toISOString() ?? null,
    handled_at: row.handled_at?.toISOString() ?? null,
    created_at: createdAt(id),
  };
};

export async function getDeclarations({ db, company }: RequestContext): Promise<Declarations> {
  return { data: (await listDeclarations(db, company.id, limits.shownDeclarations)).map(toWire) };
}

export async function handleDeclaration({ db, company, nowMs }: RequestContext, id: string): Promise<Declaration> {
  const row = await markHandled(db, company.id, id.toLowerCase(), new Date(nowMs));
  if (!row) throw notFound('declaration');
  return toWire(row);
}
