import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import {
  type ConnectedMerchant,
  type LiveService,
  startLiveService,
} from '../../../../tests/support/live-merchants.ts';
import { assertRefused, readOrder, succeeded } from '../../../../tests/support/orders.ts';
import type { Reply } from '../../../../tests/support/service.ts';
import type { Simulator } from '../../../../tests/support/simulator.ts';
import { silentLog } from '../../../../tests/support/silent-log.ts';
import { applyDueNotices } from '../../../features/processors/notices.ts';

/** Disputes at Adyen, through the whole service. */

let live: LiveService;
let adyen: Simulator;
let merchant: ConnectedMerchant;

before(async () => {
  live = await startLiveService();
  adyen = live.fakes.adyen;
  merchant = await live.openMerchant('adyen');
  const notice_url = `${live.service.baseUrl}/processors/${merchant.connections[0]}/notices`;
  await adyen.control({ notice_url });
});
after(() => live.stop());

const pay = (): Promise<Reply['body']> => succeeded(live.service, merchant.shop, { key: merchant.key });
const chargeOf = async (orderId: string): Promise<string> => {
  const [row] = await live.service.db.query<{ reference: string }>(
    "SELECT reference FROM transactions WHERE order_id = $1 AND type = 'sale'",
    [orderId],
  );
  return row?.reference ?? '';
};

/** Waits until Adyen has delivered everything, and applies it. */
async function deliver(): Promise<void> {
  const { service, vault } = live;
  await waitUntil(async () => {
    await sleep(20);
    return (await adyen.call('GET', '/healthz')).undelivered === 0;
  }, 120_000);
  while ((await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 200)) > 0);
}

const ask = (method: string, path: string, body?: object): Promise<Reply> =>
  merchant.owner.in(method, `/dashboard/disputes${path}`, body, { company: merchant.companyId });

/** A charge that the cardholder disputes, and the dispute. */
async function disputed(
  fields: object,
): Promise<{ orderId: string; id: string; play: (action: string) => Promise<void> }> {
  const { id: orderId } = await pay();
  const reference = await chargeOf(orderId);
  const act = async (action: string, more: object = {}): Promise<void> => {
    await adyen.call('POST', '/control/disputes', { action, reference, ...more });
    await deliver();
  };
  await act('open', fields);
  const { body } = await ask('GET', `?order_id=${orderId}`);
  return { orderId, id: body.data[0].id, play: act };
}

