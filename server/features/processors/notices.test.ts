import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectAcquirer, vaultBehind } from '../../../tests/support/connect.ts';
import {
  assertRefused,
  contextOf,
  eventTypes,
  openShop,
  order,
  readOrder,
  type Shop,
} from '../../../tests/support/orders.ts';
import { openAcquirer, type OwnAcquirer } from '../../../tests/support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import type { Notice, NoticedDispute, NoticeSubject, Reception } from '../../vault/processors/notices.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { failureReasons, noResponse } from '../../vault/processors/processor.ts';
import { localVault, type Vault } from '../../vault/vault.ts';
import { recordAcceptance } from '../disputes/service.ts';
import { lockMs } from '../orders/operations/timing.ts';
import { deriveReference, subjects } from '../orders/service.ts';
import { applyDueNotices } from './notices.ts';

/** A service whose vault accepts the notices that a test sends, as the processor of the connection would. */

let service: TestService;
let acquirer: OwnAcquirer;
let vault: Vault;
let company: string;
let connection: string;
let key: string;
let shop: Shop;
/** Whether the vault itself checks the notices. */
let believed = false;
/** What the vault was asked to release, and whether it can. */
let released: string[] = [];
let canRelease = true;
let reception: Reception = { outcome: 'accepted', notices: [] };

before(async () => {
  acquirer = await openAcquirer();
  service = await startTestService({
    vault: vaultBehind(
      () => vault,
      () => ({
        nowMs: async () => Date.now(),
        async release({ transactionId }) {
          if (canRelease) released.push(transactionId);
          return canRelease;
        },
        ...(!believed && { receive: async () => reception }),
      }),
    ),
  });
  vault = localVault(service.vaultDb, service.keys, service.clock);
  const { live } = await service.createMerchant();
  company = live.id;
  const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
  connection = await connectAcquirer(service, company, { url: acquirer.url, secret: acquirer.secret, ...timing });
  key = await service.createKey({ ...live, processor: 'connected' });
  shop = await openShop(service, undefined, { key });
});
after(async () => {
  await Promise.all([service.stop(), acquirer.stop()]);
});
beforeEach(async () => {
  await acquirer.control({ next: [], faults: {} });
});

async function post(id = connection): Promise<{ status: number; text: string }> {
  const response = await fetch(new URL(`/processors/${id}/notices`, service.baseUrl), {
    method: 'POST',
    body: 'anything',
  });
  return { status: response.status, text: await response.text() };
}

let minute = 0;
/** Later than every notice before, unless the test says otherwise. */
const noticeOf = (about: NoticeSubject, change: Partial<Notice> = {}): Notice => {
  minute += 1;
  return { id: randomUUID(), type: 'test', atMs: Date.UTC(2026, 1, 1, 0, minute), about, ...change };
};

/** Tries a notice until it is given up; returns how often it was tried in all. */
async function triesOf(notice: Notice): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    if ((await resultOf(notice))?.applied) return tries;
    assert.ok(tries < 60);
    await receive();
  }
}

async function receive(...notices: readonly Notice[]): Promise<void> {
  reception = { outcome: 'accepted', notices };
  assert.equal((await post()).status, 200);
  await service.db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL');
  await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100);
}

const paid = async (): Promise<Reply['body']> => {
  const { body } = await order(service, shop, {}, { key });
  assert.equal(body.status, 'succeeded');
  return body;
};
/** An order whose charge is in doubt, as long as the faults last. */
async function inDoubt(): Promise<{ readonly order_id: string; readonly reference: string }> {
  await acquirer.control({ faults: { reset_after: 1, lookup_error: 1 } });
  assertRefused(await order(service, shop, {}, { key }), 502, 'gateway_error');
  const [open] = await service.db.query<{ order_id: string; reference: string }>(
    'SELECT order_id, reference FROM open_transactions WHERE company_id = $1 AND in_doubt',
    [company],
  );
  return open ?? assert.fail('nothing is in doubt');
}
const read = (id: string): Promise<Reply['body']> => readOrder(service, id, { key });
const referencesOf = async (id: string): Promise<string[]> => {
  const rows = await service.db.query<{ reference: string }>(
    'SELECT reference FROM all_transactions WHERE order_id = $1 ORDER BY id',
    [id],
  );
  return rows.map(({ reference }) => reference);
};
const resultOf = async ({ id }: Notice): Promise<{ applied: boolean; result: string | null } | undefined> => {
  const [row] = await service.db.query<{ applied: boolean; result: string | null }>(
    'SELECT applied_at IS NOT NULL AS applied, result FROM processor_notices WHERE id = $1',
    [id],
  );
  return row;
};

