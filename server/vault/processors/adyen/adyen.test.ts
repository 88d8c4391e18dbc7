import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { brokenAnswers } from '../../../../tests/support/broken-answers.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { listen, unusedUrl } from '../../../../tests/support/listen.ts';
import { processorConformance } from '../conformance.ts';
import type { ChargeRequest, LookupOutcome, Outcome, Processor } from '../processor.ts';
import { card, cardNumber, companyId, type FakeAdyen, newCharge, open, startAdyen, transactionOf } from './testing.ts';

const hastyMs = 300;

let adyen: FakeAdyen;
let processor: Processor;
/** Gives up soon, for a silent Adyen only. */
let hasty: Processor;

before(async () => {
  adyen = await startAdyen();
  processor = adyen.processor;
  hasty = open(adyen.url, {}, hastyMs);
});
after(() => adyen.stop());
beforeEach(() => adyen.reset());
afterEach(() => adyen.checkTraces());

/** Uses the adapter as the vault does: it stores the handle before the charge and passes what it knows. */
function asTheVault(by: Processor): Processor {
  const handles = new Map<string, string>();
  const transactions = new Map<string, string>();
  const kinds = new Map<string, 'refund' | 'void' | 'capture'>();
  const money = new Map<string, { amount: number; currency: string }>();
  const ofCharge = (chargeReference: string) => {
    const chargeTransactionId = transactions.get(chargeReference);
    return { chargeReference, ...(chargeTransactionId !== undefined && { chargeTransactionId }) };
  };
  return {
    ...by,
    async charge(request) {
      const preparation = await by.prepare?.(request);
      if (preparation?.outcome !== 'prepared') return preparation ?? { outcome: 'not_sent', reason: 'no preparation' };
      handles.set(request.reference, preparation.handle);
      const outcome = await by.charge({ ...request, handle: preparation.handle });
      if (outcome.outcome === 'approved') transactions.set(request.reference, transactionOf(outcome));
      return outcome;
    },
    refund(request) {
      kinds.set(request.reference, 'refund');
      money.set(request.reference, request);
      return by.refund({ ...request, ...ofCharge(request.chargeReference) });
    },
    async capture(request) {
      kinds.set(request.reference, 'capture');
      money.set(request.reference, request);
      return by.capture?.({ ...request, ...ofCharge(request.chargeReference) }) as Promise<Outcome>;
    },
    void(request) {
      kinds.set(request.reference, 'void');
      return by.void({ ...request, ...ofCharge(request.chargeReference) });
    },
    lookup(request) {
      const handle = handles.get(request.reference);
      const kind = kinds.get(request.reference);
      const sent = money.get(request.reference);
      return by.lookup({
        ...request,
        ...(handle !== undefined && { handle }),
        ...(kind && { kind, ageMs: 1_000, ...ofCharge(request.chargeReference ?? '') }),
        ...(sent && { sent: { ...sent, last4: null } }),
      });
    },
  };
}

processorConformance(
  'Adyen',
  async () => ({
    processor: asTheVault(processor),
    approvedCard: async () => card,
    declinedCard: async () => {
      await adyen.control({ next: ['decline:12'] });
      return { card, failureCode: 'insufficient_funds' };
    },
    executions: async (reference) => {
      const [operation, ...more] = await adyen.executed(reference);
      const isHeld = operation?.kind === 'authorization' || operation?.status === 'authorized';
      return (isHeld ? 1 : (operation?.captures ?? (operation ? 1 : 0))) + more.length;
    },
    faults: {
      next: (fault) => adyen.control({ next: [fault] }),
      hasty: asTheVault(hasty),
      steps: ['authorization:', 'capture:'],
    },
  }),
  { hidesAuthorizationCode: true, authorizes: 'leniently', broken: { ...brokenAnswers, lookups: [] } },
);

