import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { examine } from '../../../../cli/doctor.ts';
import {
  type ConnectedMerchant,
  type LiveService,
  startLiveService,
} from '../../../../tests/support/live-merchants.ts';
import { executedAt, type LiveProcessors } from '../../../../tests/support/live-processors.ts';
import { assertRefused, order, readOrder, refund } from '../../../../tests/support/orders.ts';
import type { Reply, TestService } from '../../../../tests/support/service.ts';
import { eventually } from '../../../../tests/support/webhooks.ts';
import type { Vault } from '../../../vault/vault.ts';
import { claimStopped } from './due-queries.ts';
import { discardUnexecuted, findOpenOf, startSending } from '../operations/open-queries.ts';

/**
 * A process is so late that its operation is looked up, and then learns that the processor refused the credentials. A
 * lookup at Adyen completes what was prepared, so only one of the two may go on.
 */

let live: LiveService;
let service: TestService;
let fakes: LiveProcessors;
let vault: Vault;
/** What stands between the service and its vault. */
let interference: Partial<Vault> = {};

before(async () => {
  live = await startLiveService({}, () => interference);
  ({ service, fakes, vault } = live);
});
after(() => live.stop());

const repair = (): Promise<void> => fakes.adyen.control({ next: [], revoked: false });
beforeEach(async () => {
  interference = {};
  await repair();
});

/** How often the processors have executed an operation of this kind. */
const executed = async (kind: 'charge' | 'refund'): Promise<number> =>
  (await executedAt(fakes.adyen, kind)) + (await executedAt(fakes.nmi, kind));

/** Lets a call of the vault run, and holds what it returns. */
function holdAnswer(name: 'charge' | 'refund' | 'void'): { readonly held: Promise<void>; readonly answer: () => void } {
  const held = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  interference[name] = async (request: never) => {
    const outcome = await vault[name](request);
    held.resolve();
    await answered.promise;
    return outcome;
  };
  return { held: held.promise, answer: answered.resolve };
}

/** Holds a lookup before it reaches the vault. */
function holdLookup(): { readonly held: Promise<void>; readonly lookUp: () => void } {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  interference.lookup = async (request) => {
    held.resolve();
    await released.promise;
    return vault.lookup(request);
  };
  return { held: held.promise, lookUp: released.resolve };
}

async function openOrderOf({ companyId }: ConnectedMerchant): Promise<string> {
  const [row] = await service.db.query<{ order_id: string }>(
    'SELECT order_id FROM open_transactions WHERE company_id = $1',
    [companyId],
  );
  return row?.order_id ?? assert.fail('nothing is open');
}

async function lastOrderOf(companyId: string): Promise<string> {
  const [row] = await service.db.query<{ id: string }>(
    'SELECT id FROM orders WHERE company_id = $1 ORDER BY id DESC LIMIT 1',
    [companyId],
  );
  return row?.id ?? assert.fail('there is no order');
}

const resolvers = {
  'the worker': () => service.orders.reconcileDue(1_000),
  'a reader': ({ companyId }: ConnectedMerchant, orderId: string) => service.orders.reconcile(companyId, orderId),
} as const;

/** The reservation of the operation ends, and it is looked up when its sender learns that it was refused. */
async function refuseLate(
  merchant: ConnectedMerchant,
  { call, fault, resolver }: { call: 'charge' | 'refund' | 'void'; fault: string; resolver: keyof typeof resolvers },
  request: () => Promise<Reply>,
): Promise<{ readonly reply: Reply; readonly orderId: string }> {
  await fakes.adyen.control({ next: [fault] });
  const sender = holdAnswer(call);
  const sending = request();
  await sender.held;
  await repair();
  const orderId = await openOrderOf(merchant);
  await service.db.query('UPDATE open_transactions SET next_check_at = now(), locked_until = now()');
  const lookup = holdLookup();
  const resolving = resolvers[resolver](merchant, orderId);
  await lookup.held;
  sender.answer();
  const reply = await sending;
  lookup.lookUp();
  await resolving;
  interference = {};
  return { reply, orderId };
}

