import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { examine } from '../../../cli/doctor.ts';
import { type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, openShop, order } from '../../../tests/support/orders.ts';
import { workOnSampleData } from '../../../tests/support/sample-data.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { dayMs } from '../../platform/durations.ts';
import { person } from './people.ts';
import { historyDays, sampleScript } from './script.ts';

let service: TestService;
let merchant: Person;
let companyId: string;
before(async () => {
  service = await startTestService({ offline: true });
  merchant = await signUp(service);
  companyId = merchant.companies.find(({ mode }) => mode === 'sandbox')?.id ?? '';
});
after(() => service.stop());

const fill = () => merchant.in('POST', '/dashboard/sample_data/fill');
const clear = (confirm: string) => merchant.in('POST', '/dashboard/sample_data/clear', { confirm });
const sampleData = async () => (await merchant.in('GET', '/dashboard/sample_data')).body;

/** How many rows the company has in each table that has any. */
async function rowCounts(): Promise<Record<string, number>> {
  const tables = await service.db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'company_id'
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await service.db.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM ${name} WHERE company_id = $1`,
      [companyId],
    );
    if (row?.count) counts[name] = row.count;
  }
  return counts;
}

describe('the script of the sample data', () => {
  it('is the same for everyone, in the order of time, and ends with its history', () => {
    const script = sampleScript();
    assert.deepEqual(sampleScript(), script);
    const minutes = script.map(({ atMinute }) => atMinute);
    assert.deepEqual(
      minutes,
      minutes.toSorted((one, other) => one - other),
    );
    assert.deepEqual([minutes.at(0), minutes.at(-1)], [0, (historyDays * dayMs) / 60_000]);
    assert.equal(new Set(Array.from({ length: 100 }, (_, number) => person(number).phone)).size, 100);
  });

  it('makes everything before it is used', () => {
    const made = new Set<string>();
    for (const action of sampleScript()) {
      if (action.does === 'addCustomer') made.add(`person ${action.person}`);
      if ('person' in action) assert.ok(made.has(`person ${action.person}`), JSON.stringify(action));
      if ('key' in action) made.add(action.key);
      for (const used of [
        ...('order' in action ? [action.order] : []),
        ...('subscription' in action ? [action.subscription] : []),
      ]) {
        assert.ok(made.has(used), JSON.stringify(action));
      }
    }
  });
});

describe('a sandbox that is being filled', () => {
  /** Enough for products, members, customers, orders and subscriptions. */
  const some = 60;

  it('has objects with the times of its history', async () => {
    assert.deepEqual(await sampleData(), { state: 'none', done: 0, total: 0 });
    const begun = await fill();
    assert.equal(begun.status, 200, begun.text);
    assert.deepEqual(begun.body, { state: 'filling', done: 0, total: sampleScript().length });
    await workOnSampleData(service, some);
    const { state, done } = await sampleData();
    assert.equal(state, 'filling');
    assert.ok(done >= some);
    const firstDay = Date.now() - historyDays * dayMs;
    const orders = (await merchant.in('GET', '/v1/orders?limit=100&sort=created_at')).body.data;
    assert.ok(orders.length > 15);
    for (const { created_at, updated_at, transactions } of orders) {
      for (const time of [created_at, updated_at, transactions[0].created_at]) {
        assert.ok(Date.parse(time) >= firstDay - dayMs && Date.parse(time) < Date.now() - dayMs, time);
      }
    }
    const { data } = (await merchant.in('GET', '/v1/products?expand=images')).body;
    assert.deepEqual(
      data.map(({ images }: { images: unknown[] }) => images.length),
      [1, 1, 1, 1, 1, 1],
    );
  });

  it('repeats nothing if a process dies and the progress is lost', async () => {
    const { done } = await sampleData();
    const counts = await rowCounts();
    await service.db.query('UPDATE sample_data SET done = 0, leased_until = now() WHERE company_id = $1', [companyId]);
    const again = await workOnSampleData(service, done);
    assert.ok(again >= done);
    if (again === done) {
      const { open_transactions: _, idempotency_keys: __, ...rest } = await rowCounts();
      const { open_transactions: ___, idempotency_keys: ____, ...before } = counts;
      assert.deepEqual(rest, before);
    }
    const keys = await service.db.query(
      `SELECT reference FROM transactions WHERE company_id = $1 GROUP BY reference HAVING count(*) > 1`,
      [companyId],
    );
    assert.deepEqual(keys, []);
  });

  it('is left alone by the jobs of the worker, and its clock cannot be advanced', async () => {
    const due = `SELECT count(*)::integer AS count FROM subscriptions WHERE company_id = $1 AND due_at < now()`;
    const [{ count }] = (await service.db.query<{ count: number }>(due, [companyId])) as [{ count: number }];
    assert.ok(count > 0, 'renewals are due by real time');
    assert.equal(await service.subscriptions.billDue(100), 0);
    assertRefused(await merchant.in('POST', '/v1/sandbox/clock/advance', { by: { days: 1 } }), 409, 'resource_in_use');
    assertRefused(await fill(), 409, 'resource_in_use');
    assertRefused(await clear('Engines (demo)'), 409, 'resource_in_use');
    assert.deepEqual(
      (await examine(service.db)).filter(({ count: found }) => found > 0).map(({ check }) => check),
      [],
    );
  });

  it('serves its members meanwhile, at the time that it is', async () => {
    const { body: customer } = await merchant.in('POST', '/v1/customers', {
      email: 'meanwhile@example.com',
      first_name: 'Mean',
      last_name: 'While',
      phone: '+15551230000',
    });
    const beforeMs = Date.parse(customer.created_at);
    assert.ok(Math.abs(Date.now() - beforeMs) < 60_000);
    await workOnSampleData(service, (await sampleData()).done + 1);
    const kept = (await merchant.in('GET', `/v1/customers/${customer.id}`)).body;
    assert.deepEqual(kept, customer);
  });
});

describe('a sandbox that is cleared', () => {
  before(async () => {
    await service.db.query(`UPDATE sample_data SET state = 'filled', done = total`);
    await service.db.query('UPDATE companies SET clock_moved_until = NULL WHERE id = $1', [companyId]);
  });

  it('is confirmed by its name, and is never a live company', async () => {
    assertRefused(await clear('Engines'), 400, 'invalid_request', 'confirm');
    const live = merchant.companies.find(({ mode }) => mode === 'live')?.id ?? '';
    for (const [path, body] of [
      ['fill', undefined],
      ['clear', { confirm: 'Engines' }],
    ] as const) {
      const reply = await merchant.in('POST', `/dashboard/sample_data/${path}`, body, { company: live });
      assertRefused(reply, 403, 'insufficient_permissions');
    }
    assertRefused(await fill(), 422, 'invalid_state_transition');
  });

  it('keeps its settings, keys, team and audit log, and nothing else', async () => {
    const reply = await clear('Engines (demo)');
    assert.equal(reply.body.state, 'clearing', reply.text);
    await workOnSampleData(service);
    assert.deepEqual(await sampleData().then(({ state }) => state), 'none');
    const left = Object.keys(await rowCounts());
    const stays = ['audit_entries', 'company_shards', 'company_profiles', 'figure_states', 'memberships', 'roles'];
    const technical = ['order_index_cursors', 'requests', 'sample_data', 'team_members', 'unreferenced_cards'];
    assert.deepEqual(
      left.filter((table) => ![...stays, ...technical].includes(table)),
      [],
    );
    const team = (await merchant.in('GET', '/v1/team_members')).body.data;
    assert.deepEqual(
      team.map(({ email }: { email: string }) => email),
      [merchant.email],
    );
    assert.deepEqual(
      (await examine(service.db)).filter(({ count }) => count > 0).map(({ check }) => check),
      [],
    );
  });

  it('can be used, and filled again', async () => {
    const key = await service.createKey({ ...service.company, id: companyId });
    const shop = await openShop(service, '4242424242424242', { key });
    assert.equal((await order(service, shop, {}, { key })).body.status, 'succeeded');
    await clear('Engines (demo)');
    await workOnSampleData(service);
    assert.equal((await fill()).body.state, 'filling');
    await workOnSampleData(service, 30);
    const { data } = (await merchant.in('GET', '/v1/orders')).body;
    assert.ok(data.length > 0);
  });
});
