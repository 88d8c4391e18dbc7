import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { CardNumber } from './card-number.ts';
import type { ChargeRequest, LookupOutcome, Processor } from './processors/processor.ts';
import { chargeOnce } from './charges.ts';

const request: ChargeRequest = {
  companyId: randomUUID(),
  reference: randomUUID(),
  validUntilMs: 0,
  card: { number: new CardNumber('4242424242424242'), cardId: randomUUID(), expMonth: 1, expYear: 2031 },
  amount: 100,
  currency: 'usd',
};
const response = {
  transaction_id: 'x',
  authorization_code: null,
  avs_result: null,
  cvv_result: null,
  response_code: null,
  response_text: null,
};
const approved = { outcome: 'approved', response } as const;

const noDatabase = { query: async () => assert.fail('nothing is stored') };

/** What is asked of a processor, in order. */
function asked(onceBy: Processor['onceBy'], found: LookupOutcome): { processor: Processor; calls: string[] } {
  const calls: string[] = [];
  const never = async (): Promise<never> => assert.fail('not asked for');
  const processor: Processor = {
    ...(onceBy && { onceBy }),
    charge: async () => {
      calls.push('charge');
      return approved;
    },
    lookup: async ({ reference, sent }) => {
      assert.equal(reference, request.reference);
      assert.deepEqual(sent, { amount: 100, currency: 'usd', last4: '4242' });
      calls.push('lookup');
      return found;
    },
    refund: never,
    void: never,
  };
  return { processor, calls };
}

it('a service that was not restored charges at once', async () => {
  for (const onceBy of [undefined, 'reference', 'key', 'nothing'] as const) {
    const { processor, calls } = asked(onceBy, { outcome: 'not_found' });
    await chargeOnce(noDatabase, { processor, connectionId: null }, request, false);
    assert.deepEqual(calls, ['charge']);
  }
});

it('a restored service looks up first where a reference is not executed once for ever', async () => {
  for (const onceBy of ['key', 'nothing'] as const) {
    const unsent = asked(onceBy, { outcome: 'not_found' });
    assert.equal(
      (await chargeOnce(noDatabase, { processor: unsent.processor, connectionId: null }, request, true)).outcome,
      'approved',
    );
    assert.deepEqual(unsent.calls, ['lookup', 'charge']);
    for (const found of [approved, { outcome: 'conflict', approved: true }] as const) {
      const { processor, calls } = asked(onceBy, found);
      assert.deepEqual(await chargeOnce(noDatabase, { processor, connectionId: null }, request, true), found);
      assert.deepEqual(calls, ['lookup'], 'it is not charged again');
    }
  }
  const { processor, calls } = asked('reference', { outcome: 'not_found' });
  await chargeOnce(noDatabase, { processor, connectionId: null }, request, true);
  assert.deepEqual(calls, ['charge']);
});

it('a restored service sends nothing while such a processor cannot be asked', async () => {
  const { processor, calls } = asked('nothing', { outcome: 'unknown', reason: 'no answer' });
  assert.equal((await chargeOnce(noDatabase, { processor, connectionId: null }, request, true)).outcome, 'unavailable');
  assert.deepEqual(calls, ['lookup']);
});