for (const resolver of Object.keys(resolvers) as (keyof typeof resolvers)[]) {
  describe(`while ${resolver} looks up an operation, its late sender`, () => {
    for (const kinds of [['adyen', 'nmi'], ['adyen']] as const) {
      const does = kinds.length > 1 ? 'does not charge the next connection' : 'does not record that it failed';
      it(does, async () => {
        const merchant = await live.openMerchant(...kinds);
        const before = await executed('charge');
        const options = { key: merchant.key, idempotencyKey: randomUUID() };
        const place = (): Promise<Reply> => order(service, merchant.shop, {}, options);
        const late = { call: 'charge', fault: 'capture:revoke', resolver } as const;
        const { reply, orderId } = await refuseLate(merchant, late, place);
        assertRefused(reply, 502, 'gateway_error');
        assert.equal((await readOrder(service, orderId, merchant)).status, 'succeeded');
        assert.equal(await executed('charge'), before + 1);
        const repeated = await place();
        assert.deepEqual([repeated.body.id, repeated.body.status], [orderId, 'succeeded'], repeated.text);
      });
    }

    it('does not discard a refund', async () => {
      const merchant = await live.openMerchant('adyen');
      const { key } = merchant;
      const { id } = (await order(service, merchant.shop, {}, { key })).body;
      const before = await executed('refund');
      const idempotencyKey = randomUUID();
      const giveBack = (): Promise<Reply> => refund(service, id, undefined, { key, idempotencyKey });
      const late = { call: 'refund', fault: 'refund:revoke', resolver } as const;
      assertRefused((await refuseLate(merchant, late, giveBack)).reply, 502, 'gateway_error');
      assert.equal((await readOrder(service, id, merchant)).status, 'refunded');
      assert.equal((await giveBack()).body.status, 'refunded');
      assert.equal(await executed('refund'), before + 1);
    });

    it('does not discard a void', async () => {
      const merchant = await live.openMerchant('adyen');
      const { id } = (await order(service, merchant.shop, {}, { key: merchant.key })).body;
      const options = { company: merchant.companyId, idempotencyKey: randomUUID() };
      const cancel = (): Promise<Reply> => merchant.owner.in('POST', `/v1/orders/${id}/void`, {}, options);
      const late = { call: 'void', fault: 'void:revoke', resolver } as const;
      assertRefused((await refuseLate(merchant, late, cancel)).reply, 502, 'gateway_error');
      assert.equal((await readOrder(service, id, merchant)).status, 'voided');
      assert.equal((await cancel()).body.status, 'voided');
    });
  });
}

