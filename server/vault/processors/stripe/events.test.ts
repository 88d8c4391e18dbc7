import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import Stripe from 'stripe';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { listen } from '../../../../tests/support/listen.ts';
import { chargeOf, refundOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { CardNumber } from '../../card-number.ts';
import type { EvidenceFile, Notice, NoticedDispute, Reception } from '../notices.ts';
import type { ChargeRequest, Processor } from '../processor.ts';
import { readBody } from '../../../../simulators/wire.ts';
import { stripeKind } from './kind.ts';

const secretKey = 'sk_test_51NotARealKey00000000';
const oldSecret = 'whsec_oldSecret0000';
const newSecret = 'whsec_newSecret0000';
const companyId = randomUUID();
const nowMs = Date.now();

let stripe: Simulator;
let processor: Processor;
let receiver: Server;
let receiverUrl: string;
let receptions: Reception[] = [];
/** The account of the connection, if it is known. */
let ownAccount: string | undefined;
/** Deliveries are refused until this is true, as by a service that is down. */
let isUp = true;

before(async () => {
  stripe = await startSimulator('stripe', secretKey);
  processor = stripeKind.open(
    { secret_key: secretKey, signing_secret: `${newSecret},${oldSecret}`, api_url: stripe.url },
    { timeoutMs: 5_000, extraOrigins: [stripe.url] },
  );
  receiver = createServer((request, response) => void answer(request, response));
  receiverUrl = await listen(receiver);
  await stripe.control({ webhook: { url: receiverUrl, secret: newSecret } });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const headers = request.headers as Record<string, string>;
  const delivery = body && { headers, body, nowMs: Date.now(), ...(ownAccount && { accountId: ownAccount }) };
  const reception = isUp && delivery ? processor.receive?.(delivery) : undefined;
  if (reception) receptions.push(reception);
  response.writeHead(reception?.outcome === 'accepted' ? 200 : 400).end();
}

after(async () => {
  await stripe.stop();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(async () => {
  receptions = [];
  await stripe.control({ faults: {}, next: [], settle_after_ms: null });
});

const noticed = (): Notice[] =>
  receptions.flatMap((reception) => (reception.outcome === 'accepted' ? reception.notices : []));
const disputes = (): NoticedDispute[] =>
  noticed().flatMap(({ about }) => (about.kind === 'dispute' ? [about.dispute] : []));

async function charged(): Promise<ChargeRequest & { handle: string }> {
  const card = { number: new CardNumber('4000056655665556'), cardId: randomUUID(), expMonth: 1, expYear: 2031 };
  const request = chargeOf(card, { companyId });
  const outcome = await processor.charge(request);
  assert.ok(outcome.outcome === 'approved', inspect(outcome));
  return { ...request, handle: outcome.response.transaction_id ?? '' };
}

describe('a signature', () => {
  const helper = new Stripe(secretKey).webhooks;
  const payload = JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'some.event',
    created: 1,
    data: { object: {} },
  });
  const timestamp = Math.floor(nowMs / 1_000);
  const receive = (header: string | undefined, body = payload, atMs = nowMs): Reception | undefined =>
    processor.receive?.({ headers: { 'stripe-signature': header }, body: Buffer.from(body), nowMs: atMs });
  const signed = (secret: string, at = timestamp): string =>
    helper.generateTestHeaderString({ payload, secret, timestamp: at });

  it('of Stripe’s own helper is accepted, with the old and the new secret', () => {
    for (const secret of [oldSecret, newSecret]) {
      const reception = receive(signed(secret));
      assert.ok(reception?.outcome === 'accepted', inspect(reception));
      assert.deepEqual(reception.notices, [{ id: 'evt_1', type: 'some.event', atMs: 1_000, about: { kind: 'other' } }]);
    }
    const v1 = signed(newSecret).split(',')[1];
    assert.equal(receive(`t=${timestamp},v0=00,v1=${'0'.repeat(64)},${v1}`)?.outcome, 'accepted', 'one of several');
  });

  it('that is forged, stale, of another body or missing is refused', () => {
    const wrong: [name: string, reception: Reception | undefined][] = [
      ['another secret', receive(signed('whsec_ofAnother000'))],
      ['another body', receive(signed(newSecret), payload.replace('evt_1', 'evt_2'))],
      ['another time', receive(signed(newSecret).replace(String(timestamp), String(timestamp + 1)))],
      ['too old', receive(signed(newSecret, timestamp - 301))],
      ['from the future', receive(signed(newSecret, timestamp + 302))],
      ['only v0', receive(signed(newSecret).replace('v1=', 'v0='))],
      ['cut off', receive(signed(newSecret).slice(0, -1))],
      ['no time', receive(signed(newSecret).replace(/t=\d+,/, ''))],
      ['nothing', receive(undefined)],
      ['empty', receive('')],
    ];
    for (const [name, reception] of wrong) assert.equal(reception?.outcome, 'refused', name);
    assert.equal(receive(signed(newSecret, timestamp - 299))?.outcome, 'accepted');
  });

  it('of a body that is not an event is refused', () => {
    for (const body of ['', 'null', '[]', '{"object":"event"}', payload.slice(0, -2)]) {
      const header = helper.generateTestHeaderString({ payload: body, secret: newSecret, timestamp });
      assert.equal(receive(header, body)?.outcome, 'refused', body);
    }
  });

  it('that is thin is kept, without an effect', () => {
    const thin = {
      ...{ id: 'evt_test_65R9', object: 'v2.core.event', type: 'v1.billing.meter.error_report_triggered' },
      ...{ created: '2026-11-18T09:26:10.366Z', livemode: false, reason: null },
      related_object: { id: 'mtr_1', type: 'billing.meter', url: '/v1/billing/meters/mtr_1' },
    };
    const body = JSON.stringify(thin);
    const header = Stripe.webhooks.generateTestHeaderString({ payload: body, secret: newSecret });
    assert.deepEqual(receive(header, body), {
      outcome: 'accepted',
      notices: [{ id: thin.id, type: thin.type, atMs: Date.parse(thin.created), about: { kind: 'other' } }],
    });
  });

  it('is refused by a connection without a signing secret', () => {
    const options = { timeoutMs: 1_000, extraOrigins: [] };
    const bare = stripeKind.open({ secret_key: secretKey }, options);
    const delivery = { headers: { 'stripe-signature': signed('') }, body: Buffer.from(payload), nowMs };
    assert.equal(bare.receive?.(delivery).outcome, 'refused');
  });
});

describe('notices', () => {
  const outcomesOf = (reference: string): string[] =>
    noticed().flatMap(({ about }) =>
      about.kind === 'operation' && about.reference === reference ? [about.found.outcome] : [],
    );

  /** Without those about the refund of an earlier test. */
  const ofPayments = (): Notice[] => noticed().filter(({ type }) => !type.includes('refund'));

  it('report the outcome of a charge and of a refund, also one that fails later', async () => {
    const charge = await charged();
    await waitUntil(() => outcomesOf(charge.reference).length === 2);
    const detailed = noticed().find(({ type }) => type === 'charge.succeeded');
    assert.ok(detailed?.about.kind === 'operation' && detailed.about.found.outcome === 'approved', inspect(detailed));
    assert.match(detailed.about.found.response.authorization_code ?? '', /^\d{6}$/);
    assert.equal(detailed.about.found.response.transaction_id, charge.handle);
    await stripe.control({ next: ['reject_refund'], settle_after_ms: 100 });
    const refund = refundOf(charge);
    await processor.refund(refund);
    await waitUntil(() => outcomesOf(refund.reference).includes('declined'));
    assert.deepEqual(new Set(outcomesOf(refund.reference)), new Set(['approved', 'declined']));
    const failed = noticed().find(({ type }) => type === 'refund.failed');
    assert.ok(failed?.about.kind === 'operation' && failed.about.found.outcome === 'declined');
    assert.equal(failed.about.found.failureCode, 'closed_card');
  });

  it('that come twice have the same id, and forged ones are refused', async () => {
    await stripe.control({ next: ['notice_twice'] });
    await charged();
    await waitUntil(() => ofPayments().length === 3);
    assert.equal(new Set(ofPayments().map(({ id }) => id)).size, 2);
    receptions = [];
    await stripe.control({ next: ['notice_forged'] });
    await charged();
    await waitUntil(() => receptions.length === 3);
    const outcomes = receptions.map(({ outcome }) => outcome);
    assert.deepEqual(outcomes.toSorted(), ['accepted', 'accepted', 'refused']);
  });

  it('that come late and out of order have their own time', async () => {
    await stripe.control({ next: ['notice_late'] });
    const charge = await charged();
    await stripe.call('POST', '/control/disputes', { transaction_id: charge.handle, action: 'open' });
    await waitUntil(() => ofPayments().length === 4);
    const types = ofPayments().map(({ type }) => type);
    assert.equal(types.at(-1), 'payment_intent.succeeded');
    const [first] = ofPayments();
    assert.ok((ofPayments().at(-1)?.atMs ?? 0) <= (first?.atMs ?? 0));
  });

  it('are delivered when the service is up again', async () => {
    isUp = false;
    const charge = await charged();
    isUp = true;
    await waitUntil(() => outcomesOf(charge.reference).includes('approved'));
  });

  it('of an endpoint with an older version of the API decide the same', async () => {
    for (const api_version of ['2020-08-27', '2022-08-01', '2024-06-20']) {
      await stripe.control({ webhook: { url: receiverUrl, secret: newSecret, api_version } });
      receptions = [];
      const charge = await charged();
      await waitUntil(() => outcomesOf(charge.reference).length === 2);
      assert.deepEqual(outcomesOf(charge.reference), ['approved', 'approved'], api_version);
    }
    await stripe.control({ webhook: { url: receiverUrl, secret: newSecret } });
  });

  for (const [of, own, outcomes] of [
    ['a connected account', undefined, []],
    ['another account than the one of the connection', 'acct_own', []],
    ['the account of the connection, at the endpoint of a platform', 'acct_connected', ['approved', 'approved']],
  ] as const) {
    it(`about payments of ${of} have ${outcomes.length > 0 ? 'their' : 'no'} effect`, async () => {
      await stripe.control({ webhook: { url: receiverUrl, secret: newSecret, account: 'acct_connected' } });
      ownAccount = own;
      receptions = [];
      const charge = await charged();
      await waitUntil(() => noticed().length === 2);
      assert.deepEqual(outcomesOf(charge.reference), outcomes);
      ownAccount = undefined;
      await stripe.control({ webhook: { url: receiverUrl, secret: newSecret } });
    });
  }

  it('about payments that are not ours have no effect', () => {
    const helper = new Stripe(secretKey).webhooks;
    const foreign = [
      [
        'payment_intent.succeeded',
        {
          object: 'payment_intent',
          id: 'pi_1',
          amount: 1,
          currency: 'usd',
          status: 'succeeded',
          metadata: {},
          latest_charge: null,
        },
      ],
      [
        'refund.failed',
        { object: 'refund', id: 're_1', amount: 1, currency: 'usd', created: 1, status: 'failed', metadata: null },
      ],
      [
        'charge.dispute.created',
        {
          object: 'dispute',
          id: 'dp_1',
          amount: 1,
          currency: 'usd',
          status: 'needs_response',
          reason: 'x',
          payment_intent: null,
        },
      ],
      [
        'charge.dispute.created',
        {
          object: 'dispute',
          id: 'dp_1',
          amount: 1,
          currency: 'usd',
          status: 'new',
          reason: 'x',
          payment_intent: 'pi_1',
        },
      ],
      ['charge.dispute.created', 'not an object'],
    ];
    for (const [type, object] of foreign) {
      const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, created: 1, data: { object } });
      const header = helper.generateTestHeaderString({ payload, secret: newSecret });
      const delivery = { headers: { 'stripe-signature': header }, body: Buffer.from(payload), nowMs: Date.now() };
      const reception = processor.receive?.(delivery);
      assert.ok(reception?.outcome === 'accepted', inspect(reception));
      assert.equal(reception.notices[0]?.about.kind, 'other', inspect(reception));
    }
  });
});

