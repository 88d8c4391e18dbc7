import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Person, signUp } from '../../../tests/support/dashboard.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';
import { cardFieldsIn } from './service.ts';

const number = '4242424242424242';

let service: TestService;
let owner: Person;
let key: string;

before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** A company of its own for each test, and a key for its sandbox. */
beforeEach(async () => {
  owner = await signUp(service);
  const made = await owner.in('POST', '/dashboard/api_keys', { name: 'Server', kind: 'secret' });
  key = made.body.key;
});

interface Warning {
  readonly operation: string;
  readonly field: string;
  readonly first_seen_at: string;
  readonly last_seen_at: string;
}

const warnings = async (person = owner): Promise<Warning[]> =>
  (await person.in('GET', '/dashboard/card_warnings')).body.data;

/** What is written beside the requests is there soon. */
async function eventually(fields: readonly string[]): Promise<Warning[]> {
  for (let round = 0; ; round += 1) {
    const found = await warnings();
    const names = found.map(({ operation, field }) => `${operation} ${field}`).toSorted();
    if (round === 100 || names.length >= fields.length) {
      assert.deepEqual(names, fields.toSorted());
      return found;
    }
    await sleep(20);
  }
}

async function post(
  path: string,
  body: unknown,
  options: { idempotencyKey?: string; status?: number } = {},
): Promise<Reply> {
  const { idempotencyKey = randomUUID(), status = 201 } = options;
  const reply = await service.call('POST', path, { key, body, idempotencyKey });
  assert.equal(reply.status, status, reply.text);
  return reply;
}

const customerWith = (metadata: object): Promise<Reply> => post('/v1/customers', someCustomer({ metadata }));

describe('the fields of a body that hold what looks like a card number', () => {
  it('are found wherever they are, by name', () => {
    const body = {
      metadata: { a: number, b: { c: [1, `order ${number}`] }, [number]: 'x', n: Number(number), fine: '4242' },
      url: `https://shop.example.com/${number}`,
      card: { number },
      secret: number,
    };
    assert.deepEqual([...cardFieldsIn(body)].toSorted(), [
      'metadata.***',
      'metadata.a',
      'metadata.b.c[]',
      'metadata.n',
      'url',
    ]);
    for (const nothing of [undefined, null, 'x', [], {}, { metadata: null }])
      assert.deepEqual([...cardFieldsIn(nothing)], []);
  });
});

describe('a card number in a field that a program fills', () => {
  it('is accepted, and the company is warned with the name of the field and not with the value', async () => {
    const { body } = await customerWith({ crm: { order: '4242.4242.4242.4242' } });
    assert.equal(body.metadata.crm.order, '4242.4242.4242.4242');
    await post('/v1/products', someProduct({ sku: number }));
    await post('/v1/products', someProduct(), { idempotencyKey: `order-${number}` });
    const hook = { url: `https://shop.example.com/${number}`, enabled_events: ['*'] };
    await post('/v1/webhook_endpoints', hook);
    await service.call('PATCH', `/v1/customers/${body.id}`, { key, body: { email: `${number}@example.com` } });
    await eventually([
      'POST /v1/customers metadata.crm.order',
      'POST /v1/products sku',
      'POST /v1/products X-SVC-Idempotency-Key',
      'POST /v1/webhook_endpoints url',
      'PATCH /v1/customers/:id email',
    ]);
    const [table] = await service.db.query<{ text: string }>('SELECT json_agg(w)::text AS text FROM card_warnings w');
    assert.doesNotMatch(table?.text ?? '', /(4242\W?){2}/);
  });

  it('is masked in the log of requests, in any form', async () => {
    const { headers } = await customerWith({
      a: '4242.4242.4242.4242',
      b: '4242\u200b4242\u200b4242\u200b4242',
      c: '４２４２４２４２４２４２４２４２',
    });
    const path = `/v1/requests/${headers.get('svc-request-id')}`;
    for (let round = 0; ; round += 1) {
      const logged = await service.call('GET', path, { key });
      if (logged.status === 404 && round < 100) await sleep(20);
      else {
        assert.equal(logged.status, 200, logged.text);
        // One group may also be part of an id.
        assert.doesNotMatch(logged.text, /(4242\W?){2}|４２/);
        break;
      }
    }
  });

  it('is no warning where a card belongs, nor in what was refused', async () => {
    const { body } = await customerWith({});
    const card = { number, exp_month: '12', exp_year: '2032', cvc: '999' };
    await post('/capture', { customer_id: body.id, card });
    await post('/v1/card_tokens', { card });
    await post('/v1/customers', { metadata: { order: number } }, { status: 400 });
    await customerWith({ last: number });
    await eventually(['POST /v1/customers metadata.last']);
  });

  it('is a warning to no other company', async () => {
    await customerWith({ order: number });
    await eventually(['POST /v1/customers metadata.order']);
    assert.deepEqual(await warnings(await signUp(service)), []);
    const live = owner.companies.find(({ mode }) => mode === 'live')?.id ?? '';
    const there = await owner.call('GET', '/dashboard/card_warnings', { company: live });
    assert.deepEqual(there.body.data, []);
  });

  it('is noted for a limited number of fields of a company', async () => {
    const some = (from: number): object =>
      Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`field_${from + at}`, number]));
    for (const from of [0, 50, 100]) await customerWith(some(from));
    const { count } = await waitForCount(limits.cardWarnings);
    assert.equal(count, limits.cardWarnings);
  });

  async function waitForCount(most: number): Promise<{ count: number }> {
    for (let round = 0; round < 100 && (await warnings()).length < most; round += 1) await sleep(20);
    return { count: (await warnings()).length };
  }
});

describe('the warnings', () => {
  const dismiss = (seen_by: string): Promise<Reply> =>
    owner.in('POST', '/dashboard/card_warnings/dismiss', { seen_by });

  it('are hidden when they are dismissed, and shown when such a number is sent again', async () => {
    await customerWith({ order: number });
    const [first] = await eventually(['POST /v1/customers metadata.order']);
    assert.deepEqual((await dismiss(first?.last_seen_at ?? '')).body, { data: [] });
    service.clock.advance(61 * 60_000);
    await customerWith({ order: number });
    const [again] = await eventually(['POST /v1/customers metadata.order']);
    assert.equal(again?.first_seen_at, first?.first_seen_at);
    assert.ok((again?.last_seen_at ?? '') > (first?.last_seen_at ?? ''));
  });

  it('that came after the list was read stay', async () => {
    await customerWith({ order: number });
    const [first] = await eventually(['POST /v1/customers metadata.order']);
    await sleep(5);
    await customerWith({ other: number });
    await eventually(['POST /v1/customers metadata.order', 'POST /v1/customers metadata.other']);
    const left = (await dismiss(first?.last_seen_at ?? '')).body.data;
    assert.deepEqual(
      left.map(({ field }: Warning) => field),
      ['metadata.other'],
    );
  });
});
