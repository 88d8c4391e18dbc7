import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFreezingProxy } from '../../../tests/support/freezing-proxy.ts';
import { countOf } from '../../../tests/support/orders.ts';
import { type Receiver, startReceiver } from '../../../tests/support/receiver.ts';
import type { TestService } from '../../../tests/support/service.ts';
import {
  dispatchFor,
  eventually,
  insertSomeEvents,
  newSubscriber,
  startWebhookService,
} from '../../../tests/support/webhooks.ts';
import { type DatabasePool, openDatabase } from '../../platform/database.ts';
import { queueSettings } from '../../platform/database-settings.ts';
import { newId } from '../../platform/ids.ts';
import { createLog } from '../../platform/log.ts';
import { insertEvents } from '../events/queries.ts';
import { newEvent } from '../events/service.ts';
import { type Attempt, claimDeliveries, type ClaimedDelivery, keepAlive, recordAttempts } from './delivery-queries.ts';
import type { Dispatcher } from './dispatcher.ts';

let service: TestService;

before(async () => {
  service = await startWebhookService();
});
after(() => service.stop());

function running(t: TestContext, ...dispatchers: Dispatcher[]): void {
  t.after(() => Promise.all(dispatchers.map((dispatcher) => dispatcher.stop())));
}

async function receiving(t: TestContext, how?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(how);
  t.after(() => receiver.stop());
  return receiver;
}

const hang = (): void => undefined;
const path = (id: string, rest = ''): string => `/v1/webhook_endpoints/${id}${rest}`;
const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((left, right) => left - right)[Math.ceil(values.length * share) - 1] ?? 0;

describe('a receiver that hangs', () => {
  const others = 19;
  const longRun = process.env.SVC_WEBHOOK_ISOLATION === '1';
  const rounds = longRun ? 200 : 15;
  // Not counted: in these the one that hangs is connected to, once for each request it may hold, in this very process.
  const firstRounds = longRun ? 25 : 5;

  /** How long each event took to each of the good receivers. */
  async function latencies(t: TestContext, good: Receiver, bad: Receiver | undefined): Promise<number[]> {
    const subscriber = await newSubscriber(service);
    const origin = new URL(good.url).origin;
    for (let count = 0; count < others; count += 1) await subscriber.subscribe(`${origin}/${count}`);
    if (bad) await subscriber.subscribe(bad.url);
    const startedAt = new Map<string, number>();
    const from = good.received.length;
    for (let round = 1; round <= firstRounds + rounds; round += 1) {
      const madeAtMs = Date.now();
      const ids = await insertSomeEvents(service, subscriber.company.id, 1);
      for (const id of round > firstRounds ? ids : []) startedAt.set(id, madeAtMs);
      await sleep(longRun ? 100 : 25);
    }
    await good.count(from + others * (firstRounds + rounds), 30_000);
    const took = good.received.slice(from).flatMap(({ event, atMs }) => {
      const madeAtMs = startedAt.get(event.id);
      return madeAtMs === undefined ? [] : [atMs - madeAtMs];
    });
    t.diagnostic(
      `p50 ${percentile(took, 0.5)} ms, p99 ${percentile(took, 0.99)} ms ${bad ? 'beside it' : 'without it'}`,
    );
    return took;
  }

  it('does not delay the nineteen others', { timeout: 280_000 }, async (t) => {
    const good = await receiving(t);
    running(t, dispatchFor(service));
    await latencies(t, good, undefined);
    const p99s: Record<'without' | 'beside', number[]> = { without: [], beside: [] };
    // In turn, and the one in the middle: a p99 of some milliseconds doubles with one pause of the machine.
    for (let turn = 0; turn < (longRun ? 3 : 1); turn += 1) {
      p99s.without.push(percentile(await latencies(t, good, undefined), 0.99));
      const bad = await receiving(t, hang);
      p99s.beside.push(percentile(await latencies(t, good, bad), 0.99));
      assert.ok(bad.received.length <= 20, 'it fills its own share and no more');
    }
    const [without, beside] = [percentile(p99s.without, 0.5), percentile(p99s.beside, 0.5)];
    // On a machine that does other things too: five seconds are still a sixth of what hanging costs.
    assert.ok(beside < Math.max(5_000, without * 1.2), `p99 ${beside} ms beside it, ${without} ms without it`);
    if (longRun) assert.ok(beside < without * 1.2 + 5, `p99 ${beside} ms beside it, ${without} ms without it`);
  });

  it('does not hide the others behind its queue, however long', async (t) => {
    const [good, bad] = [await receiving(t), await receiving(t, hang)];
    const [slow, quick] = [await newSubscriber(service), await newSubscriber(service)];
    await slow.subscribe(bad.url);
    await quick.subscribe(good.url);
    await insertSomeEvents(service, slow.company.id, 2_500);
    running(t, dispatchFor(service));
    await bad.count(10);
    const startedAtMs = Date.now();
    await insertSomeEvents(service, quick.company.id, 1);
    await good.count(1);
    assert.ok(Date.now() - startedAtMs < 5_000);
    await sleep(200);
    assert.ok(bad.received.length <= 20, 'and it has no more requests under way than it may');
    await service.db.query('DELETE FROM webhook_deliveries WHERE company_id = $1', [slow.company.id]);
  });

  it('returns what waits for it when the worker can hold no more, so that others get their events', async (t) => {
    const [good, bad] = [await receiving(t), await receiving(t, hang)];
    const [slow, quick] = [await newSubscriber(service), await newSubscriber(service)];
    for (let count = 0; count < 3; count += 1) await slow.subscribe(`${new URL(bad.url).origin}/${count}`);
    await quick.subscribe(good.url);
    await insertSomeEvents(service, slow.company.id, 300);
    running(t, dispatchFor(service, {}, { heldMax: 300 }));
    await bad.count(40);
    const startedAtMs = Date.now();
    await insertSomeEvents(service, quick.company.id, 30);
    await good.count(30);
    assert.ok(Date.now() - startedAtMs < 8_000);
    await service.db.query('DELETE FROM webhook_deliveries WHERE company_id = $1', [slow.company.id]);
  });
});

