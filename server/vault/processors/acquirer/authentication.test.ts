import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answerBank } from '../../../../tests/support/bank-page.ts';
import { type TestAcquirer, startAcquirer } from '../../../../tests/support/acquirer.ts';
import { listen } from '../../../../tests/support/listen.ts';
import { chargeOf } from '../../../../tests/support/processor-requests.ts';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import { authenticationConformance } from '../conformance-authentication.ts';
import { asTheVault, assertAsked, external, presence } from '../conformance-customers.ts';
import type { LookupRequest, Outcome, Processor } from '../processor.ts';
import { acquirerProcessor } from './adapter.ts';
import { lookupOutcomeOf, outcomeOf } from './answers.ts';

const cardNumber = '4242424242424242';
const card = { number: new CardNumber(cardNumber), cardId: randomUUID(), expMonth: 12, expYear: 2032 };
let acquirer: TestAcquirer;
let processor: Processor;

before(async () => {
  acquirer = await startAcquirer({ requestLifeMs: 2_000 });
  processor = acquirerProcessor({ url: acquirer.url, secret: new Secret(acquirer.secret) });
});
after(() => acquirer.stop());
const habits = { wants_authentication: false, frictionless: false, challenge_for_ms: null };
beforeEach(() => acquirer.control({ faults: {}, next: [], settle_after_ms: null, seed: 1, ...habits }));

const executions = async (reference: string): Promise<number> =>
  (await acquirer.journal()).filter((one) => one.reference === reference && one.status === 'approved').length;

authenticationConformance('the acquirer', async () => ({
  processor,
  card,
  executions,
  declineNext: () => acquirer.control({ next: ['decline:51'] }),
  banks: (what) => acquirer.control({ wants_authentication: what !== 'nothing', frictionless: what === 'recognize' }),
}));

describe('the acquirer and lost answers around the bank', () => {
  const asked = async () => {
    await acquirer.control({ wants_authentication: true });
    const vault = asTheVault(processor);
    const request = chargeOf(card, { presence });
    const url = assertAsked(await vault.charge(request));
    return { vault, request, url };
  };

  for (const fault of ['lookup_error', 'lookup_timeout', 'lookup_cut_body']) {
    it(`${fault}: a return whose answer is lost is repeated`, async () => {
      const { vault, request, url } = await asked();
      const returned = await answerBank(url, 'pass');
      const hasty = acquirerProcessor({ url: acquirer.url, secret: new Secret(acquirer.secret), timeoutMs: 300 });
      await acquirer.control({ next: [fault] });
      assert.equal((await asTheVault(hasty).resume(request, { returned })).outcome, 'unknown');
      assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
    });

    it(`${fault}: an end whose answer is lost is repeated`, async () => {
      const { vault, request } = await asked();
      const hasty = acquirerProcessor({ url: acquirer.url, secret: new Secret(acquirer.secret), timeoutMs: 300 });
      await acquirer.control({ next: [fault] });
      assert.equal((await asTheVault(hasty).end(request)).outcome, 'unknown');
      assert.deepEqual(await vault.end(request), { outcome: 'not_found', isFinal: true });
    });
  }

  it('a kill of the acquirer between the bank and the return changes nothing', async () => {
    const { vault, request, url } = await asked();
    await acquirer.restart();
    await acquirer.control({ wants_authentication: true });
    const returned = await answerBank(url, 'pass');
    await acquirer.restart();
    assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
    assert.equal(await executions(request.reference), 1);
  });

  it('the acquirer ends it by itself when its time is over, and says so before', async () => {
    await acquirer.control({ wants_authentication: true, challenge_for_ms: 0 });
    const vault = asTheVault(processor);
    const request = chargeOf(card, { presence });
    assert.equal((await vault.charge(request)).outcome, 'not_sent');
    assert.deepEqual(await vault.resume(request), { outcome: 'not_found', isFinal: true });
    await acquirer.control({ challenge_for_ms: 60_000 });
    const found = await vault.charge(chargeOf(card, { presence }));
    assert.ok(found.outcome === 'needs_customer' && (found.expiresAtMs ?? 0) > Date.now(), inspect(found));
  });

  it('lists and counts nothing that waits for the customer or was given up', async () => {
    const { vault, request } = await asked();
    const listed = async (): Promise<number> => {
      const found = await processor.list?.({ companyId: request.companyId, fromMs: 0, untilMs: Date.now() + 60_000 });
      return found?.operations.filter(({ reference }) => reference === request.reference).length ?? -1;
    };
    assert.equal(await listed(), 0);
    await vault.end(request);
    assert.equal(await listed(), 0);
  });

  it('refuses external values of another form, and keeps none of them', async () => {
    const wrong = { ...external, cavv: 'not 20 bytes' };
    const found = await processor.charge(chargeOf(card, { authentication: wrong }));
    assert.ok(found.outcome === 'declined' && found.failureCode === 'validation_error', inspect(found));
    assert.equal((await processor.charge(chargeOf(card, { authentication: external }))).outcome, 'approved');
    assert.ok(!(await acquirer.traces()).includes(external.cavv));
  });
});

