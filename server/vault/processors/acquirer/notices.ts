import { ownEntry } from '../../../platform/own-entry.ts';
import { createHmac, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { checkOf } from '../../../platform/schema-check.ts';
import { choice } from '../../../platform/choice.ts';
import { minuteMs } from '../../../platform/durations.ts';
import type { Secret } from '../../../platform/secret.ts';
import {
  type DisputeState,
  disputeReasons,
  type NoticeDelivery,
  type NoticeSubject,
  type Reception,
} from '../notices.ts';
import { failureReasons, noResponse } from '../processor.ts';

/** Notices of the protocol in docs/acquirer.md: signed with the secret of the connection. */

/** An older signature may be a replay. */
const signatureAgeMsMax = 5 * minuteMs;

const disputeTypes: Readonly<Record<string, DisputeState>> = {
  'dispute.inquiry': 'inquiry',
  'dispute.inquiry_closed': 'inquiry_closed',
  'dispute.opened': 'needs_response',
  'dispute.under_review': 'under_review',
  'dispute.won': 'won',
  'dispute.lost': 'lost',
  'dispute.accepted': 'accepted',
};

const noticeShape = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200 }),
  type: Type.String({ minLength: 1, maxLength: 100 }),
  at_ms: Type.Integer({ minimum: 0 }),
  reference: Type.Optional(Type.String()),
  dispute: Type.Optional(
    Type.Object({
      id: Type.String({ minLength: 1, maxLength: 200 }),
      amount: Type.Integer({ minimum: 1 }),
      currency: Type.String(),
      reason: Type.Optional(choice(disputeReasons)),
      network_reason_code: Type.Optional(Type.String()),
      evidence_due_at_ms: Type.Optional(Type.Integer()),
    }),
  ),
});
export type AcquirerNotice = Type.Static<typeof noticeShape>;
const noticeOf = checkOf(noticeShape);

/** The value of the header `x-signature`. */
export function signNotice(secret: Secret<string>, body: string | Buffer, atMs: number): string {
  const hash = createHmac('sha256', secret.reveal()).update(`${atMs}.`).update(body).digest('hex');
  return `t=${atMs},v1=${hash}`;
}

export function receiveNotice(secret: Secret<string>, { headers, body, nowMs }: NoticeDelivery): Reception {
  const given = headers['x-signature'] ?? '';
  const [, time] = /^t=(\d{1,15}),v1=[0-9a-f]{64}$/.exec(given) ?? [];
  if (time === undefined) return refused('the header x-signature is missing or has another form');
  const expected = signNotice(secret, body, Number(time));
  if (!timingSafeEqual(Buffer.from(given), Buffer.from(expected))) return refused('the signature is wrong');
  if (Math.abs(nowMs - Number(time)) > signatureAgeMsMax) return refused('the signature is older than 5 minutes');
  const notice = parse(body);
  if (!noticeOf.Check(notice)) return refused('the body is not a notice');
  const { id, type, at_ms: atMs } = notice;
  return { outcome: 'accepted', notices: [{ id, type, atMs, about: subjectOf(notice) }] };
}

const refused = (reason: string): Reception => ({ outcome: 'refused', reason });

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function subjectOf({ type, reference, dispute }: AcquirerNotice): NoticeSubject {
  if (reference === undefined) return { kind: 'other' };
  const charge = { reference, transactionId: null };
  const state = ownEntry(disputeTypes, type);
  if (state && dispute) {
    const { id: disputeId, amount, currency, reason = 'general' } = dispute;
    const networkReasonCode = dispute.network_reason_code ?? null;
    const evidenceDueAtMs = dispute.evidence_due_at_ms ?? null;
    const about = { disputeId, charge, state, amount, currency, reason, networkReasonCode, evidenceDueAtMs };
    return { kind: 'dispute', dispute: about };
  }
  if (type === 'charge.settled') return { kind: 'settled', charge };
  if (type === 'charge.not_captured') return { kind: 'not_captured', charge };
  if (type !== 'refund.rejected') return { kind: 'other' };
  const failureCode = 'processor_declined';
  const failureReason = failureReasons[failureCode];
  return {
    kind: 'operation',
    reference,
    found: { outcome: 'declined', response: noResponse, failureCode, failureReason },
  };
}