describe('several workers', () => {
  // Here a test claims by hand, and nothing of the others must be in its way.
  beforeEach(() => service.db.query('DELETE FROM webhook_deliveries'));

  it('never send the same delivery', async (t) => {
    const receiver = await receiving(t, (_, response) => void setTimeout(() => response.writeHead(200).end(), 3));
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    running(t, dispatchFor(service), dispatchFor(service), dispatchFor(service));
    const ids: string[] = [];
    for (let batch = 0; batch < 10; batch += 1) {
      ids.push(...(await insertSomeEvents(service, subscriber.company.id, 30)));
    }
    await receiver.count(ids.length);
    await sleep(200);
    assert.deepEqual(receiver.received.map(({ event }) => String(event.id)).toSorted(), ids.toSorted());
  });

  it('take over what a dead one had claimed, and only that', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    const dead = newId(Date.now());
    await keepAlive(service.db, dead, 60_000, false);
    const id = await subscriber.happen();
    await claimDeliveries(service.db, {
      workerId: dead,
      of: { allBut: [], by: 'real time' },
      perEndpoint: 10,
      count: 10,
    });
    running(t, dispatchFor(service, { silenceMs: 2_000 }));
    await sleep(200);
    assert.equal(receiver.received.length, 0, 'it may still live');
    await receiver.count(1);
    assert.equal(receiver.received[0]?.headers['svc-delivery-attempt'], '2', 'the first may have arrived');
    await eventually('it is known', async () => {
      return (await subscriber.delivery(endpoint.id, id))?.delivery_status === 'delivered';
    });
    assert.equal(await countOf(service, 'workers', 'id = $1', [dead]), 0);
  });

  const attemptOf = (delivery: ClaimedDelivery, succeeded: boolean): Attempt => ({
    ...delivery,
    log_id: newId(Date.now()),
    event_type: delivery.event.type,
    attempt: delivery.attempts,
    succeeded,
    http_status: succeeded ? 200 : 500,
    duration_ms: 1,
    error: null,
    request_headers: {},
    response_body: null,
    at: new Date(),
    next_attempt_at: succeeded ? null : new Date(Date.now() + 5_000),
    clock_offset_ms: 0,
  });

  it('cannot undo, after one lost its claim, what the next one achieved', async () => {
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe('https://receiver.invalid/');
    const id = await subscriber.happen();
    const [late, next] = [newId(Date.now()), newId(Date.now())];
    const claim = (workerId: string) =>
      claimDeliveries(service.db, { workerId, of: { allBut: [], by: 'real time' }, perEndpoint: 10, count: 10 });
    const [first] = await claim(late);
    assert.ok(first);
    await service.db.query('UPDATE webhook_deliveries SET claimed_by = NULL WHERE claimed_by = $1', [late]);
    const [second] = await claim(next);
    assert.ok(second);
    await recordAttempts(service.db, late, [attemptOf(first, false)]);
    assert.deepEqual(await claim(late), [], 'it is still the other one that has it');
    await recordAttempts(service.db, next, [attemptOf(second, true)]);
    await recordAttempts(service.db, late, [attemptOf(first, false)]);
    assert.equal((await subscriber.delivery(endpoint.id, id)).delivery_status, 'delivered');
  });

  it('write about the same endpoints at once without standing in each other’s way', async () => {
    const subscriber = await newSubscriber(service);
    for (let count = 0; count < 12; count += 1) await subscriber.subscribe('https://receiver.invalid/');
    const workerId = newId(Date.now());
    for (const succeeded of [false, true, false]) {
      await insertSomeEvents(service, subscriber.company.id, 8);
      const due = await claimDeliveries(service.db, {
        workerId,
        of: { allBut: [], by: 'real time' },
        perEndpoint: 20,
        count: 100,
      });
      assert.equal(due.length, 96);
      const shuffled = due.map((one) => attemptOf(one, succeeded)).toSorted(() => Math.random() - 0.5);
      const batches = Array.from({ length: 4 }, (_, index) => shuffled.slice(index * 24, index * 24 + 24));
      await Promise.all(batches.map((batch) => recordAttempts(service.db, workerId, batch)));
    }
  });
});

