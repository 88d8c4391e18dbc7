import type { NewOpenTransaction } from './open-queries.ts';
import type { OrderRow } from '../order.ts';
import { type Numbered, recordedSubject } from './reference.ts';

type OfOrder = 'company_id' | 'customer_id' | 'payment_method_id' | 'currency' | 'card_brand' | 'card_last4';
type OfOperation = 'id' | 'reference' | 'type' | 'cause' | 'amount' | 'request_id' | 'updated_at';
type CardOfOperation = 'payment_method_id' | 'card_brand' | 'card_last4';

/** An operation on an order, as its intent records it. It uses the card of the order, unless it names its own. */
export function openOperation(
  order: Pick<OrderRow, OfOrder | 'id'>,
  operation: Pick<NewOpenTransaction, OfOperation> &
    Partial<Pick<NewOpenTransaction, CardOfOperation>> & { readonly numbered: Numbered },
): NewOpenTransaction {
  return {
    company_id: order.company_id,
    order_id: order.id,
    id: operation.id,
    reference: operation.reference,
    type: operation.type,
    cause: operation.cause,
    subject: recordedSubject(operation.numbered),
    number: operation.numbered.number,
    customer_id: order.customer_id,
    payment_method_id: operation.payment_method_id ?? order.payment_method_id,
    amount: operation.amount,
    currency: order.currency,
    card_brand: operation.card_brand ?? order.card_brand,
    card_last4: operation.card_last4 ?? order.card_last4,
    request_id: operation.request_id,
    updated_at: operation.updated_at,
  };
}
