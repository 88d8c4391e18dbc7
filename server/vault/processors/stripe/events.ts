import { createHmac, timingSafeEqual } from 'node:crypto';
import { minuteMs, secondMs } from '../../../platform/durations.ts';
import type { Notice, NoticeDelivery, NoticeSubject, Reception } from '../notices.ts';
import { amountOfStripe } from './amounts.ts';
import { capturedIntent, chargeNotice, intentNotice, isManual } from './answers.ts';
import { disputeReason, disputeState, progressMs } from './disputes.ts';
import {
  type Charge,
  type Dispute,
  idOf,
  type Intent,
  readCharge,
  readDispute,
  readEvent,
  readNoticedIntent,
  readRefund,
  readThinEvent,
  type Refund,
} from './objects.ts';
import { refundStanding } from './refund-answers.ts';
import { captureName } from './capture-requests.ts';
import { kindName, referenceName } from './requests.ts';

/** Reads the events that Stripe sends to the notice URL. */

const toleranceMs = 5 * minuteMs;

/** `t=1700000000,v1=…,v1=…`: while a secret is rolled, Stripe signs with the old and the new one. */
function signatureProblem({ headers, body, nowMs }: NoticeDelivery, secrets: readonly string[]): string | undefined {
  if (secrets.length === 0) return 'the connection has no signing secret';
  const parts = (headers['stripe-signature'] ?? '').split(',').map((part) => part.trim().split('='));
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return 'the Stripe-Signature header is missing or has no time';
  const given = parts.flatMap(([name, value]) =>
    name === 'v1' && value && /^[0-9a-f]{64}$/.test(value) ? [Buffer.from(value, 'hex')] : [],
  );
  const isRight = secrets.some((secret) => {
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
    return given.some((signature) => timingSafeEqual(signature, expected));
  });
  if (!isRight) return 'the signature does not match';
  return Math.abs(nowMs - Number(timestamp) * secondMs) > toleranceMs
    ? 'the time of the signature is more than 5 minutes away'
    : undefined;
}

const other: NoticeSubject = { kind: 'other' };

function aboutDispute(dispute: Dispute): NoticeSubject {
  const state = disputeState(dispute);
  const transactionId = idOf(dispute.payment_intent);
  if (!state || !transactionId) return other;
  const { id: disputeId, amount, currency, evidence_details, payment_method_details } = dispute;
  const dueBy = evidence_details?.due_by;
  const wantsEvidence = state === 'needs_response' || dispute.status === 'warning_needs_response';
  return {
    kind: 'dispute',
    dispute: {
      disputeId,
      charge: { reference: null, transactionId },
      state,
      reason: disputeReason(dispute),
      amount: amountOfStripe(amount, currency),
      currency,
      networkReasonCode: payment_method_details?.card?.network_reason_code ?? dispute.network_reason_code ?? null,
      evidenceDueAtMs: wantsEvidence && dueBy ? dueBy * secondMs : null,
    },
  };
}

function aboutRefund(refund: Refund): NoticeSubject {
  const reference = refund.metadata?.[referenceName];
  const found = refundStanding(refund, undefined);
  if (reference === undefined || found.outcome === 'unknown') return other;
  const transactionId = idOf(refund.payment_intent);
  const isVoid = refund.metadata?.[kindName] === 'void';
  return { kind: 'operation', reference, found, ...(isVoid && { charge: { reference: null, transactionId } }) };
}

/** A payment that was captured later succeeds with its capture. */
const operationOf = ({ metadata, status }: Intent): string | undefined =>
  (status === 'succeeded' ? metadata?.[captureName] : undefined) ?? metadata?.[referenceName];

function aboutIntent(intent: Intent): NoticeSubject {
  const reference = operationOf(intent);
  const isCapture = reference !== intent.metadata?.[referenceName];
  if (isCapture && reference !== undefined) {
    return { kind: 'operation', reference, found: capturedIntent(intent, undefined, undefined) };
  }
  const found = reference === undefined ? undefined : intentNotice(intent, reference);
  return reference === undefined || !found ? other : { kind: 'operation', reference, found };
}

/** An authorization has ended, or was released: perhaps by a person at Stripe. */
function aboutCancelled(intent: Intent): NoticeSubject {
  const reference = intent.metadata?.[referenceName];
  // Without a charge, the bank was never asked to pay.
  if (reference === undefined || !isManual(intent) || !intent.latest_charge) return other;
  return { kind: 'released', charge: { reference, transactionId: intent.id } };
}

function aboutCharge(charge: Charge): NoticeSubject {
  const reference = charge.metadata?.[referenceName];
  const found = reference === undefined ? undefined : chargeNotice(charge);
  return reference === undefined || !found ? other : { kind: 'operation', reference, found };
}

type Reader = (object: unknown) => NoticeSubject;

const reader =
  <Item>(read: (object: unknown) => Item | undefined, about: (item: Item) => NoticeSubject): Reader =>
  (object) => {
    const item = read(object);
    return item ? about(item) : other;
  };

const ofDispute = reader(readDispute, aboutDispute);
const ofRefund = reader(readRefund, aboutRefund);
const ofCharge = reader(readCharge, aboutCharge);
const ofIntent = reader(readNoticedIntent, aboutIntent);

/** The events with an effect; docs/processors/stripe.md lists them. All others are kept. */
export const readers: ReadonlyMap<string, Reader> = new Map([
  ['charge.dispute.created', ofDispute],
  ['charge.dispute.updated', ofDispute],
  ['charge.dispute.closed', ofDispute],
  ['charge.dispute.funds_withdrawn', ofDispute],
  ['charge.dispute.funds_reinstated', ofDispute],
  ['refund.created', ofRefund],
  ['refund.updated', ofRefund],
  ['refund.failed', ofRefund],
  ['charge.refund.updated', ofRefund],
  ['payment_intent.succeeded', ofIntent],
  ['payment_intent.payment_failed', ofIntent],
  ['payment_intent.canceled', reader(readNoticedIntent, aboutCancelled)],
  ['charge.succeeded', ofCharge],
  ['charge.captured', ofCharge],
  ['charge.failed', ofCharge],
]);

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/**
 * An owner can choose thin events for the same URL. They say nothing that we need; refusing them would make Stripe repeat
 * them for days, and then stop sending all events.
 */
function receiveThin(content: unknown, { nowMs }: NoticeDelivery): Reception {
  const event = readThinEvent(content);
  if (!event) return { outcome: 'refused', reason: 'the body is not an event of Stripe' };
  const createdMs = Date.parse(event.created);
  const { id, type } = event;
  return {
    outcome: 'accepted',
    notices: [{ id, type, atMs: Number.isNaN(createdMs) ? nowMs : createdMs, about: other }],
  };
}

export function receiveEvents(delivery: NoticeDelivery, secrets: readonly string[]): Reception {
  const problem = signatureProblem(delivery, secrets);
  if (problem) return { outcome: 'refused', reason: problem };
  const content = parsed(delivery.body);
  const event = readEvent(content);
  if (!event) return receiveThin(content, delivery);
  const { id, type, created, account, data } = event;
  // Payments of another account were made without the key of this connection.
  const isOfOther = account && account !== delivery.accountId;
  const about = isOfOther ? other : (readers.get(type)?.(data.object) ?? other);
  const dispute = about.kind === 'dispute' ? readDispute(data.object) : undefined;
  const atMs = created * secondMs + (dispute ? progressMs(dispute) : 0);
  const notice: Notice = { id, type, atMs, about };
  return { outcome: 'accepted', notices: [notice] };
}