describe('an Adyen that lies', () => {
  for (const fault of ['timeout', 'error', 'reset']) {
    for (const when of ['before', 'after']) {
      it(`${fault}_${when}: an authorization whose answer is lost is asked for again under its key`, async () => {
        await adyen.control({ next: [`authorization:${fault}_${when}`] });
        const request = newCharge();
        const by = fault === 'timeout' ? hasty : processor;
        const preparation = await by.prepare?.(request);
        assert.ok(preparation?.outcome === 'prepared', inspect(preparation));
        assert.equal((await adyen.executed(request.reference)).length, 1);
        const again = await by.prepare?.(request);
        assert.deepEqual(again, preparation, 'the same handle');
      });

      it(`${fault}_${when}: a capture whose answer is lost is in doubt, and a lookup repeats it under its key`, async () => {
        const request = await adyen.prepared();
        await adyen.control({ next: [`capture:${fault}_${when}`] });
        const by = fault === 'timeout' ? hasty : processor;
        const outcome = await by.charge(request);
        assert.equal(outcome.outcome, 'unknown', inspect(outcome));
        const found = await processor.lookup({ ...request, kind: 'charge', ageMs: 1_000 });
        assert.ok(found.outcome === 'approved' && found.response.transaction_id, inspect(found));
        assert.deepEqual(found, await processor.charge(request));
        assert.deepEqual(
          (await adyen.executed(request.reference)).map(({ status, captures }) => [status, captures]),
          [['approved', 1]],
        );
      });

      it(`${fault}_${when}: a refund whose answer is lost is in doubt, and a lookup repeats it under its key`, async () => {
        const charge = await adyen.charged();
        await adyen.control({ next: [`refund:${fault}_${when}`] });
        const request = { ...charge, reference: randomUUID(), chargeReference: charge.reference };
        const by = fault === 'timeout' ? hasty : processor;
        assert.equal((await by.refund(request)).outcome, 'unknown');
        const { card: _, ...known } = request;
        const sent = { amount: request.amount, currency: request.currency, last4: null };
        const unaged = await processor.lookup({ ...known, kind: 'refund', sent });
        assert.equal(unaged.outcome, 'unknown', 'an operation that was perhaps never sent is not executed');
        const found = await processor.lookup({ ...known, kind: 'refund', sent, ageMs: 1_000 });
        assert.ok(found.outcome === 'approved' && found.settled === false, inspect(found));
        assert.equal((await adyen.executed(request.reference)).length, 1);
      });
    }
  }

  for (const fault of [
    ...['html', 'empty', 'cut', 'rate_limit', 'saved_error', 'transient_error'],
    ...['no_role', 'wrong_account', 'not_configured'],
  ]) {
    it(`${fault}: a capture is in doubt`, async () => {
      const request = await adyen.prepared();
      await adyen.control({ next: [`capture:${fault}`] });
      assert.equal((await processor.charge(request)).outcome, 'unknown');
    });
  }

  for (const fault of ['in_progress', 'in_progress_422']) {
    it(`${fault}: a request waits and is sent again under its key`, async () => {
      await adyen.control({ next: [`authorization:${fault}`, `capture:${fault}`, `capture:${fault}`] });
      const request = await adyen.prepared();
      assert.equal((await processor.charge(request)).outcome, 'approved');
      const [operation] = await adyen.executed(request.reference);
      assert.deepEqual([operation?.status, operation?.captures], ['approved', 1]);
    });
  }

  for (const fault of ['no_role', 'wrong_account', 'not_configured']) {
    it(`${fault}: an authorization is refused as a mistake in the configuration, and nothing is in doubt`, async () => {
      await adyen.control({ next: [`authorization:${fault}`] });
      const request = newCharge();
      const preparation = await processor.prepare?.(request);
      assert.ok(preparation?.outcome === 'declined' && preparation.isProcessorFault, inspect(preparation));
      assert.equal(preparation.failureCode, 'invalid_merchant_configuration');
      assert.deepEqual(await adyen.executed(request.reference), []);
    });
  }

  it('cancels an authorization whose answer is lost twice, and a notice says that it never happened', async () => {
    const lost = 'authorization:error_after';
    await adyen.control({ next: [lost, lost] });
    const request = newCharge();
    const preparation = await processor.prepare?.(request);
    assert.equal(preparation?.outcome, 'unknown', inspect(preparation));
    const subject = await adyen.noticed(request.reference, 'TECHNICAL_CANCEL');
    assert.deepEqual(subject.kind === 'operation' && subject.found, { outcome: 'not_found', isFinal: true });
    assert.deepEqual(
      (await adyen.executed(request.reference)).map(({ status }) => status),
      ['cancelled'],
      'it is not captured',
    );
    const handle = await processor.prepare?.(request);
    assert.ok(handle?.outcome === 'prepared');
    assert.equal((await processor.charge({ ...request, handle: handle.handle })).outcome, 'approved', 'accepted');
    const late = await adyen.noticed(request.reference, 'CAPTURE');
    assert.equal(late.kind, 'not_captured', 'a cancelled authorization cannot be captured');
  });

  it('cancels an authorization without a handle only when it is older than a minute', async () => {
    const request = newCharge();
    await processor.prepare?.(request);
    const about = { companyId, reference: request.reference, kind: 'charge' } as const;
    assert.equal((await processor.lookup(about)).outcome, 'unknown');
    assert.equal((await processor.lookup({ ...about, ageMs: 59_000 })).outcome, 'unknown');
    await sleep(50);
    const cancels = (await adyen.call('GET', '/notices')).notices.filter(
      (item: { merchantReference: string; eventCode: string }) =>
        item.merchantReference === request.reference && item.eventCode === 'TECHNICAL_CANCEL',
    );
    assert.deepEqual(cancels, []);
    assert.equal((await processor.lookup({ ...about, ageMs: 61_000 })).outcome, 'unknown');
    assert.equal((await processor.lookup({ ...about, ageMs: 61_000 })).outcome, 'unknown');
    const subject = await adyen.noticed(request.reference, 'TECHNICAL_CANCEL');
    assert.deepEqual(subject.kind === 'operation' && subject.found, { outcome: 'not_found', isFinal: true });
  });

  it('does not decide by a cancellation that found nothing, and repeats nothing after the life of the keys', async () => {
    const reference = randomUUID();
    assert.equal((await processor.lookup({ companyId, reference, ageMs: 61_000 })).outcome, 'unknown');
    await waitUntil(async () =>
      adyen.received.some(({ type, about }) => type === 'TECHNICAL_CANCEL' && about.kind === 'other'),
    );
    const request = await adyen.prepared();
    const found = await processor.lookup({ ...request, ageMs: 7 * 86_400_000 });
    assert.equal(found.outcome, 'unknown');
    assert.deepEqual(
      (await adyen.executed(request.reference)).map(({ status }) => status),
      ['authorized'],
    );
  });

  it('cancels a partial authorization and declines the charge', async () => {
    await adyen.control({ next: ['partial'] });
    const request = newCharge();
    const preparation = await processor.prepare?.(request);
    assert.ok(
      preparation?.outcome === 'declined' && preparation.failureCode === 'insufficient_funds',
      inspect(preparation),
    );
    assert.equal((await adyen.noticed(request.reference, 'CANCELLATION')).kind, 'operation');
  });

  it('releases an authorization, and reports if that has to be repeated; a captured charge is not changed', async () => {
    const held = await adyen.prepared();
    const { transaction_id: transactionId = '' } = (await adyen.executed(held.reference))[0] ?? {};
    const about = { companyId, reference: held.reference, transactionId };
    for (const fault of ['saved_error', 'html', 'reset_before', 'rate_limit']) {
      await adyen.control({ next: [`cancel:${fault}`] });
      assert.equal(await processor.release?.(about), false, fault);
    }
    assert.equal(await processor.release?.(about), true);
    assert.equal(await processor.release?.(about), true, 'again');
    assert.deepEqual(
      (await adyen.executed(held.reference)).map(({ status }) => status),
      ['cancelled'],
    );
    const paid = await adyen.charged();
    const [charge] = await adyen.executed(paid.reference);
    const ofPaid = { companyId, reference: paid.reference, transactionId: charge?.transaction_id ?? '' };
    assert.equal(await processor.release?.(ofPaid), true);
    assert.equal((await adyen.executed(paid.reference))[0]?.status, 'approved');
  });

  it('declines a charge that needs authentication, and does not decide on one that is pending', async () => {
    await adyen.control({ next: ['authentication'] });
    const wanted = await processor.prepare?.(newCharge());
    assert.ok(wanted?.outcome === 'declined' && wanted.failureCode === 'transaction_not_allowed', inspect(wanted));
    await adyen.control({ next: ['pending'] });
    assert.equal((await processor.prepare?.(newCharge()))?.outcome, 'unknown');
  });

  it('late: an authorization that Adyen executes later is found under its key', async () => {
    await adyen.control({ next: ['authorization:late'] });
    const request = newCharge();
    const preparation = await processor.prepare?.(request);
    assert.equal(preparation?.outcome, 'prepared', inspect(preparation));
    await sleep(450);
    assert.equal((await adyen.executed(request.reference)).length, 1);
  });

  it('duplicate: an answer that arrives twice does not become the answer of another charge', async () => {
    await adyen.control({ next: ['authorization:duplicate', 'capture:duplicate'] });
    const request = await adyen.prepared();
    const first = await processor.charge(request);
    // The second answer may come in place of the next one: then nothing is known of that.
    if (first.outcome !== 'approved') assert.equal(first.outcome, 'unknown', inspect(first));
    assert.equal((await processor.lookup(request)).outcome, 'approved');
    for (let round = 0; round < 3; round += 1) {
      const next = newCharge();
      const outcome = await asTheVault(processor).charge(next);
      const [operation] = await adyen.executed(next.reference);
      if (outcome.outcome !== 'unknown') assert.equal(transactionOf(outcome), operation?.transaction_id);
    }
  });

  it('captures once when three connections send the same charge at once', async () => {
    const request = newCharge();
    const outcomes = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const own = asTheVault(open(adyen.url));
        return Promise.all([own.charge(request), own.charge(request)]);
      }),
    );
    const ids = new Set(outcomes.flat().map(transactionOf));
    assert.equal(ids.size, 1);
    assert.deepEqual(
      (await adyen.executed(request.reference)).map(({ captures }) => captures),
      [1],
    );
  });

  it('waits for another request with the same key, and returns its result', async () => {
    const request = await adyen.prepared();
    await adyen.control({ next: ['capture:slow'] });
    const [first, second] = await Promise.all([processor.charge(request), processor.charge(request)]);
    assert.equal(first.outcome, 'approved', inspect(first));
    assert.deepEqual(second, first);
  });

  it('keeps an authorization whose capture was refused with the key, and captures it once with the new key', async () => {
    const request = await adyen.prepared();
    const statuses = async () => (await adyen.executed(request.reference)).map(({ status }) => status);
    await adyen.control({ next: ['capture:revoke'] });
    for (const outcome of [await processor.charge(request), await processor.charge(request)]) {
      assert.ok(outcome.outcome === 'declined' && outcome.refusesCredentials, inspect(outcome));
    }
    assert.equal((await processor.lookup({ ...request, ageMs: 0 })).outcome, 'unknown');
    await adyen.control({ revoked: false });
    assert.deepEqual(await statuses(), ['authorized']);
    assert.equal((await processor.charge(request)).outcome, 'approved');
    assert.equal((await processor.charge(request)).outcome, 'approved');
    assert.deepEqual(await statuses(), ['approved']);
    assert.equal((await adyen.executed(request.reference))[0]?.captures, 1);
  });

  it('does not conclude anything from a refused key while another request has the idempotency key', async () => {
    const request = await adyen.prepared();
    await adyen.control({ next: ['capture:in_progress', 'capture:revoke'] });
    assert.equal((await processor.charge(request)).outcome, 'unknown');
    await adyen.control({ revoked: false });
    assert.equal((await processor.lookup({ ...request, ageMs: 0 })).outcome, 'approved');
  });

  it('does not read an answer that repeats the card number', async (t) => {
    const request = newCharge();
    const body = { merchantReference: request.reference, resultCode: 'Authorised', pspReference: cardNumber };
    const echo = createServer((_, response) => {
      response.end(JSON.stringify({ ...body, amount: { currency: 'EUR', value: 4900 } }));
    });
    t.after(() => echo.close().closeAllConnections());
    const outcome = await open(await listen(echo)).prepare?.(request);
    assert.equal(outcome?.outcome, 'unknown');
    assert.ok(!inspect(outcome).includes(cardNumber));
  });

  it('keeps what it answered when it is killed', async () => {
    const request = await adyen.prepared();
    assert.equal((await processor.charge(request)).outcome, 'approved');
    await adyen.restart();
    assert.equal((await processor.charge(request)).outcome, 'approved');
    assert.equal((await adyen.executed(request.reference))[0]?.captures, 1);
  });

  it('returns a conflict if the first use of a key had another amount', async () => {
    await adyen.control({ additional_data: true });
    const request = await adyen.prepared();
    assert.equal((await processor.prepare?.({ ...request, amount: 5000 }))?.outcome, 'conflict');
    assert.equal((await processor.charge({ ...request, amount: 5000 })).outcome, 'conflict');
    const sent = { amount: 5000, currency: 'eur', last4: null };
    assert.equal((await processor.lookup({ ...request, sent })).outcome, 'conflict');
  });

  it('sends nothing after the time until which a request is valid', async () => {
    const validUntilMs = Date.now() - 1;
    const request = newCharge({ validUntilMs });
    assert.equal((await processor.prepare?.(request))?.outcome, 'expired');
    const ready = await adyen.prepared();
    const outcome = await processor.charge({ ...ready, validUntilMs });
    assert.ok(outcome.outcome === 'expired' && outcome.nowMs !== undefined);
    assert.equal(
      (await adyen.noticed(ready.reference, 'CANCELLATION')).kind,
      'operation',
      'the authorization is released',
    );
    assert.deepEqual(await adyen.executed(request.reference), []);
  });

  it('is not_sent if Adyen cannot be reached, and a lookup is unknown', async () => {
    const away = open(await unusedUrl());
    const ready = await adyen.prepared();
    assert.equal((await away.prepare?.(newCharge()))?.outcome, 'not_sent');
    assert.equal((await away.charge(ready)).outcome, 'not_sent');
    const followUp = { ...ready, chargeReference: ready.reference, chargeTransactionId: 'FAKE' };
    assert.equal((await away.refund(followUp)).outcome, 'not_sent');
    assert.equal((await away.void(followUp)).outcome, 'not_sent');
    assert.equal((await away.lookup(ready)).outcome, 'unknown');
    assert.equal((await away.test?.())?.outcome, 'fails');
  });
});

