import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, it } from 'node:test';
import { inspect } from 'node:util';
import { chargeOf, refundOf } from '../../../../tests/support/processor-requests.ts';
import { type Simulator, startSimulator } from '../../../../tests/support/simulator.ts';
import type { SimulatedOperation } from '../../../../simulators/nmi/books.ts';
import { CardNumber } from '../../card-number.ts';
import type { Notice } from '../notices.ts';
import type { ChargeRequest, Processor, ProcessorCard } from '../processor.ts';
import { nmiKind } from './kind.ts';

/** What differs from one account at NMI to another: its processors, its limits, and charges that are returned later. */

const securityKey = 'FakeSecurityKey'.padEnd(32, '6');
const card: ProcessorCard = {
  number: new CardNumber('4242424242424242'),
  cardId: randomUUID(),
  expMonth: 3,
  expYear: 2032,
};
const companyId = randomUUID();

let fake: Simulator;
let processor: Processor;

const connect = (url: string, timeoutMs = 10_000, configuration: Record<string, string> = {}): Processor =>
  nmiKind.open(
    { security_key: securityKey, api_url: url, ...configuration },
    { timeoutMs, extraOrigins: [new URL(url).origin] },
  );

before(async () => {
  fake = await startSimulator('nmi', securityKey);
  processor = connect(fake.url);
});
after(() => fake.stop());
beforeEach(() => fake.control({ next: [], settle_after_ms: null }));

const newCharge = (): ChargeRequest => chargeOf(card, { companyId });

async function charged(): Promise<ChargeRequest & { transactionId: string }> {
  const request = newCharge();
  const outcome = await processor.charge(request);
  assert.ok(outcome.outcome === 'approved', inspect(outcome));
  return { ...request, transactionId: outcome.response.transaction_id ?? '' };
}

async function executed(reference: string): Promise<SimulatedOperation[]> {
  const { operations } = (await fake.call('GET', '/journal')) as { operations: SimulatedOperation[] };
  return operations.filter((one) => one.reference === reference);
}

async function polledAll(): Promise<Notice[]> {
  const notices: Notice[] = [];
  for (let after: string | undefined; ; ) {
    const polled = await processor.poll?.({ companyId, ...(after !== undefined && { after }) });
    assert.ok(polled);
    notices.push(...polled.notices);
    if (!polled.hasMore) return notices;
    after = polled.cursor;
  }
}

it('reports a charge that is returned after it settled as not captured, once more', async () => {
  await fake.control({ settle_after_ms: 0 });
  const charge = await charged();
  const kindOf = async (condition: string): Promise<string | undefined> =>
    (await polledAll()).find(({ id }) => id === `${charge.transactionId}:${condition}`)?.about.kind;
  assert.equal(await kindOf('complete'), 'settled');
  await fake.call('POST', '/control/returns', { reference: charge.reference });
  assert.deepEqual([await kindOf('failed'), await kindOf('complete')], ['not_captured', undefined]);
});

it('sends charges and verifications to the processor of the connection', async () => {
  await fake.control({
    processors: [
      { id: 'first', currencies: ['EUR'] },
      { id: 'second', currencies: ['USD'] },
    ],
  });
  const of = (processor_id: string): Processor => connect(fake.url, 10_000, { processor_id });
  const outcomeOf = async (by: Processor): Promise<string> => {
    const { outcome, ...rest } = await by.charge(newCharge());
    return `${outcome}${'failureCode' in rest ? ` ${rest.failureCode}` : ''}`;
  };
  assert.equal(await outcomeOf(of('second')), 'approved');
  for (const wrong of [processor, of('first'), of('third')]) {
    assert.equal(await outcomeOf(wrong), 'declined invalid_merchant_configuration');
  }
  await fake.control({ processors: [{ id: 'ccprocessora' }] });
});

it('301 was not executed: a charge and a refund can be sent again', async () => {
  const again = { next: ['code_301_before'] };
  await fake.control(again);
  const request = newCharge();
  assert.equal((await processor.charge(request)).outcome, 'not_sent');
  assert.deepEqual(await executed(request.reference), []);
  assert.equal((await processor.charge(request)).outcome, 'approved');
  const refund = refundOf(request, 500);
  await fake.control(again);
  assert.equal((await processor.refund(refund)).outcome, 'not_sent');
  assert.equal((await processor.refund(refund)).outcome, 'approved');
  assert.equal((await executed(refund.reference)).length, 1);
});
