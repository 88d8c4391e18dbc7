import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { connectTo } from '../../../../tests/support/connect.ts';
import {
  contextOf,
  openShop,
  order,
  readOrder,
  refund,
  type Shop,
  until,
  voidOrder,
} from '../../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import { silentLog } from '../../../../tests/support/silent-log.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import type { RequestContext } from '../../../request-context.ts';
import type { NoticedChargeback, NoticeSubject } from '../../../vault/processors/notices.ts';
import { applyDueNotices } from '../../processors/notices.ts';
import type { Applied } from './apply-notice.ts';

/** A live company at a simulated NMI, whose webhooks say of chargebacks only card, amount and date. */

const securityKey = 'FakeSecurityKey'.padEnd(32, '8');
const signingKey = 'SigningKeyOfTheAccount';

/** Three cards, two of them with the same last digits. */
const cards = [
  { number: '4242424242424242', brand: 'visa' },
  { number: '5555555550054242', brand: 'mastercard' },
  { number: '4000056655665556', brand: 'visa' },
] as const;

let fake: Simulator;
let service: TestService;
let company: string;
let connection: string;
let otherConnection: string;
let key: string;
let shops: Shop[];
let context: RequestContext;

before(async () => {
  fake = await startSimulator('nmi', securityKey);
  service = await startTestService({ settings: { SVC_PROCESSOR_ORIGINS: fake.url } });
  const { live } = await service.createMerchant();
  company = live.id;
  context = contextOf(service, live);
  const configuration = { security_key: securityKey, signing_key: signingKey, api_url: fake.url };
  const timing = { timeoutMs: 5_000, requestLifeMs: 60_000, extraOrigins: [fake.url] };
  connection = await connectTo(service, company, { kind: 'nmi', configuration, ...timing });
  otherConnection = await connectTo(service, company, { kind: 'nmi', configuration, ...timing });
  key = await service.createKey({ ...live, processor: 'connected' });
  shops = [];
  for (const { number } of cards) shops.push(await openShop(service, number, { key }));
  await fake.control({
    webhook: { url: `${service.baseUrl}/processors/${connection}/notices`, signing_key: signingKey },
  });
});
after(async () => {
  await Promise.all([fake.stop(), service.stop()]);
});
beforeEach(() => fake.control({ next: [], faults: {}, settle_after_ms: null }));

interface Charge {
  readonly orderId: string;
  readonly id: string;
  readonly cents: number;
  readonly card: number;
  readonly isVoided: boolean;
}

let lastQuantity = 10;
/** Pays an amount that no other payment has, unless it is given. */
async function pay(card = 0, quantity = (lastQuantity += 1)): Promise<Charge> {
  const shop = shops[card] ?? assert.fail();
  const body = { items: [{ product_id: shop.productId, quantity }] };
  const { body: placed } = await order(service, shop, body, { key });
  assert.equal(placed.status, 'succeeded', JSON.stringify(placed));
  const { id } = placed.transactions[0];
  return { orderId: placed.id, id, cents: placed.total, card, isVoided: false };
}

const today = (days = 0): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
const whole = (cents: number): string => (cents / 100).toFixed(2);

let lastId = 0;
const chargebackOf = (
  { cents, card }: Pick<Charge, 'cents' | 'card'>,
  change: Partial<NoticedChargeback> = {},
): NoticedChargeback => ({
  id: `cb-${(lastId += 1)}`,
  date: today(),
  first6: cards[card]?.number.slice(0, 6) ?? null,
  last4: cards[card]?.number.slice(-4) ?? null,
  amount: whole(cents),
  reason: 'fraudulent',
  networkReasonCode: '10.4',
  text: '10.4: Fraud',
  ...change,
});

const apply = (about: NoticeSubject, connectionId = connection, happenedAt = new Date()): Promise<Applied> =>
  service.orders.applyNotice({ companyId: company, connectionId, about, happenedAt });
const report = (chargeback: NoticedChargeback, connectionId?: string): Promise<Applied> =>
  apply({ kind: 'chargeback', chargeback }, connectionId);

/** The payment of the dispute that the chargeback became; null if it waits for a person. */
async function matched(processorId: string): Promise<string | null> {
  const disputes = await service.db.query<{ transaction_id: string }>(
    'SELECT transaction_id FROM disputes WHERE company_id = $1 AND processor_id = $2',
    [company, processorId],
  );
  const waiting = await service.db.query(
    'SELECT 1 FROM unmatched_chargebacks WHERE company_id = $1 AND processor_id = $2',
    [company, processorId],
  );
  assert.equal(disputes.length + waiting.length, 1, 'either a dispute or a question');
  return disputes[0]?.transaction_id ?? null;
}

const statusOf = async (orderId: string): Promise<string> => (await readOrder(service, orderId, { key })).status;

