import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, eventTypes, openShop, order, readOrder } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { eraseEvidence } from './service.ts';

/** The whole life of a dispute in the sandbox. */

let service: TestService;
let owner: Person;
let key: string;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  const id = companyOf(owner, 'sandbox');
  key = await service.createKey({ ...service.company, id });
});
after(() => service.stop());

const ask = (method: string, path: string, body?: object): Promise<Reply> =>
  owner.in(method, `/dashboard/disputes${path}`, body);

/** An order whose charge is disputed, and the dispute. */
async function disputed(): Promise<{ orderId: string; disputeId: string }> {
  const shop = await openShop(service, undefined, { key });
  const { body } = await order(service, shop, {}, { key });
  const raised = await service.call('POST', `/v1/sandbox/orders/${body.id}/chargeback`, { key, body: {} });
  assert.equal(raised.body.status, 'chargeback');
  const { data } = (await ask('GET', `?order_id=${body.id}`)).body;
  assert.equal(data.length, 1);
  return { orderId: body.id, disputeId: data[0].id };
}

const statusOf = async (orderId: string): Promise<string> => (await readOrder(service, orderId, { key })).status;
const pdf = Buffer.from('%PDF-1.7 a receipt').toString('base64');

describe('a dispute in the sandbox', () => {
  it('is listed with its amount, reason and deadline', async () => {
    const { orderId, disputeId } = await disputed();
    const { body } = await ask('GET', `/${disputeId}`);
    assert.deepEqual(
      [body.status, body.order_id, body.amount, body.reason, body.answer.is_possible],
      ['needs_response', orderId, 4900, 'fraudulent', true],
    );
    const days = (Date.parse(body.evidence_due_at) - Date.parse(body.created_at)) / 86_400_000;
    assert.equal(days, 7);
    const open = (await ask('GET', '?status=needs_response&limit=100')).body.data;
    assert.ok(open.some(({ id }: { id: string }) => id === disputeId));
  });

  for (const [text, status, orderStatus] of [
    ['winning_evidence', 'won', 'chargeback_dismissed'],
    ['losing_evidence', 'lost', 'chargeback_accepted'],
  ] as const) {
    it(`is ${status} with the evidence ${text}, and the order reads ${orderStatus}`, async () => {
      const { orderId, disputeId } = await disputed();
      const draft = await ask('PATCH', `/${disputeId}`, { evidence: { explanation: text } });
      assert.deepEqual([draft.body.evidence.explanation, draft.body.status], [text, 'needs_response']);
      const { body } = await ask('POST', `/${disputeId}/submit`, {});
      assert.deepEqual([body.status, body.answer.is_possible], [status, false]);
      assert.equal(await statusOf(orderId), orderStatus);
      assert.equal((await eventTypes(service, orderId)).at(-1), `order.${orderStatus}`);
      assertRefused(await ask('POST', `/${disputeId}/submit`, {}), 422, 'invalid_state_transition');
    });
  }

  it('stays under review with other evidence, until the sandbox decides it', async () => {
    const { orderId, disputeId } = await disputed();
    await ask('PATCH', `/${disputeId}`, { evidence: { product_description: 'A mug' } });
    assert.equal((await ask('POST', `/${disputeId}/submit`, {})).body.status, 'under_review');
    assert.equal(await statusOf(orderId), 'chargeback');
    const resolve = { key, body: { outcome: 'dismissed' } };
    await service.call('POST', `/v1/sandbox/orders/${orderId}/chargeback/resolve`, resolve);
    assert.equal((await ask('GET', `/${disputeId}`)).body.status, 'won');
  });

  it('is lost at its deadline by the clock, if it is not answered', async () => {
    const { orderId, disputeId } = await disputed();
    const advance = (days: number): Promise<Reply> =>
      service.call('POST', '/v1/sandbox/clock/advance', { key, body: { by: { days } } });
    await advance(6);
    assert.equal(await statusOf(orderId), 'chargeback');
    await advance(2);
    assert.equal(await statusOf(orderId), 'chargeback_accepted');
    assert.equal((await ask('GET', `/${disputeId}`)).body.status, 'lost');
  });

  it('can be accepted', async () => {
    const { orderId, disputeId } = await disputed();
    assert.equal((await ask('POST', `/${disputeId}/accept`, {})).body.status, 'accepted');
    assert.equal(await statusOf(orderId), 'chargeback_accepted');
    assertRefused(await ask('POST', `/${disputeId}/accept`, {}), 422, 'invalid_state_transition');
  });
});

