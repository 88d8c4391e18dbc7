import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../../tests/support/service.ts';
import type { Route } from '../../http/route.ts';
import type { Replica } from '../../platform/replica.ts';
import { exportedLists } from '../../jobs/exported-lists.ts';
import { forgetOldExports, writeExports } from './jobs.ts';
import { deleteOldExports, deleteOldPieces } from './queries.ts';
import type { Lists } from './service.ts';

/** Exports in the background: every row once, for the member who asked for them. */

let service: TestService;
let owner: Person;
let companyId: string;
let lists: Lists;
const count = 700;

const call = (method: string, path: string, body?: unknown, person = owner): Promise<Reply> =>
  person.in(method, path, body, { idempotencyKey: randomUUID() });

async function post(path: string, body: unknown, person = owner): Promise<string> {
  const reply = await call('POST', path, body, person);
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  companyId = companyOf(owner, 'sandbox');
  const { orders, vault, clock } = service;
  lists = exportedLists({ orders, vault, clock } as unknown as Parameters<typeof exportedLists>[0]);
  const customer_id = await post('/v1/customers', someCustomer({ first_name: '=cmd', email: 'ada@shop.example' }));
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  await post('/capture', { customer_id, card });
  const product_id = await post('/v1/products', someProduct());
  const first = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
  await service.db.query(
    `INSERT INTO orders (company_id, id, order_number, customer_id, payment_method_id, card_brand, card_last4, status, items,
       currency, subtotal, discount_amount, total, refunded_amount, metadata, attempt_count, sale_id, sequence, updated_at)
     SELECT company_id, made.id, 'X' || n, customer_id, payment_method_id, 'visa', '4242', 'succeeded', items, 'usd', n, 0, n, 0,
       '{}', 0, made.id, 1, now()
     FROM orders CROSS JOIN generate_series(1, $3) n
     CROSS JOIN LATERAL (SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n), 12, '0')
       || '70008' || substr(md5(n::text), 1, 15))::uuid AS id) made
     WHERE company_id = $1 AND orders.id = $2`,
    [companyId, first, count - 1],
  );
});
after(() => service.stop());

async function write(from: Lists = lists, replica?: Pick<Replica, 'read'>): Promise<void> {
  await service.db.query('UPDATE exports SET leased_until = now()');
  await writeExports({ name: service.company.shard, db: service.db, clock: service.clock, replica }, from);
}

const read = async (id: string): Promise<Record<string, any>> => (await call('GET', `/dashboard/exports/${id}`)).body;

async function contentOf(id: string): Promise<string[]> {
  let text = '';
  let from: number | null = 0;
  while (from !== null) {
    const { status, body }: Reply = await call('GET', `/dashboard/exports/${id}/content?from=${from}`);
    assert.equal(status, 200);
    text += body.data.join('');
    from = body.next;
  }
  return text.split('\r\n').slice(0, -1);
}

