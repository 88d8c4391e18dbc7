import { ApiError, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import { lackingOf } from '../../http/caller.ts';
import { hashPageToken, newPageToken } from '../../http/page-token.ts';
import type { PageRequest } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import type { Company } from '../../company.ts';
import type { Database } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import type { ServiceKey } from '../../platform/service-keys.ts';
import type { RequestContext } from '../../request-context.ts';
import { ensureActiveCustomer, localeOfCustomer } from '../customers/service.ts';
import { emitEvents, newEvent } from '../events/service.ts';
import { findCardTesting } from './card-testing-queries.ts';
import { isUnderAttack } from './card-testing.ts';
import { checkReturnUrl, offerOf, setupOffer } from './offer.ts';
import {
  expireSession,
  findDueSessionsOf,
  findSession,
  findSessionByToken,
  insertSession,
  listSessions,
  lockSession,
  type SessionFilters,
  type SessionRow,
} from './queries.ts';
import type { CheckoutSession, CheckoutSessionCreate } from './schemas.ts';
import { aboutToken, toWire, urlOf } from './session.ts';

export { type CardTestingGuard, forgetPaid, limitingDeclines } from './card-testing.ts';
export { checkReturnUrl, offerOf } from './offer.ts';
export { type CheckoutPageDependencies, merchantOf, paySessionById } from './page.ts';
export type { Merchant } from './page-session.ts';
export { withPresence } from './presence.ts';
export { browserInput, returnInput } from './page-schemas.ts';
export { priceNow } from './quote.ts';
export { completeSetupSession } from './setup.ts';
export { aboutToken } from './session.ts';

export interface LinkDependencies {
  readonly baseUrl: string;
  /** Encrypts the tokens of pages. */
  readonly linkKey: ServiceKey;
}

/** The page can charge the saved cards of its customer, so reading sessions does not include its URL. */
const shown = ({ company, caller }: RequestContext, dependencies: LinkDependencies, row: SessionRow): CheckoutSession =>
  toWire(
    row,
    company,
    lackingOf(caller, ['checkout_sessions:write']).length > 0 ? null : urlOf(row, company, dependencies),
  );

export async function createSession(
  context: RequestContext,
  dependencies: LinkDependencies,
  input: CheckoutSessionCreate,
): Promise<CheckoutSession> {
  checkReturnUrl(context, 'cancel_url', input.cancel_url);
  const offer = input.mode === 'setup' ? setupOffer(context, input) : await offerOf(context, input);
  const customerId = input.customer_id?.toLowerCase() ?? null;
  if (customerId) await ensureActiveCustomer(context, customerId, 'customer_id');
  return openSession(context, dependencies, {
    ...offer,
    customer_id: customerId,
    success_url: input.success_url ?? null,
    cancel_url: input.cancel_url ?? null,
    locale: input.locale ?? (customerId && (await localeOfCustomer(context, customerId))),
    coupon_code: input.coupon_code ?? null,
    allow_coupons: input.allow_coupons ?? false,
    collect: (input.collect ?? []) as SessionRow['collect'],
    metadata: input.metadata ?? {},
    payment_link_id: null,
    expiresInSeconds: input.expires_in ?? limits.checkoutSeconds,
  });
}

type NewSession = Pick<
  SessionRow,
  | 'mode'
  | 'items'
  | 'plan_id'
  | 'capture'
  | 'customer_id'
  | 'success_url'
  | 'cancel_url'
  | 'locale'
  | 'coupon_code'
  | 'allow_coupons'
  | 'collect'
  | 'metadata'
  | 'payment_link_id'
> & { readonly expiresInSeconds: number };

export async function openSession(
  context: RequestContext,
  dependencies: LinkDependencies,
  { expiresInSeconds, ...chosen }: NewSession,
): Promise<CheckoutSession> {
  const { company, nowMs, db } = context;
  const token = newPageToken(company.id);
  const ids = { company_id: company.id, id: newId(nowMs) };
  const row: SessionRow = {
    ...chosen,
    ...ids,
    sealed_token: dependencies.linkKey.seal(Buffer.from(token), aboutToken(ids)),
    status: 'open',
    made_customer_id: null,
    order_id: null,
    subscription_id: null,
    payment_method_id: null,
    attempts: 0,
    failure: null,
    expires_at: new Date(nowMs + expiresInSeconds * 1000),
    completed_at: null,
    updated_at: new Date(nowMs),
    paying: false,
  };
  await insertSession(db, row, hashPageToken(token));
  return toWire(row, company, urlOf(row, company, dependencies));
}

export async function getSession(
  context: RequestContext,
  dependencies: LinkDependencies,
  id: string,
): Promise<CheckoutSession> {
  const row = await findSession(context.db, context.company.id, id);
  if (!row) throw notFound('checkout session');
  return shown(context, dependencies, row);
}

export async function getSessions(
  context: RequestContext,
  dependencies: LinkDependencies,
  filters: SessionFilters,
  page: PageRequest,
): Promise<Page<CheckoutSession>> {
  const found = await listSessions(context.db, context.company.id, filters, page);
  return { ...found, items: found.items.map((row) => shown(context, dependencies, row)) };
}

export const sessionByToken = ({ db, company }: RequestContext, token: string): Promise<SessionRow | undefined> =>
  findSessionByToken(db, company.id, hashPageToken(token));

/** Closes the page. A session whose payment is in progress stays open. */
export async function expireNow(context: RequestContext, id: string): Promise<CheckoutSession> {
  const { db, company, nowMs, requestId } = context;
  return db.transaction(async (transaction) => {
    const row = await lockSession(transaction, company.id, id);
    if (!row) throw notFound('checkout session');
    if (row.status !== 'open') {
      throw new ApiError('invalid_state_transition', `The session is ${row.status}. Only an open session can expire.`);
    }
    if (row.paying) {
      const message = 'A payment of this session is in progress. Retry when its outcome is known.';
      throw new ApiError('resource_in_use', message, { headers: { 'Retry-After': '5' } });
    }
    const expired = await expireSession(transaction, company.id, id, new Date(nowMs));
    const session = toWire(expired ?? row, company, null);
    await emitEvents(transaction, [newEvent(company.id, nowMs, 'checkout_session.expired', session, 1, requestId)]);
    return session;
  });
}

/** For the worker: expires a session whose time is over. */
export async function expireDue(
  context: Pick<RequestContext, 'db'>,
  company: Pick<Company, 'id' | 'mode'>,
  id: string,
  now: Date,
): Promise<void> {
  await context.db.transaction(async (transaction) => {
    // A payment may begin at this moment. It holds the lock until it is recorded.
    const row = await lockSession(transaction, company.id, id);
    if (row?.status !== 'open' || row.paying) return;
    const expired = await expireSession(transaction, company.id, id, now);
    // A visit of a payment link that never became a payment is not worth an event.
    if (!expired || (expired.payment_link_id !== null && expired.attempts === 0)) return;
    const session = toWire(expired, company, null);
    await emitEvents(transaction, [newEvent(company.id, now.getTime(), 'checkout_session.expired', session, 1, null)]);
  });
}

/** While the clock of a company is advanced: each session expires at its own time. */
export async function expireSessionsOf(
  db: Database,
  company: Pick<Company, 'id' | 'mode'>,
  until: Date,
): Promise<void> {
  for (;;) {
    const due = await findDueSessionsOf(db, company.id, until, expiredAtOnce);
    for (const { id, expires_at } of due) await expireDue({ db }, company, id, expires_at);
    if (due.length < expiredAtOnce) return;
  }
}

const expiredAtOnce = 100;

export async function getCardTesting({ db, company, nowMs }: RequestContext) {
  const row = await findCardTesting(db, company.id);
  return {
    under_attack: isUnderAttack(row, nowMs - company.clockOffsetMs),
    started_at: row?.started_at.toISOString() ?? null,
    last_at: row?.last_at.toISOString() ?? null,
    declined: row?.declined ?? 0,
  };
}
