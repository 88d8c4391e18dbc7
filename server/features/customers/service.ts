import { ApiError, type ErrorCode, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import { type Deletion, mergeMetadata } from '../../http/schemas.ts';
import { isUnchanged } from '../../platform/changed-fields.ts';
import { type Database, type Queryable, violatedConstraint } from '../../platform/database.ts';
import { createdAt, newId } from '../../platform/ids.ts';
import { e164 } from '../../platform/phone.ts';
import { taxIdOf } from '../../platform/tax-ids.ts';
import {
  type CustomerFilters,
  type CustomerKeys,
  type CustomerRow,
  findCustomer,
  findCustomers,
  hardDeleteCustomer,
  insertCustomer,
  isPhoneTaken,
  listCustomers,
  lockCustomer,
  lockCustomerAlone,
  replaceDefaultPaymentMethod,
  softDeleteCustomer,
  updateCustomer,
  updateDefaultPaymentMethod,
  wasDeleted,
} from './queries.ts';
import { emitEvents, newEvent, previousOf } from '../events/service.ts';
import type { Customer, CustomerCreate, CustomerUpdate, ShippingAddress, ShippingAddressInput } from './schemas.ts';
import { searchEntries } from './search.ts';
import type { RequestContext } from '../../request-context.ts';

/**
 * The orders and subscriptions that prevent the deletion of a customer. The checks run inside the transaction that
 * deletes.
 */
export interface CustomerHistory {
  hasOpenSubscriptions(db: Database, companyId: string, customerId: string): Promise<boolean>;
  /** Whether there are orders, or subscriptions that were never charged. */
  hasHistory(db: Database, companyId: string, customerId: string): Promise<boolean>;
  /** Ends what is left of the credit. Returns whether there ever was any, so that its entries are kept. */
  endCredit(db: Database, companyId: string, customerId: string, nowMs: number): Promise<boolean>;
  /** Cancels the subscriptions that wait for a payment which will not arrive. */
  cancelSubscriptions(context: RequestContext, db: Database, customerId: string): Promise<void>;
  subscriptionsOf(context: RequestContext, customerIds: readonly string[]): Promise<Map<string, object[]>>;
}

interface CustomerCards {
  /** Removes the customer's cards from the vault; their rows stay if orders may refer to them. */
  releaseCards(db: Database, companyId: string, customerId: string, now: Date, keepRows: boolean): Promise<void>;
  paymentMethodsOf(db: Queryable, companyId: string, customerIds: readonly string[]): Promise<Map<string, object[]>>;
}

export type CustomerReferences = CustomerHistory & CustomerCards;

function toWire(row: CustomerRow): Customer {
  return {
    id: row.id,
    email: row.email,
    first_name: row.first_name,
    last_name: row.last_name,
    phone: row.phone,
    company: row.company,
    tax_id: row.tax_id,
    locale: row.locale,
    shipping_address: row.shipping_address,
    default_payment_method_id: row.default_payment_method_id,
    tags: row.tags,
    metadata: row.metadata,
    deleted: row.deleted_at !== null,
    deleted_at: row.deleted_at?.toISOString() ?? null,
    created_at: createdAt(row.id),
    updated_at: row.updated_at.toISOString(),
  };
}

export const emailKeyOf = (email: string): string => email.normalize('NFC').toLowerCase();
const phoneKeyOf = (phone: string): string => phone.replace(/\D/g, '');

function keysOf(companyId: string, row: CustomerRow): CustomerKeys {
  return {
    emailKey: emailKeyOf(row.email),
    phoneKey: phoneKeyOf(row.phone),
    searchWords: searchEntries(companyId, [row.first_name, row.last_name, row.email, row.company], row.tags),
  };
}

function addressOf(input: ShippingAddressInput, id: string): ShippingAddress {
  const { name, line1, line2, city, state, postal_code, country, phone } = input;
  return {
    id,
    name: name ?? null,
    line1: line1 ?? null,
    line2: line2 ?? null,
    city: city ?? null,
    state: state ?? null,
    postal_code: postal_code ?? null,
    country: country ?? null,
    phone: phone ?? null,
  };
}

const taxIdIn = (text: string | null | undefined): string | null => (text ? taxIdOf(text) : null);

const uniqueConstraints: Readonly<Record<string, { code: ErrorCode; field: string; what: string }>> = {
  customers_email: { code: 'email_already_exists', field: 'email', what: 'email address' },
  customers_phone: { code: 'phone_already_exists', field: 'phone', what: 'phone number' },
};

async function refusingDuplicates<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    const duplicate = uniqueConstraints[violatedConstraint(error) ?? ''];
    if (!duplicate) throw error;
    throw new ApiError(duplicate.code, `Another customer has this ${duplicate.what}.`, { param: duplicate.field });
  }
}

