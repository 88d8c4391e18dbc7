import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Secret } from '../../../platform/secret.ts';
import type { NoticedChargeback, Reception } from '../notices.ts';
import { receiveWebhook } from './webhooks.ts';

/** The bodies are those of NMI's documents. */

const key = 'SigningKeyOfTheAccount';
const nowMs = Date.UTC(2026, 4, 5, 19, 36);

const sign = (body: string, by = key, nonce = '1779827853'): string =>
  `t=${nonce},s=${createHmac('sha256', by).update(`${nonce}.${body}`).digest('hex')}`;

function received(
  body: string,
  { header = sign(body), processorId }: { header?: string; processorId?: string } = {},
): Reception {
  const delivery = { headers: { 'webhook-signature': header }, body: Buffer.from(body), nowMs };
  return receiveWebhook(delivery, { signingKey: new Secret(key), processorId });
}

function notices(body: string | object, processorId?: string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const reception = received(text, processorId === undefined ? {} : { processorId });
  assert.ok(reception.outcome === 'accepted', JSON.stringify(reception));
  assert.ok(reception.notices.length > 0, 'something is always kept');
  return reception.notices;
}

const merchant = { id: '123456', name: 'Test Account' };
const processor = { id: 'ccprocessor', name: 'CC Processor', type: 'cc' };
const event = (
  event_type: string,
  event_body: unknown,
  event_id: unknown = '11750910-bd03-4f9a-871a-786203df177f',
) => ({
  event_id,
  event_type,
  event_body,
});

const settlement = event('settlement.batch.complete', {
  batch_id: '12345678',
  count: 4,
  amount: '402.81',
  merchant,
  processor,
  by_card_type: { visa: { count: 4, amount: '402.81' } },
  transaction_ids: ['1234000000', '1234000001', 1234000002, '1234000003'],
});

const entry = {
  id: '1234567890',
  date: '3/29/2020',
  customer_name: 'Someone Smith',
  cc_number: '411111******1111',
  amount: '11.11',
  reason: '101: Introductory chargeback',
};
const chargebacks = (...entries: readonly unknown[]) =>
  event('chargeback.batch.complete', {
    merchant,
    processor,
    count: 2,
    chargeback_amount: '11.11',
    chargebacks: entries,
  });

const chargebackOf = (change: object): NoticedChargeback => {
  const [notice] = notices(chargebacks({ ...entry, ...change }));
  assert.ok(notice?.about.kind === 'chargeback', JSON.stringify(notice));
  return notice.about.chargeback;
};

