import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { brokenAnswers } from '../../../../tests/support/broken-answers.ts';
import { answersTheProduct } from '../../../../tests/support/live-suite.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { listen } from '../../../../tests/support/listen.ts';
import { chargeOf, inAMinute, refundOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { processorConformance } from '../conformance.ts';
import type { Notice } from '../notices.ts';
import type { ChargeRequest, ListedOperation, LookupOutcome, Outcome, Processor, ProcessorCard } from '../processor.ts';
import type { SimulatedOperation } from '../../../../simulators/nmi/books.ts';
import { nmiProcessor } from './adapter.ts';
import { openSimulator } from '../../../../simulators/nmi/simulator.ts';
import { nmiKind } from './kind.ts';

const securityKey = 'FakeSecurityKey'.padEnd(32, '7');
const cvc = '987';
const hastyMs = 200;
const requestLifeMs = 600;

const cardNumber = `4${Array.from({ length: 15 }, () => randomInt(10)).join('')}`;
const card: ProcessorCard = { number: new CardNumber(cardNumber), cardId: randomUUID(), expMonth: 3, expYear: 2032 };
const companyId = randomUUID();

let fake: Simulator;
let processor: Processor;
/** Gives up soon, so for silent answers only: a busy machine may be slower than this. */
let hasty: Processor;

/** With NMI's own duplicate check, which stops a charge that is sent twice. */
const connect = (url: string, timeoutMs = 10_000, configuration: Record<string, string> = {}): Processor =>
  nmiKind.open(
    { security_key: securityKey, api_url: url, dup_seconds: '1200', ...configuration },
    { timeoutMs, extraOrigins: [new URL(url).origin] },
  );

const usual = {
  ...{ faults: {}, next: [], settle_after_ms: null, seed: 1, lag_ms: 0 },
  ...{ duplicate_check: 'with_order_id', is_revoked: false, test_mode: false, ignores_refund_order: false },
};

before(async () => {
  fake = await startSimulator('nmi', securityKey, { 'request-life-ms': requestLifeMs });
  processor = connect(fake.url);
  hasty = connect(fake.url, hastyMs);
});
after(() => fake.stop());
beforeEach(() => fake.control(usual));
afterEach(async () => {
  const traces = await fake.traces();
  for (const secret of [cardNumber, securityKey])
    assert.ok(!traces.includes(secret), 'a secret in the journal or output');
});

const newCharge = (overrides: Partial<ChargeRequest> = {}): ChargeRequest =>
  chargeOf(card, { companyId, ...overrides });

async function charged(overrides: Partial<ChargeRequest> = {}): Promise<ChargeRequest & { transactionId: string }> {
  const request = newCharge(overrides);
  const outcome = await processor.charge(request);
  assert.ok(outcome.outcome === 'approved', inspect(outcome));
  return { ...request, transactionId: outcome.response.transaction_id ?? '' };
}

const voidOf = ({ reference: chargeReference }: ChargeRequest) => ({
  companyId,
  reference: randomUUID(),
  validUntilMs: inAMinute(),
  chargeReference,
});

const journal = async (): Promise<SimulatedOperation[]> => (await fake.call('GET', '/journal')).operations;
/** What NMI has executed: under a reference, and for a void on its charge. */
async function executed(reference: string, chargeReference?: string): Promise<SimulatedOperation[]> {
  const isAction = ({ kind, charge_reference }: SimulatedOperation): boolean =>
    (kind === 'void' || kind === 'capture') && charge_reference === chargeReference;
  return (await journal()).filter((one) => one.reference === reference || isAction(one));
}

/** The charges of voids and captures, which have no reference at NMI. */
const voidedCharges = new Map<string, string>();

const remembering = (by: Processor): Processor => ({
  ...by,
  async capture(request) {
    voidedCharges.set(request.reference, request.chargeReference);
    return by.capture?.(request) ?? { outcome: 'unknown', reason: '' };
  },
  void(request) {
    voidedCharges.set(request.reference, request.chargeReference);
    return by.void(request);
  },
});

processorConformance(
  'NMI',
  async () => ({
    processor: remembering(processor),
    approvedCard: async () => card,
    declinedCard: async () => {
      await fake.control({ next: ['decline:202'] });
      return { card, failureCode: 'insufficient_funds' };
    },
    settleAtOnce: () => fake.control({ settle_after_ms: 0 }),
    executions: async (reference) => (await executed(reference, voidedCharges.get(reference))).length,
    faults: { next: (fault) => fake.control({ next: [fault] }), hasty: remembering(hasty) },
  }),
  { authorizes: 'strictly', broken: brokenAnswers, unreachable: async () => connect('http://127.0.0.1:9') },
);

describe('an NMI that loses answers', () => {
  const operations = {
    charge: async () => {
      const request = newCharge();
      const about = { companyId, reference: request.reference, kind: 'charge' } as const;
      return { about, chargeReference: undefined, send: (by: Processor) => by.charge(request) };
    },
    refund: async () => {
      const charge = await charged();
      const request = refundOf(charge, 1000);
      const { reference, chargeReference } = request;
      const sent = { amount: 1000, currency: 'usd', last4: null };
      const about = { companyId, reference, chargeReference, sent, kind: 'refund' } as const;
      return { about, chargeReference: undefined, send: (by: Processor) => by.refund(request) };
    },
    void: async () => {
      const charge = await charged();
      const request = { ...voidOf(charge), chargeTransactionId: charge.transactionId };
      const { reference, chargeReference } = request;
      const about = { companyId, reference, chargeReference, kind: 'void' } as const;
      return { about, chargeReference, send: (by: Processor) => by.void(request) };
    },
  };

  for (const [name, prepare] of Object.entries(operations)) {
    for (const fault of ['timeout', 'error', 'reset']) {
      it(`${fault}_before: a ${name} is in doubt, was not executed, and is not found`, async () => {
        const { about, chargeReference, send } = await prepare();
        await fake.control({ next: [`${fault}_before`] });
        const outcome = await send(fault === 'timeout' ? hasty : processor);
        assert.equal(outcome.outcome, 'unknown', inspect(outcome));
        assert.deepEqual(await executed(about.reference, chargeReference), []);
        const found = await processor.lookup(about);
        assert.ok(found.outcome === 'not_found' && found.atMs !== undefined, inspect(found));
      });
    }

    for (const fault of ['timeout_after', 'error_after', 'reset_after', 'html_after', 'empty_after', 'cut_after']) {
      it(`${fault}: a ${name} is in doubt, and the report has its outcome`, async () => {
        const { about, chargeReference, send } = await prepare();
        await fake.control({ next: [fault] });
        const outcome = await send(fault === 'timeout_after' ? hasty : processor);
        assert.equal(outcome.outcome, 'unknown', inspect(outcome));
        await waitUntil(async () => (await executed(about.reference, chargeReference)).length === 1);
        assert.equal((await processor.lookup(about)).outcome, 'approved');
        // A repetition finds the first one and executes nothing.
        assert.equal((await send(processor)).outcome, 'approved');
        assert.equal((await executed(about.reference, chargeReference)).length, 1);
      });
    }

    it(`other_after: the answer to another request says nothing about a ${name}`, async () => {
      const { about, send } = await prepare();
      await fake.control({ next: ['other_after'] });
      assert.equal((await send(processor)).outcome, 'unknown');
      assert.equal((await processor.lookup(about)).outcome, 'approved');
    });

    it(`late: a ${name} is in doubt, then not found, then found`, async () => {
      const { about, chargeReference, send } = await prepare();
      await fake.control({ next: ['late'] });
      assert.equal((await send(processor)).outcome, 'unknown');
      assert.equal((await processor.lookup(about)).outcome, 'not_found');
      await waitUntil(async () => (await processor.lookup(about)).outcome === 'approved');
      assert.equal((await executed(about.reference, chargeReference)).length, 1);
    });

    it(`lookup faults: nothing is known of a ${name}, and it is never not found`, async () => {
      const { about, send } = await prepare();
      assert.equal((await send(processor)).outcome, 'approved');
      await fake.control({ next: ['lookup_timeout'] });
      assert.equal((await hasty.lookup(about)).outcome, 'unknown');
      for (const fault of ['lookup_error', 'lookup_html', 'lookup_cut', 'lookup_rate_limited']) {
        await fake.control({ next: [fault] });
        assert.equal((await processor.lookup(about)).outcome, 'unknown', fault);
      }
      assert.equal((await processor.lookup(about)).outcome, 'approved');
    });

    it(`decline: a ${name} is declined and nothing moved`, async () => {
      const { send } = await prepare();
      await fake.control({ next: ['decline:201'] });
      const outcome = await send(processor);
      assert.ok(outcome.outcome === 'declined' && outcome.failureCode === 'do_not_honor', inspect(outcome));
    });
  }

  it('duplicate: an answer that comes twice does not become the answer to the next request', async () => {
    await fake.control({ next: ['duplicate', 'duplicate', 'duplicate'] });
    for (let round = 0; round < 5; round += 1) {
      const { reference, transactionId } = await charged();
      assert.deepEqual(
        (await executed(reference)).map((one) => one.transaction_id),
        [transactionId],
      );
    }
    await fake.control({ next: ['duplicate'] });
    await charged();
    // NMI's rejections name no order: the second answer to the charge must not look like one.
    const refused = await processor.refund(refundOf(await charged(), 99_999));
    assert.equal(refused.outcome, 'declined', inspect(refused));
  });

  it('a rate limit proves nothing', async () => {
    await fake.control({ next: ['rate_limited_before'] });
    assert.equal((await processor.charge(newCharge())).outcome, 'unknown');
  });

  it('a communication error is in doubt until the report says that it failed', async () => {
    const request = newCharge();
    await fake.control({ next: ['decline:421'] });
    const outcome = await processor.charge(request);
    assert.ok(outcome.outcome === 'declined' && outcome.failureCode === 'issuer_unavailable', inspect(outcome));
    await fake.control({ next: ['decline:421', 'lookup_error'] });
    assert.equal((await processor.charge(newCharge())).outcome, 'unknown');
  });

  it('survives a kill: the journal has every answer it gave', async () => {
    const charge = await charged();
    await fake.restart();
    const found = await processor.lookup({ companyId, reference: charge.reference, kind: 'charge' });
    assert.ok(found.outcome === 'approved' && found.response.transaction_id === charge.transactionId, inspect(found));
  });
});

describe('once only', () => {
  it('three processes with the same reference charge once, if the account compares order ids', async () => {
    const reference = randomUUID();
    const program = `
      import { nmiKind } from ${JSON.stringify(fileURLToPath(new URL('kind.ts', import.meta.url)))};
      import { CardNumber } from ${JSON.stringify(fileURLToPath(new URL('../../card-number.ts', import.meta.url)))};
      const origin = ${JSON.stringify(fake.url)};
      const processor = nmiKind.open({ security_key: ${JSON.stringify(securityKey)}, api_url: origin, dup_seconds: '1200' }, { timeoutMs: 10000, extraOrigins: [origin] });
      const card = { number: new CardNumber('4242424242424242'), cardId: 'c', expMonth: 1, expYear: 2031 };
      const request = { companyId: 'c', reference: ${JSON.stringify(reference)}, validUntilMs: Date.now() + 60000, card, amount: 100, currency: 'usd' };
      console.log(JSON.stringify(await processor.charge(request)));`;
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    const outcomes = (await Promise.all([run(), run(), run()])).map(({ stdout }) => JSON.parse(stdout) as Outcome);
    assert.deepEqual(
      outcomes.map((outcome) => [outcome.outcome, 'response' in outcome && outcome.response.transaction_id]),
      Array.from({ length: 3 }, () => [
        'approved',
        outcomes[0] && 'response' in outcomes[0] && outcomes[0].response.transaction_id,
      ]),
    );
    assert.equal((await executed(reference)).length, 1);
  });

  it('a duplicate refused by card and amount is in doubt, and never declined', async () => {
    await fake.control({ duplicate_check: 'card_and_amount' });
    const amount = 700 + randomInt(10_000);
    await charged({ amount });
    const second = newCharge({ amount });
    const outcome = await processor.charge(second);
    assert.ok(outcome.outcome === 'unknown' && /Duplicate/.test(outcome.reason), inspect(outcome));
    assert.equal((await processor.lookup({ companyId, reference: second.reference })).outcome, 'not_found');
  });

  it('two equal amounts of one card are both charged at a new account, unless the owner wants the check', async () => {
    await fake.control({ duplicate_check: 'card_and_amount' });
    const usually = connect(fake.url, 10_000, { dup_seconds: '' });
    for (const amount of [4900, 4900]) {
      assert.equal((await usually.charge(newCharge({ amount }))).outcome, 'approved');
    }
    assert.throws(() => connect(fake.url, 10_000, { dup_seconds: '9999999' }), /at most 7862400/);
  });

  it('a duplicate whose first charge is missing in the report is in doubt', async () => {
    const request = newCharge();
    await charged(request);
    await fake.control({ lag_ms: 60_000 });
    assert.equal((await processor.charge(request)).outcome, 'unknown');
  });

  it('sends nothing when the validity ends soon, because NMI executes late requests', async () => {
    const nowMs = Date.now();
    const charge = await charged();
    for (const validUntilMs of [nowMs - 1, nowMs + 15_000]) {
      const request = newCharge({ validUntilMs });
      const outcomes = [
        await processor.charge(request),
        await processor.refund({ ...refundOf(charge), validUntilMs }),
        await processor.void({ ...voidOf(charge), validUntilMs }),
      ];
      for (const outcome of outcomes) {
        assert.ok(outcome.outcome === 'expired' && Math.abs((outcome.nowMs ?? 0) - nowMs) < 5_000, inspect(outcome));
      }
      assert.deepEqual(await executed(request.reference), []);
    }
    assert.equal((await executed(charge.reference, charge.reference)).length, 1);
  });

  it('not found has the earlier time of NMI’s clock and ours, and none without NMI’s', async (t) => {
    let date: string | undefined;
    const server = createServer((_, response) => {
      response.sendDate = false;
      response.writeHead(200, date === undefined ? {} : { date }).end('<nm_response></nm_response>');
    });
    t.after(() => server.close());
    const silent = connect(await listen(server));
    const atMs = async (): Promise<number | undefined> => {
      const found = await silent.lookup({ companyId, reference: randomUUID() });
      assert.ok(found.outcome === 'not_found', inspect(found));
      return found.atMs;
    };
    const at = (ms: number): string => new Date(Date.now() + ms).toUTCString();
    assert.equal(await atMs(), undefined);
    date = at(3_600_000);
    assert.ok(((await atMs()) ?? Infinity) <= Date.now(), 'NMI is an hour ahead');
    date = at(-3_600_000);
    assert.ok(((await atMs()) ?? Infinity) < Date.now() - 3_500_000, 'NMI is an hour behind');
  });

  it('a reference that NMI executed twice stays unknown and names both transactions', async () => {
    await fake.control({ duplicate_check: 'off' });
    const request = newCharge();
    await charged(request);
    await charged(request);
    const found = await processor.lookup({ companyId, reference: request.reference });
    assert.ok(found.outcome === 'unknown' && /\d+, \d+/.test(found.reason), inspect(found));
  });

  it('another amount, currency or card under our reference is a conflict', async () => {
    const { reference } = await charged();
    const right = { amount: 4900, currency: 'usd', last4: card.number.last4 };
    assert.equal((await processor.lookup({ companyId, reference, sent: right })).outcome, 'approved');
    const last4 = card.number.last4 === '0000' ? '1111' : '0000';
    for (const wrong of [{ amount: 4901 }, { currency: 'eur' }, { last4 }]) {
      const found = await processor.lookup({ companyId, reference, sent: { ...right, ...wrong } });
      assert.ok(found.outcome === 'conflict' && found.approved === true, inspect(found));
    }
  });
});

describe('a storm of faults', () => {
  type Final = 'approved' | 'declined' | 'never';

  /** As the service does: it sends once, and looks until the outcome is known or the request can no longer arrive. */
  async function settled(
    send: (validUntilMs: number) => Promise<Outcome>,
    look: () => Promise<LookupOutcome>,
  ): Promise<Final> {
    const validUntilMs = Date.now() + 1_500;
    const outcome = await send(validUntilMs);
    if (outcome.outcome === 'approved' || outcome.outcome === 'declined') return outcome.outcome;
    // It has expired if a slow machine did not come to send it in time.
    if (outcome.outcome === 'not_sent' || outcome.outcome === 'expired') return 'never';
    assert.equal(outcome.outcome, 'unknown', inspect(outcome));
    for (;;) {
      await sleep(100);
      const found = await look();
      if (found.outcome === 'approved' || found.outcome === 'declined') return found.outcome;
      if (found.outcome === 'not_found' && (found.atMs ?? 0) >= validUntilMs) return 'never';
    }
  }

  it('leaves our books equal to NMI’s, with nothing executed twice and nothing in doubt', async () => {
    const stormy = connect(fake.url, 400);
    const lost = ['timeout', 'error', 'reset'].flatMap((kind) => [`${kind}_before`, `${kind}_after`]);
    const strange = ['late', 'html_after', 'cut_after', 'other_after', 'rate_limited_before', 'duplicate'];
    const lookups = ['lookup_timeout', 'lookup_error', 'lookup_html', 'lookup_cut', 'lookup_other'];
    const likely = (faults: readonly string[], each: number) =>
      Object.fromEntries(faults.map((fault) => [fault, each]));
    const declines = { 'decline:202': 0.08, 'decline:421': 0.05 };
    await fake.control({ faults: { ...likely([...lost, ...strange], 0.04), ...likely(lookups, 0.04), ...declines } });
    const books = new Map<string, { readonly final: Final; readonly amount: number }>();
    const oneCustomer = async (): Promise<void> => {
      const charge = newCharge({ amount: 2_000 + randomInt(9_000) });
      const sent = { amount: charge.amount, currency: 'usd', last4: card.number.last4 };
      const ofCharge = { companyId, reference: charge.reference, sent, kind: 'charge' } as const;
      const sendCharge = (validUntilMs: number) => stormy.charge({ ...charge, validUntilMs });
      const final = await settled(sendCharge, () => stormy.lookup(ofCharge));
      books.set(charge.reference, { final, amount: charge.amount });
      if (final !== 'approved') return;
      for (const refund of [refundOf(charge, 700), refundOf(charge, 700)]) {
        const money = { amount: 700, currency: 'usd', last4: null };
        const { reference, chargeReference } = refund;
        const ofRefund = { companyId, reference, chargeReference, sent: money, kind: 'refund', ageMs: 5_000 } as const;
        const sendRefund = (validUntilMs: number) => stormy.refund({ ...refund, validUntilMs });
        books.set(reference, { final: await settled(sendRefund, () => stormy.lookup(ofRefund)), amount: 700 });
      }
    };
    await Promise.all(Array.from({ length: 30 }, oneCustomer));
    await fake.control({ faults: {} });
    const executions = await journal();
    for (const [reference, { final, amount }] of books) {
      const taken = executions.filter((one) => one.reference === reference && one.status === 'approved');
      assert.deepEqual(
        taken.map((one) => one.amount),
        final === 'approved' ? [amount] : [],
        `${reference} is ${final}`,
      );
    }
    const finals = [...books.values()].map(({ final }) => final);
    assert.deepEqual(new Set(finals), new Set(['approved', 'declined', 'never']), 'every outcome occurred');
  });
});

describe('refunds and voids', () => {
  it('tells refunds of equal amount apart by their order ids', async () => {
    const charge = await charged();
    const [first, second] = [refundOf(charge, 1000), refundOf(charge, 1000)];
    assert.equal((await processor.refund(first)).outcome, 'approved');
    await fake.control({ next: ['reset_before'] });
    assert.equal((await processor.refund(second)).outcome, 'unknown');
    const sent = { amount: 1000, currency: 'usd', last4: null };
    const about = { companyId, chargeReference: charge.reference, kind: 'refund', sent, ageMs: 0 } as const;
    assert.equal((await processor.lookup({ ...about, reference: first.reference })).outcome, 'approved');
    assert.equal((await processor.lookup({ ...about, reference: second.reference })).outcome, 'not_found');
  });

  it('a lost refund stays unknown if the gateway ignores its order id, and is not sent again', async () => {
    const charge = await charged();
    await fake.control({ ignores_refund_order: true, next: ['reset_after'] });
    const refund = refundOf(charge, 1000);
    assert.equal((await processor.refund(refund)).outcome, 'unknown');
    const sent = { amount: 1000, currency: 'usd', last4: null };
    const about = {
      companyId,
      reference: refund.reference,
      chargeReference: charge.reference,
      kind: 'refund',
    } as const;
    const found = await processor.lookup({ ...about, sent, ageMs: 1_000 });
    assert.ok(found.outcome === 'unknown' && /without our order id/.test(found.reason), inspect(found));
    // A refund of another amount, or one from long before, is not ours.
    const other = await processor.lookup({ ...about, sent: { ...sent, amount: 1001 }, ageMs: 1_000 });
    assert.equal(other.outcome, 'not_found');
  });

  it('is unknown if the reports do not have the charge yet', async () => {
    const charge = await charged();
    await fake.control({ lag_ms: 60_000, next: ['reset_before', 'reset_before'] });
    const refund = { ...refundOf(charge, 1000), chargeTransactionId: charge.transactionId };
    assert.equal((await processor.refund(refund)).outcome, 'unknown');
    for (const kind of ['refund', 'void'] as const) {
      const found = await processor.lookup({ ...refund, kind });
      assert.ok(found.outcome === 'unknown' && /do not have the charge/.test(found.reason), inspect(found));
    }
  });

  it('finds the transaction id of the charge by its order id', async () => {
    const charge = await charged();
    const outcome = await processor.refund(refundOf(charge, 100));
    assert.ok(outcome.outcome === 'approved', inspect(outcome));
    assert.notEqual(outcome.response.transaction_id, charge.transactionId);
    const [row] = (await journal()).filter(({ transaction_id }) => transaction_id === outcome.response.transaction_id);
    assert.deepEqual([row?.kind, row?.charge_reference, row?.amount], ['refund', charge.reference, 100]);
  });

  it('refunds no more than the charge, and nothing of a voided or unknown charge', async () => {
    const charge = await charged();
    assert.equal((await processor.refund(refundOf(charge, 4901))).outcome, 'declined');
    assert.equal((await processor.refund(refundOf(charge, 3000))).outcome, 'approved');
    assert.equal((await processor.refund(refundOf(charge, 1901))).outcome, 'declined');
    assert.equal((await processor.void(voidOf(charge))).outcome, 'declined', 'partially refunded');
    const voided = await charged();
    assert.equal((await processor.void(voidOf(voided))).outcome, 'approved');
    assert.equal((await processor.refund(refundOf(voided))).outcome, 'declined');
    const missing = await processor.refund(refundOf(newCharge()));
    assert.ok(missing.outcome === 'not_sent' && missing.failureCode === 'validation_error', inspect(missing));
    const charges = (await journal()).filter(({ kind, amount }) => kind === 'refund' && amount === 4901);
    assert.deepEqual(charges, []);
  });

  it('rejects simultaneous refunds that exceed the charge together', async () => {
    const charge = await charged();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => processor.refund(refundOf(charge, 1000))));
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'approved').length, 4);
    assert.equal(outcomes.filter(({ outcome }) => outcome === 'declined').length, 6);
  });

  it('rejects the void of a settled charge', async () => {
    await fake.control({ settle_after_ms: 0 });
    const outcome = await processor.void(voidOf(await charged()));
    assert.ok(outcome.outcome === 'declined' && outcome.failureCode === 'transaction_not_allowed', inspect(outcome));
  });

  it('a charge in doubt that was voided at NMI is declined, because no money moved', async () => {
    const charge = await charged();
    assert.equal((await processor.void(voidOf(charge))).outcome, 'approved');
    const found = await processor.lookup({ companyId, reference: charge.reference, kind: 'charge' });
    assert.ok(found.outcome === 'declined' && found.response.response_text === 'It was voided at NMI.', inspect(found));
  });
});