describe('an endpoint', () => {
  it('is sent the events of one claim in the order in which they happened', async () => {
    const subscriber = await newSubscriber(service);
    const { id } = await subscriber.subscribe('https://receiver.invalid/');
    // All of them are due at the same time, and PostgreSQL stores the last one first.
    const nowMs = Date.now();
    const events = Array.from({ length: 20 }, () =>
      newEvent(subscriber.company.id, nowMs, 'customer.created', { id: newId(nowMs) }, 1, null),
    );
    await insertEvents(service.db, events.toReversed());
    const workerId = newId(nowMs);
    const due = await claimDeliveries(service.db, { workerId, of: { only: [id] }, perEndpoint: 20, count: 20 });
    const claimed = due.map(({ event_id }) => event_id);
    assert.deepEqual(
      claimed,
      events.map((event) => event.id),
    );
    await service.db.query('DELETE FROM webhook_deliveries WHERE endpoint_id = $1', [id]);
  });

  it('with a queue of its own is followed up on without another look at all the others', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    const ids = await insertSomeEvents(service, subscriber.company.id, 1_000);
    let looks = 0;
    const lookingOnce: DatabasePool = {
      ...service.db,
      query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
        if (!text.includes('endpoint_id <> ALL')) return service.db.query<Row>(text, values);
        looks += 1;
        // The first one is small, and deliveries of other endpoints may be a part of it.
        return looks <= 4 ? service.db.query<Row>(text, values) : [];
      },
    };
    running(t, dispatchFor(service, {}, { batchDb: lookingOnce }));
    await receiver.count(ids.length);
    assert.equal(new Set(receiver.received.map(({ event }) => event.id)).size, ids.length);
  });

  it('can be deleted while a delivery to it is in progress', async (t) => {
    let answer: (() => void) | undefined;
    const receiver = await receiving(t, (_, response) => {
      answer = () => response.writeHead(500).end();
    });
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    running(t, dispatchFor(service));
    await subscriber.happen();
    await receiver.count(1);
    assert.equal((await subscriber.call('DELETE', path(endpoint.id))).status, 200);
    answer?.();
    await eventually('the attempt is over', async () => {
      return (await countOf(service, 'webhook_delivery_logs', 'endpoint_id = $1', [endpoint.id])) === 1;
    });
    assert.equal(await countOf(service, 'webhook_deliveries', 'endpoint_id = $1', [endpoint.id]), 0);
    await subscriber.later(3_600_000);
    await sleep(100);
    assert.equal(receiver.received.length, 1);
  });

  it('that is disabled while a delivery is in progress still gets that one, and no retry of it', async (t) => {
    let answer: (() => void) | undefined;
    const receiver = await receiving(t, (_, response) => {
      answer = () => response.writeHead(500).end();
    });
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    running(t, dispatchFor(service));
    const id = await subscriber.happen();
    await receiver.count(1);
    await subscriber.call('PATCH', path(endpoint.id), { body: { status: 'disabled' } });
    answer?.();
    await eventually('the attempt is over', async () => (await subscriber.logs(endpoint.id)).length === 1);
    await subscriber.later(10_000);
    await eventually('it is given up', async () => {
      return (await subscriber.delivery(endpoint.id, id)).delivery_status === 'failed';
    });
    assert.equal(receiver.received.length, 1);
  });
});

