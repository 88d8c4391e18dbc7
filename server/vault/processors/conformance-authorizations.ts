import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { systemClock } from '../../platform/clock.ts';
import { dayMs } from '../../platform/durations.ts';
import { assertApproved, assertDeclined, assertSameOutcome } from './conformance-assertions.ts';
import type { ConformanceSubject } from './conformance-subject.ts';
import type { ChargeRequest, LookupOutcome, Outcome, Processor } from './processor.ts';

/** What every adapter does with held funds: it captures once, no more than is held, and releases what is not captured. */

interface Begun {
  readonly subject: ConformanceSubject;
  readonly processor: Processor;
  /** Whether a lookup itself finds an operation, and not only a notice. */
  readonly isFindable: boolean;
  readonly companyId: string;
  newCharge(): ChargeRequest;
}

const inAMinute = (): number => systemClock.nowMs() + 60_000;

type Begin = (t: TestContext) => Promise<Begun>;

/** Funds that are held, and what can be done with them. */
async function hold(begin: Begin, t: TestContext) {
  const begun = await begin(t);
  const { processor, companyId, newCharge } = begun;
  const charge = { ...newCharge(), authorizesOnly: true };
  const outcome = await processor.charge(charge);
  const about = () => ({ companyId, validUntilMs: inAMinute(), chargeReference: charge.reference });
  const capture = async (amount: number, reference: string = randomUUID()): Promise<Outcome> => {
    const captured = await processor.capture?.({ ...about(), reference, amount, currency: 'usd' });
    assert.ok(captured, 'an adapter that authorizes captures');
    return captured;
  };
  const release = (reference: string = randomUUID()): Promise<Outcome> =>
    processor.void({ ...about(), reference, ofAuthorization: true });
  const lookUp = (reference: string, kind: 'capture' | 'void', amount = 4900): Promise<LookupOutcome> =>
    processor.lookup({
      ...{ companyId, reference, chargeReference: charge.reference, kind, ageMs: 1_000 },
      ...(kind === 'capture' ? { sent: { amount, currency: 'usd', last4: null } } : { ofAuthorization: true }),
    });
  return { ...begun, charge, outcome, capture, release, lookUp };
}
const assertOver = (outcome: Outcome): void =>
  assert.ok(outcome.outcome === 'declined' && outcome.isOver === true, inspect(outcome));

export function conformanceOfAuthorizations(
  begin: Begin,
  { keepsBooks, isStrict }: { readonly keepsBooks: boolean; readonly isStrict: boolean },
): void {
  it('holds funds, once for a reference, which a lookup confirms and does not capture', async (t) => {
    const { processor, subject, charge, outcome, capture, isFindable } = await hold(begin, t);
    assertApproved(outcome);
    assert.ok(outcome.response.transaction_id);
    assertSameOutcome(await processor.charge(charge), outcome);
    const found = await processor.lookup({ ...charge, kind: 'authorization', ageMs: 1_000 });
    if (isFindable || found.outcome !== 'unknown') assertApproved(found);
    if (subject.executions) assert.equal(await subject.executions(charge.reference), 1);
    assertApproved(await capture(4900));
  });

  it('captures all of it, once for a reference, which a lookup confirms', async (t) => {
    const { capture, lookUp, subject } = await hold(begin, t);
    const reference = randomUUID();
    const first = await capture(4900, reference);
    assertApproved(first);
    assertSameOutcome(await capture(4900, reference), first);
    assertApproved(await lookUp(reference, 'capture'));
    if (subject.executions) assert.equal(await subject.executions(reference), 1);
  });

  it('captures a part, of which no more can be refunded', async (t) => {
    const { processor, companyId, charge, capture } = await hold(begin, t);
    assertApproved(await capture(3000));
    const refund = (amount: number): Promise<Outcome> =>
      processor.refund({
        ...{ companyId, reference: randomUUID(), validUntilMs: inAMinute(), chargeReference: charge.reference },
        ...{ amount, currency: 'usd' },
      });
    if (keepsBooks) assertDeclined(await refund(3001));
    assertApproved(await refund(3000));
  });

  it('releases what is held, and a repeated release changes nothing', async (t) => {
    const { release, lookUp } = await hold(begin, t);
    const reference = randomUUID();
    const first = await release(reference);
    assertApproved(first);
    assert.equal((await release(reference)).outcome, 'approved');
    assertApproved(await lookUp(reference, 'void'));
  });

  if (isStrict) conformanceOfRefusals(begin);
}

/** What a processor refuses, and whether funds are held afterwards. */
function conformanceOfRefusals(begin: Begin): void {
  it('refuses to capture more than is held, and the funds stay held', async (t) => {
    const { capture } = await hold(begin, t);
    const refused = await capture(4901);
    assertDeclined(refused);
    assert.ok(!('isOver' in refused) || !refused.isOver);
    assertApproved(await capture(4900));
  });

  it('refuses a second capture, and a release of what was captured', async (t) => {
    const { capture, release } = await hold(begin, t);
    assertApproved(await capture(1000));
    // Of the same amount it is the same capture where captures have no reference.
    for (const refused of [await capture(1001), await release()]) {
      assertDeclined(refused);
      assert.ok(!('isOver' in refused) || !refused.isOver, 'it was captured, so it is not over');
    }
  });

  it('refuses a capture after the release: the authorization is over', async (t) => {
    const { capture, release } = await hold(begin, t);
    assertApproved(await release());
    assertOver(await capture(4900));
  });

  it('refuses a capture after the end: the authorization is over', async (t) => {
    const { subject } = await begin(t);
    if (!subject.holdFor) return;
    await subject.holdFor(0);
    const { capture, release } = await hold(begin, t);
    await subject.holdFor(7 * dayMs);
    assertOver(await capture(4900));
    const released = await release();
    assert.ok(released.outcome === 'approved' || ('isOver' in released && released.isOver), inspect(released));
  });

  it('answers not_found for a capture that was never sent', async (t) => {
    const { lookUp } = await hold(begin, t);
    assert.equal((await lookUp(randomUUID(), 'capture')).outcome, 'not_found');
  });
}