function disputeOf(paidOrder: Reply['body'], change: Partial<NoticedDispute> = {}): NoticeSubject {
  const transactionId = paidOrder.transactions[0].processor_transaction_id;
  const dispute: NoticedDispute = {
    disputeId: `dp_${paidOrder.id}`,
    charge: { reference: null, transactionId },
    state: 'needs_response',
    amount: paidOrder.total,
    currency: 'usd',
    reason: 'fraudulent',
    networkReasonCode: '10.4',
    evidenceDueAtMs: Date.UTC(2026, 2, 1),
    ...change,
  };
  return { kind: 'dispute', dispute };
}

describe('the notice URL of a connection', () => {
  it('refuses what the vault does not believe, and counts it', async () => {
    reception = { outcome: 'refused', reason: 'the signature is wrong' };
    const reply = await post();
    assert.deepEqual([reply.status, reply.text], [400, 'The notice was refused: the signature is wrong.']);
    assert.equal((await post(randomUUID())).status, 404);
    assert.equal((await post('nonsense')).status, 404);
  });

  it('answers before the body if there is no such connection', async () => {
    const request = `POST /processors/${randomUUID()}/notices HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n`;
    const socket = connect(Number(new URL(service.baseUrl).port), '127.0.0.1');
    socket.write(request);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 404 /);
    socket.destroy();
  });

  it('keeps and acknowledges types that it does not know', async () => {
    const unknown = noticeOf({ kind: 'other' }, { type: 'payout.created' });
    await receive(unknown);
    assert.deepEqual(await resultOf(unknown), { applied: true, result: 'this type has no effect' });
  });

  it('answers with the text that the processor expects', async () => {
    reception = { outcome: 'accepted', notices: [], reply: '[accepted]' };
    assert.equal((await post()).text, '[accepted]');
  });
});

describe('an acquirer that sends notices itself', () => {
  const viaAcquirer = async (notice: object, more: object = {}): Promise<number[]> => {
    const url = new URL(`/processors/${connection}/notices`, service.baseUrl).href;
    const response = await fetch(`${acquirer.url}/notices`, {
      method: 'POST',
      headers: { authorization: `Bearer ${acquirer.secret}` },
      body: JSON.stringify({ url, notice, ...more }),
    });
    return ((await response.json()) as { statuses: number[] }).statuses;
  };

  it('is believed by its signature, once for each notice', async () => {
    believed = true;
    try {
      const { id } = await paid();
      const [reference] = await referencesOf(id);
      const dispute = { id: `d-${id}`, amount: 4900, currency: 'usd', reason: 'duplicate' };
      const notice = { id: `n-${id}`, type: 'dispute.opened', at_ms: Date.now(), reference, dispute };
      assert.deepEqual(await viaAcquirer(notice, { forged: true }), [400]);
      assert.deepEqual(await viaAcquirer(notice, { signed_ms_ago: 400_000 }), [400]);
      assert.deepEqual(await viaAcquirer(notice, { times: 2 }), [200, 200]);
      await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100);
      assert.equal((await read(id)).status, 'chargeback');
    } finally {
      believed = false;
    }
  });
});

