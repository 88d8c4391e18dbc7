import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { customerAnswers, lookupAnswers, nextStep, rows, sendAnswers, type Situation, type Step } from './next-step.ts';
import { customerCauses, operationCauses } from './operation-moves.ts';

/** Every situation that the types allow. */
const charges = ['order', 'first_charge', 'plan_change', 'retry', 'renewal'] as const;
const situations: Situation[] = (['none', 'another'] as const).flatMap((next) =>
  (['open', 'closed'] as const).flatMap((gate) => [
    ...operationCauses.flatMap((cause) => [
      ...sendAnswers.map((heard) => ({
        state: 'sending' as const,
        cause,
        heard,
        next,
        gate,
      })),
      ...(['in_doubt', 'interrupted'] as const).flatMap((state) =>
        lookupAnswers.map((heard) => ({ state, cause, heard, next, gate })),
      ),
    ]),
    ...customerCauses.flatMap((cause) =>
      customerAnswers.map((heard) => ({ state: 'with_customer' as const, cause, heard, next, gate })),
    ),
    ...lookupAnswers.map((heard) => ({
      ...({ state: 'accepted', cause: 'refund' } as const),
      ...{ heard, next, gate },
    })),
  ]),
);

/** The situations that lead to one of these steps. */
const leadingTo = (...wanted: readonly Step[]): Situation[] =>
  situations.filter((situation) => wanted.includes(nextStep(situation)));

