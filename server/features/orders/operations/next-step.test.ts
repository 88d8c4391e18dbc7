import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookupAnswers, nextStep, rows, sendAnswers, type Situation, type Step } from './next-step.ts';
import { operationCauses } from './operation-moves.ts';

/** Every situation that the types allow. */
const charges = ['order', 'first_charge', 'retry', 'renewal'] as const;
const situations: Situation[] = (['none', 'another'] as const).flatMap((next) =>
  (['open', 'closed'] as const).flatMap((gate) => [
    ...operationCauses.flatMap((cause) => [
      ...(['nothing', ...sendAnswers] as const).map((heard) => ({
        state: 'sending' as const,
        cause,
        heard,
        next,
        gate,
      })),
      ...(['in_doubt', 'interrupted'] as const).flatMap((state) =>
        (['nothing', ...lookupAnswers] as const).map((heard) => ({ state, cause, heard, next, gate })),
      ),
    ]),
    ...(['nothing', ...lookupAnswers] as const).map((heard) => ({
      ...({ state: 'accepted', cause: 'refund' } as const),
      ...{ heard, next, gate },
    })),
    ...charges.map((cause) => ({ state: 'waiting' as const, cause, heard: 'nothing' as const, next, gate })),
  ]),
);

/** The situations that lead to one of these steps. */
const leadingTo = (...wanted: readonly Step[]): Situation[] =>
  situations.filter((situation) => wanted.includes(nextStep(situation)));

describe('the decision about an operation', () => {
  it('has one step for each of the situations that the types allow', () => {
    for (const situation of situations) assert.ok(nextStep(situation));
    assert.equal(situations.length, new Set(situations.map((one) => JSON.stringify(one))).size);
    assert.equal(situations.length, 1024);
  });

  it('has no row that no situation needs', () => {
    for (const row of rows) {
      const needs = situations.some(
        ({ state, cause, heard, next, gate }) =>
          row.state.includes(state) &&
          row.cause.includes(cause) &&
          row.heard.includes(heard) &&
          (row.next ?? next) === next &&
          (row.gate ?? gate) === gate,
      );
      assert.ok(needs, JSON.stringify(row));
    }
  });

  it('sends nothing that may have been executed', () => {
    const sends = leadingTo('send', 'send_at_next', 'send_as_next', 'extend');
    const maybe = ['lost', 'interrupted', 'approved', 'settled', 'declined', 'conflict_of_key', 'not_found'];
    assert.deepEqual(
      sends.filter(({ heard }) => maybe.includes(heard)),
      [],
    );
    // What is in doubt is sent only if the processor has said that it is another operation.
    const doubted = sends.filter(({ state }) => state === 'in_doubt' || state === 'interrupted');
    assert.deepEqual([...new Set(doubted.map(({ heard }) => heard))], ['conflict_unpaid']);
  });

  it('sends no charge of a company that is closed to a connection that may not know it', () => {
    const sends = leadingTo('send', 'send_at_next').filter(({ gate }) => gate === 'closed');
    assert.deepEqual(sends, []);
  });

  it('records nothing as failed while the company is closed and a lookup did not find it', () => {
    const records = leadingTo('record', 'discard').filter(
      ({ gate, cause, heard }) =>
        gate === 'closed' &&
        cause !== 'refund' &&
        cause !== 'void' &&
        ['not_found', 'not_executed', 'never_executed', 'not_received', 'service_away'].includes(heard),
    );
    assert.deepEqual(records, []);
  });

  it('never records an outage of the service', () => {
    const records = leadingTo('record', 'record_and_hand_over', 'record_as_other');
    assert.deepEqual(
      records.filter(({ heard }) => heard === 'service_away' || heard === 'interrupted'),
      [],
    );
    const stopped = records.filter(({ state }) => state === 'interrupted').map(({ heard }) => heard);
    assert.ok(!stopped.includes('not_executed') && !stopped.includes('never_executed'));
  });

  it('lets no customer wait for the merchant', () => {
    const waits = leadingTo('wait_for_credentials', 'wait_for_connection', 'wait_for_service');
    assert.deepEqual([...new Set(waits.map(({ cause }) => cause))], ['renewal']);
  });

  it('discards no renewal and no order', () => {
    const causes = new Set(leadingTo('discard').map(({ cause }) => cause));
    assert.deepEqual([...causes].toSorted(), ['refund', 'retry', 'void']);
  });
});
