import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { openShop, order, refund, type Shop, succeeded } from '../../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../../tests/support/service.ts';
import { deriveReference, nextFree, subjects } from './reference.ts';

const company = '019c4c1f-5001-7d00-9e33-4f5061728394';
const id = '019c4c1f-5001-7d00-9e33-000000000001';

describe('a reference', () => {
  it('is the same in every version: a restored database must find what an older one has sent', () => {
    const derived = {
      key: subjects.key('a-key'),
      cycle: subjects.cycle(company, 2),
      retry: subjects.retry(company),
      keyedRefund: subjects.keyedRefund('a-key'),
      refund: subjects.refund(company),
      void: subjects.void(company),
    };
    const references = Object.entries(derived).map(([name, subject]) => [
      name,
      deriveReference(company, { subject, number: 1 }),
    ]);
    assert.deepEqual(Object.fromEntries(references), {
      key: '2d9c19d3-b202-8628-8569-0d2c46050e54',
      cycle: '8e51a268-3866-8313-a458-9d12d934972d',
      retry: '6c7b39f9-8419-862c-a3f6-9fa7f8a1c2a4',
      keyedRefund: '79096e43-fedd-8355-9345-0ab1ed94f581',
      refund: '4826052d-dfaf-8758-bc26-ab9caf55f238',
      void: '3d548c05-8998-8d48-b9ff-aedc85021002',
    });
  });

  it('differs by company, subject and number, is a UUID and shows nothing of the key', () => {
    const secret = 'a-very-secret-key';
    const all = [company, id].flatMap((companyId) =>
      [subjects.key(secret), subjects.keyedRefund(secret), subjects.cycle(id, 1), subjects.retry(id)].flatMap(
        (subject) => [0, 1, 2].map((number) => deriveReference(companyId, { subject, number })),
      ),
    );
    assert.equal(new Set(all).size, 24);
    for (const reference of all) {
      assert.match(reference, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it('takes the first number that is free', () => {
    const subject = subjects.retry(id);
    const taken = new Set([1, 2, 4].map((number) => deriveReference(company, { subject, number })));
    assert.equal(nextFree(company, { subject, number: 0 }, taken).number, 0);
    assert.equal(nextFree(company, { subject, number: 1 }, taken).number, 3);
  });
});

describe('operations in the books', () => {
  let service: TestService;
  let shop: Shop;
  before(async () => {
    service = await startTestService();
    shop = await openShop(service);
  });
  after(() => service.stop());

  const referencesOf = async (orderId: string): Promise<string[]> => {
    const rows = await service.db.query<{ reference: string }>(
      'SELECT reference FROM all_transactions WHERE order_id = $1 ORDER BY id',
      [orderId],
    );
    return rows.map(({ reference }) => reference);
  };
  const derived = (subject: readonly string[], number: number): string =>
    deriveReference(service.company.id, { subject, number });

  it('have the reference of their key, and of the next generation when the key is used again after a day', async () => {
    const idempotencyKey = randomUUID();
    const orders: string[] = [];
    for (let generation = 0; generation < 3; generation += 1) {
      const reply = await order(service, shop, {}, { idempotencyKey });
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.headers.get('svc-idempotent-replayed'), null);
      assert.deepEqual(await referencesOf(reply.body.id), [derived(subjects.key(idempotencyKey), generation)]);
      orders.push(reply.body.id);
      service.clock.advance(25 * 3_600_000);
    }
    assert.equal(new Set(orders).size, 3);
  });

  it('count the refunds of an order where there is no key', async () => {
    const { id: orderId } = await succeeded(service, shop);
    const idempotencyKey = randomUUID();
    for (const options of [{}, { idempotencyKey }, {}]) {
      const reply = await refund(service, orderId, 100, options);
      assert.equal(reply.status, 200, reply.text);
      await service.orders.reconcileDue(100);
    }
    assert.deepEqual((await referencesOf(orderId)).slice(1), [
      derived(subjects.refund(orderId), 0),
      derived(subjects.keyedRefund(idempotencyKey), 0),
      derived(subjects.refund(orderId), 2),
    ]);
  });

  it('have a reference of their own, which the database enforces', async () => {
    const [first, second] = [await succeeded(service, shop), await succeeded(service, shop)];
    const [reference] = await referencesOf(first.id);
    await assert.rejects(
      service.db.query('UPDATE transactions SET reference = $2 WHERE order_id = $1', [second.id, reference]),
      /transactions_reference/,
    );
  });
});
