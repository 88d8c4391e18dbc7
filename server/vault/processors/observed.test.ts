import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { observedProcessor, watchProcessors } from './observed.ts';
import type { Outcome, Processor } from './processor.ts';

const unknown: Outcome = { outcome: 'unknown', reason: 'no response within 10 ms' };
const request = { companyId: 'c', reference: 'r', validUntilMs: 0, amount: 1, currency: 'usd', chargeReference: 'x' };

describe('a processor that does not answer', () => {
  function watched() {
    let nowMs = 0;
    let answer: Outcome = unknown;
    const health = watchProcessors(() => nowMs);
    const itself = { refund: async () => answer } as unknown as Processor;
    const processor = observedProcessor(itself, 'acquirer', (problem) => health.note('https://a', problem));
    return {
      health,
      refund: (next: Outcome) => {
        answer = next;
        return processor.refund(request);
      },
      later: (ms: number) => (nowMs += ms),
    };
  }
  const declined = { outcome: 'declined' } as Outcome;

  it('is noticed at the third call in a row, and forgotten at the first answer', async () => {
    const { health, refund } = watched();
    for (let count = 0; count < 2; count += 1) assert.deepEqual(await refund(unknown), unknown);
    assert.equal(health.problem(), undefined);
    await refund(unknown);
    assert.equal(health.problem(), 'a processor did not answer the last 3 requests: no response within 10 ms');
    await refund(declined);
    assert.equal(health.problem(), undefined, 'a decline is an answer');
  });

  it('is noticed when it cannot be reached to prepare a charge', async () => {
    const health = watchProcessors(() => 0);
    const prepare = async () => ({ outcome: 'not_sent', reason: 'the connection failed: ECONNREFUSED' }) as const;
    const itself = { prepare } as unknown as Processor;
    const processor = observedProcessor(itself, 'stripe', (problem) => health.note('https://a', problem));
    for (let count = 0; count < 3; count += 1) await processor.prepare?.({} as never);
    assert.match(health.problem() ?? '', /ECONNREFUSED/);
  });

  it('is not one that waits for a notice, or does not take the currency', async () => {
    const health = watchProcessors(() => 0);
    const itself = {
      findsBy: 'notice',
      lookup: async () => ({ outcome: 'unknown', reason: 'a notice decides' }),
      charge: async () => ({ outcome: 'not_sent', reason: 'no JPY', failureCode: 'invalid_merchant_configuration' }),
    } as unknown as Processor;
    const processor = observedProcessor(itself, 'adyen', (problem) => health.note('https://a', problem));
    for (let count = 0; count < 3; count += 1) {
      await processor.lookup({} as never);
      await processor.charge({} as never);
    }
    assert.equal(health.problem(), undefined);
  });

  it('is not reported for ever when nothing is sent to it any more', async () => {
    const { health, refund, later } = watched();
    for (let count = 0; count < 3; count += 1) await refund(unknown);
    later(599_000);
    assert.ok(health.problem());
    later(2_000);
    assert.equal(health.problem(), undefined);
  });

  it('does not hide behind another one that answers', async () => {
    const health = watchProcessors(() => 0);
    for (let count = 0; count < 3; count += 1) {
      health.note('https://a', 'refused');
      health.note('https://b', undefined);
    }
    assert.match(health.problem() ?? '', /refused/);
  });
});