async function applyAll(): Promise<void> {
  await service.db.query('UPDATE processor_notices SET next_try_at = now() WHERE applied_at IS NULL');
  await applyDueNotices({ db: service.db, vault: service.vault, orders: service.orders, log: silentLog }, 100);
}

const settledAt = async ({ id }: Charge): Promise<Date | null> => {
  const [row] = await service.db.query<{ settled_at: Date | null }>(
    'SELECT settled_at FROM transactions WHERE company_id = $1 AND id = $2',
    [company, id],
  );
  return row?.settled_at ?? null;
};

describe('a webhook of NMI', () => {
  it('marks the charges of a settled batch, once, and no other', async () => {
    const [first, second] = [await pay(), await pay()];
    await fake.control({ settle_after_ms: 0, next: ['notice_twice'] });
    const third = await pay();
    await until('the batch is settled', async () => {
      await applyAll();
      return (await settledAt(third)) !== null;
    });
    assert.deepEqual([await settledAt(first), await settledAt(second)], [null, null]);
    const at = await settledAt(third);
    await apply({ kind: 'settled_batch', transactionIds: ['1', '2'] }, connection, new Date(Date.now() + 5_000));
    assert.deepEqual(await settledAt(third), at);
  });

  it('opens the dispute of the payment, although it comes twice, late and forged before', async () => {
    const paid = await pay();
    const { body } = await service.call('GET', `/v1/orders/${paid.orderId}`, { key });
    assert.equal(body.status, 'succeeded');
    const [{ reference }] = (await service.db.query('SELECT reference FROM transactions WHERE id = $1', [paid.id])) as [
      { reference: string },
    ];
    for (const fault of ['notice_forged', 'notice_twice', 'notice_late']) {
      await fake.control({ next: [fault] });
      await fake.call('POST', '/control/chargebacks', { entries: [null, { reference, change: { id: 'cb-sent' } }] });
    }
    await until('the dispute is open', async () => {
      await applyAll();
      return (await statusOf(paid.orderId)) === 'chargeback';
    });
    assert.equal(await matched('cb-sent'), paid.id);
  });

  it('about a batch that failed asks NMI for changes at once', async () => {
    await service.db.query('UPDATE processor_connections SET polled_at = now() WHERE id = $1', [connection]);
    await fake.call('POST', '/control/failed-batch', {});
    await until('the connection is polled', async () => {
      await applyAll();
      const rows = await service.db.query('SELECT 1 FROM processor_connections WHERE id = $1 AND polled_at IS NULL', [
        connection,
      ]);
      return rows.length === 1;
    });
  });
});