describe('a bridge without the optional calls', () => {
  it('is asked by a lookup after the return, saves no card, and asks in vain for a customer who is not there', async () => {
    const answers: Record<string, [number, object]> = {};
    const server = createServer((request, response) => {
      const [status, body] = answers[`${request.method} ${request.url?.split('/')[1]}`] ?? [
        404,
        { error: 'no_such_path' },
      ];
      request.resume();
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    const bridge = acquirerProcessor({ url: await listen(server), secret: new Secret('a secret') });
    try {
      const request = chargeOf(card);
      const { reference, amount, currency, companyId } = request;
      const operation = {
        ...{ kind: 'charge', reference, charge_reference: null, amount, currency, last4: '4242', settled: false },
        ...{ response_code: '', response_text: '', transaction_id: 'a1', authorization_code: null },
      };
      const waiting = { ...operation, status: 'needs_customer', action: { url: 'https://bank.example/1' } };
      answers['GET operations'] = [200, waiting];
      assert.deepEqual(await bridge.resume?.({ companyId, reference, kind: 'charge', returned: { a: '1' } }), {
        outcome: 'needs_customer',
        action: { kind: 'redirect', url: 'https://bank.example/1' },
      });
      answers['GET operations'] = [200, { ...operation, status: 'approved', response_code: '00' }];
      const found = await bridge.resume?.({ companyId, reference, kind: 'charge', returned: { a: '1' } });
      assert.equal(found?.outcome, 'approved');
      // It cannot end what it began, so the charge stays in doubt.
      answers['GET operations'] = [200, waiting];
      assert.equal((await bridge.lookup({ companyId, reference, kind: 'charge' })).outcome, 'unknown');
      answers['POST charges'] = [200, waiting];
      assert.equal((await bridge.charge(request)).outcome, 'unknown');
      answers['POST endings'] = [200, { ...operation, status: 'ended' }];
      const declined = await bridge.charge(request);
      assert.ok(declined.outcome === 'declined' && declined.needsAuthentication, inspect(declined));
      for (const url of ['javascript:alert(1)', 'file:///etc/passwd', '', 'bank']) {
        answers['POST charges'] = [200, { ...waiting, action: { url } }];
        assert.equal((await bridge.charge({ ...request, presence })).outcome, 'declined', url);
      }
      const saved = await bridge.setUp?.({ ...request, presence });
      assert.equal(saved?.outcome, 'not_sent');
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

describe('every state in which the acquirer shows a charge', () => {
  const reference = randomUUID();
  const shown = {
    ...{ kind: 'charge', reference, charge_reference: null, amount: 4900, currency: 'usd', last4: '4242' },
    ...{ status: 'approved', settled: false, voided: false, response_code: '00', response_text: 'Approved' },
    ...{ transaction_id: 'acq_1', authorization_code: null, taken_at_ms: 1, now_ms: 2 },
  };
  const sent = { kind: 'charge', reference, chargeReference: null, last4: '4242' } as const;
  const money = { amount: 4900, currency: 'usd' };
  const answerOf = (body: object, status = 200) => ({
    ...{ status, headers: {}, askedAtMs: 2 },
    text: JSON.stringify({ ...shown, ...body }),
  });
  const about: LookupRequest = {
    companyId: randomUUID(),
    reference,
    kind: 'charge',
    sent: { ...money, last4: '4242' },
  };
  const waits = { status: 'needs_customer', response_code: '', response_text: '' };
  const action = { action: { url: 'https://bank.example/1' } };
  const approvedOf = (authentication: object) => ({ status: 'approved', authentication });

  const rows: readonly (readonly [what: string, body: object, charged: Outcome['outcome'], found: string])[] = [
    ['approved', {}, 'approved', 'approved'],
    ['approved and settled', { settled: true }, 'approved', 'approved'],
    ['voided', { voided: true }, 'approved', 'approved'],
    ['declined', { status: 'declined', response_code: '05' }, 'declined', 'declined'],
    ['declined with an unknown code', { status: 'declined', response_code: 'Z9' }, 'declined', 'declined'],
    ['authentication required', { status: 'declined', response_code: '1A' }, 'declined', 'declined'],
    ['authentication failed', { status: 'declined', response_code: '1F' }, 'declined', 'declined'],
    ['rejected at settlement', { status: 'rejected', response_code: '21' }, 'declined', 'declined'],
    ['waits for the customer', { ...waits, ...action }, 'needs_customer', 'needs_customer'],
    ['waits, with its time', { ...waits, ...action, expires_at_ms: 9 }, 'needs_customer', 'needs_customer'],
    ['waits, and leads nowhere', waits, 'needs_customer', 'needs_customer'],
    ['waits, and leads to a script', { ...waits, action: { url: 'javascript:1' } }, 'needs_customer', 'needs_customer'],
    ['given up', { status: 'ended', response_code: '' }, 'not_sent', 'not_found'],
    ['a state that is not in the protocol', { status: 'sleeping' }, 'unknown', 'unknown'],
    ['waits under another reference', { ...waits, reference: randomUUID() }, 'unknown', 'unknown'],
    ['waits with another amount', { ...waits, amount: 1 }, 'unknown', 'conflict'],
    ['challenged', approvedOf({ flow: 'challenge', status: 'authenticated' }), 'approved', 'approved'],
    ['an attempt', approvedOf({ flow: null, status: 'attempted', eci: '06' }), 'approved', 'approved'],
    ['exempted', approvedOf({ status: 'exempted', liability_shifted: false }), 'approved', 'approved'],
    ['unavailable', approvedOf({ status: 'unavailable' }), 'approved', 'approved'],
    ['an authentication that is not in the protocol', approvedOf({ status: 'guessed' }), 'unknown', 'unknown'],
  ];
  for (const [what, body, charged, found] of rows) {
    it(`${what}: ${charged} by its answer, ${found} by a lookup`, () => {
      assert.equal(outcomeOf(answerOf(body), { ...sent, money }).outcome, charged);
      const looked = lookupOutcomeOf(answerOf(body), about);
      assert.equal(looked.outcome, found);
      if (found === 'not_found') assert.deepEqual(looked, { outcome: 'not_found', isFinal: true });
    });
  }
});
