import { dayMs, hourMs, secondMs } from '../../../platform/durations.ts';
import type { ListedOperation, Listing, ListRequest } from '../processor.ts';
import { amountOfStripe } from './amounts.ts';
import type { Client } from './client.ts';
import { isManual } from './answers.ts';
import { type Charge, idOf, objectOf, readCharge, readRefund, type Refund } from './objects.ts';
import { captureName } from './capture-requests.ts';
import { chargeReferenceName, kindName, listCharges, listRefunds, referenceName } from './requests.ts';
import { cursorOf, readSlice, secondsOf, textOf } from './slices.ts';

/** The charges and refunds of a period, for the comparison with our own books. */

const isVoid = ({ metadata, status }: Refund): boolean =>
  metadata?.[kindName] === 'void' && status !== 'failed' && status !== 'canceled';

/** A charge; of one that is captured later its authorization, and its capture if there was one. */
function chargeOperations(charge: Charge): ListedOperation[] {
  const operation = chargeOperation(charge);
  const intent = objectOf(charge.payment_intent);
  if (!operation || !intent || !isManual(intent)) return operation ? [operation] : [];
  const captured = intent.metadata?.[captureName];
  const authorization: ListedOperation = { ...operation, kind: 'authorization' };
  if (captured === undefined || charge.captured !== true) return [authorization];
  const { reference: chargeReference, currency } = operation;
  const amount = charge.amount_captured ?? charge.amount;
  const of = { reference: captured, chargeReference, amount: amountOfStripe(amount, charge.currency), currency };
  return [authorization, { ...operation, kind: 'capture', ...of, last4: null, voided: false }];
}

function chargeOperation(charge: Charge): ListedOperation | undefined {
  const reference = charge.metadata?.[referenceName];
  if (reference === undefined) return undefined;
  const { amount, currency, created, status, refunds } = charge;
  return {
    kind: 'charge',
    reference,
    chargeReference: null,
    amount: amountOfStripe(amount, currency),
    currency,
    last4: charge.payment_method_details?.card?.last4 ?? null,
    approved: status === 'succeeded',
    voided: refunds?.data.some(isVoid) === true,
    transactionId: idOf(charge.payment_intent) ?? charge.id,
    executedAtMs: created * secondMs,
  };
}

function refundOperation(refund: Refund): ListedOperation | undefined {
  const { id, amount, currency, created, status, metadata } = refund;
  const reference = metadata?.[referenceName];
  if (reference === undefined) return undefined;
  return {
    kind: metadata?.[kindName] === 'void' ? 'void' : 'refund',
    reference,
    chargeReference: metadata?.[chargeReferenceName] ?? null,
    amount: amountOfStripe(amount, currency),
    currency,
    last4: null,
    approved: status !== 'failed' && status !== 'canceled',
    voided: false,
    transactionId: id,
    executedAtMs: created * secondMs,
  };
}

const firstSlice = hourMs / secondMs;
const longest = (7 * dayMs) / secondMs;

export async function listOperations(client: Client, request: ListRequest): Promise<Listing> {
  const { clock } = client;
  // Nothing is executed in the future, except by a clock that is ahead of ours.
  const until = secondsOf(Math.min(request.untilMs + secondMs - 1, clock.nowMs() + hourMs));
  const cursor = cursorOf(request.after, { from: secondsOf(request.fromMs), length: firstSlice });
  if (cursor.from >= until) return { operations: [], next: null, nowMs: clock.nowMs() };
  const { slices, next } = await readSlice<[Charge, Refund]>(client, cursor, { until, longest }, [
    [listCharges, readCharge],
    [listRefunds, readRefund],
  ]);
  const [charges, refunds] = slices;
  const operations = [...charges.items.flatMap(chargeOperations), ...refunds.items.map(refundOperation)]
    .filter((operation) => operation !== undefined)
    // The times are whole seconds. Within one, charges come before refunds.
    .toSorted((one, other) => one.executedAtMs - other.executedAtMs);
  return { operations, next: next.from < until ? textOf(next) : null, nowMs: charges.askedAtMs };
}
