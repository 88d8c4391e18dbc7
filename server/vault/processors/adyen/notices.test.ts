import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import HmacValidator from '@adyen/api-library/lib/src/utils/hmacValidator.js';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { Secret } from '../../../platform/secret.ts';
import { allowedUrl, checkConfiguration, ConfigurationProblem } from '../kind.ts';
import type { EvidenceRequest, Notice, NoticedDispute, NoticeSubject, Reception } from '../notices.ts';
import { inAMinute } from '../../../../tests/support/processor-requests.ts';
import type { Processor } from '../processor.ts';
import { unknownCodeRule } from './codes.ts';
import { readHandle } from './handle.ts';
import { adyenKind } from './kind.ts';
import { type NoticeItem, signatureOf } from './notice-item.ts';
import {
  apiKey,
  card,
  cardNumber,
  companyId,
  configuration,
  type FakeAdyen,
  hmacKey,
  merchantAccount,
  newCharge,
  open,
  startAdyen,
  transactionOf,
} from './testing.ts';

const validator = new HmacValidator.default();

let adyen: FakeAdyen;
let processor: Processor;

before(async () => {
  adyen = await startAdyen();
  processor = adyen.processor;
});
after(() => adyen.stop());
beforeEach(() => adyen.reset());
afterEach(() => adyen.checkTraces());

const item = (changes: Partial<NoticeItem> = {}): NoticeItem => ({
  pspReference: 'JDD6LKT8MBLZNN84',
  originalReference: 'XB7XNCQ8HXSKGK82',
  merchantAccountCode: merchantAccount,
  merchantReference: 'a-reference',
  amount: { currency: 'EUR', value: 4900 },
  eventCode: 'CAPTURE',
  success: 'true',
  eventDate: '2026-11-16T10:00:00+01:00',
  reason: '',
  ...changes,
});

const signed = (changes: Partial<NoticeItem> = {}, key = hmacKey): NoticeItem => {
  const unsigned = item(changes);
  return { ...unsigned, additionalData: { ...unsigned.additionalData, hmacSignature: signatureOf(unsigned, key) } };
};

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const rightHeaders = { authorization: basic('svc:a password') };

function receive(
  items: readonly object[],
  headers: Record<string, string> = rightHeaders,
  receiver = processor,
): Reception {
  const content = { live: 'false', notificationItems: items.map((one) => ({ NotificationRequestItem: one })) };
  const reception = receiver.receive?.({ headers, body: Buffer.from(JSON.stringify(content)), nowMs: 1 });
  assert.ok(reception);
  return reception;
}

function accepted(...items: readonly object[]): readonly Notice[] {
  const reception = receive(items);
  assert.ok(reception.outcome === 'accepted', inspect(reception));
  assert.equal(reception.reply, '[accepted]');
  return reception.notices;
}

const subjectOf = (changes: Partial<NoticeItem>): NoticeSubject | undefined => accepted(signed(changes))[0]?.about;

