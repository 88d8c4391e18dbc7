import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { appendFile, readFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { brokenAnswers } from '../../../../tests/support/broken-answers.ts';
import { startAcquirer, type TestAcquirer } from '../../../../tests/support/acquirer.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { listen, unusedUrl } from '../../../../tests/support/listen.ts';
import { chargeOf, inAMinute, refundOf } from '../../../../tests/support/processor-requests.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { processorConformance } from '../conformance.ts';
import { dated } from '../conformance-assertions.ts';
import { type ChargeRequest, failureReasons, type Outcome, type Processor, type ProcessorCard } from '../processor.ts';
import { acquirerProcessor } from './adapter.ts';
import { failureCodes } from './answers.ts';
import type { Operation } from './protocol.ts';
import { businessDaysLater } from '../../../../simulators/acquirer/simulator.ts';

const hastyMs = 300;

const cardNumber = `4${Array.from({ length: 15 }, () => randomInt(10)).join('')}`;
const card: ProcessorCard = { number: new CardNumber(cardNumber), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
const companyId = randomUUID();

const newCharge = (overrides: Partial<ChargeRequest> = {}): ChargeRequest =>
  chargeOf(card, { companyId, ...overrides });

let acquirer: TestAcquirer;
let processor: Processor;
/** Gives up soon, so for silent acquirers only: a busy machine may be slower than this. */
let hasty: Processor;

const connect = (url: string, secret: string, timeoutMs?: number): Processor =>
  acquirerProcessor({ url, secret: new Secret(secret), ...(timeoutMs !== undefined && { timeoutMs }) });

before(async () => {
  acquirer = await startAcquirer({ requestLifeMs: 2_000 });
  processor = connect(acquirer.url, acquirer.secret);
  hasty = connect(acquirer.url, acquirer.secret, hastyMs);
});
after(() => acquirer.stop());
beforeEach(() => acquirer.control({ faults: {}, next: [], settle_after_ms: null, seed: 1 }));
afterEach(async () => {
  assert.ok(!(await acquirer.traces()).includes(cardNumber), 'a card number in the journal or the output');
});

async function taken(reference: string): Promise<Operation[]> {
  return (await acquirer.journal()).filter((operation) => operation.reference === reference);
}

async function charged(): Promise<ChargeRequest> {
  const request = newCharge();
  const outcome = await processor.charge(request);
  assert.equal(outcome.outcome, 'approved', inspect(outcome));
  return request;
}

describe('what a charge says about the payment', () => {
  const shipping = {
    ...{ name: 'Ada Byron', phone: null, line1: '12 St James Square', line2: null },
    ...{ city: 'London', state: null, postalCode: 'SW1Y 4JH', country: 'GB' },
  };
  const whole: Partial<ChargeRequest> = {
    shipping,
    billing: { ...shipping, email: 'ada@example.com' },
    customerIp: '198.41.0.4',
    credential: { initiator: 'customer', sequence: 'first', networkTransactionId: null },
  };
  const sendTo = (descriptor: string | undefined, about: Partial<ChargeRequest>): Promise<Outcome> =>
    acquirerProcessor({ url: acquirer.url, secret: new Secret(acquirer.secret), descriptor }).charge(newCharge(about));

  it('is taken in the form that the protocol describes, and kept nowhere', async () => {
    for (const customerIp of ['198.41.0.4', '2606:4700:4700::1111']) {
      assert.equal((await sendTo('TEA HOUSE', { ...whole, customerIp })).outcome, 'approved');
    }
    assert.ok(!/TEA HOUSE|198\.41|St James|ada@/.test(await acquirer.traces()));
  });

  const wrong: readonly (readonly [string, string | undefined, Partial<ChargeRequest>])[] = [
    ['an address that is none', undefined, { customerIp: 'localhost' }],
    ['the country of a delivery', undefined, { shipping: { ...shipping, country: 'United Kingdom' } }],
    ['the line of a delivery', undefined, { shipping: { ...shipping, line1: '' } }],
    ['an email', undefined, { billing: { ...shipping, email: 'ada' } }],
    ['a long descriptor', 'TEA HOUSE OF ADA BYRON KING', {}],
    ['a descriptor with other characters', 'TEE HÄUSCHEN', {}],
  ];
  for (const [what, descriptor, about] of wrong) {
    it(`is refused if it is wrong: ${what}`, async () => {
      const outcome = await sendTo(descriptor, { ...whole, ...about });
      assert.ok(outcome.outcome === 'declined' && outcome.failureCode === 'validation_error', inspect(outcome));
    });
  }
});

processorConformance(
  'the acquirer',
  async () => ({
    processor,
    approvedCard: async () => card,
    declinedCard: async () => {
      await acquirer.control({ next: ['decline:51'] });
      return { card, failureCode: 'insufficient_funds' };
    },
    settleAtOnce: () => acquirer.control({ settle_after_ms: 0 }),
    holdFor: (ms) => acquirer.control({ hold_for_ms: ms }),
    executions: async (reference) => (await taken(reference)).length,
    faults: { next: (fault) => acquirer.control({ next: [fault] }), hasty },
  }),
  {
    keepsBooks: true,
    authorizes: 'strictly',
    broken: brokenAnswers,
    unreachable: async () => connect(await unusedUrl(), 'secret'),
  },
);

describe('an acquirer that lies', () => {
  /** A charge or refund that is about to be sent, and how. */
  const operations = {
    charge: async () => {
      const request = newCharge();
      return { reference: request.reference, send: (by: Processor) => by.charge(request) };
    },
    refund: async () => {
      const request = refundOf(await charged());
      return { reference: request.reference, send: (by: Processor) => by.refund(request) };
    },
    void: async () => {
      const { reference: chargeReference } = await charged();
      const request = { companyId, reference: randomUUID(), validUntilMs: inAMinute(), chargeReference };
      return { reference: request.reference, send: (by: Processor) => by.void(request) };
    },
  };

  for (const [name, prepare] of Object.entries(operations)) {
    for (const fault of ['timeout', 'error', 'reset']) {
      it(`${fault}_before: a ${name} is in doubt and was not taken`, async () => {
        const { reference, send } = await prepare();
        await acquirer.control({ next: [`${fault}_before`] });
        const outcome = await send(fault === 'timeout' ? hasty : processor);
        assert.equal(outcome.outcome, 'unknown', inspect(outcome));
        assert.deepEqual(await taken(reference), []);
        assert.equal((await processor.lookup({ companyId, reference })).outcome, 'not_found');
      });

      it(`${fault}_after: a ${name} is in doubt and was taken, as a lookup says`, async () => {
        const { reference, send } = await prepare();
        await acquirer.control({ next: [`${fault}_after`] });
        const outcome = await send(fault === 'timeout' ? hasty : processor);
        assert.equal(outcome.outcome, 'unknown', inspect(outcome));
        await waitUntil(async () => (await taken(reference)).length === 1);
        assert.equal((await processor.lookup({ companyId, reference })).outcome, 'approved');
        // And sending it again does not do it again.
        assert.equal((await send(processor)).outcome, 'approved');
        assert.equal((await taken(reference)).length, 1);
      });
    }

    it(`late: a ${name} is in doubt, then not found, then found within the life of a request`, async () => {
      const { reference, send } = await prepare();
      await acquirer.control({ next: ['late'] });
      const outcome = await send(processor);
      const arrivedByMs = Date.now();
      assert.equal(outcome.outcome, 'unknown', inspect(outcome));
      assert.equal((await processor.lookup({ companyId, reference })).outcome, 'not_found');
      await waitUntil(async () => (await processor.lookup({ companyId, reference })).outcome === 'approved');
      const [operation, ...more] = await taken(reference);
      assert.deepEqual(more, []);
      assert.ok(operation && operation.taken_at_ms < arrivedByMs + 2_000, inspect(operation));
    });

    it(`duplicate: a ${name} is approved, and the answers after it keep to their questions`, async () => {
      const { reference, send } = await prepare();
      await acquirer.control({ next: ['duplicate', 'duplicate'] });
      assert.equal((await send(processor)).outcome, 'approved');
      for (let round = 0; round < 5; round += 1) {
        const request = newCharge();
        const outcome = await processor.charge(request);
        const [operation] = await taken(request.reference);
        // The second answer may come in place of the next one: then nothing is known of that.
        if (outcome.outcome !== 'unknown') {
          assert.ok(outcome.outcome === 'approved', inspect(outcome));
          assert.equal(outcome.response.transaction_id, operation?.transaction_id);
        }
      }
      assert.equal((await taken(reference)).length, 1);
    });

    it(`decline: a ${name} is declined and stays so`, async () => {
      const { reference, send } = await prepare();
      await acquirer.control({ next: ['decline:05'] });
      const outcome = await send(processor);
      assert.ok(outcome.outcome === 'declined', inspect(outcome));
      assert.equal(outcome.failureCode, 'do_not_honor');
      assert.deepEqual(dated(await send(processor)), dated(outcome));
      assert.deepEqual(dated(await processor.lookup({ companyId, reference })), dated(outcome));
      assert.equal((await taken(reference))[0]?.status, 'declined');
    });

    it(`lookup_timeout, lookup_error: nothing is known of a ${name}`, async () => {
      const { reference, send } = await prepare();
      assert.equal((await send(processor)).outcome, 'approved');
      await acquirer.control({ next: ['lookup_timeout', 'lookup_error'] });
      assert.equal((await hasty.lookup({ companyId, reference })).outcome, 'unknown');
      assert.equal((await processor.lookup({ companyId, reference })).outcome, 'unknown');
      assert.equal((await processor.lookup({ companyId, reference })).outcome, 'approved');
    });
  }

  it('reject_refund: a refund is taken on, comes back at settlement, and can be made again', async () => {
    const charge = await charged();
    await acquirer.control({ next: ['reject_refund'], settle_after_ms: 400 });
    const request = refundOf(charge);
    const outcome = await processor.refund(request);
    assert.ok(outcome.outcome === 'approved' && outcome.settled === false, inspect(outcome));
    await waitUntil(async () => (await processor.lookup(request)).outcome === 'declined');
    const found = await processor.lookup(request);
    assert.ok(found.outcome === 'declined' && found.failureCode === 'processor_declined', inspect(found));
    assert.deepEqual(
      (await taken(request.reference)).map(({ status, settled }) => [status, settled]),
      [['rejected', false]],
    );
    assert.equal((await processor.refund(refundOf(charge))).outcome, 'approved');
  });

  it('reject_refund applies to the next refund and not to a charge', async () => {
    await acquirer.control({ next: ['reject_refund'], settle_after_ms: 0 });
    const request = refundOf(await charged());
    const first = await processor.refund(request);
    assert.equal(first.outcome, 'approved');
    assert.equal((await processor.lookup(request)).outcome, 'declined');
    assert.deepEqual(dated(await processor.refund(request)), dated(first), 'a repetition gets the first result');
  });

  it('every code it declines with is understood, and every failure code can be had', async () => {
    for (const [code, failureCode] of [...Object.entries(failureCodes), ['99', 'unknown']]) {
      await acquirer.control({ next: [`decline:${code}`] });
      const outcome = await processor.charge(newCharge());
      assert.ok(outcome.outcome === 'declined', inspect(outcome));
      assert.deepEqual([outcome.failureCode, outcome.response.response_code], [failureCode, code]);
    }
    const known = new Set<string>([...Object.values(failureCodes), 'unknown']);
    assert.deepEqual(known, new Set(Object.keys(failureReasons)));
  });

  it('the same seed gives the same lies', async () => {
    const run = async (seed: number): Promise<string[]> => {
      const faults = { error_before: 0.3, error_after: 0.2, 'decline:51': 0.2 };
      await acquirer.control({ faults, seed, settle_after_ms: 0 });
      const outcomes: Outcome[] = [];
      for (let index = 0; index < 40; index += 1) outcomes.push(await processor.charge(newCharge()));
      return outcomes.map(({ outcome }) => outcome);
    };
    const first = await run(7);
    assert.deepEqual(await run(7), first);
    assert.notDeepEqual(await run(8), first);
    assert.deepEqual(new Set(first), new Set(['approved', 'declined', 'unknown']));
  });
});

describe('the acquirer', () => {
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(acquirer.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${acquirer.secret}`, ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, any> };
  };
  const body = (overrides: Record<string, unknown> = {}) => ({
    reference: randomUUID(),
    amount: 100,
    currency: 'usd',
    card: { number: cardNumber, exp_month: 1, exp_year: 2031 },
    ...overrides,
  });

  it('refuses other content under a used reference and says what is held under it', async () => {
    const first = body();
    assert.equal((await post('/charges', first)).status, 200);
    const expiry = { ...first.card, exp_year: 2035 };
    for (const other of [
      { ...first, amount: 101 },
      { ...first, currency: 'eur' },
      { ...first, card: expiry },
    ]) {
      const reply = await post('/charges', other);
      assert.equal(reply.status, 409);
      assert.equal(reply.body.operation.amount, 100);
    }
    assert.equal((await post('/voids', { ...first, charge_reference: randomUUID() })).status, 409);
    assert.equal((await taken(first.reference)).length, 1);
  });

  it('takes nothing it cannot read', async () => {
    const before = (await acquirer.health()).operations;
    const wrong: Record<string, unknown>[] = [
      { reference: '' },
      { reference: 'a b' },
      { reference: 7 },
      { amount: 0 },
      { amount: 1.5 },
      { amount: '100' },
      { currency: 'dollars' },
      { card: null },
      { card: { number: '12', exp_month: 1, exp_year: 2031 } },
      { card: { number: cardNumber, exp_month: 13, exp_year: 2031 } },
    ];
    for (const overrides of wrong)
      assert.equal((await post('/charges', body(overrides))).status, 400, inspect(overrides));
    for (const value of [null, 7, [], 'text']) assert.equal((await post('/charges', value)).status, 400);
    assert.equal((await post('/refunds', body())).status, 400, 'a refund names its charge');
    assert.equal((await post('/charges', body(), { 'x-valid-until-ms': 'soon' })).status, 400);
    assert.equal((await post('/control', { next: ['no such fault'] })).status, 400);
    assert.equal((await post('/constructor', body())).status, 404);
    const headers = { authorization: `Bearer ${acquirer.secret}` };
    assert.equal((await fetch(`${acquirer.url}/operations/%`, { headers })).status, 404);
    assert.equal((await fetch(`${acquirer.url}/journal`)).status, 401);
    assert.equal((await acquirer.health()).operations, before);
  });

  it('takes nothing after its time', async () => {
    const late = body();
    const reply = await post('/charges', late, { 'x-valid-until-ms': String(Date.now()) });
    assert.deepEqual([reply.status, reply.body.error], [400, 'expired']);
    assert.deepEqual(await taken(late.reference), []);
  });

  it('settles after 1 to 3 business days by default', () => {
    const friday = Date.parse('2026-02-13T15:00:00Z');
    const days = [1, 2, 3].map((count) => new Date(businessDaysLater(friday, count)).toISOString());
    assert.deepEqual(days, ['2026-02-16T15:00:00.000Z', '2026-02-17T15:00:00.000Z', '2026-02-18T15:00:00.000Z']);
  });

  it('shares the fsyncs of 100 charges at once', async () => {
    const before = await acquirer.health();
    const requests = Array.from({ length: 100 }, () => newCharge());
    const outcomes = await Promise.all(requests.map((request) => processor.charge(request)));
    assert.deepEqual(new Set(outcomes.map(({ outcome }) => outcome)), new Set(['approved']));
    const { fsyncs, operations } = await acquirer.health();
    assert.equal(operations - before.operations, 100);
    assert.ok(fsyncs - before.fsyncs < 100, `${fsyncs - before.fsyncs} fsyncs`);
    const onDisk = await readFile(acquirer.journalFile, 'utf8');
    for (const { reference } of requests) assert.equal(onDisk.split(`"${reference}"`).length, 2);
  });
});

describe('the list of operations', () => {
  it('is whole, however many there are, and fails when the acquirer does', async () => {
    const fromMs = Date.now();
    const requests = Array.from({ length: 520 }, () => newCharge());
    await Promise.all(requests.map((request) => processor.charge(request)));
    const about = { companyId, fromMs, untilMs: fromMs + 60_000 };
    const first = await processor.list?.(about);
    assert.ok(first?.next && first.operations.length < 520, 'in parts');
    const second = await processor.list?.({ ...about, after: first.next });
    const references = [...first.operations, ...(second?.operations ?? [])].map(({ reference }) => reference);
    assert.deepEqual(references.toSorted(), requests.map(({ reference }) => reference).toSorted());
    assert.equal(second?.next, null);
    await acquirer.control({ next: ['lookup_error'] });
    await assert.rejects(async () => processor.list?.(about), /answered 50[03]/);
    await assert.rejects(async () => connect(acquirer.url, 'wrong').list?.(about), /answered 401/);
    await assert.rejects(async () => connect(await unusedUrl(), 'secret').list?.(about), /did not list/);
  });
});

describe('an acquirer that is killed', () => {
  it('knows everything it has answered, and settles what it had taken', async () => {
    await acquirer.control({ settle_after_ms: 0 });
    const refund = refundOf(await charged());
    assert.equal((await processor.refund(refund)).outcome, 'approved');
    await acquirer.control({ settle_after_ms: null });
    const outcomes = new Map<string, Outcome>();
    const flood = Array.from({ length: 20 }, async () => {
      for (;;) {
        const request = newCharge();
        const outcome = await processor.charge(request);
        outcomes.set(request.reference, outcome);
        if (outcome.outcome !== 'approved') return;
      }
    });
    await waitUntil(() => outcomes.size > 50);
    await acquirer.kill();
    await Promise.all(flood);
    await acquirer.restart();

    const journal = new Map((await acquirer.journal()).map((operation) => [operation.reference, operation]));
    for (const [reference, outcome] of outcomes) {
      const held = journal.get(reference);
      if (outcome.outcome === 'approved') assert.equal(held?.transaction_id, outcome.response.transaction_id);
      else if (outcome.outcome === 'not_sent') assert.equal(held, undefined);
      else assert.equal(outcome.outcome, 'unknown', inspect(outcome));
      const found = await processor.lookup({ companyId, reference });
      assert.equal(found.outcome, held ? 'approved' : 'not_found');
    }
    const found = await processor.lookup(refund);
    assert.ok(found.outcome === 'approved' && found.settled === true, inspect(found));
    const again = await processor.refund({ ...refund, reference: randomUUID() });
    assert.equal(again.outcome, 'declined', 'the sum of refunds is remembered');
  });

  it('ignores a line that was half-written', async () => {
    const before = await acquirer.journal();
    await acquirer.kill();
    await appendFile(acquirer.journalFile, '{"kind":"charge","reference":"half');
    await acquirer.restart();
    assert.deepEqual((await acquirer.journal()).length, before.length);
    const { reference } = await charged();
    await acquirer.restart();
    assert.equal((await taken(reference)).length, 1);
    assert.equal((await acquirer.journal()).length, before.length + 1);
  });

  it('never accepts a request that was still in transit', async () => {
    const request = newCharge();
    await acquirer.control({ next: ['late'] });
    assert.equal((await processor.charge(request)).outcome, 'unknown');
    await acquirer.restart();
    assert.equal((await processor.lookup(request)).outcome, 'not_found');
  });
});

describe('an acquirer that is frozen', () => {
  it('does not take a request that lay in a buffer longer than it lives', async () => {
    const livesMs = hastyMs + 100;
    const request = newCharge({ validUntilMs: Date.now() + livesMs });
    acquirer.freeze();
    const outcome = await hasty.charge(request);
    await sleep(livesMs - hastyMs);
    acquirer.thaw();
    assert.equal(outcome.outcome, 'unknown', inspect(outcome));
    assert.equal((await processor.lookup(request)).outcome, 'not_found');
    await charged();
    assert.equal((await processor.lookup(request)).outcome, 'not_found');
  });
});

describe('the adapter', () => {
  /** A server that answers each request as the test says. */
  async function answering(t: TestContext, onData: (socket: Socket, text: string) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => onData(socket, String(chunk)));
    });
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return listen(server);
  }

  const replyOf = (status: number, body: string): string =>
    `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

  const approvalOf = (request: ChargeRequest, overrides: Record<string, unknown> = {}): string =>
    JSON.stringify({
      kind: 'charge',
      reference: request.reference,
      charge_reference: null,
      amount: request.amount,
      currency: request.currency,
      last4: card.number.last4,
      status: 'approved',
      settled: false,
      response_code: '00',
      response_text: 'Approved',
      transaction_id: 'x',
      authorization_code: null,
      ...overrides,
    });

  it('reads an approval', async (t) => {
    const request = newCharge();
    const url = await answering(t, (socket) => socket.write(replyOf(200, approvalOf(request))));
    assert.equal((await connect(url, 's').charge(request)).outcome, 'approved');
  });

  const request = newCharge();
  const doubtful: Record<string, string> = {
    'no JSON': replyOf(200, 'fine'),
    'an empty answer': replyOf(200, ''),
    'another shape': replyOf(200, '{"status":"approved"}'),
    'another reference': replyOf(200, approvalOf(request, { reference: randomUUID() })),
    'another amount': replyOf(200, approvalOf(request, { amount: 4901 })),
    'another currency': replyOf(200, approvalOf(request, { currency: 'eur' })),
    'another kind': replyOf(200, approvalOf(request, { kind: 'refund' })),
    'a status it does not have': replyOf(200, approvalOf(request, { status: 'maybe' })),
    'half an answer': replyOf(200, approvalOf(request)).slice(0, -9),
    'half a head': 'HTTP/1.1 200',
    'no HTTP': 'SSH-2.0-OpenSSH\r\n\r\n',
    'too much': replyOf(200, approvalOf(request, { padding: 'x'.repeat(70_000) })),
    'a redirect': 'HTTP/1.1 302 X\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n',
    '500': replyOf(500, '{"error":"unavailable"}'),
    '503 of a proxy': replyOf(503, '<html>'),
    '429': replyOf(429, '{}'),
    '404': replyOf(404, `{"error":"not_found","reference":"${request.reference}"}`),
    '401 of a proxy': replyOf(401, '<html>'),
    '400 about another reference': replyOf(400, '{"error":"invalid","reference":"other"}'),
    '409 that does not say what is held': replyOf(409, '{"error":"reference_used"}'),
  };
  for (const [name, reply] of Object.entries(doubtful)) {
    it(`does not guess: ${name}`, async (t) => {
      const url = await answering(t, (socket) => socket.end(reply));
      const outcome = await connect(url, 's').charge(request);
      assert.equal(outcome.outcome, 'unknown', inspect(outcome));
      assert.ok(!inspect(outcome).includes(cardNumber));
    });
  }

  it('does not take a 404 about something else for "not found"', async (t) => {
    const { reference } = newCharge();
    for (const body of ['<html>', '{"error":"no_such_path"}', '{"error":"not_found","reference":"other"}']) {
      const url = await answering(t, (socket) => socket.end(replyOf(404, body)));
      assert.equal((await connect(url, 's').lookup({ companyId, reference })).outcome, 'unknown', body);
    }
  });

  it('does not take what is held under a reference for another charge', async () => {
    const refund = refundOf(await charged());
    await processor.refund(refund);
    const about = { companyId, reference: refund.reference };
    const sent = { amount: refund.amount, currency: refund.currency, last4: null };
    assert.equal((await processor.lookup({ ...about, sent })).outcome, 'approved');
    assert.equal((await processor.lookup({ ...about, chargeReference: randomUUID() })).outcome, 'conflict');
    for (const other of [{ amount: 1 }, { currency: 'eur' }, { last4: '0000' }]) {
      const found = await processor.lookup({ ...about, sent: { ...sent, ...other } });
      assert.equal(found.outcome, 'conflict', inspect(other));
    }
  });

  it('a connection that closes as it is used again leaves a doubt', async (t) => {
    const first = newCharge();
    let requests = 0;
    const url = await answering(t, (socket) => {
      requests += 1;
      if (requests === 1) socket.write(replyOf(200, approvalOf(first)));
      else socket.resetAndDestroy();
    });
    const client = connect(url, 's');
    assert.equal((await client.charge(first)).outcome, 'approved');
    assert.equal((await client.charge(newCharge())).outcome, 'unknown');
    assert.equal(requests, 2, 'it was sent once');
  });

  it('an answer counts, even if something follows it on the connection', async (t) => {
    for (const rest of [replyOf(200, '{}'), '\0garbage', replyOf(500, '')]) {
      const asked = newCharge();
      const url = await answering(t, (socket) => socket.write(replyOf(200, approvalOf(asked)) + rest));
      assert.equal((await connect(url, 's').charge(asked)).outcome, 'approved', inspect(rest));
    }
  });

  it('what never left is "not sent": a name that does not exist, a handshake that does not end', async (t) => {
    const nowhere = connect('http://nowhere.invalid', 's');
    assert.equal((await nowhere.charge(newCharge())).outcome, 'not_sent');
    const silent = await answering(t, () => undefined);
    const secure = connect(silent.replace('http:', 'https:'), 's', hastyMs);
    assert.equal((await secure.charge(newCharge())).outcome, 'not_sent');
    const unwritable = connect(acquirer.url, 'line\nbreak');
    assert.equal((await unwritable.charge(newCharge())).outcome, 'not_sent');
  });

  it('refusals are declines: a wrong secret, a field that is wrong', async () => {
    const stranger = await connect(acquirer.url, 'wrong').charge(newCharge());
    assert.ok(stranger.outcome === 'declined' && stranger.failureCode === 'invalid_merchant_configuration');
    assert.equal((await connect(acquirer.url, 'wrong').lookup(newCharge())).outcome, 'unknown');
    const invalid = await processor.charge(newCharge({ amount: 0 }));
    assert.ok(invalid.outcome === 'declined' && invalid.failureCode === 'validation_error');
  });

  it('a used reference is our own charge when the money and the card are the same, else a conflict', async () => {
    const charge = await charged();
    const renewed = await processor.charge({ ...charge, card: { ...card, expYear: 2040 } });
    assert.equal(renewed.outcome, 'approved', 'only the expiry has changed since');
    const other = await processor.charge({ ...charge, amount: 1 });
    assert.ok(other.outcome === 'conflict' && other.approved === true, inspect(other));
    assert.equal((await taken(charge.reference)).length, 1);
    const { reference: chargeReference } = charge;
    await processor.void({ companyId, reference: randomUUID(), validUntilMs: inAMinute(), chargeReference });
    const voided = await processor.charge({ ...charge, amount: 1 });
    assert.ok(voided.outcome === 'conflict' && voided.approved === false, 'a voided charge holds no money');
  });

  it('without the time of the acquirer in the body goes by the Date header', async (t) => {
    const asked = newCharge();
    const dateMs = Math.floor(Date.now() / 1_000) * 1_000;
    const reply = (status: number, body: string): string =>
      replyOf(status, body).replace('\r\n', `\r\ndate: ${new Date(dateMs).toUTCString()}\r\n`);
    const taken_at_ms = dateMs - 7_200_000;
    const url = await answering(t, (socket, text) => {
      const isLookup = text.startsWith('GET');
      const body = isLookup
        ? `{"error":"not_found","reference":"${asked.reference}"}`
        : approvalOf(asked, { taken_at_ms });
      socket.write(reply(isLookup ? 404 : 200, body));
    });
    const outcome = await connect(url, 's').charge(asked);
    assert.ok(outcome.outcome === 'approved' && outcome.executed, inspect(outcome));
    assert.ok(outcome.executed.ageMs > 7_190_000 && outcome.executed.ageMs <= 7_200_000, inspect(outcome));
    const found = await connect(url, 's').lookup(asked);
    assert.ok(found.outcome === 'not_found' && found.atMs !== undefined, inspect(found));
    assert.ok(found.atMs <= dateMs && found.atMs > dateMs - 10_000, 'what it showed when we asked, or less');
  });

  it('throws at no reference', async () => {
    for (const reference of ['', '..', '../journal?a=b', '\0', '\ud800', '__proto__', 'r'.repeat(20_000)]) {
      const { outcome } = await processor.charge(newCharge({ reference }));
      assert.ok(['approved', 'declined', 'unknown'].includes(outcome), `${inspect(reference)}: ${outcome}`);
      const found = await processor.lookup({ companyId, reference });
      assert.ok(['approved', 'not_found', 'unknown'].includes(found.outcome), inspect(found));
    }
  });
});
