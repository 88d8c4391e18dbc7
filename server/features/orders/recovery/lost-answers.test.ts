import { vaultBehind } from '../../../../tests/support/connect.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloneDatabase, type TestDatabase } from '../../../../tests/support/database.ts';
import { type FreezingProxy, startFreezingProxy } from '../../../../tests/support/freezing-proxy.ts';
import { openShop, order, readOrder, refund, retry, type Shop, succeeded } from '../../../../tests/support/orders.ts';
import { someCustomer, startTestService, type TestService } from '../../../../tests/support/service.ts';
import { openDatabase } from '../../../platform/database.ts';
import { createLog } from '../../../platform/log.ts';
import { localVault, type Vault } from '../../../vault/vault.ts';
import { openAuditLog } from '../../audit/service.ts';

/**
 * The database carries out what it was sent, and the network loses its answer. Whether a statement took effect is
 * unknown then: everything that moves money finds out by reading what is there.
 */

let database: TestDatabase;
let proxy: FreezingProxy;
let service: TestService;
let shop: Shop;
/** Of the next call to the processor: afterwards every answer of the database is lost on the connections there are. */
let losing = false;

before(async () => {
  database = await cloneDatabase(1);
  proxy = await startFreezingProxy(database.apiUrl);
  let vault: Vault | undefined;
  const inner = (): Vault => (vault ??= localVault(service.vaultDb, service.keys, service.clock));
  const atProcessor = async <Result>(work: Promise<Result>): Promise<Result> => {
    const result = await work;
    if (losing) proxy.loseAnswers();
    losing = false;
    return result;
  };
  const own: Partial<Vault> = {
    charge: (request) => atProcessor(inner().charge(request)),
    refund: (request) => atProcessor(inner().refund(request)),
    void: (request) => atProcessor(inner().void(request)),
    nowMs: async () => Date.now(),
    operations: async () => undefined,
  };
  const between = vaultBehind(inner, () => own);
  service = await startTestService({
    database: { ...database, apiUrl: proxy.through(database.apiUrl) },
    // On a slow machine a statement can take a second.
    settings: { SVC_DATABASE_TIMEOUT_MS: '2500' },
    vault: between,
  });
  shop = await openShop(service);
});

after(async () => {
  await service.stop();
  await proxy.stop();
  await database.drop();
});

const count = async (table: string): Promise<number> => {
  const [row] = await service.db.query<{ count: number }>(`SELECT count(*) FROM ${table}`);
  return row?.count ?? 0;
};

describe('an answer of the database that is lost', () => {
  it('after a charge: the order is answered as it was recorded, and charged once', async () => {
    const idempotencyKey = randomUUID();
    losing = true;
    const reply = await order(service, shop, {}, { idempotencyKey });
    assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
    const read = await readOrder(service, reply.body.id);
    assert.deepEqual(
      read.transactions.map(({ type, status }: Record<string, string>) => [type, status]),
      [['sale', 'succeeded']],
    );
    const repeated = await order(service, shop, {}, { idempotencyKey });
    assert.deepEqual([repeated.status, repeated.text], [201, reply.text]);
  });

  it('after a refund: it is recorded once, and the repeated key gives the same', async () => {
    const { id, total } = await succeeded(service, shop);
    const idempotencyKey = randomUUID();
    losing = true;
    const reply = await refund(service, id, undefined, { idempotencyKey });
    assert.deepEqual([reply.status, reply.body.refunded_amount], [200, total], reply.text);
    const repeated = await refund(service, id, undefined, { idempotencyKey });
    assert.deepEqual([repeated.status, repeated.text], [200, reply.text]);
    const { transactions } = await readOrder(service, id);
    assert.equal(transactions.filter(({ type }: Record<string, string>) => type === 'refund').length, 1);
  });

  it('after a retry: the second attempt counts once', async () => {
    const declinesOnce = await openShop(service, '4000009999003220');
    const first = await order(service, declinesOnce);
    assert.equal(first.body.status, 'failed');
    losing = true;
    const reply = await retry(service, first.body.id);
    assert.deepEqual([reply.status, reply.body.status, reply.body.attempt_count], [200, 'succeeded', 1], reply.text);
    assert.equal((await readOrder(service, first.body.id)).transactions.length, 2);
  });

  it('before a charge: 503, and the repeated key never makes a second order', async () => {
    const before = await count('orders');
    const idempotencyKey = randomUUID();
    proxy.loseAnswersFrom(idempotencyKey);
    const lost = await order(service, shop, {}, { idempotencyKey });
    assert.deepEqual([lost.status, lost.body.error.code], [503, 'service_unavailable']);
    const repeated = await order(service, shop, {}, { idempotencyKey });
    assert.ok([201, 409].includes(repeated.status), repeated.text);
    assert.equal(await count('orders'), before + 1);
  });

  it('of the intent of a charge: the service reads what was recorded, and sends the charge', async () => {
    const before = await count('orders');
    const description = `lost ${randomUUID()}`;
    proxy.loseAnswersFrom(description);
    const reply = await order(service, shop, { description });
    assert.deepEqual([reply.status, reply.body.status], [201, 'succeeded'], reply.text);
    assert.equal(await count('orders'), before + 1);
  });

  it('of an ordinary write: 503, and the repeated key answers with what was written', async () => {
    const before = await count('customers');
    const options = { body: someCustomer(), idempotencyKey: randomUUID() };
    proxy.loseAnswersFrom(options.idempotencyKey);
    assert.equal((await service.call('POST', '/v1/customers', options)).status, 503);
    // PostgreSQL keeps the lock of the key until it notices that the transaction was abandoned.
    let repeated = await service.call('POST', '/v1/customers', options);
    for (let tries = 0; repeated.status === 409 && tries < 40; tries += 1) {
      await sleep(100);
      repeated = await service.call('POST', '/v1/customers', options);
    }
    assert.equal(repeated.status, 201, repeated.text);
    assert.equal(await count('customers'), before + 1);
  });

  it('of the audit log: the entry is written again, and is there once', async () => {
    const pool = openDatabase({
      connectionString: proxy.through(database.apiUrl),
      poolSize: 1,
      applicationName: 'svc tests',
      onError: () => undefined,
      statementTimeoutMs: 2_000,
    });
    await pool.query('SELECT 1');
    const lines: string[] = [];
    const shard = { name: 'a', db: pool };
    const audit = openAuditLog(
      { each: (use) => use(shard), of: () => shard, find: async () => shard },
      createLog('error', { write: (line) => lines.push(line) }),
    );
    proxy.loseAnswersFrom('a lost answer');
    audit.write('a', {
      companyId: service.company.id,
      atMs: Date.now(),
      actor: { kind: 'operator', id: null, name: 'a lost answer' },
      action: 'companies.update',
      objectId: null,
      fields: [],
      address: '',
      requestId: '',
    });
    await audit.flush();
    await pool.close();
    assert.deepEqual(lines, []);
    // The entries of the tests before can still be on their way.
    assert.equal(await count(`audit_entries WHERE actor_name = 'a lost answer'`), 1);
  });
});