describe('what a charge carries', () => {
  const refused = async (overrides: Partial<ChargeRequest>, by = processor) => {
    const request = newCharge(overrides);
    const outcome = await by.charge(request);
    assert.deepEqual(await executed(request.reference), []);
    return outcome;
  };

  it('the address, and the use of the stored card, in fields that NMI knows', async () => {
    const billing = {
      name: 'Ada  King Lovelace',
      email: 'ada@example.com',
      phone: null,
      line1: '12 St James’s Square & Co',
      line2: null,
      city: 'London',
      state: null,
      postalCode: 'SW1Y 4JH',
      country: 'GB',
    };
    for (const credential of [
      { initiator: 'customer', sequence: 'first', networkTransactionId: null },
      { initiator: 'merchant', sequence: 'subsequent', networkTransactionId: '5716156064' },
      { initiator: 'merchant', sequence: 'unscheduled', networkTransactionId: '123456789012345' },
    ] as const) {
      const outcome = await processor.charge(newCharge({ billing, credential }));
      assert.ok(outcome.outcome === 'approved', inspect(outcome));
      assert.equal(outcome.response.avs_result, 'Y');
      assert.equal(outcome.networkTransactionId, outcome.response.transaction_id);
    }
  });

  it('decimals of its currency', async () => {
    const charge = await charged({ amount: 1250, currency: 'jpy' });
    const [row] = await executed(charge.reference);
    assert.deepEqual([row?.amount, row?.currency], [1250, 'jpy']);
  });

  it('no currency that the account does not take', async () => {
    const outcome = await refused({ currency: 'eur' }, connect(fake.url, 10_000, { currencies: 'usd, CAD' }));
    assert.deepEqual(outcome, {
      outcome: 'not_sent',
      reason: 'The NMI account takes USD, CAD and not EUR',
      failureCode: 'invalid_merchant_configuration',
      failureReason: 'The NMI account takes USD, CAD and not EUR.',
    });
    const kuwaiti = await refused({ currency: 'kwd' });
    assert.ok(kuwaiti.outcome === 'not_sent' && /KWD/.test(kuwaiti.reason), inspect(kuwaiti));
  });
});