describe('a worker', () => {
  it('that stops releases the deliveries that it could not finish', async (t) => {
    const receiver = await receiving(t, hang);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    const first = dispatchFor(service, { finishingMs: 50 });
    const id = await subscriber.happen();
    await receiver.count(1);
    await first.stop();
    const delivery = await subscriber.delivery(endpoint.id, id);
    assert.deepEqual([delivery.delivery_status, delivery.attempts], ['pending', 0]);
    receiver.behave(200);
    running(t, dispatchFor(service));
    await receiver.count(2);
  });

  it('sends no more than it could repeat while nothing can be written down', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    const back = Promise.withResolvers<void>();
    const silent: DatabasePool = {
      ...service.db,
      query: async (text, values) => {
        if (text.includes('INSERT INTO webhook_delivery_logs')) await back.promise;
        return service.db.query(text, values);
      },
    };
    running(t, dispatchFor(service, {}, { batchDb: silent }));
    const ids = await insertSomeEvents(service, subscriber.company.id, 250);
    await receiver.count(160);
    await sleep(200);
    assert.equal(receiver.received.length, 160);
    back.resolve();
    await receiver.count(ids.length);
  });

  it('claims few deliveries while it holds none, so that the first of many are sent soon', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    const ids = await insertSomeEvents(service, subscriber.company.id, 300);
    const counts: unknown[] = [];
    const watched: DatabasePool = {
      ...service.db,
      query: async (text, values) => {
        if (text.includes('WITH first AS')) counts.push(values?.[3]);
        return service.db.query(text, values);
      },
    };
    running(t, dispatchFor(service, {}, { batchDb: watched }));
    await receiver.count(ids.length);
    assert.equal(counts[0], 200);
    assert.ok(counts.includes(1_000), 'and more while these are sent');
  });

  it('delivers for companies whose clock is ahead while others always have something due', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    await subscriber.subscribe(receiver.url);
    await subscriber.later(86_400_000);
    const endpoint_id = newId(Date.now());
    const busy: DatabasePool = {
      ...service.db,
      query: async <Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
        if (!text.includes('WITH first AS') || text.includes('clock_offset_ms > 0')) {
          return service.db.query<Row>(text, values);
        }
        // Each look finds a delivery to an endpoint that is gone, which is over at once.
        const event_id = newId(Date.now());
        const delivery = { company_id: subscriber.company.id, endpoint_id, event_id, inserted_at: '', attempts: 1 };
        const row = {
          deliveries: [{ ...delivery, inserted_at: new Date().toISOString() }],
          events: [
            { id: event_id, type: 'customer.created', sequence: 1, request_id: null, object: {}, previous: null },
          ],
          receivers: [{ endpoint_id, status: null, clock_offset_ms: 0, secrets: [] }],
        };
        return [row] as unknown as Row[];
      },
    };
    running(t, dispatchFor(service, {}, { batchDb: busy }));
    await sleep(100);
    await subscriber.happen();
    await receiver.count(1, 3_000);
  });

  it('delivers what it claimed when the answer of the claim was lost after the commit', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    const proxy = await startFreezingProxy(service.companyUrls.connectionString);
    const batchDb = openDatabase({
      connectionString: proxy.through(service.companyUrls.connectionString),
      poolSize: 2,
      applicationName: 'svc tests',
      onError: () => undefined,
      settings: queueSettings,
    });
    const lines: string[] = [];
    const log = createLog('warn', { write: (line) => lines.push(line) });
    const dispatcher = dispatchFor(service, {}, { batchDb, log });
    t.after(async () => {
      await dispatcher.stop();
      await batchDb.close();
      await proxy.stop();
    });
    const cut = proxy.cutAnswer(endpoint.id);
    const id = await subscriber.happen();
    await cut;
    await receiver.count(1, 5_000);
    assert.ok(lines.join('').includes('released deliveries'), 'the claim was committed without the worker knowing');
    assert.equal(receiver.received[0]?.headers['svc-delivery-attempt'], '1');
    await eventually('it is known', async () => {
      return (await subscriber.delivery(endpoint.id, id)).delivery_status === 'delivered';
    });
  });

  it('releases a claim in its name that it does not know, and none that it works on', async (t) => {
    const receiver = await receiving(t, hang);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    running(t, dispatchFor(service, { compareMs: 200 }));
    await insertSomeEvents(service, subscriber.company.id, 30);
    await receiver.count(20);
    // As if a statement of this worker had been committed after the worker gave it up.
    const [late] = await service.db.query<{ event_id: string }>(
      `INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at, attempts,
         claimed_by)
       SELECT company_id, endpoint_id, uuidv7(), event_inserted_at, next_attempt_at + interval '1 day', 1,
         claimed_by
       FROM webhook_deliveries WHERE endpoint_id = $1 LIMIT 1 RETURNING event_id`,
      [endpoint.id],
    );
    const claims = `endpoint_id = $1 AND claimed_by IS NOT NULL AND attempts = 1`;
    await eventually('it is free', async () => {
      return (
        (await countOf(service, 'webhook_deliveries', `event_id = $1 AND claimed_by IS NULL`, [late?.event_id])) === 1
      );
    });
    await sleep(300);
    assert.equal(await countOf(service, 'webhook_deliveries', claims, [endpoint.id]), 30);
    assert.equal(receiver.received.length, 20, 'nothing is sent twice');
    await service.db.query('DELETE FROM webhook_deliveries WHERE endpoint_id = $1', [endpoint.id]);
  });

  it('writes down what came of an attempt when the database is back', async (t) => {
    const receiver = await receiving(t);
    const subscriber = await newSubscriber(service);
    const endpoint = await subscriber.subscribe(receiver.url);
    let failures = 0;
    const shaky: DatabasePool = {
      ...service.db,
      query: (text, values) => {
        if (failures >= 2 || !text.includes('INSERT INTO webhook_delivery_logs')) return service.db.query(text, values);
        failures += 1;
        return Promise.reject(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
      },
    };
    running(t, dispatchFor(service, {}, { db: shaky, batchDb: shaky }));
    const id = await subscriber.happen();
    await eventually('it is recorded', async () => {
      return (await subscriber.delivery(endpoint.id, id)).delivery_status === 'delivered';
    });
    assert.deepEqual([failures, receiver.received.length], [2, 1], 'and not sent again');
  });
});