describe('a notice about an operation', () => {
  it('ends the doubt about a charge', async () => {
    const { order_id, reference } = await inDoubt();
    const notice = noticeOf(approved(reference));
    await receive(notice, { ...notice, id: randomUUID() });
    const found = await read(order_id);
    assert.deepEqual([found.status, found.transactions[0].processor_transaction_id], ['succeeded', 'acq_by_notice']);
    await receive(notice);
    assert.deepEqual(await eventTypes(service, order_id), ['order.created', 'order.succeeded']);
  });

  it('waits for an operation that is not recorded yet', async () => {
    const found = { outcome: 'not_found', isFinal: true } as const;
    const early = noticeOf({ kind: 'operation', reference: randomUUID(), found });
    await receive(early);
    assert.deepEqual(await resultOf(early), { applied: false, result: 'no charge of this connection has this id' });
  });

  it('makes a settled refund fail, and the order says so', async () => {
    const { id } = await paid();
    await acquirer.control({ settle_after_ms: 0 });
    const refund = { key, idempotencyKey: randomUUID(), body: {} };
    assert.equal((await service.call('POST', `/v1/orders/${id}/refund`, refund)).body.status, 'refunded');
    for (let tries = 0; (await read(id)).transactions[1].status === 'in_progress' && tries < 50; tries += 1) {
      await service.orders.reconcileDue(100);
      await sleep(20);
    }
    const [, reference = ''] = await referencesOf(id);
    const notice = noticeOf(declined(reference));
    await receive(notice, notice);
    const failed = await read(id);
    assert.deepEqual(
      [failed.status, failed.refunded_amount, failed.transactions[1].status],
      ['refund_failed', 0, 'failed'],
    );
    assert.equal((await eventTypes(service, id)).at(-1), 'order.refund_failed');
    await receive({ ...notice, id: randomUUID() });
    assert.equal((await read(id)).refunded_amount, 0, 'once');
  });

  it('records when a charge settled, and voids an order whose charge was not captured', async () => {
    const settled = await paid();
    const [reference = ''] = await referencesOf(settled.id);
    const notice = noticeOf({ kind: 'settled', charge: { reference, transactionId: null } });
    await receive(notice);
    const [row] = await service.db.query<{ settled_at: Date }>(
      'SELECT settled_at FROM transactions WHERE order_id = $1',
      [settled.id],
    );
    assert.equal(row?.settled_at.getTime(), notice.atMs);
    const lost = await paid();
    const [lostReference = ''] = await referencesOf(lost.id);
    await receive(notCaptured(lostReference));
    assert.deepEqual(
      [(await read(lost.id)).status, (await eventTypes(service, lost.id)).at(-1)],
      ['voided', 'order.voided'],
    );
  });
});

describe('a notice that funds are held for a charge', () => {
  const held = (reference: string, transactionId: string): Notice =>
    noticeOf({ kind: 'authorized', charge: { reference, transactionId } });
  beforeEach(() => {
    released = [];
    canRelease = true;
  });

  it('releases them if the charge failed, and again until the processor accepts it', async () => {
    await acquirer.control({ next: ['decline:05'] });
    const { body } = await order(service, shop, {}, { key });
    assert.equal(body.status, 'failed');
    const [reference = ''] = await referencesOf(body.id);
    const notice = held(reference, 'psp_failed');
    canRelease = false;
    await receive(notice);
    assert.deepEqual(await resultOf(notice), {
      applied: false,
      result: 'the charge is not paid; its funds are not released yet',
    });
    canRelease = true;
    await receive();
    await receive();
    assert.deepEqual(released, ['psp_failed']);
    assert.equal((await resultOf(notice))?.applied, true);
  });

  it('leaves a paid charge alone, and waits while a charge is not decided', async () => {
    const { id } = await paid();
    const [reference = ''] = await referencesOf(id);
    await receive(held(reference, 'psp_paid'));
    const doubtful = await inDoubt();
    const notice = held(doubtful.reference, 'psp_in_doubt');
    await receive(notice);
    assert.deepEqual(await resultOf(notice), { applied: false, result: 'the charge is not decided yet' });
    await receive(noticeOf({ kind: 'operation', reference: doubtful.reference, found: neverHappened }));
    await receive();
    assert.deepEqual(released, ['psp_in_doubt']);
  });

  it('is also released if the charge was made at another connection, or was not captured', async () => {
    const { id } = await paid();
    const [reference = ''] = await referencesOf(id);
    const { live } = await service.createMerchant();
    await service.db.query('UPDATE transactions SET connection_id = $2 WHERE order_id = $1', [id, live.id]);
    await receive(held(reference, 'psp_elsewhere'));
    await service.db.query('UPDATE transactions SET connection_id = $2 WHERE order_id = $1', [id, connection]);
    canRelease = false;
    await receive(noticeOf({ kind: 'not_captured', charge: { reference, transactionId: 'psp_refused' } }));
    assert.equal((await read(id)).status, 'voided', 'the order does not wait');
    canRelease = true;
    await receive();
    assert.deepEqual(released, ['psp_elsewhere', 'psp_refused']);
    assert.equal((await eventTypes(service, id)).filter((type) => type === 'order.voided').length, 1);
  });
});

