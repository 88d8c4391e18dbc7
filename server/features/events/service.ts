import { newId } from '../../platform/ids.ts';
import { eventColumns, eventRecord, type EventRow, insertEvents } from './queries.ts';

export type EventType =
  | 'order.created'
  | 'order.succeeded'
  | 'order.failed'
  | 'order.refunded'
  | 'order.partially_refunded'
  | 'order.refund_failed'
  | 'order.voided'
  | 'order.chargeback'
  | 'order.chargeback_accepted'
  | 'order.chargeback_dismissed';

export type { EventRow };

/** An event is a row of the transaction it speaks of: whoever makes one inserts it there. */
export function newEvent(
  companyId: string,
  nowMs: number,
  type: EventType,
  object: { readonly id: string },
  sequence: number,
  requestId: string | null,
): EventRow {
  return {
    company_id: companyId,
    id: newId(nowMs),
    type,
    object_id: object.id,
    sequence,
    request_id: requestId,
    object,
  };
}

export { eventColumns, eventRecord, insertEvents };
