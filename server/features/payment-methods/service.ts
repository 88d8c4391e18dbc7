import { ApiError, invalidField, notFound } from '../../errors.ts';
import type { Page } from '../../http/lists.ts';
import type { PageRequest } from '../../http/route.ts';
import type { Deletion } from '../../http/schemas.ts';
import type { Database, Queryable } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import { type EventRow, emitEvents, newEvent } from '../events/service.ts';
import { changeDefaultPaymentMethod, lockActiveCustomer, setDefaultPaymentMethod } from '../customers/service.ts';
import { type CardDependencies, checkBilling, redeemToken, type VaultedCard, vaultCard } from './card-tokens.ts';
import { refuseToken } from './card-rules.ts';
import { attachedEvent, detachedSequence, noLongerStored, tooManyCards, toWire } from './shown.ts';
import {
  attachAtOnce,
  type CardFacts,
  deletePaymentMethods,
  findPaymentMethod,
  findPaymentMethodsOf,
  forgetPaymentMethods,
  hasPlaceForCard,
  insertPaymentMethod,
  listPaymentMethod,
  listPaymentMethods,
} from './queries.ts';
import type {
  BillingDetails,
  CardCapture,
  PaymentMethod,
  PaymentMethodAttach,
  PaymentMethodUpdate,
} from './schemas.ts';
import type { BrandName } from '../../platform/card-brands.ts';
import type { RequestContext } from '../../request-context.ts';

export { createCardToken, testedFingerprint, wasUsedFor } from './card-tokens.ts';
export { CardNotVerified, noCardRules } from './card-rules.ts';
export { type CardDependencies, vaultCard, type VaultedCard };
export { attachPending, dropPending, listPending } from './pending-cards.ts';

/** Whether subscriptions use a card. The checks run inside the transaction that changes it. */
export interface PaymentMethodReferences {
  inUse(db: Database, companyId: string, paymentMethodId: string): Promise<boolean>;
  /** Moves the customer's subscriptions to a card: all of them, or those on one card. */
  repoint(
    context: RequestContext,
    db: Database,
    customerId: string,
    to: { readonly id: string; readonly brand: BrandName; readonly last4: string },
    from?: string,
  ): Promise<void>;
}

interface AttachOptions {
  /** For a card whose owner may not be the customer: it is neither listed nor made the default. */
  readonly unlisted?: boolean;
}

export async function attachCard(
  context: RequestContext,
  dependencies: CardDependencies,
  references: PaymentMethodReferences,
  customerId: string,
  input: PaymentMethodAttach,
): Promise<PaymentMethod> {
  return context.db.transaction(async (transaction) => {
    const customer = await lockActiveCustomer(transaction, context.company.id, customerId);
    const card = await redeemCard({ ...context, db: transaction }, dependencies, input);
    return addCard(transaction, context, references, customer, card, card.billingDetails, input);
  });
}

export interface RedeemedCard extends CardFacts {
  readonly billingDetails: BillingDetails | null;
}

/** Uses up a card token, in the transaction that attaches its card. */
export async function redeemCard(
  context: RequestContext,
  dependencies: CardDependencies,
  input: Pick<PaymentMethodAttach, 'card_token' | 'billing_details'>,
): Promise<RedeemedCard> {
  const { requires_billing, billing_details, ...card } = await redeemToken(
    context.db,
    context,
    dependencies,
    input.card_token,
  );
  const billingDetails = input.billing_details ?? billing_details;
  checkBilling(requires_billing, billingDetails);
  await refuseToken(context.db, context.company, card.verification);
  return { ...card, billingDetails };
}

/** Attaches a card whose token the same transaction has used up. */
export async function attachRedeemed(
  context: RequestContext,
  references: PaymentMethodReferences,
  customerId: string,
  card: RedeemedCard,
  options: Pick<PaymentMethodAttach, 'set_as_default'> & AttachOptions,
): Promise<PaymentMethod> {
  const customer = await lockActiveCustomer(context.db, context.company.id, customerId);
  return addCard(context.db, context, references, customer, card, card.billingDetails, options);
}

export async function captureCard(
  context: RequestContext,
  references: PaymentMethodReferences,
  input: CardCapture,
  { requiresBilling, ...card }: VaultedCard,
): Promise<PaymentMethod> {
  const details = input.billing_details ?? null;
  checkBilling(requiresBilling, details);
  if (!input.update_subscriptions) {
    const row = {
      ...card,
      id: newId(context.nowMs),
      customer_id: input.customer_id.toLowerCase(),
      billing_details: details,
    };
    const event = (isDefault: boolean): EventRow => attachedEvent(context, { ...row, is_default: isDefault });
    const attached = await attachAtOnce(context.db, context.company.id, row, input.set_as_default ?? false, event);
    if (attached) return toWire({ ...row, is_default: attached.isDefault });
  }
  return context.db.transaction(async (transaction) => {
    const customer = await lockActiveCustomer(transaction, context.company.id, input.customer_id, 'customer_id');
    return addCard(transaction, context, references, customer, card, details, input);
  });
}

