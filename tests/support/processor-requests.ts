import { randomUUID } from 'node:crypto';
import type { ChargeRequest, ProcessorCard, RefundRequest } from '../../server/vault/processors/processor.ts';

/** Requests to the adapter of a processor, valid for a minute. */
export const inAMinute = (): number => Date.now() + 60_000;

const companyId = randomUUID();

export const chargeOf = (card: ProcessorCard, changes: Partial<ChargeRequest> = {}): ChargeRequest => ({
  companyId,
  reference: randomUUID(),
  validUntilMs: inAMinute(),
  card,
  amount: 4900,
  currency: 'usd',
  ...changes,
});

/** A refund of a charge. Without the amount it is a void, too. */
export const refundOf = (charge: ChargeRequest, amount = charge.amount): RefundRequest => ({
  companyId: charge.companyId,
  reference: randomUUID(),
  validUntilMs: inAMinute(),
  chargeReference: charge.reference,
  ...(charge.handle && { chargeTransactionId: charge.handle }),
  amount,
  currency: charge.currency,
});
