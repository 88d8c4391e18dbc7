import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { someCustomer, someProduct, startTestService, type TestService } from '../../tests/support/service.ts';
import { startTurnProxy, type TurnProxy } from '../../tests/support/turn-proxy.ts';

/** How often a write with an idempotency key waits for the database. */

let database: TestDatabase;
let proxy: TurnProxy;
let service: TestService;

before(async () => {
  database = await cloneDatabase(1);
  proxy = await startTurnProxy(database.apiUrl);
  service = await startTestService({ database: { ...database, apiUrl: proxy.through(database.apiUrl) } });
});
after(async () => {
  await service.stop();
  await proxy.stop();
  await database.drop();
});

const count = async (method: string, path: string, body: unknown): Promise<{ turns: number; id: string }> => {
  const key = `key-${randomUUID()}`;
  const reply = await service.call(method, path, { body, idempotencyKey: key });
  assert.ok(reply.status < 300, reply.text);
  const turns = proxy.turnsOf(key).length;
  const again = await service.call(method, path, { body, idempotencyKey: key });
  assert.equal(again.text, reply.text);
  assert.equal(again.headers.get('svc-idempotent-replayed'), 'true');
  return { turns, id: reply.body.id };
};

/** The claim and the work, then the response and the commit. Each further statement that needs the one before adds one. */
const creations: readonly (readonly [path: string, body: () => unknown, turns: number])[] = [
  ['/v1/customers', someCustomer, 2],
  ['/v1/products', someProduct, 2],
  ['/v1/coupons', () => ({ kind: 'promo', name: `TEA-${randomUUID()}`, percentage: 10, duration: 'once' }), 2],
];

describe('a write with a new idempotency key', () => {
  for (const [path, body, turns] of creations)
    it(`takes ${turns} round trips: POST ${path}`, async () => {
      // The first statement of a connection is prepared, which takes no round trip of its own.
      assert.equal((await count('POST', path, body())).turns, turns);
      assert.equal((await count('POST', path, body())).turns, turns);
    });

  it('takes one more for each read that the change depends on', async () => {
    const { id } = await count('POST', '/v1/customers', someCustomer());
    assert.equal((await count('PATCH', `/v1/customers/${id}`, { first_name: 'Grace' })).turns, 3);
  });
});