async function addCard(
  transaction: Database,
  context: RequestContext,
  references: PaymentMethodReferences,
  customer: { id: string; defaultPaymentMethodId: string | null },
  { card_id, brand, last4, exp_month, exp_year, fingerprint, verification }: CardFacts,
  billingDetails: BillingDetails | null,
  options: { set_as_default?: boolean; update_subscriptions?: boolean } & AttachOptions,
): Promise<PaymentMethod> {
  const { company, nowMs } = context;
  const row = {
    id: newId(nowMs),
    customer_id: customer.id,
    card_id,
    brand,
    last4,
    exp_month,
    exp_year,
    fingerprint,
    billing_details: billingDetails,
    listed: !options.unlisted,
    verification,
  };
  if (!(await insertPaymentMethod(transaction, company.id, row))) {
    if (row.listed && !(await hasPlaceForCard(transaction, company.id, customer.id))) throw tooManyCards();
    throw noLongerStored();
  }
  const isDefault = row.listed && (options.set_as_default === true || customer.defaultPaymentMethodId === null);
  if (isDefault) await setDefaultPaymentMethod(transaction, company.id, customer.id, row.id);
  if (options.update_subscriptions) await references.repoint(context, transaction, customer.id, row);
  await emitEvents(transaction, [attachedEvent(context, { ...row, is_default: isDefault })]);
  return toWire({ ...row, is_default: isDefault });
}

export async function getPaymentMethod(
  { db, company }: RequestContext,
  customerId: string,
  id: string,
): Promise<PaymentMethod> {
  const row = await findPaymentMethod(db, company.id, customerId, id);
  if (!row) throw notFound('payment method', 'pm_id');
  return toWire(row);
}

export async function getPaymentMethods(
  { db, company }: RequestContext,
  customerId: string,
  page: PageRequest,
): Promise<Page<PaymentMethod>> {
  const found = await listPaymentMethods(db, company.id, customerId, page);
  return { ...found, items: found.items.map(toWire) };
}

/** Returns the cards of some customers, newest first. */
export async function paymentMethodsOf(
  db: Queryable,
  companyId: string,
  customerIds: readonly string[],
): Promise<Map<string, PaymentMethod[]>> {
  const rows = await findPaymentMethodsOf(db, companyId, customerIds);
  const listed = rows.filter((row) => row.listed);
  return Map.groupBy(listed.map(toWire), (method) => method.customer_id);
}

/** Makes a stored card the default, and moves the customer's subscriptions to it, as attaching it would. */
export async function changeCard(
  context: RequestContext,
  references: PaymentMethodReferences,
  customerId: string,
  id: string,
  input: PaymentMethodUpdate,
): Promise<PaymentMethod> {
  const { db, company } = context;
  return db.transaction(async (transaction) => {
    const customer = await lockActiveCustomer(transaction, company.id, customerId);
    const card = await findPaymentMethod(transaction, company.id, customer.id, id);
    if (!card) throw notFound('payment method', 'pm_id');
    if (input.set_as_default === false && card.is_default) {
      throw invalidField(
        'set_as_default',
        'must not be false for the default card. Make another card the default instead',
      );
    }
    if (!card.listed) await listPaymentMethod(transaction, company.id, card.id);
    if (input.set_as_default) await changeDefaultPaymentMethod(context, transaction, customer.id, card.id);
    if (input.update_subscriptions) await references.repoint(context, transaction, customer.id, card);
    return toWire({ ...card, is_default: card.is_default || input.set_as_default === true });
  });
}

export async function detachCard(
  context: RequestContext,
  references: PaymentMethodReferences,
  customerId: string,
  id: string,
  replacementId: string | null,
): Promise<Deletion> {
  const { db, company, nowMs } = context;
  return db.transaction(async (transaction) => {
    await lockActiveCustomer(transaction, company.id, customerId);
    const cards = await findPaymentMethodsOf(transaction, company.id, [customerId]);
    const card = cards.find((candidate) => candidate.id === id);
    if (!card) throw notFound('payment method', 'pm_id');
    const replacement = cards.find(({ id: candidate, listed }) => listed && candidate === replacementId);
    if (replacementId === id) throw invalidField('replacement_payment_method_id', 'must be a different card');
    if (replacementId && !replacement) throw notFound('payment method', 'replacement_payment_method_id');

    const needed = (card.is_default && cards.length > 1) || (await references.inUse(transaction, company.id, id));
    if (needed && !replacement) throw replacementRequired();
    if (replacement) await references.repoint(context, transaction, customerId, replacement, id);
    if (replacement || card.is_default) {
      await changeDefaultPaymentMethod(context, transaction, customerId, replacement?.id ?? null);
    }
    await deletePaymentMethods(transaction, company.id, customerId, [id], new Date(nowMs));
    const method = toWire({ ...card, is_default: false });
    const { requestId } = context;
    const event = newEvent(company.id, nowMs, 'payment_method.detached', method, detachedSequence, requestId);
    await emitEvents(transaction, [event]);
    return { id, deleted: true, message: 'The payment method was deleted.' };
  });
}

function replacementRequired(): ApiError {
  const message =
    'This card is the default or used by subscriptions. Set replacement_payment_method_id to the card that replaces it.';
  return new ApiError('replacement_required', message, { param: 'replacement_payment_method_id' });
}

/**
 * Runs when the customer is deleted: the cards leave the vault, and their rows too if the customer is deleted
 * permanently.
 */
export async function releaseCards(
  db: Database,
  companyId: string,
  customerId: string,
  now: Date,
  keepRows: boolean,
): Promise<void> {
  await setDefaultPaymentMethod(db, companyId, customerId, null);
  if (!keepRows) return forgetPaymentMethods(db, companyId, customerId);
  const cards = await findPaymentMethodsOf(db, companyId, [customerId]);
  await deletePaymentMethods(
    db,
    companyId,
    customerId,
    cards.map((card) => card.id),
    now,
  );
}