const neverHappened = { outcome: 'not_found', isFinal: true } as const;

/** Refunds an order, with these faults at the acquirer; returns the reference of the refund. */
async function refunded(id: string, next: readonly string[], status: number): Promise<string> {
  await acquirer.control({ next, settle_after_ms: 60_000 });
  const reply = await service.call('POST', `/v1/orders/${id}/refund`, { key, body: { amount: 100 } });
  assert.equal(reply.status, status, reply.text);
  return (await referencesOf(id)).at(-1) ?? '';
}

const approved = (reference: string): NoticeSubject => {
  const response = { ...noResponse, transaction_id: 'acq_by_notice' };
  return { kind: 'operation', reference, found: { outcome: 'approved', response, settled: true } };
};
const notCaptured = (reference: string): Notice =>
  noticeOf({ kind: 'not_captured', charge: { reference, transactionId: null } });
const declined = (reference: string): NoticeSubject => {
  const failure = { failureCode: 'processor_declined', failureReason: failureReasons.processor_declined } as const;
  return { kind: 'operation', reference, found: { outcome: 'declined', response: noResponse, ...failure } };
};

it('a notice settles a refund that is in doubt, although no later one repeats it', async () => {
  const { id } = await paid();
  const reference = await refunded(id, ['reset_after'], 502);
  await receive(noticeOf(approved(reference)));
  const found = await read(id);
  assert.deepEqual(
    [found.status, found.refunded_amount, found.transactions[1].status],
    ['partially_refunded', 100, 'succeeded'],
  );
  assert.deepEqual((await eventTypes(service, id)).slice(1), ['order.succeeded', 'order.partially_refunded']);
});

/** The records of the company were compared after a restore, while the test runs. */
async function afterRestore(test: () => Promise<void>): Promise<void> {
  await service.db.query(
    `INSERT INTO company_gates (company_id, noticed_by, detail, opened_at, compared_until)
     VALUES ($1, 'operator', 'a test', now(), now())`,
    [company],
  );
  await test();
  await service.db.query('DELETE FROM company_gates');
}

it('a notice settles a refund that is repeated weeks after a restore, when the notice has long arrived', () =>
  afterRestore(async () => {
    const { id } = await paid();
    const idempotencyKey = randomUUID();
    const reference = deriveReference(company, { subject: subjects.keyedRefund(idempotencyKey), number: 0 });
    const notice = noticeOf(approved(reference));
    await receive(notice);
    for (let tries = 1; tries < 30; tries += 1) await receive();
    assert.equal((await resultOf(notice))?.applied, false);
    await acquirer.control({ settle_after_ms: null });
    const refund = { key, idempotencyKey, body: { amount: 100 } };
    assert.equal((await service.call('POST', `/v1/orders/${id}/refund`, refund)).status, 200);
    await receive();
    assert.equal((await read(id)).transactions[1].status, 'succeeded');
  }));

it('an order whose charge was not captured is voided after its refund has failed', async () => {
  const { id } = await paid();
  const [charge = ''] = await referencesOf(id);
  const refund = await refunded(id, [], 200);
  const notice = notCaptured(charge);
  await receive(notice);
  assert.deepEqual(await resultOf(notice), {
    applied: false,
    result: 'another operation of the order is decided first',
  });
  await receive(noticeOf(declined(refund)));
  await receive();
  const found = await read(id);
  assert.deepEqual([found.status, found.refunded_amount], ['voided', 0]);
  assert.deepEqual((await eventTypes(service, id)).slice(1), [
    'order.succeeded',
    'order.refund_failed',
    'order.voided',
  ]);
});