describe('a dispute at Adyen', () => {
  it('is defended for the reason that the merchant chose, which is kept as a draft', async () => {
    const { id, orderId } = await disputed({ reason_code: '13.3' });
    const { body: open } = await ask('GET', `/${id}`);
    const { is_possible, is_final, chooses_reason } = open.answer;
    assert.deepEqual([is_possible, is_final, chooses_reason, open.defense], [true, true, true, null]);
    assert.deepEqual([open.network_reason_code, open.reason], ['13.3', 'product_unacceptable']);
    const { data } = (await ask('GET', `/${id}/defense_reasons`)).body;
    assert.deepEqual(data[2], {
      reason: 'GoodsWereAsDescribed',
      name: 'Goods were as described',
      documents: [
        { type: 'GoodsWereAsDescribed', name: 'Goods were as described', need: 'required', is_supplied: false },
        { type: 'TIDorInvoice', name: 'Transaction receipt or invoice', need: 'required', is_supplied: false },
      ],
    });
    await ask('PATCH', `/${id}`, { evidence: { explanation: 'They were as described: winning_evidence' } });
    const refused = await ask('POST', `/${id}/submit`, {});
    assertRefused(refused, 400, 'invalid_request');
    assert.match(refused.body.error.message, /Choose the reason/);

    const content = Buffer.from('%PDF-1.7 an invoice').toString('base64');
    const file = { kind: 'receipt', name: 'invoice.pdf', content_type: 'application/pdf', content };
    const [{ id: invoice }, { id: spare }] = [
      (await ask('POST', `/${id}/files`, file)).body.files[0],
      (await ask('POST', `/${id}/files`, { ...file, name: 'spare.pdf' })).body.files[1],
    ];
    const documents = [
      { type: 'GoodsWereAsDescribed', source: 'texts' },
      { type: 'TIDorInvoice', source: invoice },
    ];
    const defense = { reason: 'GoodsWereAsDescribed', documents };
    const strange = { ...defense, documents: [{ type: 'TIDorInvoice', source: randomUUID() }] };
    assertRefused(await ask('PATCH', `/${id}`, { defense: strange }), 400, 'validation_error', 'defense.documents');
    assert.deepEqual((await ask('PATCH', `/${id}`, { defense })).body.defense, defense);
    const left = await ask('POST', `/${id}/submit`, {});
    assert.match(left.body.error.message, /gets "spare\.pdf", or remove it/, 'nothing is left out');
    assert.deepEqual((await ask('GET', `/${id}`)).body.defense, defense, 'the draft is kept');
    await ask('DELETE', `/${id}/files/${spare}`);
    assert.equal((await ask('POST', `/${id}/submit`, {})).body.status, 'under_review');
    await deliver();
    const { body: ended } = await ask('GET', `/${id}`);
    assert.deepEqual([ended.status, ended.answer.is_possible], ['won', false]);
    assert.equal((await readOrder(live.service, orderId, { key: merchant.key })).status, 'chargeback_dismissed');
    assert.deepEqual((await ask('GET', `/${id}/defense_reasons`)).body.data, [], 'nothing is left to choose');
  });

  it('loses the document of a file that is removed, and its reason with null', async () => {
    const { id } = await disputed({ reason_code: '13.7' });
    const content = Buffer.from('%PDF-1.7 terms').toString('base64');
    const file = { kind: 'cancellation_policy', name: 'terms.pdf', content_type: 'application/pdf', content };
    const source = (await ask('POST', `/${id}/files`, file)).body.files[0].id;
    const defense = { reason: 'CancellationTermsFailed', documents: [{ type: 'TAndC', source }] };
    await ask('PATCH', `/${id}`, { defense });
    const removed = await ask('DELETE', `/${id}/files/${source}`);
    assert.deepEqual(removed.body.defense, { ...defense, documents: [] });
    assert.equal((await ask('PATCH', `/${id}`, { defense: null })).body.defense, null);
    assertRefused(await ask('POST', `/${id}/submit`, {}), 400, 'invalid_request');
    await ask('PATCH', `/${id}`, { defense: { reason: 'CreditOrCancellationPolicyProperlyDisclosed', documents: [] } });
    assert.equal((await ask('POST', `/${id}/submit`, {})).body.status, 'under_review', 'it needs no document');
  });

  it('that follows an inquiry is answered again', async () => {
    const { id: orderId } = await pay();
    const reference = await chargeOf(orderId);
    const { dispute } = await adyen.call('POST', '/control/disputes', { action: 'inquiry', reference });
    await deliver();
    const { id } = (await ask('GET', `?order_id=${orderId}`)).body.data[0];
    await ask('PATCH', `/${id}`, { evidence: { explanation: 'It was sent on time.' } });
    assert.equal((await ask('POST', `/${id}/submit`, {})).status, 200);
    await deliver();
    const chargeback = {
      eventCode: 'CHARGEBACK',
      pspReference: dispute,
      originalReference: null,
      merchantReference: reference,
      amount: { currency: 'USD', value: 4900 },
      isSuccess: true,
      additionalData: { chargebackReasonCode: ' 10.4', disputeStatus: 'Undefended' },
    };
    await adyen.call('POST', '/control/notices', chargeback);
    await deliver();
    const { body } = await ask('GET', `/${id}`);
    assert.deepEqual([body.status, body.submitted_at, body.answer.is_possible], ['needs_response', null, true]);
    assert.equal(body.evidence.explanation, 'It was sent on time.', 'the draft is still there');
  });
});
