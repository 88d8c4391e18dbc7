import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { answerBank } from '../../../../tests/support/bank-page.ts';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import { authenticationConformance } from '../conformance-authentication.ts';
import { asTheVault, assertAsked, external, presence } from '../conformance-customers.ts';
import type { ChargeRequest } from '../processor.ts';
import { card, type FakeAdyen, newCharge, open, startAdyen } from './testing.ts';

let adyen: FakeAdyen;

before(async () => {
  adyen = await startAdyen();
});
after(() => adyen.stop());
const habits = { wants_authentication: false, frictionless: false, completes_alone: false };
beforeEach(async () => {
  await adyen.reset();
  await adyen.control({ additional_data: true, network_references: true, ...habits });
});
afterEach(async () => {
  await adyen.checkTraces();
  assert.ok(!(await adyen.traces()).includes(external.cavv), 'the proof of the bank is kept');
});

const executions = async (reference: string): Promise<number> =>
  (await adyen.executed(reference)).filter(({ status }) => status === 'approved').length;

/** The handle of the notice that Adyen holds funds. */
async function noticed(reference: string): Promise<string | undefined> {
  const found = adyen.received.findLast(
    ({ about }) => about.kind === 'authorized' && about.charge.reference === reference,
  );
  return found?.about.kind === 'authorized' ? found.about.handle : undefined;
}

for (const completes_alone of [true, false]) {
  authenticationConformance(
    `Adyen, which ${completes_alone ? 'authorizes' : 'does not authorize'} before the customer returns,`,
    async () => ({
      processor: adyen.processor,
      card,
      executions,
      noticed,
      completesAlone: completes_alone,
      declineNext: () => adyen.control({ next: ['decline:12'] }),
      banks: (what) =>
        adyen.control({
          ...{ completes_alone, wants_authentication: what !== 'nothing', frictionless: what === 'recognize' },
        }),
    }),
  );
}

async function asked(changes: Partial<ChargeRequest> = {}) {
  await adyen.control({ wants_authentication: true });
  const vault = asTheVault(adyen.processor);
  const request = newCharge({ presence, ...changes });
  const url = assertAsked(await vault.charge(request));
  return { vault, request, url };
}