describe('an export', () => {
  it('has every row once, in the order of the list, with harmless cells', async () => {
    const id = await post('/dashboard/exports', { list: 'orders', query: 'currency=usd&sort=total[asc]' });
    assertRefused(await call('GET', `/dashboard/exports/${id}/content`), 400, 'validation_error');
    await write();
    const { status, rows } = await read(id);
    assert.deepEqual([status, rows], ['ready', count]);
    const [header = '', ...lines] = await contentOf(id);
    assert.match(header, /^"id","order_number","status","total"/);
    assert.equal(new Set(lines.map((line) => line.slice(0, 38))).size, count);
    assert.deepEqual(
      lines.slice(0, 3).map((line) => line.split(',')[3]),
      ['"0.01"', '"0.02"', '"0.03"'],
    );
    assert.match(lines[0] ?? '', /"'=cmd /);
  });

  it('continues where it was when the worker died', async () => {
    const id = await post('/dashboard/exports', { list: 'orders' });
    let pages = 0;
    const dying = lists.map(
      (route): Route => ({
        ...route,
        handle: async (request) => {
          pages += 1;
          if (pages === 3) throw new Error('the worker died');
          return route.handle?.(request);
        },
      }),
    );
    await assert.rejects(write(dying), /died/);
    assert.deepEqual([(await read(id)).status, (await read(id)).rows], ['running', 200]);
    await write();
    const [, ...lines] = await contentOf(id);
    assert.equal(new Set(lines).size, count);
    assert.equal(lines.length, count);
  });

  it('reads its pages from the replica, and writes to the primary', async () => {
    const id = await post('/dashboard/exports', { list: 'orders' });
    let reads = 0;
    await write(lists, {
      read(work) {
        reads += 1;
        return work(service.db);
      },
    });
    assert.equal(reads, Math.ceil(count / 100));
    assert.equal((await read(id)).status, 'ready');
  });

  it('is rejected for filters that the list does not have, and without the permission of the list', async () => {
    for (const query of ['colour=red', 'status=odd', 'limit=5', `starting_after=${randomUUID()}`]) {
      assertRefused(await call('POST', '/dashboard/exports', { list: 'orders', query }), 400, 'validation_error');
    }
    const permissions = owner.companies[0]?.permissions.filter((one) => !one.startsWith('orders:'));
    await call('POST', '/dashboard/roles', { name: 'No orders', permissions });
    const member = await colleague(service, owner, 'No orders');
    const reply = await call('POST', '/dashboard/exports', { list: 'orders' }, member);
    assertRefused(reply, 403, 'insufficient_permissions');
  });

  it('belongs to the member who created it, and stops when the member loses access', async () => {
    const viewer = await colleague(service, owner, 'Viewer');
    const id = await post('/dashboard/exports', { list: 'customers' }, viewer);
    assertRefused(await call('GET', `/dashboard/exports/${id}`), 404, 'resource_not_found');
    assertRefused(await call('GET', `/dashboard/exports/${id}/content`), 404, 'resource_not_found');
    await service.db.query(
      `UPDATE team_members SET status = 'blocked' WHERE company_id = $1 AND email_key = lower($2)`,
      [companyId, viewer.email],
    );
    await write();
    const [row] = await service.db.query<{ state: string; chunks: number }>(
      'SELECT state, chunks FROM exports WHERE id = $1',
      [id],
    );
    assert.deepEqual(row, { state: 'failed', chunks: 0 });
  });

  it('can be read only with the permissions that its rows and columns needed', async () => {
    const permissions = ['orders:read', 'customers:read'];
    const role = await post('/dashboard/roles', { name: 'Clerk', permissions });
    const clerk = await colleague(service, owner, 'Clerk');
    const id = await post('/dashboard/exports', { list: 'orders', query: 'total[gte]=699' }, clerk);
    await write();
    const later = await post('/dashboard/exports', { list: 'orders', query: 'q=ada@shop.example' }, clerk);
    const content = `/dashboard/exports/${id}/content`;
    assert.match((await call('GET', content, undefined, clerk)).text, /=cmd/);
    const reply = await call('PATCH', `/dashboard/roles/${role}`, { permissions: ['orders:read'] });
    assert.equal(reply.status, 200, reply.text);
    assertRefused(await call('GET', content, undefined, clerk), 403, 'insufficient_permissions');
    await write();
    assert.equal((await call('GET', `/dashboard/exports/${later}`, undefined, clerk)).body.status, 'failed');
    const without = await post('/dashboard/exports', { list: 'orders', query: 'total[gte]=699' }, clerk);
    await write();
    const { text } = await call('GET', `/dashboard/exports/${without}/content`, undefined, clerk);
    assert.doesNotMatch(text, /=cmd/);
    const byName = await post('/dashboard/exports', { list: 'orders', query: 'q=ada@shop.example' }, clerk);
    await write();
    assert.partialDeepStrictEqual((await call('GET', `/dashboard/exports/${byName}`, undefined, clerk)).body, {
      status: 'ready',
      rows: 0,
    });
  });

  it('keeps each value of a parameter that is repeated', async () => {
    const id = await post('/dashboard/exports', { list: 'orders', query: 'currency=usd&currency=eur' });
    await write();
    assert.equal((await read(id)).rows, count);
    const twice = { list: 'orders', query: 'q=ada&q=eve' };
    assertRefused(await call('POST', '/dashboard/exports', twice), 400, 'validation_error', 'q');
  });

  it('replaces the oldest of the same member, and requests at once cannot pass the limits', async () => {
    const live = async (memberOf = ''): Promise<number> => {
      const [row] = await service.db.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM exports
         WHERE company_id = $1 AND expires_at > now() AND ($2 = '' OR id::text = ANY(string_to_array($2, ',')))`,
        [companyId, memberOf],
      );
      return row?.count ?? -1;
    };
    await service.db.query('UPDATE exports SET expires_at = now()');
    const viewer = await colleague(service, owner, 'Viewer');
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => call('POST', '/dashboard/exports', { list: 'orders' }, viewer)),
    );
    assert.equal(await live(replies.map(({ body }) => body.id).join(',')), 5);
    const newest = await post('/dashboard/exports', { list: 'orders' }, viewer);
    const { body } = await call('GET', '/dashboard/exports', undefined, viewer);
    assert.deepEqual([body.data.length, body.data[0].id], [5, newest]);
    await service.db.query(
      `INSERT INTO exports (company_id, id, member_id, list, query, permissions)
       SELECT $1, uuidv7(), uuidv7(), 'orders', '{}', '{}' FROM generate_series(1, 13)`,
      [companyId],
    );
    const more = await Promise.all(
      Array.from({ length: 5 }, () => call('POST', '/dashboard/exports', { list: 'orders' })),
    );
    assert.deepEqual(
      more.map(({ status }) => status).toSorted((one, other) => one - other),
      [201, 201, 400, 400, 400],
    );
    assert.equal(await live(), 20);
    await service.db.query('UPDATE exports SET expires_at = now()');
  });

  it('is stored in parts of limited size', async () => {
    const id = await post('/dashboard/exports', { list: 'orders', query: 'total[gte]=690' });
    const long = lists.map(
      (route): Route => ({
        ...route,
        handle: async (request) => {
          const page = (await route.handle?.(request)) as { items: object[] };
          return { ...page, items: page.items.map((item) => ({ ...item, order_number: 'x'.repeat(100_000) })) };
        },
      }),
    );
    await write(long);
    const parts = await service.db.query<{ bytes: number }>(
      'SELECT octet_length(content) AS bytes FROM export_chunks WHERE export_id = $1',
      [id],
    );
    assert.ok(parts.length > 1 && parts.every(({ bytes }) => bytes <= 256 * 1024));
    assert.equal((await contentOf(id)).length, (await read(id)).rows + 1);
  });

  it('is deleted by its member, also while it runs, and by no one else', async () => {
    const id = await post('/dashboard/exports', { list: 'orders' });
    const viewer = await colleague(service, owner, 'Viewer');
    const path = `/dashboard/exports/${id}`;
    assertRefused(await call('DELETE', path, undefined, viewer), 404, 'resource_not_found');
    const { status, body } = await call('DELETE', path);
    assert.deepEqual([status, body], [200, { id, deleted: true }]);
    assertRefused(await call('DELETE', path), 404, 'resource_not_found');
    assertRefused(await call('GET', path), 404, 'resource_not_found');
    await write();
    const [row] = await service.db.query('SELECT state, chunks FROM exports WHERE id = $1', [id]);
    assert.deepEqual(row, { state: 'running', chunks: 0 });
  });

  it('loses its pieces when it fails, and old exports are deleted in short steps', async () => {
    const id = await post('/dashboard/exports', { list: 'orders' });
    await write();
    const piecesOf = async (): Promise<number> =>
      (await service.db.query('SELECT 1 FROM export_chunks WHERE export_id = $1', [id])).length;
    await service.db.query(`UPDATE exports SET state = 'failed', reason = 'x' WHERE id = $1`, [id]);
    const before = await piecesOf();
    assert.ok(before > 2);
    while ((await deleteOldPieces(service.db, 1)) === 1 && (await piecesOf()) === before)
      await deleteOldExports(service.db, 100);
    assert.equal(await piecesOf(), before - 1, 'one piece at a time');
    await forgetOldExports(service.db, 100);
    assert.equal(await piecesOf(), 0);
    assert.equal((await read(id)).status, 'failed', 'the member still sees why');
    const old = await post('/dashboard/exports', { list: 'orders' });
    await write();
    await service.db.query('UPDATE exports SET expires_at = now() WHERE id = $1', [old]);
    await deleteOldExports(service.db, 100);
    const kept = await service.db.query('SELECT 1 FROM exports WHERE id = $1', [old]);
    assert.equal(kept.length, 1, 'an export is deleted after its pieces');
  });

  it('has each change of the credit of customers, for the books', async () => {
    const customer_id = (await call('GET', '/v1/customers?limit=1')).body.data[0].id;
    const path = `/v1/customers/${customer_id}/credit`;
    await post(path, { type: 'grant', amount: 1500, currency: 'usd', reason: '=Late' });
    await post(path, { type: 'take_back', amount: 5, currency: 'usd', reason: 'Too much' });
    const id = await post('/dashboard/exports', { list: 'credit_entries', query: `customer_id=${customer_id}` });
    await write();
    const [header, ...rows] = (await contentOf(id)).map((line) => line.split(',').slice(1, 6).join(','));
    assert.equal(header, '"type","amount","balance","currency","customer_id"');
    assert.deepEqual(rows, [
      `"take_back","-0.05","14.95","usd","${customer_id}"`,
      `"grant","15.00","15.00","usd","${customer_id}"`,
    ]);
    const { body } = await call('GET', '/dashboard/credit_entries?limit=1');
    assert.deepEqual([body.data.length, body.data[0].amount, body.has_more], [1, -5, true]);
    const month = await call('GET', '/dashboard/credit_entries?created_at[lt]=2020-01-01');
    assert.deepEqual(month.body.data, []);
  });

  it('works for every list, and is deleted after a day', async () => {
    const names = [
      'transactions',
      'subscriptions',
      'customers',
      'products',
      'plans',
      'coupons',
      'disputes',
      'credit_entries',
      'audit_log',
    ];
    for (const list of names) {
      const id = await post('/dashboard/exports', { list });
      await write();
      const { status, rows } = await read(id);
      assert.equal(status, 'ready', list);
      assert.equal((await contentOf(id)).length, rows + 1, list);
    }
    await service.db.query(`UPDATE exports SET expires_at = now()`);
    assert.deepEqual((await call('GET', '/dashboard/exports')).body.data, []);
    await forgetOldExports(service.db, 100);
    const left = await service.db.query('SELECT 1 FROM exports UNION ALL SELECT 1 FROM export_chunks');
    assert.deepEqual(left, []);
  });
});
