import { notFound } from '../../errors.ts';
import { newId } from '../../platform/ids.ts';
import type { RequestContext } from '../../request-context.ts';
import { lockActiveCustomer, setDefaultPaymentMethod } from '../customers/service.ts';
import { emitEvents } from '../events/service.ts';
import {
  deletePaymentMethods,
  findPaymentMethod,
  hasPlaceForCard,
  insertPaymentMethod,
  listPaymentMethod,
  setMandate,
} from './queries.ts';
import type { PaymentMethod } from './schemas.ts';
import type { PaymentMethodReferences, RedeemedCard } from './service.ts';
import { attachedEvent, noLongerStored, tooManyCards, toWire } from './shown.ts';

/** Cards that are kept while the bank of their customer decides. Each runs in a transaction of its caller. */

/** Until it is listed, the card is neither shown nor used, and no event says that it is there. */
export async function attachPending(
  { db, company, nowMs }: RequestContext,
  customerId: string,
  { billingDetails, ...card }: RedeemedCard,
): Promise<string> {
  const customer = await lockActiveCustomer(db, company.id, customerId);
  if (!(await hasPlaceForCard(db, company.id, customer.id))) throw tooManyCards();
  const id = newId(nowMs);
  const row = { ...card, id, customer_id: customer.id, billing_details: billingDetails, listed: false };
  if (!(await insertPaymentMethod(db, company.id, row))) throw noLongerStored();
  return id;
}

/** As the default, the subscriptions of the customer move to it, as attaching it would do. */
export async function listPending(
  context: RequestContext,
  references: PaymentMethodReferences,
  customerId: string,
  id: string,
  { hasMandate, asDefault }: { readonly hasMandate: boolean; readonly asDefault: boolean },
): Promise<PaymentMethod> {
  const { db, company, nowMs } = context;
  const customer = await lockActiveCustomer(db, company.id, customerId);
  const card = await findPaymentMethod(db, company.id, customer.id, id);
  if (!card) throw notFound('payment method', 'pm_id');
  await listPaymentMethod(db, company.id, id);
  if (hasMandate) await setMandate(db, company.id, id, new Date(nowMs));
  const is_default = asDefault || customer.defaultPaymentMethodId === null;
  if (is_default) await setDefaultPaymentMethod(db, company.id, customer.id, id);
  if (asDefault) await references.repoint(context, db, customer.id, card);
  const row = { ...card, is_default, mandated_at: hasMandate ? new Date(nowMs) : null };
  await emitEvents(db, [attachedEvent(context, row)]);
  return toWire(row);
}

export async function dropPending(
  { db, company, nowMs }: RequestContext,
  customerId: string,
  id: string,
): Promise<void> {
  await deletePaymentMethods(db, company.id, customerId, [id], new Date(nowMs));
}
