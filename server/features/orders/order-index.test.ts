import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { countOf, openShop, succeeded } from '../../../tests/support/orders.ts';
import { planOf } from '../../../tests/support/plans.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { findDueIndexes } from './index-queries.ts';
import { indexOrderObjects } from './jobs.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
  await succeeded(service, await openShop(service));
});
after(() => service.stop());

const run = (): Promise<'more' | 'idle'> => indexOrderObjects(service.db, service.clock, silentLog);
const makeDue = (): Promise<unknown> =>
  service.db.query(`UPDATE order_index_cursors SET until_at = now() - interval '301 s'`);
const dueCount = (): Promise<number> =>
  countOf(service, 'order_index_cursors', `until_at <= now() - $1 * interval '1 s'`, [300]);
const indexed = (): Promise<number> => countOf(service, 'orders_by_object', 'company_id = $1', [service.company.id]);

describe('the index of orders', () => {
  it('looks at every company in one run, and at those without new orders only now and then', async () => {
    await service.db.query(
      `INSERT INTO companies (id, account_id, name, mode, api_version) VALUES ($1, $1, 'Quiet', 'sandbox', '2026-02-11')`,
      [randomUUID()],
    );
    assert.ok((await dueCount()) > 1);
    assert.equal(await run(), 'more');
    assert.equal(await dueCount(), 0);
    assert.equal(await run(), 'idle');
    await makeDue();
    while ((await run()) === 'more');
    assert.equal(await indexed(), 1);
  });

  it('finds the companies that are due by their index', async () => {
    const plan = await planOf(service.db, (db) => findDueIndexes(db, 300, 500));
    assert.match(plan, /order_index_cursors_due[^]*Index Cond: \(until_at <= /, plan);
  });

  it('goes on when the orders of a company cannot be indexed, and tries them again later', async () => {
    await service.db.query(
      `CREATE FUNCTION fail_index() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$`,
    );
    await service.db.query(
      'CREATE TRIGGER fail_index BEFORE INSERT ON orders_by_object FOR EACH ROW EXECUTE FUNCTION fail_index()',
    );
    await service.db.query('DELETE FROM orders_by_object');
    await service.db.query(`UPDATE order_index_cursors SET after_id = '00000000-0000-0000-0000-000000000000'`);
    await makeDue();
    assert.equal(await run(), 'more');
    assert.equal(await dueCount(), 0);
    await service.db.query('DROP FUNCTION fail_index CASCADE');
    await makeDue();
    while ((await run()) === 'more');
    assert.equal(await indexed(), 1);
  });
});