describe('a notice of Adyen', () => {
  it('has the signature that the library of Adyen calculates', () => {
    for (const changes of [
      {},
      { originalReference: '' },
      { merchantReference: 'with:a:colon', success: 'false' as const },
      { amount: { currency: 'JPY', value: 0 }, eventCode: 'REPORT_AVAILABLE' },
      { merchantReference: 'Ünïcode' },
    ]) {
      const made = signed(changes);
      // The vendor's type has enums, which a text is not.
      const typed = made as unknown as Parameters<typeof validator.validateHMAC>[0];
      assert.ok(validator.validateHMAC(typed, hmacKey));
      assert.equal(made.additionalData?.hmacSignature, validator.calculateHmac(typed, hmacKey));
    }
    const published = item({
      pspReference: '7914073381342284',
      originalReference: '',
      merchantAccountCode: 'TestMerchant',
      merchantReference: 'TestPayment-1407325143704',
      amount: { value: 1130, currency: 'EUR' },
      eventCode: 'AUTHORISATION',
    });
    assert.equal(signatureOf(published, hmacKey), 'coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0=');
  });

  it('is refused if it is forged, unsigned or without the password', () => {
    const right = signed();
    const reasons = [
      receive([{ ...right, success: 'false' }]),
      receive([{ ...right, amount: { currency: 'EUR', value: 4901 } }]),
      receive([{ ...right, merchantReference: 'another' }]),
      receive([item()]),
      receive([signed({}, 'ff'.repeat(32))]),
      receive([{ ...right, additionalData: { hmacSignature: '' } }]),
      receive([right], {}),
      receive([right], { authorization: basic('svc:another password') }),
      receive([]),
      processor.receive?.({ headers: rightHeaders, body: Buffer.from('<html>'), nowMs: 1 }),
      processor.receive?.({ headers: rightHeaders, body: Buffer.from('null'), nowMs: 1 }),
    ].map((reception) => reception?.outcome === 'refused' && reception.reason);
    assert.ok(reasons.every(Boolean), inspect(reasons));
  });

  it('says what the bank found only if the sender knows the password, because that is not signed', () => {
    const found = {
      ...{ threeDOffered: 'true', threeDAuthenticated: 'true', threeDAuthenticatedResponse: 'Y' },
      ...{ liabilityShift: 'true', threeDSVersion: '2.2.0', eci: '05' },
      ...{ authCode: '041312', networkTxReference: '100200300400500' },
    };
    const authorized = { eventCode: 'AUTHORISATION', additionalData: found };
    const about = subjectOf(authorized);
    assert.ok(about?.kind === 'authorized', inspect(about));
    const known = readHandle(about.handle ?? '');
    assert.deepEqual([known?.networkTransactionId, known?.authorization_code], ['100200300400500', '041312']);
    assert.deepEqual(known?.authentication, {
      ...{ flow: null, status: 'authenticated', liabilityShifted: true, version: '2.2.0', eci: '05' },
    });
    const refused = subjectOf({
      ...authorized,
      success: 'false',
      additionalData: { ...found, threeDAuthenticated: 'false', threeDAuthenticatedResponse: 'N' },
    });
    assert.ok(refused?.kind === 'operation' && refused.found.outcome === 'declined', inspect(refused));
    assert.equal(refused.found.authentication?.status, 'failed');

    const unreadable = subjectOf({ ...authorized, additionalData: { ...found, eci: 5 } });
    assert.ok(unreadable?.kind === 'authorized' && readHandle(unreadable.handle ?? '')?.authentication === undefined);
    const withoutPassword = { api_key: apiKey, merchant_account: merchantAccount, hmac_key: hmacKey };
    const receiver = adyenKind.open(checkConfiguration(adyenKind, withoutPassword), {
      timeoutMs: 1_000,
      extraOrigins: [],
    });
    const reception = receive([signed(authorized)], {}, receiver);
    assert.ok(reception.outcome === 'accepted', inspect(reception));
    const [plain] = reception.notices;
    assert.ok(plain?.about.kind === 'authorized');
    const { networkTransactionId, authorization_code, authentication } = readHandle(plain.about.handle ?? '') ?? {};
    assert.deepEqual([networkTransactionId, authorization_code, authentication], [null, null, undefined]);
  });

  it('is kept, and blocks no other, if it is about another account or not understood', () => {
    const strange: Partial<NoticeItem>[] = [
      { merchantAccountCode: 'AnotherECOM' },
      { merchantAccountCode: 'TheCompany', eventCode: 'REPORT_AVAILABLE', amount: { currency: 'EUR', value: 0 } },
      { pspReference: 'A:B' },
      { merchantReference: 'x'.repeat(101) },
      { eventCode: 'not a code' },
      { amount: { currency: 'EUR', value: 1.5 } },
    ];
    for (const changes of strange) {
      const [kept, own] = accepted(signed(changes), signed());
      assert.deepEqual(kept?.about, { kind: 'other' }, inspect(changes));
      assert.equal(kept?.id, accepted(signed({ ...changes, reason: 'another' }))[0]?.id);
      assert.equal(own?.about.kind, 'operation');
    }
    const ids = strange.map((changes) => accepted(signed(changes))[0]?.id);
    assert.equal(new Set(ids).size, strange.length);
  });

  it('without a valid signature has no effect, and blocks none of its batch that has one', () => {
    const right = signed();
    const strangers = [
      item(),
      { ...signed({ pspReference: 'FORGED' }), success: 'false' },
      { pspReference: 7, eventCode: ['CAPTURE'] },
      'text',
      null,
      [],
      undefined,
    ];
    const notices = accepted(...(strangers as object[]), right);
    assert.deepEqual(
      notices.map(({ type, about }) => [type, about.kind]),
      [...strangers.map(() => ['UNVERIFIED', 'other']), ['CAPTURE', 'operation']],
    );
    const [first] = accepted(signed({ eventCode: 'UNVERIFIED', amount: { currency: 'EUR', value: 1.5 } }));
    assert.equal(first?.type, 'UNKNOWN', 'a signed one cannot pass for one that is not');
    assert.equal(receive(strangers.filter(Boolean) as object[]).outcome, 'refused');
  });

  it('about a dispute that has changed since is another notice', () => {
    const reversed = (disputeStatus?: string): Notice | undefined =>
      accepted(signed({ eventCode: 'CHARGEBACK_REVERSED', additionalData: disputeStatus ? { disputeStatus } : {} }))[0];
    const ids = [reversed('Pending'), reversed('Won'), reversed()].map((notice) => notice?.id);
    assert.equal(new Set(ids).size, 3);
    assert.equal(reversed(' Won ')?.id, reversed('Won')?.id);
  });

  it('about a dispute counts after an earlier event of the same second', () => {
    const events: readonly (readonly [string, string?])[] = [
      ['NOTIFICATION_OF_CHARGEBACK'],
      ['CHARGEBACK'],
      ['INFORMATION_SUPPLIED', 'Pending'],
      ['CHARGEBACK_REVERSED', 'Pending'],
      ['CHARGEBACK_REVERSED', 'Won'],
      ['SECOND_CHARGEBACK', 'Lost'],
    ];
    const times = events.map(([eventCode, disputeStatus]) => {
      const additionalData: Record<string, string> = disputeStatus ? { disputeStatus } : {};
      return accepted(signed({ eventCode, additionalData }))[0]?.atMs ?? 0;
    });
    assert.deepEqual(
      times,
      times.toSorted((one, other) => one - other),
    );
    assert.equal(new Set(times).size, times.length);
    assert.ok((times.at(-1) ?? 0) < Date.parse('2026-11-16T09:00:01Z'));
  });

  it('has the same id in every delivery, with any unsigned fields', () => {
    const [first, second] = accepted(signed(), signed({ eventDate: '2030-01-01T00:00:00Z', reason: 'another' }));
    assert.equal(first?.id, second?.id);
    assert.equal(first?.atMs, Date.parse('2026-11-16T09:00:00Z'));
    assert.notEqual(first?.id, accepted(signed({ success: 'false' }))[0]?.id);
    const [recaptured] = accepted(signed({ reason: 'Transaction Recaptured' }));
    assert.notEqual(recaptured?.id, first?.id, 'a capture after a failed one is another event');
  });

  const operation = (outcome: string, more: object = {}) => ({ kind: 'operation', outcome, ...more });
  const setUp = (outcome: string, more: object) => ({ kind: 'card_set_up', outcome, ...more });
  const ofZero = { amount: { currency: 'EUR', value: 0 } };
  const rows: readonly (readonly [string, 'true' | 'false', object, Partial<NoticeItem>?])[] = [
    ['AUTHORISATION', 'true', { kind: 'authorized' }, { pspReference: 'XB7XNCQ8HXSKGK82' }],
    ['AUTHORISATION', 'true', setUp('set_up', { networkTransactionId: null }), ofZero],
    ['AUTHORISATION', 'true', { kind: 'other' }, { ...ofZero, merchantReference: '' }],
    [
      'AUTHORISATION',
      'false',
      operation('declined', { failureCode: 'insufficient_funds' }),
      { reason: 'Not enough balance' },
    ],
    ['AUTHORISATION', 'false', operation('declined', { failureCode: 'unknown' }), { reason: 'Something new' }],
    ['AUTHORISATION', 'false', setUp('declined', { failureCode: 'unknown' }), ofZero],
    ['CAPTURE', 'true', operation('approved')],
    ['CAPTURE', 'false', { kind: 'not_captured' }],
    ['CAPTURE_FAILED', 'true', { kind: 'not_captured' }],
    ['CANCELLATION', 'true', operation('not_found', { isFinal: true })],
    ['CANCELLATION', 'false', { kind: 'other' }],
    ['TECHNICAL_CANCEL', 'true', operation('not_found', { isFinal: true })],
    ['TECHNICAL_CANCEL', 'false', { kind: 'other' }],
    ['EXPIRE', 'true', operation('not_found', { isFinal: true })],
    ['CANCEL_OR_REFUND', 'true', operation('approved', { settled: true }), { merchantReference: 'void-a-reference' }],
    ['CANCEL_OR_REFUND', 'false', operation('declined'), { merchantReference: 'void-a-reference' }],
    ['REFUND', 'true', operation('approved', { settled: true }), { merchantReference: 'refund-a-reference' }],
    ['REFUND', 'false', operation('declined'), { merchantReference: 'refund-a-reference' }],
    ['REFUND', 'false', { kind: 'other' }],
    ['REFUND_FAILED', 'true', operation('declined'), { merchantReference: 'refund-a-reference' }],
    ['REFUNDED_REVERSED', 'true', operation('declined'), { merchantReference: 'refund-a-reference' }],
    ['REPORT_AVAILABLE', 'true', { kind: 'other' }],
    ['SOMETHING_NEW', 'true', { kind: 'other' }],
  ];
  for (const [eventCode, success, expected, changes] of rows) {
    it(`${eventCode} with success ${success} means ${JSON.stringify(expected)}`, () => {
      const subject = subjectOf({ eventCode, success, ...changes });
      const found = subject && 'found' in subject ? subject.found : undefined;
      assert.deepEqual({ ...subject, ...found, ...expected }, { ...subject, ...found });
      if (found && subject && 'reference' in subject) assert.equal(subject.reference, 'a-reference');
      if (subject?.kind === 'not_captured' || subject?.kind === 'authorized') {
        assert.deepEqual(subject.charge, { reference: 'a-reference', transactionId: 'XB7XNCQ8HXSKGK82' });
      }
    });
  }

  const dispute = (changes: Partial<NoticeItem>): NoticedDispute | undefined => {
    const subject = subjectOf({ merchantReference: 'a-reference', ...changes });
    return subject?.kind === 'dispute' ? subject.dispute : undefined;
  };
  const disputeRows: readonly (readonly [string, Record<string, string>, string | undefined])[] = [
    ['REQUEST_FOR_INFORMATION', { rfiReasonCode: '33' }, 'inquiry'],
    ['REQUEST_FOR_INFORMATION', { disputeStatus: 'Unresponded' }, 'inquiry'],
    ['INFORMATION_SUPPLIED', { disputeStatus: 'Responded' }, 'inquiry'],
    ['INFORMATION_SUPPLIED', { rfiReasonCode: '33' }, 'inquiry'],
    ['REQUEST_FOR_INFORMATION', { disputeStatus: 'Expired' }, 'inquiry_closed'],
    ['NOTIFICATION_OF_CHARGEBACK', { disputeStatus: 'Undefended' }, 'needs_response'],
    ['NOTIFICATION_OF_CHARGEBACK', { autoDefended: 'true' }, 'under_review'],
    ['CHARGEBACK', {}, 'needs_response'],
    ['CHARGEBACK', { disputeStatus: 'Lost' }, 'lost'],
    ['INFORMATION_SUPPLIED', { disputeStatus: 'Pending' }, 'under_review'],
    ['CHARGEBACK_REVERSED', { disputeStatus: 'Pending' }, 'under_review'],
    ['CHARGEBACK_REVERSED', { disputeStatus: 'Won' }, 'won'],
    ['CHARGEBACK_REVERSED', {}, 'under_review'],
    ['SECOND_CHARGEBACK', { disputeStatus: 'Lost' }, 'lost'],
    ['PREARBITRATION_WON', {}, 'won'],
    ['PREARBITRATION_LOST', {}, 'lost'],
    ['PREARBITRATION_ACCEPTED', {}, 'lost'],
    ['PREARBITRATION_DECLINED', {}, 'under_review'],
    ['PREARBITRATION_ISSUER_WITHDRAWN', {}, 'won'],
    ['CHARGEBACK', { disputeStatus: ' Undefended', chargebackReasonCode: ' 13.1' }, 'needs_response'],
    ['ISSUER_RESPONSE_TIMEFRAME_EXPIRED', {}, 'won'],
    ['DISPUTE_DEFENSE_PERIOD_ENDED', { disputeStatus: 'Accepted' }, 'accepted'],
    ['DISPUTE_DEFENSE_PERIOD_ENDED', { disputeStatus: 'Expired' }, 'lost'],
    ['DISPUTE_DEFENSE_PERIOD_ENDED', { rfiReasonCode: '33' }, 'inquiry_closed'],
    ['NOTIFICATION_OF_FRAUD', {}, undefined],
  ];
  for (const [eventCode, additionalData, state] of disputeRows) {
    it(`${eventCode} ${JSON.stringify(additionalData)} leaves the dispute ${state ?? 'untouched'}`, () => {
      const chargebackReasonCode = '13.1';
      const defensePeriodEndsAt = '2026-12-01T10:00:00+01:00';
      const found = dispute({
        eventCode,
        additionalData: { chargebackReasonCode, defensePeriodEndsAt, ...additionalData },
      });
      assert.equal(found?.state, state);
      if (!found) return;
      assert.deepEqual([found.amount, found.currency, found.reason], [4900, 'eur', 'product_not_received']);
      assert.equal(found.disputeId, 'JDD6LKT8MBLZNN84');
      assert.equal(found.charge.transactionId, 'XB7XNCQ8HXSKGK82');
      const isOpen = state === 'inquiry' || state === 'needs_response';
      assert.equal(found.evidenceDueAtMs, isOpen ? Date.parse(defensePeriodEndsAt) : null);
    });
  }
});

