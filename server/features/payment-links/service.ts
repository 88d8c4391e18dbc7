import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import { hashPageToken, newPageToken } from '../../http/page-token.ts';
import type { PageRequest } from '../../http/route.ts';
import { mergeMetadata } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { dayMs } from '../../platform/durations.ts';
import { isUnchanged } from '../../platform/changed-fields.ts';
import { violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import {
  aboutToken,
  checkReturnUrl,
  type LinkDependencies,
  offerOf,
  openSession,
} from '../checkout-sessions/service.ts';
import { linkNameOf } from '../profile/service.ts';
import { partsOf } from './names.ts';
import { productsOf } from './new-products.ts';
import {
  countActiveLinks,
  countVisits,
  findLink,
  findLinkBySlug,
  findLinkByToken,
  insertLink,
  isLinkForAnyone,
  type LinkFilters,
  type LinkRow,
  listLinks,
  lockLink,
  updateLink,
} from './queries.ts';
import type { LinkVisits, PaymentLink, PaymentLinkCreate, PaymentLinkUpdate } from './schemas.ts';

/** The name of the company is read only for links whose address has it. */
async function allToWire(
  context: RequestContext,
  dependencies: LinkDependencies,
  rows: readonly LinkRow[],
): Promise<PaymentLink[]> {
  const isReadable = rows.some(({ slug }) => slug !== null);
  const name = isReadable ? await linkNameOf(context.db, context.company.id) : null;
  return rows.map((row) => toWire(context, dependencies, row, name));
}

async function oneToWire(context: RequestContext, dependencies: LinkDependencies, row: LinkRow): Promise<PaymentLink> {
  return toWire(
    context,
    dependencies,
    row,
    row.slug === null ? null : await linkNameOf(context.db, context.company.id),
  );
}

function toWire(
  { company }: RequestContext,
  { baseUrl, linkKey }: LinkDependencies,
  row: LinkRow,
  companyName: string | null,
): PaymentLink {
  return {
    id: row.id,
    name: row.name,
    url: `${baseUrl}/pay/${linkKey.open(row.sealed_token, aboutToken(row)).toString()}`,
    slug: row.slug,
    readable_url: companyName && row.slug ? `${baseUrl}/pay/${companyName}/${row.slug}` : null,
    mode: row.mode,
    items: [...row.items],
    plan_id: row.plan_id,
    capture: row.capture,
    success_url: row.success_url,
    coupon_code: row.coupon_code,
    allow_coupons: row.allow_coupons,
    collect: [...row.collect],
    metadata: row.metadata,
    locale: row.locale,
    active: row.active,
    max_payments: row.max_payments,
    ends_at: row.ends_at?.toISOString() ?? null,
    payments: row.payments,
    livemode: company.mode === 'live',
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

async function checkRoom({ db, company }: RequestContext): Promise<void> {
  if ((await countActiveLinks(db, company.id)) < limits.paymentLinks) return;
  const message = `A company can have at most ${limits.paymentLinks} active payment links. Deactivate one first.`;
  throw new ApiError('invalid_request', message);
}

/** A link that has ended never sells. To end one now, make it inactive. */
function checkEnd({ nowMs }: RequestContext, endsAt: string | undefined): void {
  if (endsAt === undefined || Date.parse(endsAt) > nowMs) return;
  throw invalidField('ends_at', 'must be in the future. To end the link now, set active to false');
}

export async function createLink(
  context: RequestContext,
  dependencies: LinkDependencies,
  input: PaymentLinkCreate,
): Promise<PaymentLink> {
  // A link and the products that it creates are one change.
  return context.db.transaction((db) => insertNew({ ...context, db }, dependencies, input));
}

async function refusingDuplicateSlug(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (violatedConstraint(error) !== 'payment_links_slug') throw error;
    throw new ApiError('resource_already_exists', 'Another payment link has this address.', { param: 'slug' });
  }
}

async function insertNew(
  context: RequestContext,
  dependencies: LinkDependencies,
  input: PaymentLinkCreate,
): Promise<PaymentLink> {
  const { company, nowMs, db } = context;
  checkEnd(context, input.ends_at);
  const { items, ...rest } = input;
  const offer = await offerOf(context, { ...rest, ...(items && { items: await productsOf(context, items) }) });
  await checkRoom(context);
  const token = newPageToken(company.id);
  const ids = { company_id: company.id, id: newId(nowMs) };
  const row: LinkRow = {
    ...ids,
    ...offer,
    sealed_token: dependencies.linkKey.seal(Buffer.from(token), aboutToken(ids)),
    name: input.name,
    success_url: input.success_url ?? null,
    coupon_code: input.coupon_code ?? null,
    allow_coupons: input.allow_coupons ?? false,
    collect: (input.collect ?? []) as LinkRow['collect'],
    metadata: input.metadata ?? {},
    active: true,
    max_payments: input.max_payments ?? null,
    ends_at: input.ends_at === undefined ? null : new Date(input.ends_at),
    payments: 0,
    updated_at: new Date(nowMs),
    slug: input.slug ?? null,
    locale: input.locale ?? null,
  };
  await refusingDuplicateSlug(insertLink(db, row, hashPageToken(token)));
  return oneToWire(context, dependencies, row);
}

export async function getLink(
  context: RequestContext,
  dependencies: LinkDependencies,
  id: string,
): Promise<PaymentLink> {
  const row = await findLink(context.db, context.company.id, id);
  if (!row) throw notFound('payment link');
  return oneToWire(context, dependencies, row);
}

export async function getLinks(
  context: RequestContext,
  dependencies: LinkDependencies,
  filters: LinkFilters,
  page: PageRequest,
): Promise<Page<PaymentLink>> {
  const found = await listLinks(context.db, context.company.id, filters, page);
  return { ...found, items: await allToWire(context, dependencies, found.items) };
}

/**
 * Each visit has opened a session, so visits are counted when the merchant looks, and visitors wait for nothing. Sessions that
 * were not paid are deleted later than these days.
 */
export async function getVisits({ db, company, nowMs }: RequestContext, id: string): Promise<LinkVisits> {
  if (!(await findLink(db, company.id, id))) throw notFound('payment link');
  const days = limits.eventRetentionDays;
  return { days, ...(await countVisits(db, company.id, id, nowMs - days * dayMs, limits.countedVisits)) };
}

/** Locks the link until the transaction ends. */
export async function lockedLink(
  context: RequestContext,
  dependencies: LinkDependencies,
  id: string,
): Promise<PaymentLink | undefined> {
  const row = await lockLink(context.db, context.company.id, id);
  return row && oneToWire(context, dependencies, row);
}

export async function changeLink(
  context: RequestContext,
  dependencies: LinkDependencies,
  id: string,
  input: PaymentLinkUpdate,
): Promise<PaymentLink> {
  const { company, nowMs, db } = context;
  checkReturnUrl(context, 'success_url', input.success_url);
  return db.transaction(async (transaction) => {
    const row = await lockLink(transaction, company.id, id);
    if (!row) throw notFound('payment link');
    if (input.active && !row.active) await checkRoom({ ...context, db: transaction });
    if (input.slug && !(await isLinkForAnyone(transaction, company.id, id))) {
      throw invalidField('slug', 'must be null: this link is for one customer');
    }
    const { metadata, ends_at, ...plain } = input;
    const changed: LinkRow = {
      ...row,
      ...plain,
      ends_at: ends_at === undefined ? row.ends_at : new Date(ends_at),
      metadata: mergeMetadata(row.metadata, metadata),
      updated_at: new Date(nowMs),
    };
    const [before, after] = (await allToWire({ ...context, db: transaction }, dependencies, [row, changed])) as [
      PaymentLink,
      PaymentLink,
    ];
    if (isUnchanged(before, after)) return before;
    if (ends_at !== undefined && before.ends_at !== after.ends_at) checkEnd(context, ends_at);
    await refusingDuplicateSlug(updateLink(transaction, changed));
    return after;
  });
}

/** By the token of its address, or by the two parts of its readable address. */
export function linkByToken({ db, company }: RequestContext, token: string): Promise<LinkRow | undefined> {
  const slug = partsOf(token)?.slug;
  return slug ? findLinkBySlug(db, company.id, slug) : findLinkByToken(db, company.id, hashPageToken(token));
}

/** Whether a visitor can pay with the link, and if not, why. */
export type LinkState = 'open' | 'inactive' | 'ended' | 'sold_out' | 'unavailable';

export function stateOf({ company, nowMs }: RequestContext, link: LinkRow): LinkState {
  const { active, max_payments, payments, ends_at, failed_order } = link;
  if (!active || (failed_order && failed_order.status !== 'failed')) return 'inactive';
  if (ends_at !== null && ends_at.getTime() <= nowMs) return 'ended';
  if (max_payments !== null && payments >= max_payments) return 'sold_out';
  return company.processor ? 'open' : 'unavailable';
}

/** Opens a session for a visit of a link that is open. Returns the URL of its page. */
export async function visitLink(
  context: RequestContext,
  dependencies: LinkDependencies,
  link: LinkRow,
): Promise<string> {
  const { url } = await openSession(context, dependencies, {
    locale: link.locale,
    mode: link.mode,
    items: link.items,
    plan_id: link.plan_id,
    capture: link.capture,
    customer_id: link.failed_order?.customer_id ?? null,
    success_url: link.success_url,
    cancel_url: null,
    coupon_code: link.coupon_code,
    allow_coupons: link.allow_coupons,
    collect: link.collect,
    metadata: link.metadata,
    payment_link_id: link.id,
    expiresInSeconds: limits.checkoutSeconds,
  });
  if (url === null) throw new Error('A new session has a URL.');
  return url;
}