interface CreateOptions {
  /** A number that another customer has is stored without claiming it, so that the caller learns nothing about it. */
  readonly sharesPhone?: boolean;
}

export async function createCustomer(
  { db, company, nowMs, requestId }: RequestContext,
  input: CustomerCreate,
  options: CreateOptions = {},
): Promise<Customer> {
  const row: CustomerRow = {
    id: newId(nowMs),
    email: input.email,
    first_name: input.first_name,
    last_name: input.last_name,
    phone: e164(input.phone),
    company: input.company ?? null,
    tax_id: taxIdIn(input.tax_id),
    locale: input.locale ?? null,
    shipping_address: input.shipping_address ? addressOf(input.shipping_address, newId(nowMs)) : null,
    default_payment_method_id: null,
    tags: input.tags ?? [],
    metadata: input.metadata ?? {},
    sequence: 1,
    updated_at: new Date(nowMs),
    deleted_at: null,
  };
  const customer = toWire(row);
  const created = newEvent(company.id, nowMs, 'customer.created', customer, 1, requestId);
  const keys = keysOf(company.id, row);
  const isShared = options.sharesPhone && (await isPhoneTaken(db, company.id, phoneKeyOf(row.phone)));
  await refusingDuplicates(insertCustomer(db, company.id, row, isShared ? { ...keys, phoneKey: null } : keys, created));
  return customer;
}

async function expanded(
  context: RequestContext,
  references: CustomerReferences,
  customers: readonly Customer[],
  expand: ReadonlySet<string>,
): Promise<Customer[]> {
  const ids = customers.map((customer) => customer.id);
  const { db, company } = context;
  const cards = expand.has('payment_methods') ? await references.paymentMethodsOf(db, company.id, ids) : undefined;
  const subscriptions = expand.has('subscriptions') ? await references.subscriptionsOf(context, ids) : undefined;
  return customers.map((customer) => ({
    ...customer,
    ...(cards && { payment_methods: cards.get(customer.id) ?? [] }),
    ...(subscriptions && { subscriptions: subscriptions.get(customer.id) ?? [] }),
  }));
}

export async function getCustomer(
  context: RequestContext,
  references: CustomerReferences,
  id: string,
  expand: ReadonlySet<string>,
): Promise<Customer> {
  const row = await findCustomer(context.db, context.company.id, id);
  if (!row) throw notFound('customer');
  const [customer] = await expanded(context, references, [toWire(row)], expand);
  return customer ?? toWire(row);
}

function refuseDeleted(param = 'customer_id'): never {
  throw new ApiError('invalid_request', 'This customer was deleted and cannot be changed.', { param });
}

export interface ActiveCustomer {
  readonly id: string;
  readonly defaultPaymentMethodId: string | null;
  readonly shippingAddress: ShippingAddress | null;
}

/**
 * For objects that belong to a customer: the customer must exist and not be deleted, and stays so until the
 * transaction ends.
 */