describe('the notices of the fake', () => {
  it('come in batches from one queue, which one of another merchant account does not stop', async () => {
    const foreign = {
      eventCode: 'REPORT_AVAILABLE',
      pspReference: 'REPORT',
      merchantReference: '',
      merchantAccountCode: 'TheCompany',
      amount: { currency: 'EUR', value: 0 },
      isSuccess: true,
    };
    const refusedBefore = adyen.refused.length;
    const ours = 1000;
    const { merchantAccountCode: _company, ...capture } = { ...foreign, eventCode: 'CAPTURE' };
    const events = Array.from({ length: ours }, (_, number) => ({
      ...capture,
      pspReference: `P${number}`,
      merchantReference: `r-${number}`,
    }));
    await adyen.call('POST', '/control/notices', { events: [foreign, ...events] });
    await waitUntil(async () => (await adyen.call('GET', '/notices')).undelivered === 0);
    assert.equal(adyen.refused.length, refusedBefore);
    const applied = adyen.received.filter(({ id, about }) => id.startsWith('CAPTURE:P') && about.kind === 'operation');
    assert.equal(new Set(applied.map(({ id }) => id)).size, ours);
  });

  it('arrive although they are lost, late, twice, forged or out of order', async () => {
    const faults = { notice_lost: 0.2, notice_late: 0.2, notice_twice: 0.2, notice_forged: 0.2 };
    await adyen.control({ faults, seed: 3 });
    const charges = await Promise.all(Array.from({ length: 10 }, () => adyen.charged()));
    for (const { reference, chargeTransactionId } of charges) {
      const subject = await adyen.noticed(reference, 'CAPTURE');
      assert.ok(subject.kind === 'operation' && transactionOf(subject.found) === chargeTransactionId, inspect(subject));
    }
    await waitUntil(async () => (await adyen.call('GET', '/notices')).undelivered === 0);
    assert.ok(adyen.refused.includes('the signature is missing or wrong'), 'the forged ones');
    const references = new Set(charges.map(({ reference }) => reference));
    const outcomes = adyen.received.filter(
      ({ about }) => about.kind === 'operation' && references.has(about.reference),
    );
    assert.ok(outcomes.every(({ about }) => about.kind === 'operation' && about.found.outcome === 'approved'));
  });

  it('resolve a capture whose error Adyen keeps under its key', async () => {
    const request = await adyen.prepared();
    await adyen.control({ next: ['capture:saved_error'] });
    assert.equal((await processor.charge(request)).outcome, 'unknown');
    assert.equal((await processor.lookup({ ...request, ageMs: 1_000 })).outcome, 'unknown');
    const subject = await adyen.noticed(request.reference, 'CAPTURE');
    assert.ok(subject.kind === 'operation' && subject.found.outcome === 'approved', inspect(subject));
  });

  it('report a capture and a refund that fail later', async () => {
    await adyen.control({ next: ['capture_failed'], settle_after_ms: 20 });
    const failing = await adyen.charged();
    assert.equal((await adyen.noticed(failing.reference, 'CAPTURE_FAILED')).kind, 'not_captured');
    const charge = await adyen.charged();
    await adyen.control({ next: ['reject_refund'] });
    const refund = { ...charge, reference: randomUUID(), chargeReference: charge.reference };
    assert.equal((await processor.refund(refund)).outcome, 'approved');
    const subject = await adyen.noticed(refund.reference, 'REFUND_FAILED');
    assert.ok(subject.kind === 'operation' && subject.found.outcome === 'declined', inspect(subject));
    assert.equal((await adyen.executed(refund.reference))[0]?.status, 'rejected');
  });

  it('confirm a void and reject a refund after it', async () => {
    const charge = await adyen.charged();
    const taken = { ...charge, reference: randomUUID(), chargeReference: charge.reference };
    assert.equal((await processor.void(taken)).outcome, 'approved');
    const done = await adyen.noticed(taken.reference, 'CANCEL_OR_REFUND');
    assert.ok(done.kind === 'operation' && done.found.outcome === 'approved' && done.found.settled === true);
    const refund = { ...taken, reference: randomUUID() };
    assert.equal((await processor.refund(refund)).outcome, 'approved', 'Adyen accepts it');
    const refused = await adyen.noticed(refund.reference, 'REFUND');
    assert.ok(refused.kind === 'operation' && refused.found.outcome === 'declined', 'and a notice rejects it');
  });
});

