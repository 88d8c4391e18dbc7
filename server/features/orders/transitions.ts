/** The transitions of an order: from, trigger, to. All others are forbidden. */

export const orderStatuses = [
  'pending',
  'succeeded',
  'failed',
  'voided',
  'partially_refunded',
  'refunded',
  'refund_failed',
  'chargeback',
  'chargeback_accepted',
  'chargeback_dismissed',
] as const;
export type OrderStatus = (typeof orderStatuses)[number];

export const orderTriggers = [
  'charge_approved',
  'charge_declined',
  'charge_authorized',
  'authorization_captured',
  'authorization_released',
  'refund_accepted_in_full',
  'refund_accepted_in_part',
  'refund_rejected',
  'void_approved',
  'not_captured',
  'chargeback_raised',
  'chargeback_accepted',
  'chargeback_dismissed',
] as const;
export type OrderTrigger = (typeof orderTriggers)[number];

type Transition = readonly [from: OrderStatus, because: OrderTrigger, to: OrderStatus];

export const orderTransitions: readonly Transition[] = [
  ['pending', 'charge_approved', 'succeeded'],
  ['pending', 'charge_declined', 'failed'],
  ['failed', 'charge_approved', 'succeeded'],
  ['failed', 'charge_declined', 'failed'],
  // The funds are held, and the order stays pending until they are captured or released.
  ['pending', 'charge_authorized', 'pending'],
  ['failed', 'charge_authorized', 'pending'],
  ['pending', 'authorization_captured', 'succeeded'],
  ['pending', 'authorization_released', 'voided'],
  ['succeeded', 'refund_accepted_in_full', 'refunded'],
  ['succeeded', 'refund_accepted_in_part', 'partially_refunded'],
  ['partially_refunded', 'refund_accepted_in_full', 'refunded'],
  ['partially_refunded', 'refund_accepted_in_part', 'partially_refunded'],
  ['refund_failed', 'refund_accepted_in_full', 'refunded'],
  ['refund_failed', 'refund_accepted_in_part', 'partially_refunded'],
  ['succeeded', 'refund_rejected', 'refund_failed'],
  ['partially_refunded', 'refund_rejected', 'refund_failed'],
  ['refunded', 'refund_rejected', 'refund_failed'],
  ['refund_failed', 'refund_rejected', 'refund_failed'],
  ['succeeded', 'void_approved', 'voided'],
  ['succeeded', 'not_captured', 'voided'],
  // A charge that was not captured cannot be refunded either, and that may be known first.
  ['refund_failed', 'not_captured', 'voided'],
  ['succeeded', 'chargeback_raised', 'chargeback'],
  ['partially_refunded', 'chargeback_raised', 'chargeback'],
  // The money was captured, and the refund did not return it.
  ['refund_failed', 'chargeback_raised', 'chargeback'],
  ['chargeback', 'chargeback_accepted', 'chargeback_accepted'],
  ['chargeback', 'chargeback_dismissed', 'chargeback_dismissed'],
];

export function nextOrderStatus(from: OrderStatus, because: OrderTrigger): OrderStatus | undefined {
  return orderTransitions.find(([start, trigger]) => start === from && trigger === because)?.[2];
}

/** The statuses in which a merchant can refund or retry an order. */
export const refundable: readonly OrderStatus[] = ['succeeded', 'partially_refunded'];
export const retryable: readonly OrderStatus[] = ['failed', 'refund_failed'];

export const transactionStatuses = ['pending', 'in_progress', 'succeeded', 'failed', 'voided', 'chargeback'] as const;
export type TransactionStatus = (typeof transactionStatuses)[number];

/**
 * The transitions of a transaction. It starts as `in_progress` when it is sent to the processor; `pending` is never
 * recorded.
 */
export const transactionChanges = {
  approved: { from: 'in_progress', to: 'succeeded' },
  declined: { from: 'in_progress', to: 'failed' },
  voided: { from: 'succeeded', to: 'voided' },
  disputed: { from: 'succeeded', to: 'chargeback' },
} as const satisfies Record<string, { from: TransactionStatus; to: TransactionStatus }>;

/** The processor reports that the money of a settled refund came back to the merchant. */
export const refundReturned = { from: 'succeeded', to: 'failed' } as const;