it('an order that was refunded stays so if its charge was not captured', async () => {
  const { id } = await paid();
  const [charge = ''] = await referencesOf(id);
  await receive(noticeOf(approved(await refunded(id, [], 200))));
  await receive(notCaptured(charge));
  assert.equal((await read(id)).status, 'partially_refunded');
});

it('a notice about an operation whose process died is applied soon after its reservation has ended', async () => {
  const early = noticeOf({ kind: 'settled', charge: { reference: randomUUID(), transactionId: null } });
  const reservedSeconds = lockMs.live / 1_000;
  let seconds = 0;
  for (let tries = 0; seconds < reservedSeconds; tries += 1) {
    assert.ok(tries < 10);
    await receive(early);
    const [row] = await service.db.query<{ seconds: number }>(
      'SELECT extract(epoch FROM next_try_at - now())::float AS seconds FROM processor_notices WHERE id = $1',
      [early.id],
    );
    seconds += row?.seconds ?? 0;
  }
  assert.ok(seconds < reservedSeconds + 5, `it is tried again ${seconds} s after it arrived`);
});

it('a charge in doubt that was not captured fails', async () => {
  const { order_id, reference } = await inDoubt();
  await receive(notCaptured(reference));
  assert.equal((await read(order_id)).status, 'failed');
});