describe('a dispute at Adyen', () => {
  const states = (disputeId: string): string[] =>
    adyen.received.flatMap(({ about }) =>
      about.kind === 'dispute' && about.dispute.disputeId === disputeId ? [about.dispute.state] : [],
    );
  async function disputed(action = 'open', fields: object = {}): Promise<string> {
    const { reference } = await adyen.charged();
    const { dispute } = await adyen.call('POST', '/control/disputes', { action, reference, ...fields });
    await waitUntil(async () => states(dispute).length > 0);
    return dispute;
  }
  const texts = { product_description: 'A (small) box\nwith ünïcode and 日本' };
  const file = {
    id: randomUUID(),
    kind: 'shipping_documentation',
    name: 'ship.pdf',
    contentType: 'application/pdf',
    content: Buffer.from('%PDF-1.4 x'),
  } as const;
  const evidence = (disputeId: string, explanation: string, changes: Partial<EvidenceRequest> = {}) => ({
    companyId,
    reference: randomUUID(),
    disputeId,
    texts: { explanation, ...texts },
    files: [file],
    ...changes,
  });
  const refusal = async (disputeId: string, changes: Partial<EvidenceRequest>): Promise<string> => {
    const outcome = await processor.disputes?.submit(evidence(disputeId, 'They were as described.', changes));
    const dispute = (await adyen.call('GET', `/disputes/${disputeId}`)).dispute;
    assert.deepEqual([dispute.status, dispute.documents], ['Undefended', undefined], 'nothing was sent');
    assert.ok(outcome?.outcome === 'refused', inspect(outcome));
    return outcome.reason;
  };
  const goods = { reason_code: '13.3' };

  it('has reasons with the documents that each needs, and any material first', async () => {
    const reasonsOf = async (disputeId: string) => {
      const offer = await processor.disputes?.reasons?.({ companyId, disputeId });
      assert.ok(offer?.outcome === 'offered', inspect(offer));
      return offer.reasons;
    };
    assert.deepEqual((await reasonsOf(await disputed()))[0], {
      code: 'SupplyDefenseMaterial',
      name: 'Supply defense material',
      documents: [
        { type: 'DefenseMaterial', name: 'Defense material', need: 'required', isSupplied: false },
        { type: 'TIDorInvoice', name: 'Transaction receipt or invoice', need: 'optional', isSupplied: false },
      ],
    });
    const offered = await reasonsOf(await disputed('open', goods));
    assert.deepEqual(
      offered.map(({ name }) => name),
      ['Goods not returned', 'Goods repaired or replaced', 'Goods were as described'],
    );
    const missing = await processor.disputes?.reasons?.({ companyId, disputeId: 'NONE' });
    assert.equal(missing?.outcome, 'refused');
  });

  it('is not answered without a reason, unless Adyen takes any material', async () => {
    const disputeId = await disputed('open', goods);
    assert.match(await refusal(disputeId, {}), /^Choose the reason/);
    const gone = { reason: 'SupplyDefenseMaterial', documents: [] };
    assert.match(await refusal(disputeId, { defense: gone }), /does not offer this reason any more/);
  });

  it('is answered for the reason that the merchant chose, with everything the merchant gave', async () => {
    const disputeId = await disputed('open', goods);
    const reason = 'GoodsWereAsDescribed';
    const [described, invoice] = [
      { type: 'GoodsWereAsDescribed', source: 'texts' },
      { type: 'TIDorInvoice', source: file.id },
    ];
    for (const [documents, problem] of [
      [[described], /also needs: Transaction receipt or invoice/],
      [[], /also needs: Goods were as described, Transaction receipt or invoice/],
      [[described, { ...invoice, source: 'texts' }], /Choose as which document Adyen gets "ship.pdf", or remove it/],
      [[described, { ...invoice, source: randomUUID() }], /is not there any more/],
      [[described, invoice, { type: 'DefenseMaterial', source: 'texts' }], /does not take the document/],
      [[described, described, invoice], /one file for each document/],
    ] as const) {
      assert.match(await refusal(disputeId, { defense: { reason, documents } }), problem);
    }
    const answer = evidence(disputeId, 'winning_evidence', { defense: { reason, documents: [described, invoice] } });
    assert.deepEqual(await processor.disputes?.submit(answer), { outcome: 'done', state: 'under_review' });
    const { dispute } = await adyen.call('GET', `/disputes/${disputeId}`);
    assert.deepEqual([dispute.defenseReason, dispute.documents], [reason, ['GoodsWereAsDescribed', 'TIDorInvoice']]);
    assert.match(dispute.evidence, /winning_evidence/);
    await waitUntil(async () => states(disputeId).includes('won'));
  });

  it('is answered with one of several documents, or with none if the reason needs none', async () => {
    const credit = { reason_code: '13.7' };
    const first = await disputed('open', credit);
    const terms = 'CancellationTermsFailed';
    const only = { texts: {}, files: [file] };
    const none = { ...only, defense: { reason: terms, documents: [{ type: 'TIDorInvoice', source: file.id }] } };
    assert.match(await refusal(first, none), /at least one of: Terms and conditions, Cardholder identification/);
    const one = { ...only, defense: { reason: terms, documents: [{ type: 'TAndC', source: file.id }] } };
    assert.equal((await processor.disputes?.submit(evidence(first, '', one)))?.outcome, 'done');
    const second = await disputed('open', credit);
    const defense = { reason: 'CreditOrCancellationPolicyProperlyDisclosed', documents: [] };
    assert.match(await refusal(second, { defense }), /Choose as which document Adyen gets the texts, "ship.pdf"/);
    const bare = evidence(second, '', { texts: {}, files: [], defense });
    assert.equal((await processor.disputes?.submit(bare))?.outcome, 'done');
    const { dispute } = await adyen.call('GET', `/disputes/${second}`);
    assert.deepEqual([dispute.defenseReason, dispute.evidence], [defense.reason, undefined]);
  });

  it('without a status, as in some countries, is won only when Adyen says that it is over', async () => {
    const { reference } = await adyen.charged();
    const play = async (action: string, fields: object = {}): Promise<string> =>
      (await adyen.call('POST', '/control/disputes', { action, reference, ...fields })).dispute;
    const disputeId = await play('open', { without_status: true });
    await play('reversed');
    await waitUntil(async () => states(disputeId).includes('under_review'));
    await play('prearbitration_declined');
    assert.ok(!states(disputeId).includes('won'));
    await play('prearbitration_withdrawn');
    await waitUntil(async () => states(disputeId).includes('won'));
  });

  for (const [text, end] of [
    ['winning_evidence', 'won'],
    ['losing_evidence', 'lost'],
  ] as const) {
    it(`is answered with documents, and ${text} leaves it ${end}`, async () => {
      const disputeId = await disputed();
      const request = evidence(disputeId, text);
      assert.deepEqual(await processor.disputes?.submit(request), { outcome: 'done', state: 'under_review' });
      await waitUntil(async () => states(disputeId).includes(end));
      assert.equal((await processor.disputes?.submit({ ...request, reference: randomUUID() }))?.outcome, 'refused');
    });
  }

  it('is accepted, and not answered afterwards', async () => {
    const disputeId = await disputed();
    const request = { companyId, reference: randomUUID(), disputeId };
    assert.deepEqual(await processor.disputes?.accept(request), { outcome: 'done', state: 'accepted' });
    await waitUntil(async () => states(disputeId).includes('accepted'));
    assert.equal((await processor.disputes?.submit(evidence(disputeId, 'x')))?.outcome, 'refused');
  });

  it('may be an inquiry, a win, a second chargeback or unknown to us', async () => {
    assert.deepEqual(states(await disputed('inquiry')), ['inquiry']);
    const { reference } = await adyen.charged();
    const play = async (action: string): Promise<string> =>
      (await adyen.call('POST', '/control/disputes', { action, reference })).dispute;
    const disputeId = await play('open');
    await play('win');
    await waitUntil(async () => states(disputeId).includes('won'));
    await play('second_chargeback');
    await waitUntil(async () => states(disputeId).includes('lost'));
    const unknown = await processor.disputes?.accept({ companyId, reference: randomUUID(), disputeId: 'NONE' });
    assert.equal(unknown?.outcome, 'refused');
  });
});