describe('an Adyen that loses answers around the bank', () => {
  for (const fault of ['timeout', 'error', 'reset']) {
    for (const when of ['before', 'after']) {
      it(`${fault}_${when}: the details of a return are passed on once more under their key`, async () => {
        const { vault, request, url } = await asked();
        const returned = await answerBank(url, 'pass');
        await adyen.control({ next: [`details:${fault}_${when}`] });
        const hasty = asTheVault(open(adyen.url, {}, fault === 'timeout' ? 300 : 10_000));
        assert.equal((await hasty.resume(request, { returned })).outcome, 'unknown');
        assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
        assert.equal(await executions(request.reference), 1);
      });

      it(`${fault}_${when}: the capture after a return is repeated under its key`, async () => {
        const { vault, request, url } = await asked();
        const returned = await answerBank(url, 'pass');
        await adyen.control({ next: [`capture:${fault}_${when}`] });
        const found = await vault.resume(request, { returned });
        assert.ok(fault === 'timeout' || found.outcome === 'unknown', inspect(found));
        await waitUntil(async () => (await vault.resume(request)).outcome === 'approved');
        assert.equal((await vault.end(request)).outcome, 'approved', 'what is captured is not given up');
        assert.equal(await executions(request.reference), 1);
      });
    }
  }

  it('a process that dies after the details has the charge completed by the notice', async () => {
    const { vault, request, url } = await asked();
    const returned = await answerBank(url, 'pass');
    // Another process passes the details on, and dies before it stores anything.
    assert.equal(
      (await adyen.processor.resume?.({ ...lookupOf(request), returned: returned ?? {} }))?.outcome,
      'prepared',
    );
    await waitUntil(async () => (await noticed(request.reference)) !== undefined);
    const noticedHandle = await noticed(request.reference);
    assert.ok(noticedHandle);
    const found = await vault.resume(request, { noticedHandle });
    assert.ok(found.outcome === 'approved', inspect(found));
    assert.equal(await executions(request.reference), 1);
    // The notice does not say whether the bank asked the customer or recognized them.
    const { flow, status, liabilityShifted } = found.authentication ?? {};
    assert.deepEqual([flow, status, liabilityShifted], [null, 'authenticated', true]);
    assert.match(found.networkTransactionId ?? '', /\w/);
  });

  it('what the bank confirmed after it was given up is never captured', async () => {
    await adyen.control({ completes_alone: true });
    const { vault, request, url } = await asked();
    assert.deepEqual(await vault.end(request), { outcome: 'not_found', isFinal: true });
    await answerBank(url, 'pass_and_close');
    await waitUntil(async () => (await noticed(request.reference)) !== undefined);
    const noticedHandle = (await noticed(request.reference)) ?? '';
    assert.deepEqual(await vault.resume(request, { noticedHandle }), { outcome: 'not_found', isFinal: true });
    assert.equal(await executions(request.reference), 0);
    const [pspReference = ''] = noticedHandle.split('|');
    const released = await adyen.processor.release?.({ ...request, transactionId: pspReference });
    assert.equal(released, true);
  });

  it('an account that does not show our reference leaves the decision to the notice', async () => {
    const { vault, request, url } = await asked();
    await adyen.control({ additional_data: false });
    const returned = await answerBank(url, 'pass');
    assert.equal((await vault.resume(request, { returned })).outcome, 'needs_customer');
    await waitUntil(async () => (await noticed(request.reference)) !== undefined);
    const noticedHandle = await noticed(request.reference);
    const found = await vault.resume(request, { ...(noticedHandle && { noticedHandle }) });
    assert.equal(found.outcome, 'approved', inspect(found));
  });

  it('survives a kill of Adyen before and after the answer of the customer', async () => {
    const { vault, request, url } = await asked();
    await adyen.restart();
    await adyen.control({ additional_data: true });
    const returned = await answerBank(url, 'pass');
    await adyen.restart();
    await adyen.control({ additional_data: true });
    assert.equal((await vault.resume(request, { returned })).outcome, 'approved');
    assert.equal(await executions(request.reference), 1);
  });

  it('a bank that wants a form is given up and declined', async () => {
    await adyen.control({ wants_authentication: true, next: ['authentication_by_post'] });
    const found = await asTheVault(adyen.processor).charge(newCharge({ presence }));
    assert.ok(found.outcome === 'declined' && found.needsAuthentication, inspect(found));
  });

  it('a refusal of the customer is in a notice, too', async () => {
    await adyen.control({ completes_alone: true });
    const { request, url } = await asked();
    await answerBank(url, 'fail_and_close');
    const about = await adyen.noticed(request.reference, 'AUTHORISATION');
    assert.ok(about.kind === 'operation' && about.found.outcome === 'declined', inspect(about));
    assert.equal(about.found.authentication?.status, 'failed');
  });

  it('external values of another form are refused', async () => {
    for (const wrong of [{ cavv: 'short' }, { eci: '99' }]) {
      const request = newCharge({ authentication: { ...external, ...wrong } });
      assert.equal((await asTheVault(adyen.processor).charge(request)).outcome, 'declined', inspect(wrong));
    }
  });
});

const lookupOf = ({ companyId, reference, amount, currency }: ChargeRequest) => ({
  ...({
    companyId,
    reference,
    kind: 'charge',
    ageMs: 1_000,
    sent: { amount, currency, last4: card.number.last4 },
  } as const),
});

describe('a card that is being saved at Adyen', () => {
  it('is saved once, with lost answers', async () => {
    await adyen.control({ wants_authentication: true, next: ['authorization:reset_after'] });
    const request = { ...newCharge(), presence };
    const { companyId, reference } = request;
    assert.equal((await adyen.processor.setUp?.(request))?.outcome, 'unknown');
    const again = await adyen.processor.setUp?.(request);
    assert.ok(again?.outcome === 'needs_customer' && again.action, inspect(again));
    const returned = (await answerBank(again.action.url, 'pass')) ?? {};
    await adyen.control({ next: ['details:error_before'] });
    const about = { companyId, reference, handle: again.handle, returned };
    assert.equal((await adyen.processor.resumeSetUp?.(about))?.outcome, 'unknown');
    const saved = await adyen.processor.resumeSetUp?.(about);
    assert.ok(saved?.outcome === 'set_up' && saved.networkTransactionId, inspect(saved));
  });

  it('is not saved by the confirmation of another card', async () => {
    await adyen.control({ wants_authentication: true });
    const [one, other] = [
      { ...newCharge(), presence },
      { ...newCharge(), presence },
    ];
    const asked = await adyen.processor.setUp?.(one);
    assert.ok(asked?.outcome === 'needs_customer' && asked.action, inspect(asked));
    const returned = (await answerBank(asked.action.url, 'pass')) ?? {};
    const { companyId, reference } = other;
    const found = await adyen.processor.resumeSetUp?.({ companyId, reference, handle: reference, returned });
    assert.equal(found?.outcome, 'needs_customer');
  });
});
