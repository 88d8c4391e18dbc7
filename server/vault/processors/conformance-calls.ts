import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { CardNumber } from '../card-number.ts';
import type { LookupOutcome, Outcome, Processor } from './processor.ts';

/** How the conformance suite calls a processor. */

/** What the vault stores of charges, by their references. */
export interface StoredCharges {
  readonly handles: Map<string, string>;
  readonly transactions: Map<string, string>;
}
export const noStoredCharges = (): StoredCharges => ({ handles: new Map(), transactions: new Map() });

/** Calls the processor as the vault does: it keeps the handle before a charge, and the transaction id after it. */
function called(processor: Processor, { handles, transactions }: StoredCharges): Processor {
  const ofCharge = <Request extends { readonly chargeReference?: string }>(request: Request): Request => {
    const chargeTransactionId = transactions.get(request.chargeReference ?? '');
    return { ...request, ...(chargeTransactionId && { chargeTransactionId }) };
  };
  return {
    ...processor,
    async charge(request) {
      const prepared = await processor.prepare?.(request);
      if (prepared && prepared.outcome !== 'prepared') return prepared;
      if (prepared) handles.set(request.reference, prepared.handle);
      const outcome = await processor.charge({ ...request, ...(prepared && { handle: prepared.handle }) });
      const transactionId = outcome.outcome === 'approved' ? outcome.response.transaction_id : null;
      if (transactionId !== null) transactions.set(request.reference, transactionId);
      return outcome;
    },
    ...(processor.capture && {
      capture: async (request) => processor.capture?.(ofCharge(request)) as Promise<Outcome>,
    }),
    refund: (request) => processor.refund(ofCharge(request)),
    void: (request) => processor.void(ofCharge(request)),
    lookup(request) {
      const handle = handles.get(request.reference);
      return processor.lookup({ ...ofCharge(request), ...(handle && { handle }) });
    },
  };
}

/** Wraps the processor and checks that no outcome contains the card number. */
export function watched(
  subject: Processor,
  numbers: readonly CardNumber[],
  stored: StoredCharges = noStoredCharges(),
): Processor {
  const processor = called(subject, stored);
  async function check<Result extends Outcome | LookupOutcome>(result: Promise<Result>): Promise<Result> {
    const outcome = await result;
    const shown = JSON.stringify(outcome) + inspect(outcome, { depth: 9 });
    for (const number of numbers)
      assert.ok(!shown.includes(CardNumber.open(number)), 'an outcome contains a card number');
    return outcome;
  }
  return {
    charge: (request) => check(processor.charge(request)),
    ...(processor.capture && {
      capture: (request) => check(processor.capture?.(request) as Promise<Outcome>),
    }),
    refund: (request) => check(processor.refund(request)),
    void: (request) => check(processor.void(request)),
    lookup: (request) => check(processor.lookup(request)),
    ...(processor.list && { list: processor.list.bind(processor) }),
  };
}
