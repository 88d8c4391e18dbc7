import type { Operation } from '../../server/vault/processors/acquirer/protocol.ts';
import { captureName } from '../../server/vault/processors/stripe/capture-requests.ts';
import { chargeReferenceName, kindName, referenceName } from '../../server/vault/processors/stripe/requests.ts';
import { type Books, type Charge, type Intent, refundsOf, refundStatus, stands, takenBy } from './books.ts';

/** What the simulated Stripe has executed. */

function operation(kind: Operation['kind'], intent: Intent, rest: Partial<Operation>): Operation {
  return {
    kind,
    reference: intent.metadata[referenceName] ?? intent.id,
    charge_reference: null,
    amount: intent.amount,
    currency: intent.currency,
    last4: null,
    status: 'approved',
    settled: false,
    voided: false,
    response_code: '',
    response_text: '',
    transaction_id: intent.id,
    authorization_code: null,
    taken_at_ms: intent.createdMs,
    ...rest,
  };
}

/** An authorization, with its capture or its release. */
function* listedHeld(books: Books, intent: Intent, charge: Charge): Iterable<Operation> {
  const reference = intent.metadata[referenceName] ?? intent.id;
  const last4 = books.methods.get(charge.methodId)?.last4 ?? null;
  const status = charge.declineCode === null ? 'approved' : 'declined';
  const isReleased = intent.status === 'canceled';
  yield operation('authorization', intent, { last4, status, voided: isReleased, taken_at_ms: charge.createdMs });
  const about = { charge_reference: reference, last4: null, taken_at_ms: charge.createdMs + 1 };
  if (isReleased) yield operation('void', intent, { ...about, reference: `void of ${reference}` });
  if (intent.status !== 'succeeded') return;
  const settled = books.clock.nowMs() >= charge.settlesAtMs;
  const captured = { reference: intent.metadata[captureName] ?? intent.id, amount: takenBy(intent), settled };
  const voids = refundsOf(books, intent.id).filter(({ metadata }) => metadata[kindName] === 'void');
  yield operation('capture', intent, { ...about, ...captured, voided: voids.some((refund) => stands(books, refund)) });
}

function* listed(books: Books): Iterable<Operation> {
  for (const charge of books.charges.values()) {
    const intent = books.intents.get(charge.intentId);
    if (!intent) continue;
    const approved = charge.declineCode === null;
    if (intent.isManual) {
      yield* listedHeld(books, intent, charge);
      continue;
    }
    const voids = refundsOf(books, intent.id).filter(({ metadata }) => metadata[kindName] === 'void');
    const voided = voids.some((refund) => stands(books, refund));
    yield operation('charge', intent, {
      last4: books.methods.get(charge.methodId)?.last4 ?? null,
      status: approved ? 'approved' : 'declined',
      settled: approved && !voided && books.clock.nowMs() >= charge.settlesAtMs,
      voided,
      taken_at_ms: charge.createdMs,
    });
  }
  for (const refund of books.refunds.values()) {
    const intent = books.intents.get(refund.intentId);
    if (!intent) continue;
    yield operation(refund.metadata[kindName] === 'void' ? 'void' : 'refund', intent, {
      reference: refund.metadata[referenceName] ?? refund.id,
      charge_reference: refund.metadata[chargeReferenceName] ?? null,
      amount: refund.amount,
      status: stands(books, refund) ? 'approved' : 'rejected',
      settled: refundStatus(books, refund) === 'succeeded',
      transaction_id: refund.id,
      taken_at_ms: refund.createdMs,
    });
  }
}

/** All operations, in the form of the acquirer's journal. */
export const operationsOf = (books: Books): Operation[] =>
  [...listed(books)].toSorted((one, next) => one.taken_at_ms - next.taken_at_ms);

/** Payments for which no bank was asked to pay, because their customer did not confirm them. No money moved. */
export function unchargedOf(books: Books): object[] {
  const charged = new Set([...books.charges.values()].map(({ intentId }) => intentId));
  return [...books.intents.values()]
    .filter(({ id }) => !charged.has(id))
    .map((intent) => ({ ...operation('charge', intent, {}), status: 'cancelled' }));
}