describe('verification', () => {
  const verify = (secret = cvc, by = processor) =>
    by.verify?.({ companyId, reference: randomUUID(), validUntilMs: inAMinute(), card, cvc: new Secret(secret) });

  it('returns the results of AVS and CVV and the id for later charges', async () => {
    const result = await verify();
    assert.ok(result?.outcome === 'verified', inspect(result));
    assert.deepEqual([result.avsResult, result.cvvResult], ['N', 'M']);
    assert.match(result.networkTransactionId ?? '', /^\d+$/);
    // The id of a transaction can have the same digits.
    assert.ok(!JSON.stringify({ ...result, networkTransactionId: null }).includes(cvc));
  });

  it('a wrong CVC shows in the result, and a decline is a decline', async () => {
    const mismatch = await verify('999');
    assert.ok(mismatch?.outcome === 'verified' && mismatch.cvvResult === 'N', inspect(mismatch));
    await fake.control({ next: ['decline:225'] });
    assert.equal((await verify())?.outcome, 'declined');
  });

  it('is unknown if the account has a problem or nothing answers', async () => {
    await fake.control({ next: ['decline:411'] });
    assert.equal((await verify())?.outcome, 'unknown');
    assert.equal((await verify(cvc, connect('http://127.0.0.1:9')))?.outcome, 'unknown');
    assert.deepEqual(
      (await journal()).filter(({ kind }) => (kind as string) === 'validate'),
      [],
    );
  });
});