export async function lockActiveCustomer(
  db: Database,
  companyId: string,
  id: string,
  param = 'id',
): Promise<ActiveCustomer> {
  const row = await lockCustomer(db, companyId, id);
  if (row?.deleted_at || (!row && (await wasDeleted(db, companyId, id)))) refuseDeleted();
  if (!row) throw notFound('customer', param);
  return {
    id: row.id,
    defaultPaymentMethodId: row.default_payment_method_id,
    shippingAddress: row.shipping_address,
  };
}

/** The same check without a lock, for requests that change nothing yet. */
export async function ensureActiveCustomer(
  { db, company }: RequestContext,
  id: string,
  param: string,
  options: { deletedToo?: boolean } = {},
): Promise<void> {
  const row = await findCustomer(db, company.id, id);
  if (!row && !options.deletedToo && (await wasDeleted(db, company.id, id))) refuseDeleted();
  if (!row) throw notFound('customer', param);
  if (row.deleted_at && !options.deletedToo) refuseDeleted();
}

export async function isCustomerDeleted(db: Queryable, companyId: string, id: string): Promise<boolean> {
  const row = await findCustomer(db, companyId, id);
  return row === undefined || row.deleted_at !== null;
}

/** The language of the customer; null if it is not known. */
export const localeOfCustomer = async ({ db, company }: RequestContext, id: string): Promise<string | null> =>
  (await findCustomer(db, company.id, id))?.locale ?? null;

export const setDefaultPaymentMethod = updateDefaultPaymentMethod;

/**
 * Another card of the customer becomes the default, or none is left. No card event reports this, so the customer
 * event does.
 */
export async function changeDefaultPaymentMethod(
  { company, nowMs, requestId }: RequestContext,
  db: Database,
  id: string,
  paymentMethodId: string | null,
): Promise<void> {
  const current = await lockCustomer(db, company.id, id);
  if (!current || current.default_payment_method_id === paymentMethodId) return;
  const row: CustomerRow = {
    ...current,
    default_payment_method_id: paymentMethodId,
    sequence: current.sequence + 1,
    updated_at: new Date(nowMs),
  };
  await replaceDefaultPaymentMethod(db, company.id, row);
  const previous = previousOf(toWire(current), toWire(row));
  await emitEvents(db, [
    newEvent(company.id, nowMs, 'customer.updated', toWire(row), row.sequence, requestId, previous),
  ]);
}

/** Finds the customer with this email address that is not deleted. */
export async function findCustomerByEmail(
  { db, company }: RequestContext,
  email: string,
): Promise<Customer | undefined> {
  const filters = { emailKey: emailKeyOf(email), q: undefined, tags: undefined, includeDeleted: false };
  const page = { limit: 1, sort: { field: 'created_at', descending: true }, cursor: null };
  const [row] = (await listCustomers(db, company.id, filters, page)).items;
  return row && toWire(row);
}

/** For objects that are expanded with their customer; includes deleted customers. */
export async function customersById(
  { db, company }: RequestContext,
  ids: readonly string[],
): Promise<Map<string, Customer>> {
  const rows = await findCustomers(db, company.id, [...new Set(ids)]);
  return new Map(rows.map((row) => [row.id, toWire(row)]));
}

/** Returns customers without expanded objects. */
export async function searchCustomers(
  { db, company }: RequestContext,
  q: string,
  page: PageRequest,
): Promise<Customer[]> {
  return (
    await listCustomers(db, company.id, { q, emailKey: undefined, tags: undefined, includeDeleted: false }, page)
  ).items.map(toWire);
}

export async function getCustomers(
  context: RequestContext,
  references: CustomerReferences,
  filters: CustomerFilters,
  page: PageRequest,
  expand: ReadonlySet<string>,
): Promise<Page<Customer>> {
  const found = await listCustomers(context.db, context.company.id, filters, page);
  return { ...found, items: await expanded(context, references, found.items.map(toWire), expand) };
}

