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

it('a restored service looks up later references of the charge, and what was paid with one is the outcome', async () => {
  const laterReferences = Array.from({ length: 8 }, () => randomUUID());
  const payWith = async (kind: Partial<Processor>, paid: LookupOutcome, index: number) => {
    const looked: string[] = [];
    const processor: Processor = {
      ...asked(undefined, { outcome: 'not_found' }).processor,
      ...kind,
      lookup: async ({ reference }) => {
        looked.push(reference);
        if (reference === laterReferences[index]) return paid;
        return reference === laterReferences[2]
          ? { ...approved, outcome: 'conflict', approved: false }
          : { outcome: 'not_found' };
      },
    };
    const outcome = await chargeOnce(noDatabase, { processor, connectionId: null }, request, true, { laterReferences });
    return { outcome, looked };
  };
  const conflict = { outcome: 'conflict', approved: true } as const;
  for (const onceBy of ['reference', 'key', 'nothing'] as const) {
    for (const [paid, index] of [
      [approved, 1],
      [conflict, 0],
      [approved, 4],
    ] as const) {
      const { outcome, looked } = await payWith({ onceBy }, paid, index);
      assert.deepEqual(outcome, { ...paid, reference: laterReferences[index] }, 'even after a decline in between');
      assert.equal(looked.length, index + (onceBy === 'reference' ? 1 : 2));
    }
    const { outcome } = await payWith({ onceBy }, approved, 7);
    assert.deepEqual(outcome, approved, 'three in a row that were not found end the search');
    const notAsked = await payWith({ onceBy }, { outcome: 'unknown', reason: 'no answer' }, 1);
    assert.equal(notAsked.outcome.outcome, 'unavailable');
  }
  const silent = await payWith({ onceBy: 'key', findsBy: 'notice' }, approved, 1);
  assert.deepEqual(silent.outcome, approved, 'a processor that only sends notices cannot be asked');
});

it('a restored service sends nothing while such a processor cannot be asked', async () => {
  const { processor, calls } = asked('nothing', { outcome: 'unknown', reason: 'no answer' });
  assert.equal((await chargeOnce(noDatabase, { processor, connectionId: null }, request, true)).outcome, 'unavailable');
  assert.deepEqual(calls, ['lookup']);
});

it('a restored service sends a charge nowhere else if the processor refuses the credentials', async () => {
  const refused = {
    outcome: 'declined',
    response,
    failureCode: 'invalid_merchant_configuration',
    failureReason: 'wrong key',
    refusesCredentials: true,
  } as const;
  for (const onceBy of ['reference', 'key', 'nothing'] as const) {
    const processor = { ...asked(onceBy, { outcome: 'not_found' }).processor, charge: async () => refused };
    const connected = { processor, connectionId: null };
    assert.equal((await chargeOnce(noDatabase, connected, request, true)).outcome, 'unavailable', onceBy);
    assert.deepEqual(await chargeOnce(noDatabase, connected, request, false), refused);
  }
});