describe('history', () => {
  async function listed(by: Processor, fromMs: number): Promise<ListedOperation[]> {
    const operations: ListedOperation[] = [];
    for (let after: string | undefined; ; ) {
      const about = { companyId, fromMs, untilMs: Date.now() + 60_000 };
      const listing = await by.list?.({ ...about, ...(after !== undefined && { after }) });
      operations.push(...(listing?.operations ?? []));
      if (!listing || listing.next === null) return operations;
      after = listing.next;
    }
  }

  /** All parts of the news of a week. */
  async function polledAll(): Promise<{ notices: Notice[]; cursor: string }> {
    const notices = new Map<string, Notice>();
    for (let after: string | undefined; ; ) {
      const polled = await processor.poll?.({ companyId, ...(after !== undefined && { after }) });
      assert.ok(polled);
      for (const notice of polled.notices) notices.set(notice.id, notice);
      after = polled.cursor;
      if (!polled.hasMore) return { notices: [...notices.values()], cursor: polled.cursor };
    }
  }

  it('reads a long period in parts, none of which is cut off', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-nmi-'));
    const startMs = Date.now() - 300_000;
    let nowMs = startMs;
    const options = {
      securityKey: new Secret(securityKey),
      currencies: [],
      sale: { duplicateSeconds: 0 },
      timeoutMs: 10_000,
    };
    const server = await openSimulator({
      ...options,
      clock: { nowMs: () => nowMs },
      journalFile: join(folder, 'journal.ndjson'),
      settleAfterMs: 0,
      requestLifeMs,
    });
    try {
      const url = await listen(server);
      const inParts = nmiProcessor({ ...options, url, reportMax: 10 });
      const references: string[] = [];
      for (; references.length < 40; nowMs += 5_000) {
        const request = newCharge();
        assert.equal((await inParts.charge(request)).outcome, 'approved');
        references.push(request.reference);
      }
      const found = (await listed(inParts, startMs - 60_000)).map(({ reference }) => reference);
      assert.deepEqual([...new Set(found)], references, 'in the order of execution');
      const notices: string[] = [];
      for (let polled = await inParts.poll?.({ companyId }); polled; ) {
        notices.push(...polled.notices.map(({ about }) => (about.kind === 'settled' && about.charge.reference) || ''));
        polled = polled.hasMore ? await inParts.poll?.({ companyId, after: polled.cursor }) : undefined;
      }
      assert.deepEqual([...new Set(notices)], references);
      const tooMany = nmiProcessor({ ...options, url, reportMax: 1 });
      await assert.rejects(async () => listed(tooMany, startMs), /too many transactions within one second/);
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });

  it('polls settlements, failed refunds and chargebacks, each with the same id every time', async () => {
    await fake.control({ settle_after_ms: 0 });
    const charge = await charged();
    await fake.control({ next: ['reject_refund'] });
    const refund = refundOf(charge, 500);
    assert.equal((await processor.refund(refund)).outcome, 'approved');
    const good = refundOf(charge, 600);
    assert.equal((await processor.refund(good)).outcome, 'approved');
    await fake.call('POST', '/control/disputes', { reference: charge.reference });
    const first = await polledAll();
    const about = (reference: string) =>
      first.notices.filter((notice) => JSON.stringify(notice.about).includes(reference)).map((notice) => notice.about);
    const [settled, disputed] = about(charge.reference) ?? [];
    assert.ok(settled?.kind === 'settled' && settled.charge.transactionId === charge.transactionId, inspect(settled));
    assert.ok(disputed?.kind === 'dispute' && disputed.dispute.amount === 4900, inspect(disputed));
    assert.equal(disputed.dispute.currency, 'usd');
    const [failed] = about(refund.reference) ?? [];
    assert.ok(failed?.kind === 'operation' && failed.found.outcome === 'declined', inspect(failed));
    const [done] = about(good.reference) ?? [];
    assert.ok(done?.kind === 'operation' && done.found.outcome === 'approved' && done.found.settled, inspect(done));
    const again = await processor.poll?.({ companyId, after: first.cursor });
    const ids = new Set(again?.notices.map(({ id }) => id));
    const own = first.notices.filter(({ about: subject }) => JSON.stringify(subject).includes(charge.reference));
    for (const { id } of own) assert.ok(ids.has(id), 'a repeated poll has the same notices');
  });

  it('reports a charge that was voided at NMI as not captured', async () => {
    const charge = await charged();
    await processor.void(voidOf(charge));
    const notice = (await polledAll()).notices.find(({ id }) => id === `${charge.transactionId}:canceled`);
    assert.equal(notice?.about.kind, 'not_captured');
  });

  it('a poll or list that NMI does not answer fails', async () => {
    for (const fault of ['lookup_error', 'lookup_cut', 'lookup_html']) {
      await fake.control({ next: [fault, fault] });
      await assert.rejects(async () => processor.poll?.({ companyId }), /NMI did not list/);
      await assert.rejects(async () => processor.list?.({ companyId, fromMs: 0, untilMs: 1 }), /NMI did not list/);
    }
  });

  it('lists the operations of a period in order', async () => {
    const fromMs = Math.floor(Date.now() / 1_000) * 1_000;
    const first = await charged();
    const voided = await charged();
    await processor.void(voidOf(voided));
    const refund = refundOf(first, 100);
    await processor.refund(refund);
    await fake.control({ next: ['decline:202'] });
    const refused = newCharge();
    await processor.charge(refused);
    const own = new Set([first, voided, refund, refused].map(({ reference }) => reference));
    const operations = (await listed(processor, fromMs)).filter(({ reference }) => own.has(reference));
    assert.deepEqual(
      operations.map((one) => [one.kind, one.reference, one.chargeReference, one.amount, one.approved, one.voided]),
      [
        ['charge', first.reference, null, 4900, true, false],
        ['charge', voided.reference, null, 4900, true, true],
        ['refund', refund.reference, first.reference, 100, true, false],
        ['charge', refused.reference, null, 4900, false, false],
      ],
    );
    assert.equal(operations[0]?.last4, card.number.last4);
    const before = await processor.list?.({ companyId, fromMs, untilMs: fromMs });
    assert.deepEqual(before?.operations, []);
  });
});