/** Locks the customer until the transaction ends. */
export async function lockedCustomer({ db, company }: RequestContext, id: string): Promise<Customer | undefined> {
  const row = await lockCustomer(db, company.id, id);
  return row && !row.deleted_at ? toWire(row) : undefined;
}

export async function changeCustomer(context: RequestContext, id: string, input: CustomerUpdate): Promise<Customer> {
  const { db, company, nowMs, requestId } = context;
  return db.transaction(async (transaction) => {
    const current = await lockCustomer(transaction, company.id, id);
    if (current?.deleted_at || (!current && (await wasDeleted(transaction, company.id, id)))) refuseDeleted();
    if (!current) throw notFound('customer');
    const row = merged(current, input, nowMs);
    const [unchanged, customer] = [toWire(current), toWire(row)];
    if (isUnchanged(unchanged, customer)) return unchanged;
    const previous = previousOf(unchanged, customer);
    const sequence = current.sequence + 1;
    const updated = newEvent(company.id, nowMs, 'customer.updated', customer, sequence, requestId, previous);
    const stored = refusingDuplicates(updateCustomer(transaction, company.id, row, keysOf(company.id, row)));
    await Promise.all([stored, emitEvents(transaction, [updated])]);
    return customer;
  });
}

function merged(current: CustomerRow, input: CustomerUpdate, nowMs: number): CustomerRow {
  const address = input.shipping_address;
  return {
    ...current,
    email: input.email ?? current.email,
    first_name: input.first_name ?? current.first_name,
    last_name: input.last_name ?? current.last_name,
    phone: input.phone === undefined ? current.phone : e164(input.phone),
    company: input.company === undefined ? current.company : input.company,
    tax_id: input.tax_id === undefined ? current.tax_id : taxIdIn(input.tax_id),
    locale: input.locale === undefined ? current.locale : input.locale,
    shipping_address:
      address === undefined
        ? current.shipping_address
        : address && addressOf(address, current.shipping_address?.id ?? newId(nowMs)),
    tags: input.tags ?? current.tags,
    metadata: mergeMetadata(current.metadata, input.metadata),
    updated_at: new Date(nowMs),
  };
}

const deleted = (id: string, message: string): Deletion => ({ id, deleted: true, message });

export async function deleteCustomer(
  context: RequestContext,
  id: string,
  references: CustomerReferences,
): Promise<Deletion> {
  const { db, company, nowMs, requestId } = context;
  return db.transaction(async (transaction) => {
    const row = await lockCustomerAlone(transaction, company.id, id);
    if (!row) {
      if (await wasDeleted(transaction, company.id, id)) return deleted(id, 'The customer was already deleted.');
      throw notFound('customer');
    }
    if (row.deleted_at) return deleted(id, 'The customer was already deleted.');
    if (await references.hasOpenSubscriptions(transaction, company.id, id)) {
      throw new ApiError(
        'customer_has_active_subscriptions',
        'The customer has active or paused subscriptions. Cancel them first.',
      );
    }
    const gone = toWire({ ...row, deleted_at: new Date(nowMs), default_payment_method_id: null });
    const event = newEvent(company.id, nowMs, 'customer.deleted', gone, row.sequence + 1, requestId);
    await emitEvents(transaction, [event]);
    await references.cancelSubscriptions(context, transaction, id);
    const hadCredit = await references.endCredit(transaction, company.id, id, nowMs);
    const keep = hadCredit || (await references.hasHistory(transaction, company.id, id));
    await references.releaseCards(transaction, company.id, id, new Date(nowMs), keep);
    if (keep) {
      await softDeleteCustomer(transaction, company.id, id, new Date(nowMs));
      return deleted(id, 'The customer was deleted. Past orders are kept.');
    }
    await hardDeleteCustomer(transaction, company.id, id);
    return deleted(id, 'The customer was deleted.');
  });
}
