import { withLocale } from '../../http/locale.ts';
import { notFound } from '../../errors.ts';
import type { Deletion } from '../../http/schemas.ts';
import { hashPageToken, newPageToken } from '../../http/page-token.ts';
import { limits } from '../../limits.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { checkReturnUrl } from '../checkout-sessions/service.ts';
import { emailKeyOf, ensureActiveCustomer, localeOfCustomer } from '../customers/service.ts';
import {
  type CustomerSessionRow,
  deleteCustomerSession,
  deleteCustomerSessions,
  findCustomerSession,
  findCustomerSessionByToken,
  insertCustomerSession,
  knowsCustomerSession,
} from './queries.ts';
import type { CustomerSession, CustomerSessionCreate, DeletedCustomerSessions } from './schemas.ts';

/** Links to the page of one customer. A link is all that the page asks for, so it is valid for a short time. */

export interface CustomerPageDependencies {
  readonly baseUrl: string;
}

/** Real time: an advance of the sandbox clock must not end the session of a customer. */
const realMs = ({ nowMs, company }: RequestContext): number => nowMs - company.clockOffsetMs;

interface NewLink {
  readonly customerId: string;
  /** The address that the link is sent to. */
  readonly email?: string;
  readonly returnUrl?: string | undefined;
  readonly seconds?: number;
}

interface CustomerPageLink {
  readonly session: CustomerSessionRow;
  readonly url: string;
  readonly expiresAt: Date;
}

/**
 * Makes a link to the page of a customer, for the API and for emails. Only the hash of its token is stored. Returns
 * undefined if the customer was deleted or has another email address by now.
 */
export async function customerPageLink(
  context: RequestContext,
  { baseUrl }: CustomerPageDependencies,
  { customerId, email, returnUrl, seconds = limits.customerSessionSeconds }: NewLink,
): Promise<CustomerPageLink | undefined> {
  const { db, company, nowMs } = context;
  const token = newPageToken(company.id);
  const expiresAt = new Date(realMs(context) + seconds * 1000);
  const session: CustomerSessionRow = {
    company_id: company.id,
    id: newId(nowMs),
    customer_id: customerId,
    return_url: returnUrl ?? null,
    expires_at: expiresAt,
  };
  const emailKey = email === undefined ? null : emailKeyOf(email);
  if (!(await insertCustomerSession(db, session, hashPageToken(token), emailKey))) return undefined;
  const locale = await localeOfCustomer(context, customerId);
  const url = withLocale(`${baseUrl}/customer/${token}`, { locale, fallback: company.locale });
  return { session, url, expiresAt };
}

function toWire({ company }: RequestContext, row: CustomerSessionRow, url: string | null): CustomerSession {
  return {
    id: row.id,
    customer_id: row.customer_id,
    url,
    return_url: row.return_url,
    livemode: company.mode === 'live',
    expires_at: row.expires_at.toISOString(),
    created_at: createdAt(row.id),
  };
}

export async function createCustomerSession(
  context: RequestContext,
  dependencies: CustomerPageDependencies,
  input: CustomerSessionCreate,
): Promise<CustomerSession> {
  checkReturnUrl(context, 'return_url', input.return_url);
  const customerId = input.customer_id.toLowerCase();
  await ensureActiveCustomer(context, customerId, 'customer_id');
  const made = await customerPageLink(context, dependencies, { customerId, returnUrl: input.return_url });
  if (!made) throw notFound('customer', 'customer_id');
  return toWire(context, made.session, made.url);
}

export async function getCustomerSession(context: RequestContext, id: string): Promise<CustomerSession> {
  const row = await findCustomerSession(context.db, context.company.id, id);
  if (!row) throw notFound('customer session');
  return toWire(context, row, null);
}

export const customerSessionByToken = (
  context: RequestContext,
  token: string,
): Promise<CustomerSessionRow | undefined> =>
  findCustomerSessionByToken(context.db, context.company.id, hashPageToken(token), new Date(realMs(context)));

/** A link that does not work any more still tells its owner whose it was. */
export const endedSessionByToken = async (
  { db, company }: RequestContext,
  token: string,
): Promise<Record<string, never> | undefined> =>
  (await knowsCustomerSession(db, company.id, hashPageToken(token))) ? {} : undefined;

export async function endCustomerSession({ db, company }: RequestContext, id: string): Promise<Deletion> {
  if (!(await deleteCustomerSession(db, company.id, id))) throw notFound('customer session');
  return { id, deleted: true, message: 'The customer session was deleted.' };
}

/** Ends all links to the page of a customer, those in emails included. */
export async function endCustomerSessions(context: RequestContext, id: string): Promise<DeletedCustomerSessions> {
  const customerId = id.toLowerCase();
  await ensureActiveCustomer(context, customerId, 'id', { deletedToo: true });
  const count = await deleteCustomerSessions(context.db, context.company.id, customerId);
  return { customer_id: customerId, deleted_count: count };
}
