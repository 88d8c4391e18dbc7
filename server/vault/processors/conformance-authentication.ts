import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { answerBank, type Choice } from '../../../tests/support/bank-page.ts';
import { waitUntil } from '../../../tests/support/embedded-postgres.ts';
import { chargeOf, inAMinute } from '../../../tests/support/processor-requests.ts';
import { wantsCustomerReason } from './authentication.ts';
import { assertApproved } from './conformance-assertions.ts';
import {
  assertAsked,
  assertRefused,
  asTheVault,
  type AuthenticationSubject,
  byMerchant,
  external,
  type Memory,
  never,
  type OpenSubject,
  presence,
} from './conformance-customers.ts';
import { setUpConformance } from './conformance-set-ups.ts';
import type { ChargeRequest, LookupOutcome, Outcome, ResumeOutcome } from './processor.ts';

/** What every adapter does that can lead the customer to the bank. */

interface Tried {
  readonly subject: AuthenticationSubject;
  readonly vault: Memory;
  readonly request: ChargeRequest;
  readonly url: string;
  visit(choice: Choice): Promise<Record<string, string> | undefined>;
  executed(): Promise<number>;
}

const assertWaits = (found: ResumeOutcome): void => assert.equal(found.outcome, 'needs_customer', inspect(found));

function assertAuthenticated(
  outcome: Outcome | LookupOutcome | ResumeOutcome,
  flow: 'challenge' | 'frictionless',
): void {
  assertApproved(outcome as Outcome);
  assert.deepEqual('authentication' in outcome && outcome.authentication, {
    flow,
    status: 'authenticated',
    liabilityShifted: true,
    version: '2.2.0',
    eci: '05',
  });
}

const tries = (open: OpenSubject) => {
  async function newTry(t: TestContext, changes: Partial<ChargeRequest> = {}) {
    const subject = await open(t);
    await subject.banks('ask');
    const request = chargeOf(subject.card, { presence, customerIp: '198.41.0.4', ...changes });
    const vault = asTheVault(subject.processor);
    return { subject, vault, request, executed: () => subject.executions(request.reference) };
  }
  /** A charge whose customer is at the bank. */
  async function asked(t: TestContext, changes: Partial<ChargeRequest> = {}): Promise<Tried> {
    const begun = await newTry(t, changes);
    const url = assertAsked(await begun.vault.charge(begun.request));
    return { ...begun, url, visit: (choice) => answerBank(url, choice) };
  }
  return { newTry, asked };
};
type Tries = ReturnType<typeof tries>;

/** The customer answers, or does not. */
function conformanceOfAnswers({ newTry, asked }: Tries): void {
  it('leads to the bank, and completes the charge once when the customer has confirmed', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    assertWaits(await vault.resume(request));
    assert.equal(await executed(), 0, 'nothing before the customer has confirmed');
    const returned = await visit('pass');
    const found = await vault.resume(request, { returned });
    assertAuthenticated(found, 'challenge');
    assertAuthenticated(await vault.resume(request, { returned }), 'challenge');
    assertAuthenticated(await vault.resume(request), 'challenge');
    assertApproved(await vault.end(request));
    assertApproved(await vault.charge(request));
    assert.equal(await executed(), 1);
  });

  it('leads a second tab to the same place, and does not execute what was ended', async (t) => {
    const { vault, request, url, executed } = await asked(t);
    assert.equal(assertAsked(await vault.charge(request)), url);
    assert.deepEqual(await vault.end(request), never);
    const again = await vault.charge(request);
    assert.ok(again.outcome === 'not_sent' && again.isFinal, inspect(again));
    assert.equal(await executed(), 0);
  });

  it('declines what the customer refused', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    const returned = await visit('fail');
    assertRefused(await vault.resume(request, { returned }));
    assertRefused(await vault.resume(request, { returned }));
    assert.equal(await executed(), 0);
  });

  it('declines what the bank refused after the customer had confirmed', async (t) => {
    const begun = await newTry(t);
    await begun.subject.declineNext();
    const url = assertAsked(await begun.vault.charge(begun.request));
    const found = await begun.vault.resume(begun.request, { returned: await answerBank(url, 'pass') });
    assert.ok(found.outcome === 'declined', inspect(found));
    assert.deepEqual([found.failureCode, found.authentication?.status], ['insufficient_funds', 'authenticated']);
  });

  it('waits for a customer who went away, and ends it for good', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    assert.equal(await visit('close'), undefined);
    assertWaits(await vault.resume(request));
    assert.deepEqual(await vault.end(request), never);
    // Too late.
    const returned = await visit('pass');
    const found = await vault.resume(request, { returned });
    assert.deepEqual(found, never);
    assert.deepEqual(await vault.end(request), never);
    assert.equal(await executed(), 0);
  });
}

