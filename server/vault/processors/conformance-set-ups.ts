import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { answerBank, type Choice } from '../../../tests/support/bank-page.ts';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { chargeOf, inAMinute } from '../../../tests/support/processor-requests.ts';
import { assertApproved } from './conformance-assertions.ts';
import {
  assertRefused,
  asTheVault,
  type AuthenticationSubject,
  byMerchant,
  type OpenSubject,
  presence,
  savedCardOf,
} from './conformance-customers.ts';
import type { Outcome } from './processor.ts';
import type { SetUpOutcome, SetUpRequest } from './setup.ts';

/** What every adapter does that can save a card with the bank of its customer, without a charge. */

const setUps = (open: OpenSubject) => {
  async function newSetUp(t: TestContext, banks: Parameters<AuthenticationSubject['banks']>[0] = 'ask') {
    const subject = await open(t);
    await subject.banks(banks);
    const { processor, card } = subject;
    const savedCard = savedCardOf();
    const request: SetUpRequest = {
      ...{ companyId: randomUUID(), reference: randomUUID(), validUntilMs: inAMinute() },
      ...{ card, presence, savedCard, startsSeries: true, customerIp: '198.41.0.4' },
    };
    const continued = async (handle: string, returned?: Readonly<Record<string, string>>): Promise<SetUpOutcome> => {
      const { companyId, reference } = request;
      const found = await processor.resumeSetUp?.({
        ...{ companyId, reference, savedCard, handle },
        ...(returned && { returned }),
      });
      return found as SetUpOutcome;
    };
    const ended = async (handle: string): Promise<SetUpOutcome> => {
      const { companyId, reference } = request;
      return (await processor.endSetUp?.({ companyId, reference, savedCard, handle })) as SetUpOutcome;
    };
    const begin = async (): Promise<SetUpOutcome> => (await processor.setUp?.(request)) as SetUpOutcome;
    const chargeLater = (networkTransactionId: string | null): Promise<Outcome> =>
      asTheVault(processor).charge(chargeOf(card, { credential: { ...byMerchant, networkTransactionId }, savedCard }));
    return { subject, begin, continued, ended, chargeLater };
  }

  async function askedToSave(t: TestContext) {
    const begun = await newSetUp(t);
    const found = await begun.begin();
    assert.ok(found.outcome === 'needs_customer' && found.action, inspect(found));
    const { handle, action } = found;
    return { ...begun, handle, visit: (choice: Choice) => answerBank(action.url, choice) };
  }

  return { newSetUp, askedToSave };
};

const assertAwaited = (found: SetUpOutcome): void => assert.equal(found.outcome, 'needs_customer', inspect(found));

function assertSetUp(found: SetUpOutcome, flow: 'challenge' | 'frictionless'): string | null {
  assert.ok(found.outcome === 'set_up', inspect(found));
  assert.deepEqual([found.authentication?.flow, found.authentication?.status], [flow, 'authenticated']);
  return found.networkTransactionId;
}

function conformanceOfAnswers({ newSetUp, askedToSave }: ReturnType<typeof setUps>): void {
  it('is charged without the customer after the customer has confirmed', async (t) => {
    const { begin, handle, continued, visit, chargeLater } = await askedToSave(t);
    const again = await begin();
    assert.ok(again.outcome === 'needs_customer' && again.handle === handle, inspect(again));
    assertAwaited(await continued(handle));
    const returned = await visit('pass');
    const networkId = assertSetUp(await continued(handle, returned), 'challenge');
    assertSetUp(await continued(handle, returned), 'challenge');
    assertApproved(await chargeLater(networkId));
  });

  it('is not charged without the customer if the customer has refused', async (t) => {
    const { handle, continued, visit, chargeLater } = await askedToSave(t);
    const returned = await visit('fail');
    assertRefused(await continued(handle, returned));
    const later = await chargeLater(null);
    assert.ok(later.outcome === 'declined' && later.needsAuthentication, inspect(later));
  });

  it('is given up if the customer went away, and cannot be confirmed any more', async (t) => {
    const { subject, handle, visit, continued, ended } = await askedToSave(t);
    assert.equal(await visit('close'), undefined);
    assertAwaited(await continued(handle));
    assert.equal((await ended(handle)).outcome, 'ended');
    // Adyen saves nothing. What comes back too late is not passed on to it.
    if (subject.noticed) return;
    assert.equal((await continued(handle, await visit('pass'))).outcome, 'ended');
  });

  it('is saved without a question if the bank recognizes the customer', async (t) => {
    const { begin, chargeLater, subject } = await newSetUp(t, 'recognize');
    const networkId = assertSetUp(await begin(), 'frictionless');
    await subject.banks('ask');
    assertApproved(await chargeLater(networkId));
  });
}

/** What comes back is only a hint, and comes more than once, too early, or not at all. */
function conformanceOfReturns({ askedToSave }: ReturnType<typeof setUps>): void {
  it('is not saved by a forged return, and is by the true one afterwards', async (t) => {
    const { handle, continued, visit } = await askedToSave(t);
    assertAwaited(await continued(handle, await visit('forge')));
    for (const returned of [{}, { redirectResult: '' }, { redirect_status: 'succeeded', acquirer_reference: 'x' }]) {
      assertAwaited(await continued(handle, returned));
    }
    assertSetUp(await continued(handle, await visit('pass')), 'challenge');
  });

  it('is not saved by the confirmation of another card', async (t) => {
    const [one, other] = [await askedToSave(t), await askedToSave(t)];
    const returned = await one.visit('pass');
    assertAwaited(await other.continued(other.handle, returned));
    assert.equal((await other.ended(other.handle)).outcome, 'ended');
  });

  it('is saved by a double return', async (t) => {
    const { handle, continued, visit } = await askedToSave(t);
    const returned = await visit('pass');
    const found = await Promise.all(Array.from({ length: 5 }, () => continued(handle, returned)));
    for (const { outcome } of found) assert.ok(['set_up', 'needs_customer', 'unknown'].includes(outcome), outcome);
    assertSetUp(await continued(handle, returned), 'challenge');
  });

  it('waits for the bank after a return without an answer', async (t) => {
    const { handle, continued, visit } = await askedToSave(t);
    assertAwaited(await continued(handle, await visit('back')));
    const returned = await visit('fail_and_close');
    assert.equal(returned, undefined);
  });

  for (const choice of ['pass_later', 'pass_and_close', 'fail_later', 'fail_and_close'] as const) {
    it(`${choice}: is known by the next question`, async (t) => {
      const { subject, handle, continued, ended, visit } = await askedToSave(t);
      const returned = await visit(choice);
      if (returned) assertAwaited(await continued(handle, returned));
      if (subject.noticed) {
        // Adyen answers no question, so nothing is saved.
        assertAwaited(await continued(handle, returned));
        assert.equal((await ended(handle)).outcome, 'ended');
        return;
      }
      const known = choice.startsWith('pass') ? 'set_up' : 'declined';
      await waitUntil(async () => (await continued(handle)).outcome === known);
      // What the customer has confirmed is saved, also if the card is given up afterwards.
      if (known === 'set_up') assert.equal((await ended(handle)).outcome, 'set_up');
    });
  }
}

export function setUpConformance(name: string, open: OpenSubject): void {
  describe(`${name} and a card that is saved`, () => {
    const begun = setUps(open);
    conformanceOfAnswers(begun);
    conformanceOfReturns(begun);
  });
}