describe('the decision about an operation', () => {
  it('has one step for each of the situations that the types allow', () => {
    for (const situation of situations) assert.ok(nextStep(situation));
    assert.equal(situations.length, new Set(situations.map((one) => JSON.stringify(one))).size);
    assert.equal(situations.length, 1516);
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
    const sends = leadingTo('send_at_next', 'send_as_next', 'extend');
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
    const sends = leadingTo('send_at_next').filter(({ gate }) => gate === 'closed');
    assert.deepEqual(sends, []);
  });

  it('records nothing as failed while the company is closed and a lookup did not find it', () => {
    const records = leadingTo('record', 'discard').filter(
      ({ gate, cause, heard }) =>
        gate === 'closed' &&
        (charges as readonly string[]).includes(cause) &&
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
    assert.deepEqual([...causes].toSorted(), ['capture', 'refund', 'retry', 'void']);
  });

  /** The steps in the situations with one of these answers; more conditions are fields of the situation. */
  const stepsAfter = (heard: readonly Situation['heard'][], is: Partial<Situation> = {}): Step[] => {
    const wanted = situations.filter(
      (one) =>
        heard.includes(one.heard) &&
        (is.state !== undefined || one.state !== 'with_customer') &&
        Object.entries(is).every(([field, value]) => one[field as 'gate'] === value),
    );
    assert.ok(wanted.length > 0);
    return [...new Set(wanted.map((one) => nextStep(one)))].toSorted();
  };
  const missing = ['not_found', 'not_executed', 'never_executed'] as const;
  const unexecuted = [
    ...(['credentials_refused', 'not_taken', 'no_card', 'held_back', 'not_received', 'service_away'] as const),
  ];

  it('records what is decided, except that an accepted refund still has to settle', () => {
    for (const state of ['sending', 'in_doubt', 'interrupted'] as const)
      assert.deepEqual(stepsAfter(['approved', 'declined'], { state }), ['record']);
    assert.deepEqual(stepsAfter(['settled']), ['record']);
    assert.deepEqual(stepsAfter(['declined'], { state: 'accepted' }), ['record']);
    const unsettled = ['approved', ...missing, 'conflict_of_key', 'conflict_paid', 'conflict_unpaid'] as const;
    assert.deepEqual(stepsAfter([...unsettled, 'expired_key'], { state: 'accepted' }), ['wait_for_settlement']);
  });

  it('hands a charge over that the processor failed, if there is another connection', () => {
    for (const cause of operationCauses) {
      const isCharge = (charges as readonly string[]).includes(cause);
      const after = (next: Situation['next']): Step[] => stepsAfter(['processor_failed'], { cause, next });
      assert.deepEqual(after('none'), ['record']);
      assert.deepEqual(after('another'), [isCharge ? 'record_and_hand_over' : 'record']);
    }
  });

  it('looks up what may have been executed, and a paid charge that may be the same one', () => {
    assert.deepEqual(stepsAfter(['lost']), ['wait_for_lookup']);
    assert.deepEqual(stepsAfter(['interrupted']), ['wait_as_interrupted']);
    for (const cause of charges) assert.deepEqual(stepsAfter(['conflict_paid'], { cause }), ['wait_for_lookup']);
  });

  it('lets a charge that was not executed wait for the comparison while the company is closed', () => {
    const is = { gate: 'closed' } as const;
    for (const cause of charges) {
      assert.deepEqual(stepsAfter([...unexecuted, ...missing], { cause, ...is }), ['wait_for_comparison']);
    }
  });

  it('tries the next connection with a charge that was not executed, unless the card or the service is missing', () => {
    for (const cause of charges) {
      const is = { cause, gate: 'open', next: 'another' } as const;
      assert.deepEqual(stepsAfter(['credentials_refused', 'not_taken', 'not_received'], is), ['send_at_next']);
      assert.deepEqual(stepsAfter(['no_card', 'held_back'], is), ['record']);
    }
  });

  it('lets a renewal wait for what the merchant or the service lacks, and gives a customer an outcome', () => {
    const is = { gate: 'open', next: 'none' } as const;
    const renewal = { ...is, cause: 'renewal' } as const;
    assert.deepEqual(stepsAfter(['credentials_refused'], renewal), ['wait_for_credentials']);
    assert.deepEqual(stepsAfter(['not_taken'], renewal), ['wait_for_connection']);
    assert.deepEqual(stepsAfter(['service_away'], renewal), ['wait_for_service']);
    assert.deepEqual(stepsAfter(['not_received', 'no_card'], renewal), ['record']);
    for (const cause of ['order', 'first_charge', 'retry'] as const) {
      assert.deepEqual(stepsAfter(['credentials_refused', 'not_taken', 'not_received'], { ...is, cause }), ['record']);
    }
  });

  it('leads a customer who is present to the bank, and ends what the bank wants to ask without one', () => {
    for (const cause of operationCauses) {
      const isPresent = (customerCauses as readonly string[]).includes(cause);
      const step = isPresent ? 'wait_for_customer' : 'wait_for_lookup';
      assert.deepEqual(stepsAfter(['needs_customer'], { state: 'sending', cause }), [step]);
    }
  });

  it('neither sends nor ends a charge whose customer is at the bank, unless its processor has decided', () => {
    const is = { state: 'with_customer' } as const;
    const open = [
      'needs_customer',
      'lost',
      'conflict_of_key',
      'conflict_paid',
      'conflict_unpaid',
      'expired_key',
    ] as const;
    assert.deepEqual(stepsAfter(open, is), ['wait_for_customer']);
    assert.deepEqual(stepsAfter(missing, { ...is, gate: 'closed' }), ['wait_for_customer']);
    assert.deepEqual(stepsAfter(missing, { ...is, gate: 'open' }), ['record']);
    assert.deepEqual(stepsAfter(['approved', 'settled', 'declined'], is), ['record']);
  });

  it('ends a charge that a lookup did not find, but sends one again that our outage interrupted', () => {
    const is = { gate: 'open' } as const;
    for (const cause of charges) {
      assert.deepEqual(stepsAfter(missing, { ...is, cause, state: 'in_doubt' }), ['record']);
      assert.deepEqual(stepsAfter(['not_found'], { ...is, cause, state: 'interrupted' }), ['record']);
    }
    const interrupted = { ...is, state: 'interrupted' } as const;
    const again = ['not_executed', 'never_executed'] as const;
    assert.deepEqual(stepsAfter(again, { ...interrupted, cause: 'renewal' }), ['wait_for_service']);
    assert.deepEqual(stepsAfter(again, { ...interrupted, cause: 'order' }), ['wait_for_request']);
    assert.deepEqual(stepsAfter(again, { ...interrupted, cause: 'first_charge' }), ['wait_for_request']);
    assert.deepEqual(stepsAfter(again, { ...interrupted, cause: 'retry' }), ['discard']);
  });

  it('sends a charge or a refund under another reference if its own belongs to another operation that is not it', () => {
    const sent = { state: 'sending' } as const;
    for (const cause of [...charges, 'refund'] as const) {
      assert.deepEqual(stepsAfter(['conflict_unpaid', 'expired_key'], { ...sent, cause }), ['send_as_next']);
    }
    assert.deepEqual(stepsAfter(['conflict_paid'], { ...sent, cause: 'refund' }), ['send_as_next']);
    assert.deepEqual(stepsAfter(['expired']), ['extend']);
  });

  it('takes another operation under the reference for the end of this one in all other cases', () => {
    const other = ['conflict_of_key', 'conflict_paid', 'conflict_unpaid', 'expired_key'] as const;
    assert.deepEqual(stepsAfter(other, { state: 'sending', cause: 'void' }), ['discard']);
    assert.deepEqual(stepsAfter(['conflict_of_key'], { state: 'sending', cause: 'refund' }), ['discard']);
    for (const state of ['in_doubt', 'interrupted'] as const) {
      for (const cause of ['refund', 'void'] as const)
        assert.deepEqual(stepsAfter(other, { state, cause }), ['discard']);
      for (const cause of charges) assert.deepEqual(stepsAfter(['expired_key'], { state, cause }), ['record_as_other']);
    }
    for (const cause of charges) assert.deepEqual(stepsAfter(['conflict_of_key'], { cause }), ['record']);
  });
});
