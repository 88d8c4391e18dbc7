import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import HmacValidator from '@adyen/api-library/lib/src/utils/hmacValidator.js';
import { Secret } from '../../../platform/secret.ts';
import type { Notice } from '../notices.ts';
import { receptionOf } from './notices.ts';
import { hmacKey, merchantAccount } from './testing.ts';

/** One row for each example of a notice in Adyen's API description of webhooks, version 1, signed by Adyen's own library. */

const validator = new HmacValidator.default();

interface Example {
  readonly eventCode: string;
  readonly success?: 'false';
  /** The `pspReference` of the payment, which many examples lack. */
  readonly of?: string;
  readonly merchantReference?: string;
  readonly currency?: string;
  readonly value?: number;
  readonly reason?: string | null;
  readonly data?: Readonly<Record<string, string>>;
  /** The kind of the subject, and its outcome or state. */
  readonly means: string;
}

const payment = '9913140798220028';
const visa = (code: string, disputeStatus: string) => ({
  chargebackReasonCode: code,
  chargebackSchemeCode: 'visa',
  disputeStatus,
});

const examples: readonly Example[] = [
  {
    eventCode: 'AUTHORISATION',
    reason: null,
    data: { 'tokenization.store.operationType': 'created' },
    means: 'authorized',
  },
  { eventCode: 'AUTHORISATION_ADJUSTMENT', of: payment, means: 'other' },
  { eventCode: 'AUTORESCUE', of: payment, data: { 'retry.rescueReference': '8826173525728789' }, means: 'other' },
  { eventCode: 'CANCELLATION', of: payment, means: 'operation not_found' },
  { eventCode: 'CANCEL_AUTORESCUE', success: 'false', of: payment, reason: 'No AutoRescue process', means: 'other' },
  // The reference is not one of ours, which begins with the kind of the request.
  { eventCode: 'CANCEL_OR_REFUND', of: payment, data: { 'modification.action': 'cancel' }, means: 'other' },
  { eventCode: 'CAPTURE', of: payment, means: 'operation approved' },
  { eventCode: 'CAPTURE_FAILED', of: payment, reason: 'Capture Failed', means: 'not_captured' },
  {
    eventCode: 'CHARGEBACK',
    of: payment,
    data: { chargebackReasonCode: ' 4853', defendable: 'true', defensePeriodEndsAt: '2021-07-31T03:03:07+02:00' },
    means: 'dispute needs_response product_unacceptable 4853',
  },
  { eventCode: 'CHARGEBACK_REVERSED', means: 'dispute under_review general null' },
  {
    eventCode: 'DISPUTE_DEFENSE_PERIOD_ENDED',
    of: payment,
    data: visa('10.4', 'Lost'),
    means: 'dispute lost fraudulent 10.4',
  },
  { eventCode: 'EXPIRE', means: 'operation not_found' },
  {
    eventCode: 'INFORMATION_SUPPLIED',
    of: payment,
    currency: 'USD',
    data: visa('13.3', 'Pending'),
    means: 'dispute under_review product_unacceptable 13.3',
  },
  { eventCode: 'ISSUER_COMMENTS', of: payment, data: { 'issuerComments.explanation': 'some_text' }, means: 'other' },
  {
    eventCode: 'ISSUER_RESPONSE_TIMEFRAME_EXPIRED',
    of: payment,
    currency: 'USD',
    data: visa('13.1', 'Won'),
    means: 'dispute won product_not_received 13.1',
  },
  { eventCode: 'MANUAL_REVIEW_ACCEPT', of: payment, reason: 'expire', means: 'other' },
  { eventCode: 'MANUAL_REVIEW_REJECT', of: payment, reason: 'expire', means: 'other' },
  {
    eventCode: 'NOTIFICATION_OF_CHARGEBACK',
    of: payment,
    data: { chargebackReasonCode: ' 4853', defendable: 'false', autoDefended: 'true' },
    means: 'dispute under_review product_unacceptable 4853',
  },
  { eventCode: 'NOTIFICATION_OF_FRAUD', of: payment, data: { nofReasonCode: '6' }, means: 'other' },
  { eventCode: 'OFFER_CLOSED', means: 'other' },
  { eventCode: 'ORDER_CLOSED', success: 'false', data: { 'order-1-success': 'true' }, means: 'other' },
  { eventCode: 'ORDER_OPENED', means: 'other' },
  { eventCode: 'PAIDOUT_REVERSED', of: payment, means: 'other' },
  { eventCode: 'PAYOUT_DECLINE', of: payment, means: 'other' },
  { eventCode: 'PAYOUT_EXPIRE', of: payment, means: 'other' },
  { eventCode: 'PAYOUT_THIRDPARTY', reason: 'Approved', data: { cardSummary: '1111' }, means: 'other' },
  { eventCode: 'POSTPONED_REFUND', of: payment, means: 'other' },
  { eventCode: 'PREARBITRATION_LOST', data: { arn: 'REFERENCE' }, means: 'dispute lost general null' },
  { eventCode: 'PREARBITRATION_WON', means: 'dispute won general null' },
  { eventCode: 'RECURRING_CONTRACT', of: payment, currency: 'USD', value: 0, means: 'other' },
  { eventCode: 'REFUND', success: 'false', of: payment, reason: 'refund not possible', means: 'other' },
  { eventCode: 'REFUNDED_REVERSED', of: payment, reason: 'test_AUTHORISATION_1', means: 'other' },
  { eventCode: 'REFUND_FAILED', of: payment, reason: 'Refund Failed', means: 'other' },
  { eventCode: 'REFUND_WITH_DATA', of: payment, means: 'other' },
  { eventCode: 'REPORT_AVAILABLE', merchantReference: '', reason: 'URL_TO_DOWNLOAD_REPORT', means: 'other' },
  {
    eventCode: 'REQUEST_FOR_INFORMATION',
    of: payment,
    data: { modificationMerchantReferences: '9123140123220028' },
    means: 'dispute inquiry general null',
  },
  {
    eventCode: 'SECOND_CHARGEBACK',
    reason: '502:Cardmember Dispute',
    data: { chargebackReasonCode: '502', chargebackSchemeCode: 'jcb' },
    means: 'dispute lost general 502',
  },
  { eventCode: 'TECHNICAL_CANCEL', of: payment, means: 'operation not_found' },
  { eventCode: 'VOID_PENDING_REFUND', of: payment, means: 'other' },
];