describe('a chargeback without a payment', () => {
  it('becomes the dispute of the only payment that fits, with its reason', async () => {
    const paid = await pay();
    const chargeback = chargebackOf(paid);
    assert.deepEqual(await report(chargeback), { isDone: true, result: 'the dispute is needs_response' });
    assert.equal(await matched(chargeback.id), paid.id);
    assert.equal(await statusOf(paid.orderId), 'chargeback');
    const [dispute] = await service.db.query(
      'SELECT amount::integer, currency, reason, network_reason_code FROM disputes WHERE processor_id = $1',
      [chargeback.id],
    );
    assert.deepEqual(dispute, {
      amount: paid.cents,
      currency: 'usd',
      reason: 'fraudulent',
      network_reason_code: '10.4',
    });
    assert.equal((await report(chargeback)).result, 'the chargeback is known');
  });

  it('takes over a dispute that the merchant recorded by hand', async () => {
    const paid = await pay();
    await service.db.query(
      `INSERT INTO disputes (company_id, id, order_id, transaction_id, processor_id, state, amount, currency, reason, state_at, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, 'needs_response', $6, 'usd', 'fraudulent', now(), now(), now())`,
      [company, randomUUID(), paid.orderId, paid.id, `order_${paid.orderId}`, paid.cents],
    );
    const chargeback = chargebackOf(paid);
    await report(chargeback);
    assert.equal(await matched(chargeback.id), paid.id);
    const rows = await service.db.query('SELECT 1 FROM disputes WHERE order_id = $1', [paid.orderId]);
    assert.equal(rows.length, 1);
  });

  const waits = async (
    name: string,
    chargeback: NoticedChargeback,
    why: RegExp,
    connectionId?: string,
  ): Promise<void> => {
    assert.match((await report(chargeback, connectionId)).result, why, name);
    assert.equal(await matched(chargeback.id), null, name);
  };

  it('waits for a person if no payment fits, or not surely', async () => {
    const paid = await pay();
    await waits('another card', chargebackOf({ ...paid, card: 2 }), /no payment fits/);
    await waits('another amount', chargebackOf({ ...paid, cents: paid.cents + 1 }), /no payment fits/);
    await waits('before the payment', chargebackOf(paid, { date: today(-4) }), /no payment fits/);
    await waits('after every time limit', chargebackOf(paid, { date: today(600) }), /no payment fits/);
    await waits('another connection', chargebackOf(paid), /no payment fits/, otherConnection);
    await waits('another brand', chargebackOf(paid, { first6: '555555' }), /another card brand/);
    for (const name of ['date', 'last4', 'amount'] as const) {
      await waits(`without ${name}`, chargebackOf(paid, { [name]: null }), /not readable/);
    }
    assert.equal(await statusOf(paid.orderId), 'succeeded');
  });

  it('waits for a person if several payments fit, also if one is disputed or in doubt', async () => {
    const [first, second] = [await pay(0, 5), await pay(0, 5)];
    await waits('two payments', chargebackOf(first), /2 payments fit/);
    const [{ transaction_id }] = (await service.db.query(
      `SELECT processor_response->>'transaction_id' AS transaction_id FROM transactions WHERE id = $1`,
      [second.id],
    )) as [{ transaction_id: string }];
    const named = chargebackOf(second, { id: transaction_id });
    await report(named);
    assert.equal(await matched(named.id), second.id, 'the id of a transaction names it');
    await waits('one of two is disputed', chargebackOf(first), /2 payments fit/);

    const alone = await pay();
    await report(chargebackOf(alone));
    await waits('another dispute about it', chargebackOf(alone), /another dispute/);

    await fake.control({ faults: { reset_after: 1, lookup_error: 1 } });
    lastQuantity += 1;
    const shop = shops[0] ?? assert.fail();
    const body = { items: [{ product_id: shop.productId, quantity: lastQuantity }] };
    assert.equal((await order(service, shop, body, { key })).status, 502);
    await fake.control({ faults: {} });
    await waits('in doubt', chargebackOf({ cents: 4900 * lastQuantity, card: 0 }), /not decided yet/);
  });

  it('two at once cannot both be about the only payment that fits', async () => {
    for (let round = 0; round < 5; round += 1) {
      const paid = await pay();
      const [one, other] = [chargebackOf(paid), chargebackOf(paid)];
      await Promise.all([report(one), report(other), report(one)]);
      const found = [await matched(one.id), await matched(other.id)];
      assert.deepEqual(
        found.filter((id) => id !== null),
        [paid.id],
      );
    }
  });

  it('waits for a person after a restore, because other payments may be forgotten', async () => {
    const paid = await pay();
    await service.db.query(
      `INSERT INTO company_gates (company_id, noticed_by, detail, opened_at, compared_until)
       VALUES ($1, 'operator', 'a test', now(), now())`,
      [company],
    );
    await waits('restored', chargebackOf(paid), /was restored/);
    await service.db.query('DELETE FROM company_gates WHERE company_id = $1', [company]);
  });

  it('is never matched with a wrong payment among random ones', async () => {
    const charges: Charge[] = [];
    for (let count = 0; count < 14; count += 1) {
      const charge = await pay(randomInt(3), 1 + randomInt(4));
      const fate = randomInt(5);
      if (fate === 0) assert.equal((await refund(service, charge.orderId, 100, { key })).status, 200);
      const isVoided = fate === 1;
      if (isVoided) await voidOrder(service, charge.orderId, context);
      charges.push({ ...charge, isVoided });
    }
    const disputed = new Set<string>();
    for (let count = 0; count < 120; count += 1) {
      const days = [0, 0, 0, 1, 100, 539, -4, 600][randomInt(8)] ?? 0;
      const about = { cents: 4900 * (1 + randomInt(5)), card: randomInt(3) };
      const chargeback = chargebackOf(about, { date: today(days), ...(randomInt(6) === 0 && { first6: null }) });
      const isHere = randomInt(8) > 0;
      await report(chargeback, isHere ? connection : otherConnection);

      // The model: what a person with the list of payments would do.
      const { number } = cards[about.card] ?? assert.fail();
      const fitting = charges.filter(
        ({ cents, card, isVoided }) =>
          isHere &&
          !isVoided &&
          days >= 0 &&
          days < 540 &&
          cents === about.cents &&
          cards[card]?.number.slice(-4) === number.slice(-4),
      );
      const [only, ...more] = fitting;
      const isSure =
        only !== undefined &&
        more.length === 0 &&
        !disputed.has(only.id) &&
        (chargeback.first6 === null || cards[only.card]?.brand === cards[about.card]?.brand);
      const situation = JSON.stringify({ chargeback, isHere, fitting });
      assert.equal(await matched(chargeback.id), isSure ? only.id : null, situation);
      if (isSure) disputed.add(only.id);
    }
    for (const { id, orderId, isVoided } of charges) {
      const status = await statusOf(orderId);
      assert.equal(status === 'chargeback', disputed.has(id), `${status} ${isVoided}`);
    }
  });
});