/** Stops the next update of orders until the returned function is called. */
async function holdUpdates(): Promise<{ readonly held: () => Promise<boolean>; readonly go: () => Promise<void> }> {
  const lock = 4242;
  await service.db.query(
    `CREATE FUNCTION held_update() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN PERFORM pg_advisory_xact_lock(${lock}); RETURN NULL; END $$`,
  );
  await service.db.query(
    'CREATE TRIGGER held_update BEFORE UPDATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION held_update()',
  );
  const taken = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = service.db.transaction(async (transaction) => {
    await transaction.query(`SELECT pg_advisory_xact_lock(${lock})`);
    taken.resolve();
    await released.promise;
  });
  await taken.promise;
  const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`;
  return {
    held: async () => (await service.db.query(waits)).length > 0,
    async go() {
      released.resolve();
      await holding;
    },
  };
}

it('a sender that stops before it records a refusal does not record it after a lookup has executed the charge', async () => {
  const { companyId, shop, key } = await live.openMerchant('adyen');
  const before = await executed('charge');
  await fakes.adyen.control({ next: ['capture:revoke'] });
  const updates = await holdUpdates();
  const sending = order(service, shop, {}, { key, idempotencyKey: randomUUID() });
  await eventually('the sender is about to record', updates.held);
  await repair();
  await service.db.query(
    'UPDATE open_transactions SET next_check_at = now(), locked_until = now() WHERE company_id = $1',
    [companyId],
  );
  const looking = service.orders.reconcileDue(1_000);
  await eventually('the lookup has executed it', async () => (await executed('charge')) === before + 1);
  await updates.go();
  const { body } = await sending;
  await looking;
  await service.db.query('DROP TRIGGER held_update ON orders');
  assert.notEqual(body.status, 'failed');
  assert.equal((await readOrder(service, body.id ?? (await lastOrderOf(companyId)), { key })).status, 'succeeded');
});

it('a sender discards nothing that is in doubt', async () => {
  const merchant = await live.openMerchant('adyen');
  const sender = holdAnswer('charge');
  const sending = order(service, merchant.shop, {}, { key: merchant.key });
  await sender.held;
  const [open] = await findOpenOf(service.db, merchant.companyId, await openOrderOf(merchant));
  assert.ok(open);
  await service.db.query('UPDATE open_transactions SET in_doubt = true WHERE id = $1', [open.id]);
  assert.equal(await discardUnexecuted(service.db, open), false);
  sender.answer();
  assert.equal((await sending).body.status, 'succeeded');
});

it('a reader does not look up a charge that its sender sends to the next connection', async () => {
  const merchant = await live.openMerchant('adyen', 'nmi');
  const sender = holdAnswer('charge');
  const sending = order(service, merchant.shop, {}, { key: merchant.key });
  await sender.held;
  const [open] = await findOpenOf(service.db, merchant.companyId, await openOrderOf(merchant));
  assert.ok(open);
  assert.equal(await claimStopped(service.db, open), undefined, 'it is reserved for its sender');
  const started = await startSending(service.db, open, { connectionId: merchant.connections[1] ?? '' }, 0);
  assert.ok(started);
  assert.equal(await claimStopped(service.db, open), undefined, 'the reader has seen an earlier sending');
  const claimed = await claimStopped(service.db, { ...open, ...started });
  assert.equal(claimed?.state, 'interrupted');
  assert.equal(await startSending(service.db, { ...open, ...started }, {}, 0), undefined, 'it is being looked up');
  sender.answer();
  await sending;
});

it('what is left satisfies the doctor', async () => {
  interference = {};
  assert.deepEqual(
    (await examine(service.db)).filter(({ check }) => check !== 'refused_credentials'),
    [],
  );
});

it('what is in doubt is looked up when its processor answers again, however long it would have waited', async () => {
  const merchant = await live.openMerchant('nmi');
  const ids: string[] = [];
  for (const _ of [1, 2, 3, 4, 5]) {
    interference.charge = async () => ({ outcome: 'unknown', reason: 'the processor is away' });
    assert.equal((await order(service, merchant.shop, {}, { key: merchant.key })).status, 502);
    ids.push(await lastOrderOf(merchant.companyId));
  }
  const statuses = async (): Promise<unknown[]> => {
    const rows = await service.db.query<{ status: string }>(
      'SELECT status FROM orders WHERE id = ANY($1) ORDER BY id',
      [ids],
    );
    return rows.map(({ status }) => status);
  };
  delete interference.charge;
  await service.db.query(
    `UPDATE open_transactions SET next_check_at = now() + interval '1 day', valid_until = now() - interval '1 hour'
     WHERE company_id = $1`,
    [merchant.companyId],
  );
  interference.lookup = async () => ({ outcome: 'unknown', reason: 'the processor is away' });
  await service.orders.probeConnections();
  await service.orders.reconcileDue(1_000);
  assert.deepEqual(new Set(await statuses()), new Set(['pending']));
  interference.lookup = async () => ({ outcome: 'not_found' });
  await service.orders.probeConnections();
  await service.orders.reconcileDue(1_000);
  assert.deepEqual(new Set(await statuses()), new Set(['failed']));
});