function received({ eventCode, success, of, data, ...more }: Example): Notice {
  const { merchantReference = 'YOUR_REFERENCE', currency = 'EUR', value = 1000, reason = '' } = more;
  const unsigned = {
    eventCode,
    success: success ?? 'true',
    eventDate: '2026-01-01T01:00:00+01:00',
    merchantAccountCode: merchantAccount,
    merchantReference,
    pspReference: 'QFQTPCQ8HXSKGK82',
    ...(of !== undefined && { originalReference: of }),
    amount: { currency, value },
    reason,
  };
  // The vendor's type has enums, which a text is not.
  const typed = unsigned as unknown as Parameters<typeof validator.calculateHmac>[0];
  const additionalData = { ...data, hmacSignature: validator.calculateHmac(typed, hmacKey) };
  const body = { live: 'false', notificationItems: [{ NotificationRequestItem: { ...unsigned, additionalData } }] };
  const reception = receptionOf(
    { headers: {}, body: Buffer.from(JSON.stringify(body)), nowMs: 1 },
    { merchantAccount, hmacKey: new Secret(hmacKey) },
  );
  assert.ok(reception.outcome === 'accepted' && reception.notices[0], inspect(reception));
  return reception.notices[0];
}

function meaningOf({ about }: Notice): string {
  if (about.kind === 'operation') return `operation ${about.found.outcome}`;
  if (about.kind !== 'dispute') return about.kind;
  const { state, reason, networkReasonCode } = about.dispute;
  return `dispute ${state} ${reason} ${networkReasonCode}`;
}

describe('the examples of notices in the documents of Adyen', () => {
  it('are 39, each of another event', () => {
    assert.equal(new Set(examples.map(({ eventCode }) => eventCode)).size, 39);
  });

  for (const example of examples) {
    it(`${example.eventCode} is accepted and means: ${example.means}`, () => {
      const notice = received(example);
      assert.equal(meaningOf(notice), example.means);
      assert.equal(notice.type, example.eventCode);
      assert.equal(Math.floor(notice.atMs / 1000), Date.parse('2026-01-01T00:00:00Z') / 1000);
    });
  }
});