describe('the connection', () => {
  it('is tested by reports, which name the account and the test mode', async () => {
    const account = { account: 'Fake Company', accountId: 'Fake Company' };
    assert.deepEqual(await processor.test?.(), { outcome: 'works', ...account, livemode: true });
    await fake.control({ test_mode: true });
    assert.deepEqual(await processor.test?.(), { outcome: 'works', ...account, livemode: false });
  });

  it('with a wrong or deleted key fails in words that do not contain it', async () => {
    const wrongKey = 'WrongKey'.padEnd(32, 'x');
    const wrong = connect(fake.url, 10_000, { security_key: wrongKey });
    await fake.control({ is_revoked: true });
    for (const by of [wrong, processor]) {
      const tested = await by.test?.();
      assert.ok(tested?.outcome === 'fails' && /does not know this security key/.test(tested.problem), inspect(tested));
      const request = newCharge();
      const outcome = await by.charge(request);
      assert.ok(outcome.outcome === 'declined' && outcome.isProcessorFault, inspect(outcome));
      assert.equal(outcome.failureCode, 'invalid_merchant_configuration');
      assert.equal((await by.lookup(request)).outcome, 'unknown', 'a wrong key finds nothing, which proves nothing');
      for (const key of [wrongKey, securityKey]) assert.ok(!inspect([tested, outcome]).includes(key));
    }
  });
});

