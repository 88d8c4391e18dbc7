import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { systemClock } from '../../platform/clock.ts';
import { type Approved, assertApproved, assertDeclined, assertSameOutcome } from './conformance-assertions.ts';
import { conformanceOfAuthorizations } from './conformance-authorizations.ts';
import { noStoredCharges, watched } from './conformance-calls.ts';
import type { ConformanceOptions, ConformanceSubject } from './conformance-subject.ts';
import { type ChargeRequest, type ListedOperation, type Outcome, type Processor } from './processor.ts';

/** The tests that every processor adapter passes. */

const inAMinute = (): number => systemClock.nowMs() + 60_000;

function itIf(applies: boolean, name: string, run: (t: TestContext) => Promise<void>): void {
  if (applies) it(name, run);
}

export function processorConformance(
  name: string,
  open: (t: TestContext) => Promise<ConformanceSubject>,
  {
    keepsBooks = false,
    isExact = true,
    authorizes,
    voidsUntilSettled = true,
    hidesAuthorizationCode = false,
    broken = { operations: [], lookups: [] },
    unreachable,
  }: ConformanceOptions = {},
): void {
  async function begin(t: TestContext) {
    const subject = await open(t);
    const card = await subject.approvedCard();
    const companyId = subject.companyId ?? randomUUID();
    const numbers = [card.number];
    const stored = noStoredCharges();
    const processor = watched(subject.processor, numbers, stored);
    const hasty = watched(subject.faults?.hasty ?? subject.processor, numbers, stored);
    /** Whether a lookup itself finds an operation, and not only a notice. */
    const isFindable = subject.processor.findsBy !== 'notice';
    const newCharge = (): ChargeRequest => ({
      companyId,
      reference: randomUUID(),
      validUntilMs: inAMinute(),
      card,
      amount: 4900,
      currency: 'usd',
    });
    const charged = async (): Promise<ChargeRequest> => {
      const request = newCharge();
      assertApproved(await processor.charge(request));
      return request;
    };
    const refund = (charge: ChargeRequest, amount: number, reference: string = randomUUID()): Promise<Outcome> =>
      processor.refund({
        companyId,
        reference,
        validUntilMs: inAMinute(),
        chargeReference: charge.reference,
        amount,
        currency: 'usd',
      });
    const takeBack = (charge: ChargeRequest, reference: string = randomUUID()): Promise<Outcome> =>
      processor.void({ companyId, reference, validUntilMs: inAMinute(), chargeReference: charge.reference });
    return { subject, processor, hasty, isFindable, companyId, numbers, newCharge, charged, refund, takeBack };
  }

  describe(`${name} as a processor`, () => {
    it('approves a charge and returns its transaction id', async (t) => {
      const { processor, newCharge } = await begin(t);
      const outcome = await processor.charge(newCharge());
      assertApproved(outcome);
      assert.ok(outcome.response.transaction_id);
      if (!hidesAuthorizationCode) assert.ok(outcome.response.authorization_code);
    });

    it('declines a charge with a code and a reason, which a lookup confirms', async (t) => {
      const { subject, processor, isFindable, numbers, newCharge } = await begin(t);
      const { card, failureCode } = await subject.declinedCard();
      numbers.push(card.number);
      const request = { ...newCharge(), card };
      assertDeclined(await processor.charge(request), failureCode);
      if (isFindable) assertDeclined(await processor.lookup(request), failureCode);
    });

    it('executes a reference once, however often it is sent', async (t) => {
      const { subject, processor, newCharge } = await begin(t);
      const request = newCharge();
      const first = await processor.charge(request);
      assertSameOutcome(await processor.charge(request), first, 'the first result, with its own time');
      if (subject.executions) assert.equal(await subject.executions(request.reference), 1);
    });

    it('executes a reference once when it is sent many times at once', async (t) => {
      const { subject, processor, newCharge } = await begin(t);
      const request = newCharge();
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => processor.charge(request)));
      for (const outcome of outcomes) {
        assertApproved(outcome);
        assert.deepEqual(outcome.response, (outcomes[0] as Approved).response);
      }
      if (subject.executions) assert.equal(await subject.executions(request.reference), 1);
    });

    it('answers not_found for a reference that was never sent, or unknown if only notices find it', async (t) => {
      const { subject, processor, isFindable, companyId } = await begin(t);
      const askedAtMs = systemClock.nowMs();
      const found = await processor.lookup({ companyId, reference: randomUUID() });
      if (!isFindable) return assert.equal(found.outcome, 'unknown');
      assert.ok(found.outcome === 'not_found', inspect(found));
      if ((subject.processor.findsBy ?? 'reference') !== 'reference') return;
      assert.ok(found.atMs !== undefined && Math.abs(found.atMs - askedAtMs) < 30_000, 'and says when it looked');
    });

    it('returns the first outcome of a charge in a lookup', async (t) => {
      const { processor, newCharge } = await begin(t);
      const request = newCharge();
      const outcome = await processor.charge(request);
      assertApproved(outcome);
      const found = await processor.lookup(request);
      assertApproved(found);
      assert.deepEqual(found.response, outcome.response);
    });

    it('accepts a refund and reports its settlement', async (t) => {
      const { subject, processor, isFindable, companyId, charged, refund } = await begin(t);
      const charge = await charged();
      await subject.settleAtOnce?.();
      const reference = randomUUID();
      const outcome = await refund(charge, 4900, reference);
      assertApproved(outcome);
      const found = await processor.lookup({ companyId, reference, chargeReference: charge.reference });
      assertApproved(found);
      if (isFindable) assert.equal(found.settled, true);
      assert.deepEqual(found.response, outcome.response);
    });

    it('executes a refund once, however often it is sent', async (t) => {
      const { subject, charged, refund } = await begin(t);
      const charge = await charged();
      const reference = randomUUID();
      const first = await refund(charge, 4900, reference);
      assertApproved(first);
      assertSameOutcome(await refund(charge, 4900, reference), first);
      if (subject.executions) assert.equal(await subject.executions(reference), 1);
    });

    it('voids a fresh charge, and a repeated void changes nothing', async (t) => {
      const { subject, processor, companyId, charged, takeBack } = await begin(t);
      const charge = await charged();
      const reference = randomUUID();
      const first = await takeBack(charge, reference);
      assertApproved(first);
      assertSameOutcome(await takeBack(charge, reference), first);
      if (subject.executions) assert.equal(await subject.executions(reference), 1);
      assertApproved(await processor.lookup({ companyId, reference, chargeReference: charge.reference }));
    });

    it('never throws: an impossible request has an outcome', async (t) => {
      const { processor, newCharge, refund, takeBack } = await begin(t);
      const known = ['approved', 'declined', 'conflict', 'expired', 'not_sent', 'unknown'];
      for (const amount of [0, -1, 0.5, Number.NaN, 2 ** 53]) {
        const { outcome } = await processor.charge({ ...newCharge(), amount });
        assert.ok(known.includes(outcome), outcome);
      }
      const charge = newCharge();
      for (const { outcome } of [await refund(charge, 1), await takeBack(charge)]) {
        assert.ok(known.includes(outcome), outcome);
      }
    });

    if (authorizes) conformanceOfAuthorizations(begin, { keepsBooks, isStrict: authorizes === 'strictly' });

    if (unreachable) {
      it('answers not_sent if the processor is unreachable, and unknown to a lookup', async (t) => {
        const { companyId, numbers, newCharge } = await begin(t);
        const processor = watched(await unreachable(), numbers);
        const charge = newCharge();
        const reference = randomUUID();
        const about = { companyId, reference, validUntilMs: inAMinute(), chargeReference: charge.reference };
        const outcomes = [
          await processor.charge(charge),
          await processor.refund({ ...about, amount: 1, currency: 'usd' }),
          await processor.void(about),
        ];
        assert.deepEqual(new Set(outcomes.map(({ outcome }) => outcome)), new Set(['not_sent']));
        assert.equal((await processor.lookup(about)).outcome, 'unknown');
      });
    }

    for (const fault of broken.operations) {
      it(`${fault}: guesses nothing, declines nothing, and executes it once when it is sent again`, async (t) => {
        const { subject, processor, hasty, isFindable, companyId, newCharge, charged } = await begin(t);
        const { faults, executions } = subject;
        assert.ok(faults && executions);
        const sender = /^(slow|timeout)/.test(fault) ? hasty : processor;
        const send = async (reference: string, call: (by: Processor) => Promise<Outcome>, step = ''): Promise<void> => {
          await faults.next(step + fault);
          const heard = await call(sender);
          assert.ok(['approved', 'unknown', 'not_sent'].includes(heard.outcome), `${step}: ${inspect(heard)}`);
          if (heard.outcome === 'not_sent') assert.equal(await executions(reference), 0);
          assertApproved(await call(processor));
          await waitUntil(async () => (await executions(reference)) === 1);
        };
        for (const step of faults.steps ?? ['']) {
          const charge = newCharge();
          await send(charge.reference, (by) => by.charge(charge), step);
          if (isFindable) assertApproved(await processor.lookup({ ...charge, kind: 'charge' }));
        }
        const about = { companyId, validUntilMs: inAMinute() };
        const refunded = { ...about, reference: randomUUID(), chargeReference: (await charged()).reference };
        await send(refunded.reference, (by) => by.refund({ ...refunded, amount: 1000, currency: 'usd' }));
        const voided = { ...about, reference: randomUUID(), chargeReference: (await charged()).reference };
        await send(voided.reference, (by) => by.void(voided));
      });
    }

    for (const fault of broken.lookups) {
      it(`${fault}: a lookup knows nothing, and the next one does`, async (t) => {
        const { subject, processor, hasty, charged } = await begin(t);
        assert.ok(subject.faults);
        const charge = { ...(await charged()), kind: 'charge' } as const;
        const sender = /slow|timeout/.test(fault) ? hasty : processor;
        await subject.faults.next(fault);
        const { outcome } = await sender.lookup(charge);
        const isRead = fault === 'lookup_other_type' && outcome === 'approved';
        assert.ok(isRead || outcome === 'unknown', outcome);
        assertApproved(await processor.lookup(charge));
      });
    }

    if (!keepsBooks) return;

    itIf(isExact, 'reports the age of the first result by its own clock', async (t) => {
      const { processor, newCharge } = await begin(t);
      const request = newCharge();
      const first = await processor.charge(request);
      assertApproved(first);
      assert.ok(first.executed && first.executed.ageMs < 5_000, inspect(first));
      await sleep(50);
      const again = await processor.charge(request);
      assertApproved(again);
      assert.ok((again.executed?.ageMs ?? 0) >= 50, inspect(again));
      assert.equal(again.executed?.atMs, first.executed.atMs);
    });

    itIf(isExact, 'lists the operations of a period in order, page by page', async (t) => {
      const { subject, processor, companyId, charged, refund, takeBack } = await begin(t);
      assert.ok(processor.list, 'a processor that keeps books lists them');
      await charged();
      await sleep(5);
      const fromMs = systemClock.nowMs();
      const charge = await charged();
      const voided = await charged();
      await takeBack(voided);
      await subject.settleAtOnce?.();
      const refunded = await charged();
      assertApproved(await refund(refunded, 100));
      assertDeclined(await refund(refunded, 10_000));
      const about = { companyId, fromMs, untilMs: systemClock.nowMs() + 60_000 };
      const operations: ListedOperation[] = [];
      for (let after: string | undefined; ; ) {
        const listing = await processor.list({ ...about, ...(after && { after }) });
        operations.push(...listing.operations);
        assert.ok(Math.abs(listing.nowMs - systemClock.nowMs()) < 30_000);
        if (listing.next === null) break;
        after = listing.next;
      }
      assert.deepEqual(
        operations.map(({ kind, approved, voided: isVoided }) => [kind, approved, isVoided]),
        [
          ['charge', true, false],
          ['charge', true, true],
          ['void', true, false],
          ['charge', true, false],
          ['refund', true, false],
          ['refund', false, false],
        ],
      );
      const [first, , taken] = operations;
      assert.equal(first?.reference, charge.reference);
      assert.deepEqual([first?.amount, first?.currency, first?.last4], [4900, 'usd', charge.card.number.last4]);
      assert.equal(taken?.chargeReference, voided.reference);
      assert.deepEqual((await processor.list({ ...about, untilMs: fromMs })).operations, []);
    });

    it('rejects other content under a used reference, and reports whether the first was approved', async (t) => {
      const { subject, processor, companyId, charged } = await begin(t);
      const charge = await charged();
      const outcome = await processor.charge({ ...charge, amount: charge.amount + 1 });
      assert.ok(outcome.outcome === 'conflict' && outcome.approved === true, inspect(outcome));
      const sent = { amount: charge.amount + 1, currency: 'usd', last4: charge.card.number.last4 };
      const found = await processor.lookup({ companyId, reference: charge.reference, sent });
      assert.equal(found.outcome, 'conflict', inspect(found));
      if (subject.executions) assert.equal(await subject.executions(charge.reference), 1);
    });

    it('rejects an expired request and reports its own time', async (t) => {
      const { subject, processor, newCharge } = await begin(t);
      const request = { ...newCharge(), validUntilMs: systemClock.nowMs() - 60_000 };
      const outcome = await processor.charge(request);
      assert.ok(outcome.outcome === 'expired', inspect(outcome));
      assert.ok(Math.abs((outcome.nowMs ?? 0) - systemClock.nowMs()) < 30_000, inspect(outcome));
      if (subject.executions) assert.equal(await subject.executions(request.reference), 0);
    });

    it('rejects a refund larger than the charge', async (t) => {
      const { charged, refund } = await begin(t);
      const charge = await charged();
      assertDeclined(await refund(charge, 4901));
      assertApproved(await refund(charge, 4900));
    });

    it('rejects a refund larger than the remaining amount', async (t) => {
      const { charged, refund } = await begin(t);
      const charge = await charged();
      assertApproved(await refund(charge, 3000));
      assertDeclined(await refund(charge, 1901));
      assertApproved(await refund(charge, 1900));
      assertDeclined(await refund(charge, 1));
    });

    it('rejects simultaneous refunds that exceed the charge together', async (t) => {
      const { charged, refund } = await begin(t);
      const charge = await charged();
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => refund(charge, 1000)));
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'approved').length, 4);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'declined').length, 6);
    });

    it('rejects a refund or void of an unknown charge', async (t) => {
      const { subject, newCharge, refund, takeBack } = await begin(t);
      for (const outcome of [await refund(newCharge(), 1), await takeBack(newCharge())]) {
        // Without the reference, the processor cannot be asked for a charge whose id is unknown.
        if (subject.processor.findsBy === 'handle') assert.equal(outcome.outcome, 'not_sent', inspect(outcome));
        else assertDeclined(outcome);
      }
    });

    it('voids a charge once, and rejects a refund afterwards', async (t) => {
      const { charged, refund, takeBack } = await begin(t);
      const charge = await charged();
      assertApproved(await takeBack(charge));
      assertDeclined(await takeBack(charge));
      assertDeclined(await refund(charge, 1));
    });

    it('rejects the void of a partially refunded charge', async (t) => {
      const { charged, refund, takeBack } = await begin(t);
      const charge = await charged();
      assertApproved(await refund(charge, 1));
      assertDeclined(await takeBack(charge));
    });

    itIf(voidsUntilSettled, 'rejects the void of a settled charge', async (t) => {
      const { subject, charged, takeBack } = await begin(t);
      await subject.settleAtOnce?.();
      assertDeclined(await takeBack(await charged()));
    });
  });
}