describe('a card at Adyen', () => {
  const verify = (cvc: string, postalCode = '10115') =>
    processor.verify?.({
      companyId,
      reference: randomUUID(),
      validUntilMs: inAMinute(),
      card,
      cvc: new Secret(cvc),
      billing: {
        name: 'Ada Lovelace',
        email: 'ada@example.com',
        phone: null,
        line1: '12 Main Street',
        line2: null,
        city: 'Berlin',
        state: null,
        postalCode,
        country: 'DE',
      },
    });

  it('is verified with its CVC and address, and the CVC is nowhere in the journal', async () => {
    const plain = await verify('9173');
    assert.ok(plain?.outcome === 'verified', inspect(plain));
    assert.deepEqual(
      [plain.avsResult, plain.cvvResult],
      [null, null],
      'an account without the setting shows no results',
    );
    await adyen.control({ additional_data: true, network_references: true });
    const found = await verify('9173');
    assert.ok(found?.outcome === 'verified' && found.networkTransactionId, inspect(found));
    assert.deepEqual([found.avsResult, found.cvvResult], ['Y', 'M']);
    // Not as a part of a time or of a random id.
    assert.doesNotMatch(await adyen.traces(), /(?<![\w+/-])9173(?![\w+/-])/);
    const wrong = await verify('000', '00000');
    assert.deepEqual(wrong, { outcome: 'declined', avsResult: 'N', cvvResult: 'N', networkTransactionId: null });
    await adyen.control({ next: ['authorization:error_after'] });
    assert.equal((await verify('9173'))?.outcome, 'unknown');
  });

  it('is charged with the network transaction id of its first use', async () => {
    await adyen.control({ network_references: true });
    const credential = { initiator: 'merchant', sequence: 'subsequent', networkTransactionId: 'MCC123456' } as const;
    const outcome = await processor.charge(await adyen.prepared({ credential }));
    assert.ok(outcome.outcome === 'approved' && outcome.networkTransactionId === 'MCC123456', inspect(outcome));
  });

  it('is charged in the units of Adyen, and not if there is no such unit', async () => {
    for (const [amount, currency] of [
      [500, 'jpy'],
      [500, 'isk'],
      [500, 'kwd'],
      [500, 'idr'],
      [500, 'clp'],
    ] as const) {
      const { reference } = await adyen.charged({ amount, currency });
      const [operation] = await adyen.executed(reference);
      assert.deepEqual([operation?.amount, operation?.currency], [amount, currency]);
    }
    const { notices } = await adyen.call('GET', '/notices');
    const values = new Map(notices.map((one: NoticeItem) => [one.amount.currency, one.amount.value]));
    assert.deepEqual([values.get('ISK'), values.get('IDR'), values.get('JPY')], [50_000, 5, 500]);
    const odd = await processor.prepare?.(newCharge({ amount: 550, currency: 'idr' }));
    assert.ok(odd?.outcome === 'not_sent' && odd.failureCode === 'validation_error', inspect(odd));
  });
});