/** With a security key of an account in test mode; see docs/processors/nmi.md. */
if (process.env.SVC_LIVE_SUITE === 'nmi') {
  describe('NMI itself, in test mode', () => {
    const { SVC_NMI_SECURITY_KEY: security_key = '', SVC_NMI_API_URL: api_url } = process.env;
    const live = nmiKind.open(
      { security_key, ...(api_url && { api_url }) },
      { timeoutMs: nmiKind.timeoutMs, extraOrigins: [] },
    );
    const visa = { ...card, number: new CardNumber('4111111111111111') };
    const fresh = (amount: number): ChargeRequest =>
      newCharge({ card: visa, amount, validUntilMs: Date.now() + nmiKind.requestLifeMs });
    const later = { validUntilMs: Date.now() + nmiKind.requestLifeMs };
    before(async () => {
      const tested = await live.test?.();
      assert.ok(tested?.outcome === 'works' && !tested.livemode, `not an account in test mode: ${inspect(tested)}`);
    });

    answersTheProduct('nmi', () => ({ security_key, ...(api_url && { api_url }) }));

    it('charges, finds, refunds and voids', async () => {
      const charge = fresh(1_000 + randomInt(9_000));
      const outcome = await live.charge(charge);
      assert.ok(outcome.outcome === 'approved', inspect(outcome));
      const sent = { amount: charge.amount, currency: 'usd', last4: '1111' };
      const about = { companyId, reference: charge.reference, sent, kind: 'charge' } as const;
      await waitUntil(async () => (await live.lookup(about)).outcome === 'approved');
      const found = await live.lookup(about);
      assert.ok(found.outcome === 'approved', inspect(found));
      assert.deepEqual(found.response, outcome.response);
      const refund = { ...refundOf(charge, 100), ...later };
      assert.equal((await live.refund(refund)).outcome, 'approved');
      const ofRefund = {
        companyId,
        reference: refund.reference,
        chargeReference: charge.reference,
        kind: 'refund',
      } as const;
      await waitUntil(async () => (await live.lookup(ofRefund)).outcome === 'approved');
      const second = fresh(1_000 + randomInt(9_000));
      assert.equal((await live.charge(second)).outcome, 'approved');
      assert.equal((await live.void({ ...voidOf(second), ...later })).outcome, 'approved');
    });

    it('does not find what was never sent', async () => {
      assert.equal((await live.lookup({ companyId, reference: randomUUID() })).outcome, 'not_found');
    });
  });
}
