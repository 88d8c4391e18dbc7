import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { type Ended, svc } from '../tests/support/command.ts';
import { eventTypes, openShop, order, readOrder, succeeded } from '../tests/support/orders.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const run = (...words: string[]): Promise<Ended> =>
  svc(
    {
      ...service.database.settings,
      SVC_DATA_DIR: service.config.dataDir,
      SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
    },
    ...words,
  );
const chargeback = (id: string, ...options: string[]): Promise<Ended> =>
  run('orders', 'chargeback', id, '--company', service.company.id, ...options);

const audited = (id: string): Promise<object[]> =>
  service.db.query(
    `SELECT action, fields FROM audit_entries WHERE object_id = $1 AND actor_kind = 'operator' ORDER BY id`,
    [id],
  );

test('records a dispute and how it ended, with events and audit entries of the operator', async () => {
  const { id, order_number } = await succeeded(service, await openShop(service));
  const raised = await chargeback(id);
  assert.equal(raised.stdout, `The status of order ${order_number} is chargeback.\n`, raised.stderr);
  const ended = await chargeback(id, '--outcome', 'dismissed', '--json');
  assert.equal(JSON.parse(ended.stdout).status, 'chargeback_dismissed', ended.stderr);

  assert.equal((await readOrder(service, id)).status, 'chargeback_dismissed');
  assert.deepEqual((await eventTypes(service, id)).slice(-2), ['order.chargeback', 'order.chargeback_dismissed']);
  const [dispute] = await service.db.query('SELECT state, connection_id FROM disputes WHERE order_id = $1', [id]);
  assert.deepEqual(dispute, { state: 'won', connection_id: null });
  assert.deepEqual(await audited(id), [
    { action: 'raiseChargeback', fields: [] },
    { action: 'resolveChargeback', fields: ['outcome'] },
  ]);
});

test('voids a charge that has not settled', async () => {
  const { id, order_number } = await succeeded(service, await openShop(service));
  const { stdout, stderr } = await run('orders', 'void', id, '--company', service.company.id);
  assert.equal(stdout, `Order ${order_number} was voided.\n`, stderr);
  assert.deepEqual(await audited(id), [{ action: 'voidOrder', fields: [] }]);
});

test('captures the payment of an order whose funds are held', async () => {
  const held = await order(service, await openShop(service), { capture: 'manual' });
  const { id, order_number } = held.body;
  const wrong = await run('orders', 'capture', id, '--company', service.company.id, '--amount', '1.50');
  assert.match(wrong.stderr, /--amount must be a whole number/);
  const { stdout, stderr } = await run('orders', 'capture', id, '--company', service.company.id, '--amount', '3000');
  assert.equal(stdout, `The status of order ${order_number} is succeeded: 3000 captured.\n`, stderr);
  assert.deepEqual(await audited(id), [{ action: 'captureOrder', fields: ['amount'] }]);
});

test('explains a wrong outcome, a wrong id and an order that does not exist', async () => {
  const mistakes = await Promise.all([
    chargeback(randomUUID(), '--outcome', 'lost'),
    chargeback('order_1'),
    chargeback(randomUUID()),
  ]);
  assert.deepEqual(
    mistakes.map(({ code, stderr }) => [code, stderr]),
    [
      [2, '--outcome must be raised, accepted or dismissed.\n'],
      [2, '"order_1" is not an ID. Use orders chargeback ID.\n'],
      [3, 'No order with this ID exists.\n'],
    ],
  );
});