describe('a notice about a dispute', () => {
  const events = async (id: string): Promise<string[]> =>
    (await eventTypes(service, id)).filter((type) => type.startsWith('order.chargeback'));

  for (const [state, status] of [
    ['won', 'chargeback_dismissed'],
    ['lost', 'chargeback_accepted'],
    ['accepted', 'chargeback_accepted'],
  ] as const) {
    it(`makes the order ${status} when it is ${state}, however often and in any order it is reported`, async () => {
      const one = await paid();
      const opened = noticeOf(disputeOf(one));
      const ended = noticeOf(disputeOf(one, { state }));
      await receive(opened, opened);
      assert.equal((await read(one.id)).status, 'chargeback');
      await receive(ended, opened, ended);
      await receive({ ...opened, id: randomUUID() });
      assert.equal((await read(one.id)).status, status);
      assert.deepEqual(await events(one.id), ['order.chargeback', `order.${status}`]);
      const other = await paid();
      const late = noticeOf(disputeOf(other));
      await receive(noticeOf(disputeOf(other, { state })));
      await receive(late);
      assert.deepEqual(await events(other.id), ['order.chargeback', `order.${status}`], 'the end arrived first');
    });
  }

  it('changes no status while it is an inquiry', async () => {
    const one = await paid();
    await receive(noticeOf(disputeOf(one, { state: 'inquiry' })));
    assert.deepEqual([(await read(one.id)).status, await events(one.id)], ['succeeded', []]);
    await receive(noticeOf(disputeOf(one, { state: 'needs_response' })));
    assert.equal((await read(one.id)).status, 'chargeback');
  });

  it('shows a second chargeback on the dispute only', async () => {
    const one = await paid();
    await receive(noticeOf(disputeOf(one)), noticeOf(disputeOf(one, { state: 'won' })));
    await receive(noticeOf(disputeOf(one, { state: 'lost' })));
    assert.equal((await read(one.id)).status, 'chargeback_dismissed');
    const [row] = await service.db.query('SELECT state FROM disputes WHERE order_id = $1', [one.id]);
    assert.deepEqual(row, { state: 'lost' });
  });

  it('stays accepted when its processor reports it as lost, and does not read as answered with evidence', async () => {
    const one = await paid();
    await receive(noticeOf(disputeOf(one)));
    const [row] = await service.db.query<{ id: string }>('SELECT id FROM disputes WHERE order_id = $1', [one.id]);
    const live = contextOf(service, { ...service.company, id: company, mode: 'live' });
    const accepted = await recordAcceptance(live, { vault, orders: () => service.orders }, row?.id ?? '', 'accepted');
    assert.deepEqual([accepted.status, accepted.submitted_at], ['accepted', null]);
    assert.match(accepted.answer.reason ?? '', /status of this dispute is accepted/);
    const lost = noticeOf(disputeOf(one, { state: 'lost' }), { atMs: Date.now() + 60_000 });
    await receive(lost);
    assert.equal((await resultOf(lost))?.applied, true);
    const [kept] = await service.db.query('SELECT state FROM disputes WHERE order_id = $1', [one.id]);
    assert.deepEqual(kept, { state: 'accepted' });
  });

  it('takes over a dispute that an operator recorded, at any time', async () => {
    const one = await paid();
    await service.orders.raiseChargeback(contextOf(service, { ...service.company, id: company }), one.id);
    const rows = (): Promise<unknown[]> =>
      service.db.query('SELECT state, processor_id, reason FROM disputes WHERE order_id = $1 ORDER BY reason DESC', [
        one.id,
      ]);
    await receive(noticeOf(disputeOf(one, { state: 'inquiry', disputeId: 'dp_asked' })));
    assert.equal((await rows()).length, 2);
    await receive(noticeOf(disputeOf(one, { reason: 'duplicate' })));
    await receive(noticeOf(disputeOf(one, { state: 'won', reason: 'duplicate' })));
    assert.deepEqual(await rows(), [
      { state: 'inquiry', processor_id: 'dp_asked', reason: 'fraudulent' },
      { state: 'won', processor_id: `dp_${one.id}`, reason: 'duplicate' },
    ]);
    assert.equal((await read(one.id)).status, 'chargeback_dismissed');
  });

  it('about a charge that we do not know is kept, and changes nothing', async () => {
    const one = await paid();
    const unknown = noticeOf(disputeOf(one, { charge: { reference: null, transactionId: 'ch_unknown' } }));
    await receive(unknown);
    assert.deepEqual(await resultOf(unknown), { applied: false, result: 'no charge of this connection has this id' });
    assert.equal((await read(one.id)).status, 'succeeded');
    assert.equal(await triesOf(unknown), 7, 'tried for minutes, not for days: it was not made here');
    assert.deepEqual(await resultOf(unknown), { applied: true, result: 'no charge of this connection has this id' });
  });

  it('about a charge that is in doubt or that a restored database has forgotten is tried for a day or for weeks', async () => {
    const { order_id, reference } = await inDoubt();
    const doubtful = await read(order_id);
    for (const charge of [
      { reference: null, transactionId: 'ch_in_doubt' },
      { reference, transactionId: null },
    ]) {
      const notice = noticeOf(disputeOf(doubtful, { charge }));
      await receive(notice);
      assert.deepEqual(await resultOf(notice), { applied: false, result: 'the charge is not decided yet' });
      assert.equal(await triesOf(notice), 11);
    }
    await acquirer.control({ faults: {} });
    const late = noticeOf(disputeOf(doubtful, { charge: { reference, transactionId: null } }));
    await receive(late);
    await service.db.query('UPDATE open_transactions SET next_check_at = now()');
    await service.orders.reconcileDue(100);
    await receive();
    assert.equal((await resultOf(late))?.result, 'the dispute is needs_response');
    await afterRestore(async () => {
      const forgotten = noticeOf(disputeOf(doubtful, { charge: { reference: randomUUID(), transactionId: null } }));
      await receive(forgotten);
      assert.equal(await triesOf(forgotten), 46, 'daily for five weeks: a request that is repeated may record it');
    });
  });

  it('of another connection changes nothing', async () => {
    const one = await paid();
    const { live } = await service.createMerchant();
    const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
    const other = await connectAcquirer(service, live.id, { url: acquirer.url, secret: acquirer.secret, ...timing });
    reception = { outcome: 'accepted', notices: [noticeOf(disputeOf(one))] };
    assert.equal((await post(other)).status, 200);
    await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 100);
    assert.equal((await read(one.id)).status, 'succeeded');
  });
});
