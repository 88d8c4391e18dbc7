import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, it } from 'node:test';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { CardNumber } from './card-number.ts';
import { chargeOnce, lookUp } from './charges.ts';
import { findHandle } from './connection-queries.ts';
import type { Connected } from './processors/connections.ts';
import { type ChargeRequest, type LookupOutcome, noResponse, type Processor } from './processors/processor.ts';

/** Charges at a processor that finds an operation only by the handle of its prepared object. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const newCharge = (): ChargeRequest => ({
  companyId: randomUUID(),
  reference: randomUUID(),
  validUntilMs: Date.now() + 60_000,
  card: { number: new CardNumber('4242424242424242'), cardId: randomUUID(), expMonth: 1, expYear: 2031 },
  amount: 100,
  currency: 'usd',
});

interface Scene {
  readonly connected: Connected & { readonly connectionId: string };
  readonly calls: string[];
}

/** A processor that notes what it is asked. */
function scene(change: Partial<Processor> = {}): Scene {
  const calls: string[] = [];
  const never = async (): Promise<never> => assert.fail('not asked for');
  const processor: Processor = {
    onceBy: 'key',
    findsBy: 'handle',
    prepare: async () => {
      calls.push('prepare');
      return { outcome: 'prepared', handle: 'pi_1' };
    },
    charge: async ({ handle }) => {
      calls.push(`charge ${handle}`);
      return { outcome: 'approved', response: { ...noResponse, transaction_id: 'pi_1' } };
    },
    lookup: async ({ handle }) => {
      calls.push(`lookup ${handle}`);
      return { outcome: 'not_found', isFinal: handle !== undefined };
    },
    refund: never,
    void: never,
    ...change,
  };
  return { connected: { processor, connectionId: randomUUID() }, calls };
}

const keyOf = ({ companyId, reference }: ChargeRequest, { connected: { connectionId } }: Scene) => ({
  companyId,
  reference,
  connectionId,
});
const lookUpAs = (request: ChargeRequest, { connected }: Scene, more: object = {}): Promise<LookupOutcome> => {
  const { companyId, reference, validUntilMs } = request;
  return lookUp(service.vaultDb, connected, { companyId, reference, validUntilMs, kind: 'charge', ...more });
};

it('the handle is stored before the charge is sent', async () => {
  const request = newCharge();
  let stored: string | null | undefined;
  const there: Scene = scene({
    charge: async ({ handle }) => {
      stored = await findHandle(service.vaultDb, keyOf(request, there));
      return { outcome: 'unknown', reason: `the answer about ${handle} is lost` };
    },
  });
  assert.equal((await chargeOnce(service.vaultDb, there.connected, request)).outcome, 'unknown');
  assert.equal(stored, 'pi_1');
  await lookUpAs(request, there);
  assert.deepEqual(there.calls, ['prepare', 'lookup pi_1'], 'the lookup names it');
});

it('a charge that is sent again uses the object that was prepared first', async () => {
  const [request, there] = [newCharge(), scene()];
  await chargeOnce(service.vaultDb, there.connected, request);
  await chargeOnce(service.vaultDb, there.connected, request);
  assert.deepEqual(there.calls, ['prepare', 'charge pi_1', 'charge pi_1']);
});

it('a charge that was never prepared never happened, and never will', async () => {
  const [request, there] = [newCharge(), scene()];
  assert.deepEqual(await lookUpAs(request, there), { outcome: 'not_found', isFinal: true });
  assert.equal((await chargeOnce(service.vaultDb, there.connected, request)).outcome, 'not_sent');
  assert.deepEqual(there.calls, [], 'nothing was sent, neither by the lookup nor by the late charge');
});

it('a charge that is given up while it is prepared is not sent', async () => {
  const request = newCharge();
  const there: Scene = scene({
    prepare: async () => {
      assert.equal((await lookUpAs(request, there)).outcome, 'not_found');
      return { outcome: 'prepared', handle: 'pi_late' };
    },
  });
  assert.equal((await chargeOnce(service.vaultDb, there.connected, request)).outcome, 'not_sent');
  assert.deepEqual(there.calls, []);
});

it('a failed preparation is an outcome, and nothing is stored', async () => {
  const request = newCharge();
  const there = scene({ prepare: async () => ({ outcome: 'not_sent', reason: 'the connection was refused' }) });
  assert.equal((await chargeOnce(service.vaultDb, there.connected, request)).outcome, 'not_sent');
  assert.equal(await findHandle(service.vaultDb, keyOf(request, there)), undefined);
});

it('a connection does not see the handles of another', async () => {
  const [request, one, other] = [newCharge(), scene(), scene()];
  await chargeOnce(service.vaultDb, one.connected, request);
  assert.deepEqual(await lookUpAs(request, other), { outcome: 'not_found', isFinal: true });
});

it('a charge that is given up is cancelled at a processor that only sends notices', async () => {
  const [request, there] = [newCharge(), scene({ findsBy: 'notice' })];
  assert.deepEqual(await lookUpAs(request, there), { outcome: 'not_found', isFinal: true });
  assert.deepEqual(there.calls, ['lookup undefined'], 'which cancels what was prepared');
});

it('a lookup of a closed charge captures nothing at a processor that only sends notices', async () => {
  const [request, there] = [newCharge(), scene({ findsBy: 'notice' })];
  await chargeOnce(service.vaultDb, there.connected, request);
  const found = await lookUpAs(request, there);
  assert.ok(found.outcome === 'unknown' && found.isUnanswerable, 'the caller does not say when it was sent');
  await lookUpAs(request, there, { ageMs: 5_000 });
  assert.deepEqual(there.calls, ['prepare', 'charge pi_1', 'lookup pi_1']);
});

const refused = {
  outcome: 'declined',
  response: noResponse,
  failureCode: 'invalid_merchant_configuration',
  failureReason: 'wrong key',
  refusesCredentials: true,
} as const;

it('a charge whose credentials are refused keeps its handle, and is sent again with it', async () => {
  const request = newCharge();
  let isRefused = true;
  const calls: string[] = [];
  const there = scene({
    charge: async ({ handle }) => {
      calls.push(`charge ${handle}`);
      return isRefused ? refused : { outcome: 'approved', response: noResponse };
    },
  });
  assert.deepEqual(await chargeOnce(service.vaultDb, there.connected, request), refused);
  assert.deepEqual(await chargeOnce(service.vaultDb, there.connected, request), refused);
  isRefused = false;
  assert.equal((await chargeOnce(service.vaultDb, there.connected, request)).outcome, 'approved');
  assert.deepEqual([there.calls, calls], [['prepare'], ['charge pi_1', 'charge pi_1', 'charge pi_1']]);
});