describe('the signature of a webhook', () => {
  const body = JSON.stringify(settlement);

  it('is that of the nonce and the body, with the signing key of the account', () => {
    assert.equal(received(body).outcome, 'accepted');
    for (const nonce of ['1779827853', 'a-nonce_that.is+no/time=']) {
      assert.equal(received(body, { header: sign(body, key, nonce) }).outcome, 'accepted');
    }
    assert.equal(
      received(body, { header: sign(body).toUpperCase().replace('T=', 't=').replace('S=', 's=') }).outcome,
      'accepted',
    );
  });

  it('refuses every other signature, and everything without the signing key', () => {
    const right = sign(body);
    const wrong = [
      '',
      right.slice(0, -1),
      right.replace('t=', 'x='),
      right.replace('t=1', 't=2'),
      sign(body, 'another key'),
      sign(`${body} `),
      `t=1,s=${createHmac('sha256', key).update(body).digest('hex')}`,
      `t=1,s=${'z'.repeat(64)}`,
    ];
    for (const header of wrong) assert.equal(received(body, { header }).outcome, 'refused', header);
    const delivery = { headers: { 'webhook-signature': right }, body: Buffer.from(body), nowMs };
    assert.equal(receiveWebhook(delivery, {}).outcome, 'refused');
  });

  it('with a valid signature any content is accepted and kept, however broken', () => {
    const contents = ['', '{', 'null', '[]', '7', '{"event_type":7}', '{"event_type":"x","event_body":null}', '\u0000'];
    for (const content of contents) {
      const [kept, ...more] = notices(content);
      assert.deepEqual([kept?.about.kind, more], ['other', []], content);
      assert.equal(kept?.id, notices(content)[0]?.id, 'the same in each delivery');
    }
    fc.assert(
      fc.property(
        fc.constantFrom('settlement.batch.complete', 'chargeback.batch.complete', 'x.y'),
        fc.jsonValue(),
        (type, value) => {
          for (const notice of notices(event(type, value))) assert.ok(notice.id.length <= 200);
          for (const notice of notices(event(type, { chargebacks: [value], transaction_ids: [value] }))) {
            assert.ok(notice.id.length <= 200 && notice.atMs <= nowMs);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a batch that settled', () => {
  it('has the ids of its transactions, texts and numbers', () => {
    const [notice, ...more] = notices(settlement);
    assert.deepEqual(more, []);
    assert.deepEqual(notice?.about, {
      kind: 'settled_batch',
      transactionIds: ['1234000000', '1234000001', '1234000002', '1234000003'],
    });
  });

  it('is read although some of it is not readable', () => {
    const [notice] = notices(event('settlement.batch.complete', { transaction_ids: [null, {}, '5', 'a b'] }));
    assert.deepEqual(notice?.about, { kind: 'settled_batch', transactionIds: ['5'] });
  });

  it('becomes several notices if it is large, the same in each delivery', () => {
    const transaction_ids = Array.from({ length: 2_500 }, (_, index) => String(index));
    const found = notices(event('settlement.batch.complete', { transaction_ids }));
    assert.equal(found.length, 3);
    assert.equal(new Set(found.map(({ id }) => id)).size, 3);
    assert.deepEqual(found, notices(event('settlement.batch.complete', { transaction_ids })));
    assert.deepEqual(
      found.flatMap(({ about }) => (about.kind === 'settled_batch' ? about.transactionIds : [])),
      transaction_ids,
    );
  });

  it('or failed to, of which NMI only says that', () => {
    const [notice] = notices(event('settlement.batch.failure', { batch_id: '123456', merchant, processor }));
    assert.equal(notice?.about.kind, 'failed_batch');
  });

  it('has no effect if it is of another processor of the account', () => {
    assert.equal(notices(settlement, 'ccprocessor')[0]?.about.kind, 'settled_batch');
    assert.equal(notices(settlement, 'another')[0]?.about.kind, 'other');
    assert.equal(notices(chargebacks(entry), 'another')[0]?.about.kind, 'other');
  });
});

describe('a chargeback', () => {
  it('is read as the documents show it', () => {
    assert.deepEqual(chargebackOf({}), {
      id: '1234567890',
      date: '2020-03-29',
      first6: '411111',
      last4: '1111',
      amount: '11.11',
      reason: 'general',
      networkReasonCode: '101',
      text: '101: Introductory chargeback',
    });
  });

  it('has the reason of the code of the card network', () => {
    const reasonOf = (change: object) => {
      const { reason, networkReasonCode } = chargebackOf(change);
      return [reason, networkReasonCode];
    };
    assert.deepEqual(reasonOf({ reason: '10.4: Other fraud' }), ['fraudulent', '10.4']);
    assert.deepEqual(reasonOf({ reason: 'Not received', reason_code: 4855 }), ['product_not_received', '4855']);
    assert.deepEqual(reasonOf({ reason: 'C28 - Cancelled recurring billing' }), ['subscription_canceled', 'C28']);
    assert.deepEqual(reasonOf({ reason: 'Fraud' }), ['general', null]);
  });

  it('of which a part is not readable keeps the rest', () => {
    const unreadable: readonly (readonly [change: object, name: keyof NoticedChargeback])[] = [
      [{ date: '29/3/2020' }, 'date'],
      [{ date: '2/30/2020' }, 'date'],
      [{ date: null }, 'date'],
      [{ amount: '1,100.00' }, 'amount'],
      [{ amount: '-11.11' }, 'amount'],
      [{ amount: {} }, 'amount'],
      [{ cc_number: '****' }, 'last4'],
      [{ cc_number: 'ending in 1111' }, 'last4'],
    ];
    for (const [change, name] of unreadable) {
      const read = chargebackOf(change);
      assert.deepEqual([read[name], read.id], [null, '1234567890'], JSON.stringify(change));
    }
    assert.deepEqual(
      [chargebackOf({ date: '2020-03-29' }).date, chargebackOf({ date: '12/1/2020 10:00' }).date],
      ['2020-03-29', '2020-12-01'],
    );
    assert.deepEqual(
      [chargebackOf({ cc_number: 'xxxxxxxxxxxx1111' }).last4, chargebackOf({ cc_number: '4xxxxxxxxxxx1111' }).first6],
      ['1111', null],
    );
    assert.equal(chargebackOf({ amount: 11.5 }).amount, '11.5');
    assert.equal(chargebackOf({ cc_number: '4111111111111111' }).text?.includes('4111111111111111'), false);
  });

  it('that is not readable at all does not affect the others', () => {
    const found = notices(chargebacks(null, entry, 'text', { ...entry, id: '1234567891' }, [], {}));
    assert.deepEqual(
      found.map(({ about }) => about.kind),
      ['other', 'chargeback', 'other', 'chargeback', 'other', 'chargeback'],
    );
    assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
  });

  it('is the same notice in another batch, and another one on another date', () => {
    const idOf = (body: object): string | undefined => notices(body)[0]?.id;
    const again = { ...chargebacks(entry), event_id: 'another' };
    assert.equal(idOf(again), idOf(chargebacks(entry)));
    assert.notEqual(idOf(chargebacks({ ...entry, date: '4/1/2020' })), idOf(chargebacks(entry)));
  });
});

describe('other events', () => {
  it('about a transaction say only that the processor has to be asked', () => {
    for (const type of ['transaction.sale.success', 'transaction.sale.failure', 'transaction.refund.unknown']) {
      const [notice] = notices(event(type, { transaction_id: '5', order_id: 'our-reference', condition: 'complete' }));
      assert.deepEqual(notice?.about, { kind: 'changed', reference: 'our-reference' });
    }
    assert.equal(notices(event('transaction.sale.success', { order_id: '' }))[0]?.about.kind, 'other');
  });

  it('are kept', () => {
    for (const type of [
      'acu.summary.closedaccount',
      'recurring.subscription.add',
      'transaction.check.status.latereturn',
    ]) {
      const [notice] = notices(event(type, { order_id: 'our-reference' }));
      assert.deepEqual([notice?.type, notice?.about.kind], [type, 'other']);
    }
  });
});