/** What comes back is only a hint, and comes more than once, too late, or not at all. */
function conformanceOfReturns({ asked }: Tries): void {
  it('has one truth if it is ended while the customer confirms', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    const returned = await visit('pass');
    const ends = [vault.resume(request, { returned }), vault.end(request), vault.resume(request, { returned })];
    await Promise.all(ends);
    const end = await vault.end(request);
    assert.ok(end.outcome === 'approved' || end.outcome === 'not_found', inspect(end));
    assert.equal(await executed(), end.outcome === 'approved' ? 1 : 0);
  });

  it('takes a forged return for what it is, and the true one afterwards', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    assertWaits(await vault.resume(request, { returned: await visit('forge') }));
    for (const returned of [{}, { redirectResult: '' }, { redirect_status: 'succeeded', acquirer_reference: 'x' }]) {
      assertWaits(await vault.resume(request, { returned }));
    }
    assert.equal(await executed(), 0);
    assertApproved((await vault.resume(request, { returned: await visit('pass') })) as Outcome);
    assert.equal(await executed(), 1);
  });

  it('does not take the confirmation of another payment', async (t) => {
    const cheap = await asked(t, { amount: 100 });
    const dear = await asked(t, { amount: 100 });
    const returned = await cheap.visit('pass');
    assertWaits(await dear.vault.resume(dear.request, { returned }));
    assert.equal(await dear.executed(), 0);
    assert.deepEqual(await dear.vault.end(dear.request), never);
  });

  it('completes a double return once', async (t) => {
    const { vault, request, visit, executed } = await asked(t);
    const returned = await visit('pass');
    const found = await Promise.all(Array.from({ length: 5 }, () => vault.resume(request, { returned })));
    for (const { outcome } of found) assert.ok(['approved', 'needs_customer', 'unknown'].includes(outcome), outcome);
    assertApproved((await vault.resume(request, { returned })) as Outcome);
    assert.equal(await executed(), 1);
  });

  for (const choice of ['pass_later', 'pass_and_close'] as const) {
    it(`${choice}: completes it by the next look or by its notice`, async (t) => {
      const { subject, vault, request, visit, executed } = await asked(t);
      if (choice === 'pass_and_close' && subject.completesAlone === false) return;
      const returned = await visit(choice);
      if (returned) assertWaits(await vault.resume(request, { returned }));
      await waitUntil(async () => {
        const noticedHandle = await subject.noticed?.(request.reference);
        const found = await vault.resume(request, { returned, ...(noticedHandle && { noticedHandle }) });
        return found.outcome === 'approved';
      });
      assert.equal(await executed(), 1);
    });
  }
}

/** Who is asked, and who is not. */
function conformanceOfQuestions({ newTry, asked }: Tries): void {
  it('holds funds that the customer has confirmed, and captures nothing', async (t) => {
    const { subject, vault, request, visit } = await asked(t, { authorizesOnly: true });
    const found = await vault.resume(request, { returned: await visit('pass') });
    assertAuthenticated(found, 'challenge');
    assertAuthenticated(await vault.resume(request), 'challenge');
    const chargeTransactionId = found.outcome === 'approved' ? (found.response.transaction_id ?? '') : '';
    const about = { companyId: request.companyId, chargeReference: request.reference, chargeTransactionId };
    const captured = await subject.processor.capture?.({
      ...{ ...about, reference: randomUUID(), validUntilMs: inAMinute(), amount: 1000, currency: 'usd' },
    });
    assertApproved(captured as Outcome);
  });

  it('asks no customer whom the bank recognizes', async (t) => {
    const { subject, vault, request, executed } = await newTry(t);
    await subject.banks('recognize');
    assertAuthenticated(await vault.charge(request), 'frictionless');
    assert.equal(await executed(), 1);
  });

  it('asks no customer if the bank does not want it', async (t) => {
    const { subject, vault, request } = await newTry(t);
    await subject.banks('nothing');
    assertApproved(await vault.charge(request));
  });

  it('declines without the customer, and says that the customer is wanted', async (t) => {
    for (const credential of [undefined, { ...byMerchant, networkTransactionId: null }]) {
      const { vault, request, executed } = await newTry(t, credential && { credential });
      const { presence: _, ...without } = request;
      const found = await vault.charge(without);
      assert.ok(found.outcome === 'declined', inspect(found));
      assert.deepEqual(
        [found.failureCode, found.failureReason, found.needsAuthentication],
        ['transaction_not_allowed', wantsCustomerReason, true],
      );
      assert.equal(await executed(), 0);
    }
  });

  it('passes on what a server of the merchant has found', async (t) => {
    const { vault, request, executed } = await newTry(t, { authentication: external });
    const { presence: _, ...without } = request;
    assertApproved(await vault.charge(without));
    assert.equal(await executed(), 1);
  });
}

export function authenticationConformance(name: string, open: OpenSubject): void {
  describe(`${name} and the bank that asks its customer`, () => {
    const begun = tries(open);
    conformanceOfAnswers(begun);
    conformanceOfReturns(begun);
    conformanceOfQuestions(begun);
  });
  setUpConformance(name, open);
}