describe('the money of a charge', () => {
  it('is reported once it is available, and the cursor waits for what is pending', async () => {
    const settled = (notices: readonly Notice[]): (string | null)[] =>
      notices.flatMap(({ about }) => (about.kind === 'settled' ? [about.charge.reference] : []));
    await stripe.control({ settle_after_ms: 0 });
    const first = await charged();
    await stripe.control({ settle_after_ms: null });
    // Times are whole seconds, and the cursor stops before the current one.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const pending = await charged();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const found: (string | null)[] = [];
    let after: string | undefined;
    for (let polls = 0; polls < 200; polls += 1) {
      const polled = await processor.poll?.({ companyId, ...(after && { after }) });
      assert.ok(polled);
      found.push(...settled(polled.notices));
      after = polled.cursor;
      if (!polled.hasMore) break;
    }
    assert.ok(found.includes(first.reference) && !found.includes(pending.reference));
    const stuck = await processor.poll?.({ companyId, ...(after && { after }) });
    assert.deepEqual([stuck?.cursor, stuck?.hasMore], [after, false]);
    await stripe.control({ next: ['lookup_error'] });
    await assert.rejects(async () => processor.poll?.({ companyId }), /answered 500/);
  });
});

describe('a dispute', () => {
  const move = (transaction_id: string, action: string): Promise<Record<string, any>> =>
    stripe.call('POST', '/control/disputes', { transaction_id, action });
  const file = (kind: EvidenceFile['kind'], size = 10): EvidenceFile => ({
    kind,
    name: 'a "strange" name\r\n.pdf',
    contentType: 'application/pdf',
    content: Buffer.alloc(size, 1),
  });

  it('is reported with its amount, reason, deadline and each state', async () => {
    const { handle } = await charged();
    const dispute = await move(handle, 'open');
    await waitUntil(() => disputes().length === 2);
    const [opened] = disputes();
    assert.deepEqual(opened, {
      disputeId: dispute.id,
      charge: { reference: null, transactionId: handle },
      state: 'needs_response',
      reason: 'fraudulent',
      amount: 4900,
      currency: 'usd',
      networkReasonCode: '10.4',
      evidenceDueAtMs: dispute.evidence_details.due_by * 1_000,
    });
    for (const [action, state] of [
      ['win', 'won'],
      ['second', 'needs_response'],
      ['lose', 'lost'],
    ] as const) {
      await move(handle, action);
      await waitUntil(() => disputes().at(-1)?.state === state);
    }
    assert.equal(disputes().at(-1)?.evidenceDueAtMs, null);
  });

  it('that is lost in the second in which it was opened is lost, with the notices in any order', async () => {
    const { handle } = await charged();
    await move(handle, 'open');
    await move(handle, 'lose');
    await waitUntil(() => disputes().length === 3);
    const byTime = noticed()
      .filter(({ about }) => about.kind === 'dispute')
      .toSorted((one, next) => one.atMs - next.atMs);
    assert.equal(byTime.at(-1)?.type, 'charge.dispute.closed');
    assert.ok((byTime.at(-1)?.atMs ?? 0) > (byTime.at(-2)?.atMs ?? 0));
  });

  it('that is an inquiry takes no money', async () => {
    const { handle } = await charged();
    await move(handle, 'inquiry');
    await waitUntil(() => disputes().at(-1)?.state === 'inquiry');
    assert.ok(disputes().at(-1)?.evidenceDueAtMs);
    await move(handle, 'close_inquiry');
    await waitUntil(() => disputes().at(-1)?.state === 'inquiry_closed');
  });

  it('takes evidence with texts and files, once', async () => {
    const { handle } = await charged();
    const { id: disputeId } = await move(handle, 'open');
    const request = {
      companyId,
      reference: randomUUID(),
      disputeId,
      texts: { product_description: 'A book', customer_communication: 'They wrote: thanks', explanation: 'It came.' },
      files: [file('receipt'), file('other')],
    };
    assert.deepEqual(await processor.disputes?.submit(request), { outcome: 'done', state: 'under_review' });
    assert.deepEqual(
      await processor.disputes?.submit(request),
      { outcome: 'done', state: 'under_review' },
      'a repetition',
    );
    const { evidence } = await stripe.call('GET', `/v1/disputes/${disputeId}`);
    assert.equal(evidence.uncategorized_text, 'It came.\n\nCommunication:\nThey wrote: thanks');
    assert.match(evidence.receipt, /^file_/);
    assert.match(evidence.uncategorized_file, /^file_/);
    const late = await processor.disputes?.submit({ ...request, reference: randomUUID(), files: [] });
    assert.deepEqual(late, { outcome: 'refused', reason: 'The evidence of this dispute was already submitted.' });
    const { evidence_details } = await stripe.call('GET', `/v1/disputes/${disputeId}`);
    assert.equal(evidence_details.submission_count, 1);
  });

  it('takes evidence that was changed after a submission that failed', async () => {
    const { handle } = await charged();
    const { id: disputeId } = await move(handle, 'open');
    const about = { companyId, reference: randomUUID(), texts: { explanation: 'It came.' } };
    const failed = await processor.disputes?.submit({ ...about, disputeId: 'dp_unknown', files: [file('receipt')] });
    assert.equal(failed?.outcome, 'refused');
    const content = Buffer.concat([file('receipt').content, Buffer.from('changed')]);
    const again = { ...about, disputeId, files: [{ ...file('receipt'), content }] };
    assert.deepEqual(await processor.disputes?.submit(again), { outcome: 'done', state: 'under_review' });
    assert.deepEqual(await processor.disputes?.submit(again), { outcome: 'done', state: 'under_review' }, 'once');
  });

  it('refuses evidence that Stripe would not take, before anything is sent', async () => {
    const about = { companyId, reference: randomUUID(), disputeId: 'dp_1', texts: {} };
    const twice = await processor.disputes?.submit({ ...about, files: [file('receipt'), file('receipt')] });
    assert.ok(twice?.outcome === 'refused' && /one file of each kind/.test(twice.reason));
    const large = await processor.disputes?.submit({
      ...about,
      files: [file('receipt', 4_000_000), file('other', 600_000)],
    });
    assert.ok(large?.outcome === 'refused' && /4\.5 MB/.test(large.reason));
    const missing = await processor.disputes?.submit({ ...about, files: [] });
    assert.ok(missing?.outcome === 'refused' && /No such dispute/.test(missing.reason));
  });

  it('can be accepted', async () => {
    const { handle } = await charged();
    const { id: disputeId } = await move(handle, 'open');
    const request = { companyId, reference: randomUUID(), disputeId };
    assert.deepEqual(await processor.disputes?.accept(request), { outcome: 'done', state: 'accepted' });
    await waitUntil(() => disputes().at(-1)?.state === 'lost');
    const refund = await processor.refund(refundOf({ ...(await charged()), handle }));
    assert.ok(refund.outcome === 'declined' && refund.failureCode === 'transaction_not_allowed', inspect(refund));
  });
});