describe('many charges at an Adyen that lies', () => {
  /** What the API records in the end: the outcome, what a lookup finds, or what a notice says. */
  async function resolved(request: ChargeRequest): Promise<boolean> {
    const { reference } = request;
    const preparation = await processor.prepare?.(request);
    assert.ok(preparation);
    // The vault marks a charge without a handle as given up, so that it is never captured.
    if (preparation.outcome !== 'prepared') return false;
    const { handle } = preparation;
    let outcome: Outcome | LookupOutcome = await processor.charge({ ...request, handle });
    await waitUntil(async () => {
      if (outcome.outcome === 'unknown') outcome = await processor.lookup({ ...request, handle, ageMs: 1_000 });
      return outcome.outcome !== 'unknown' || captureOf(reference) !== undefined;
    });
    return outcome.outcome === 'unknown' ? captureOf(reference)?.kind === 'operation' : outcome.outcome === 'approved';
  }
  const captureOf = (reference: string) =>
    adyen.received.find(
      ({ type, about }) => type === 'CAPTURE' && about.kind === 'operation' && about.reference === reference,
    )?.about;

  it('leaves none in doubt, and the books are equal', async () => {
    const operation = { error_before: 0.06, error_after: 0.06, reset_before: 0.06, reset_after: 0.06, late: 0.06 };
    const answer = {
      duplicate: 0.04,
      html: 0.03,
      cut: 0.03,
      saved_error: 0.03,
      transient_error: 0.03,
      rate_limit: 0.03,
    };
    const notice = { notice_lost: 0.1, notice_twice: 0.1, notice_forged: 0.1, notice_late: 0.1 };
    const other = { 'decline:12': 0.05, partial: 0.02, pending: 0.02, authentication: 0.02 };
    await adyen.control({ faults: { ...operation, ...answer, ...notice, ...other }, seed: 11 });
    const requests = Array.from({ length: 80 }, (_, index) => newCharge({ amount: 1_000 + index }));
    const approved = await Promise.all(requests.map(resolved));
    await sleep(450);
    const books = await Promise.all(requests.map(({ reference }) => adyen.executed(reference)));
    for (const [index, request] of requests.entries()) {
      const [charge, ...more] = books[index] ?? [];
      assert.deepEqual(more, [], 'one payment for each reference');
      const captured = charge?.status === 'approved' ? [charge.captures, charge.amount] : [0, 0];
      const expected = approved[index] ? [1, request.amount] : [0, 0];
      assert.deepEqual(captured, expected, inspect(charge));
    }
    // On a busy machine, many more calls run into their timeout.
    assert.ok(approved.filter(Boolean).length > 10);
  });
});
