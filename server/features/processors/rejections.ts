import type { NotedCall } from './health.ts';

/** What a processor refuses of the account of a connection, as it is kept with the connection. */

export const notedOperations = ['charge', 'capture', 'refund', 'void', 'verification'] as const;
export type NotedOperation = (typeof notedOperations)[number];

interface Kept {
  readonly rejection: string | null;
  readonly rejected_operation: NotedOperation | null;
}

/** Of an adapter that does not say what is refused. */
export const unnamedRejection = 'The processor refuses requests of the account, and does not say why.';

const nothing: Kept = { rejection: null, rejected_operation: null };

/** What of the account the processor refuses; undefined if that is not what it said. */
function rejectionIn({ outcome, failureCode, refusesCredentials, wantsSecurityCode, rejection }: NotedCall) {
  if (rejection !== undefined) return rejection;
  const isAccount = outcome === 'declined' && failureCode === 'invalid_merchant_configuration';
  return isAccount && !refusesCredentials && !wantsSecurityCode ? unnamedRejection : undefined;
}

/**
 * Until an operation of the same kind is approved. A refused charge outranks the others, because it costs a sale. A lookup may be
 * about an older operation.
 */
export function rejectionAfter(kept: Kept, operation: NotedOperation, call: NotedCall): Kept {
  if (call.isLookup) return kept;
  const rejection = rejectionIn(call);
  const isOutranked = operation !== 'charge' && kept.rejected_operation === 'charge';
  if (rejection !== undefined) return isOutranked ? kept : { rejection, rejected_operation: operation };
  const isOver = call.outcome === 'approved' || call.refusesCredentials === true;
  return isOver && kept.rejected_operation === operation ? nothing : kept;
}

/**
 * Whether the processor refuses the credentials; undefined if the call does not show it. A key that lacks the permission for
 * refunds is not refused: charges need another one. So an approved refund does not show that charges have theirs.
 */
export function refusedBy(kept: Kept, operation: NotedOperation, call: NotedCall): boolean | undefined {
  const isCharge = operation === 'charge';
  if (call.refusesCredentials) return isCharge || call.rejection === undefined ? true : undefined;
  const isTaken = call.outcome === 'approved' || call.outcome === 'declined';
  return isTaken && (isCharge || kept.rejected_operation !== 'charge') ? false : undefined;
}