describe('a connection to Adyen', () => {
  it('works, and says which account and environment it is', async () => {
    assert.deepEqual(await processor.test?.(), {
      outcome: 'works',
      account: merchantAccount,
      accountId: merchantAccount,
      advice: unknownCodeRule,
      livemode: true,
    });
  });

  it('fails in words if the key is wrong or revoked or the account is another', async () => {
    const problems: string[] = [];
    const wrongKey = open(adyen.url, { api_key: `AQF${'y'.repeat(60)}` });
    const wrongAccount = open(adyen.url, { merchant_account: 'AnotherECOM' });
    await adyen.control({ next: [] });
    for (const by of [wrongKey, wrongAccount]) {
      const found = await by.test?.();
      assert.ok(found?.outcome === 'fails', inspect(found));
      problems.push(found.problem);
      const preparation = await by.prepare?.(newCharge());
      assert.ok(preparation?.outcome === 'declined' && preparation.isProcessorFault, inspect(preparation));
      assert.equal(preparation.failureCode, 'invalid_merchant_configuration');
    }
    assert.match(problems[0] ?? '', /API key/);
    assert.match(problems[1] ?? '', /merchant account/);
    const ready = await adyen.prepared();
    await adyen.control({ next: ['capture:error_after'] });
    assert.equal((await processor.charge(ready)).outcome, 'unknown');
    await adyen.control({ revoked: true });
    assert.equal(
      (await processor.lookup(ready)).outcome,
      'unknown',
      'a revoked key says nothing about the first request',
    );
    assert.ok(![apiKey, cardNumber].some((secret) => JSON.stringify(problems).includes(secret)));
  });

  it('refuses fields of the wrong form in words, without their values', () => {
    const rows: readonly (readonly [Record<string, string>, string, RegExp])[] = [
      [{ api_key: 'test_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345' }, 'api_key', /client key/],
      [{ api_key: hmacKey }, 'api_key', /HMAC key/],
      [{ hmac_key: 'abc' }, 'hmac_key', /64/],
      [{ live_url_prefix: 'https://x-checkout-live.adyenpayments.com' }, 'live_url_prefix', /prefix/],
      [{ merchant_account: 'a b' }, 'merchant_account', /letters/],
      [{ api_url: 'https://evil.example/v72' }, 'api_url', /must be on/],
      [{ webhook_username: '' }, 'webhook_username', /belong together/],
      [{ verification_currency: 'euro' }, 'verification_currency', /three/],
      [{ secret: 'x' }, 'secret', /not a field/],
    ];
    for (const [changes, field, message] of rows) {
      assert.throws(
        () =>
          adyenKind.open(checkConfiguration(adyenKind, { ...configuration, ...changes }), {
            timeoutMs: 1,
            extraOrigins: [],
          }),
        (error) => {
          assert.ok(error instanceof ConfigurationProblem, inspect(error));
          assert.equal(error.field, field);
          assert.match(error.message, message);
          for (const value of Object.values(changes)) assert.ok(value.length < 4 || !error.message.includes(value));
          return true;
        },
      );
    }
  });

  it('uses the host of the live account, or the test environment, and no other host', () => {
    const options = { timeoutMs: 1, extraOrigins: [] };
    for (const changes of [{}, { live_url_prefix: '1797a841fbb37ca7-AcmeInc' }]) {
      assert.ok(adyenKind.open(checkConfiguration(adyenKind, { ...configuration, ...changes }), options));
    }
    const { origins } = adyenKind;
    assert.throws(() => allowedUrl('api_url', 'https://a.b-checkout-live.adyenpayments.com/x', origins, options));
    assert.throws(() => allowedUrl('api_url', 'https://checkout-test.adyen.com.evil.example/', origins, options));
  });
});