describe('evidence', () => {
  it('takes files of the right type and size, and gives them back by name', async () => {
    const { disputeId } = await disputed();
    const file = { kind: 'receipt', name: 'receipt.pdf', content_type: 'application/pdf', content: pdf };
    const { body } = await ask('POST', `/${disputeId}/files`, file);
    assert.deepEqual([body.files[0].name, body.files[0].size_bytes], ['receipt.pdf', 18]);
    const wrong = { ...file, content_type: 'image/png' };
    assertRefused(await ask('POST', `/${disputeId}/files`, wrong), 400, 'validation_error', 'content');
    const removed = await ask('DELETE', `/${disputeId}/files/${body.files[0].id}`);
    assert.deepEqual(removed.body.files, []);
    assertRefused(await ask('DELETE', `/${disputeId}/files/${randomUUID()}`), 404, 'resource_not_found');
  });

  it('has at most as many files as the processor takes, also if they arrive together', async () => {
    const { disputeId } = await disputed();
    const file = { kind: 'receipt', name: 'receipt.pdf', content_type: 'application/pdf', content: pdf };
    const replies = await Promise.all(Array.from({ length: 12 }, () => ask('POST', `/${disputeId}/files`, file)));
    const { files, answer } = (await ask('GET', `/${disputeId}`)).body;
    assert.deepEqual([files.length, replies.filter(({ status }) => status === 200).length], [8, 8]);
    assert.equal(answer.files_max, 8);
  });

  it('is erased after its customer was deleted, as soon as the dispute is decided', async () => {
    const { orderId, disputeId } = await disputed();
    await ask('PATCH', `/${disputeId}`, { evidence: { explanation: 'The customer lives at 1 Main Street' } });
    const file = { kind: 'receipt', name: 'receipt.pdf', content_type: 'application/pdf', content: pdf };
    await ask('POST', `/${disputeId}/files`, file);
    const evidence = async (): Promise<[number, number]> => {
      await eraseEvidence(service.db, 1_000);
      const { body } = await ask('GET', `/${disputeId}`);
      return [Object.keys(body.evidence).length, body.files.length];
    };
    assert.deepEqual(await evidence(), [1, 1]);
    const { customer_id } = await readOrder(service, orderId, { key });
    assert.equal((await service.call('DELETE', `/v1/customers/${customer_id}`, { key })).status, 200);
    assert.deepEqual(await evidence(), [1, 1], 'the merchant still needs it');
    await ask('POST', `/${disputeId}/accept`, {});
    assert.deepEqual(await evidence(), [0, 0]);
    assert.equal((await ask('GET', `/${disputeId}`)).body.status, 'accepted');
  });

  it('is needed before it is submitted', async () => {
    const { disputeId } = await disputed();
    assertRefused(await ask('POST', `/${disputeId}/submit`, {}), 400, 'invalid_request');
    const blank = await ask('PATCH', `/${disputeId}`, { evidence: { explanation: '', refund_policy: ' \n' } });
    assert.deepEqual([blank.status, blank.body.evidence], [200, {}]);
    assertRefused(await ask('POST', `/${disputeId}/submit`, {}), 400, 'invalid_request');
    assertRefused(await ask('PATCH', `/${disputeId}`, { evidence: { unknown: 'x' } }), 400, 'validation_error');
    const long = { evidence: { explanation: 'x'.repeat(20_001) } };
    assertRefused(await ask('PATCH', `/${disputeId}`, long), 400, 'validation_error');
  });

  it('of another company is not found', async () => {
    const { disputeId } = await disputed();
    const stranger = await signUp(service);
    assert.equal((await stranger.in('GET', `/dashboard/disputes/${disputeId}`)).status, 404);
    assert.equal((await stranger.in('POST', `/dashboard/disputes/${disputeId}/accept`, {})).status, 404);
  });
});

describe('the draft of the evidence', () => {
  it('says that the bank authenticated the cardholder and bears the loss, if it does', async () => {
    const explanationOf = async (disputeId: string): Promise<string[]> => {
      const { data } = (await ask('GET', `/${disputeId}/suggestions`)).body;
      const found = data.find(({ field }: { field: string }) => field === 'explanation');
      return found.lines.map(({ text }: { text: string }) => text);
    };
    const { orderId, disputeId } = await disputed();
    assert.ok((await explanationOf(disputeId)).every((text) => !/3-D Secure/.test(text)));
    const result = { flow: 'challenge', status: 'authenticated', liabilityShifted: true, version: '2.2.0', eci: '05' };
    await service.db.query(
      `UPDATE transactions SET processor_response = (processor_response::jsonb || $2::jsonb)::json WHERE order_id = $1`,
      [orderId, JSON.stringify({ authentication: result })],
    );
    const lines = (await explanationOf(disputeId)).join(' ');
    assert.match(
      lines,
      /The bank of the cardholder authenticated the cardholder for this payment \(3-D Secure 2\.2\.0, ECI 05\)\./,
    );
    assert.match(
      lines,
      /The cardholder confirmed it with the bank\. The liability for fraud has shifted to the issuer\./,
    );
  });
});
