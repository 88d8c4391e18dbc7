import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  idsOf,
  type List,
  type Order,
  orders,
  type Path,
  paths,
  seedMs,
  someRows,
  type Sort,
  sorted,
  sortsOf,
  startListsService,
} from '../../tests/support/lists.ts';
import { rounds } from '../../tests/support/random.ts';
import { type Merchant, someCustomer, someProduct } from '../../tests/support/service.ts';
import { listCustomers } from '../features/customers/queries.ts';
import { listEvents } from '../features/events/queries.ts';
import { listProducts } from '../features/products/queries.ts';
import type { Queryable } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import type { PageRequest } from './route.ts';

/** The pages of a list: their order, their cursors, and what they cost. */

const { service, withHistory, list, refusal, seedProducts, seedCustomers, seeded } = await startListsService();
after(() => service.stop());

describe('a page', () => {
  const rows = someRows(120);
  let merchant: Merchant;
  before(async () => {
    merchant = await seeded('/v1/products', rows);
    await seedCustomers(merchant, rows);
  });

  it('has 10 objects by default, the newest first', async () => {
    for (const path of paths) {
      assert.deepEqual(idsOf(await list(merchant, path)), sorted(rows, 'created_at', 'desc').slice(0, 10));
    }
  });

  it('has from 1 to 100 objects', async () => {
    for (const limit of [1, 2, 99, 100]) {
      assert.equal((await list(merchant, '/v1/products', { limit: String(limit) })).data.length, limit);
    }
  });

  it('cannot have another limit, and the error names the parameter', async () => {
    for (const limit of ['0', '101', '-1', '1.5', '1e1', 'ten', '', ' 5', '0x10', '99999999999999999999']) {
      assert.equal((await refusal('/v1/products', { limit })).param, 'limit');
    }
  });

  it('has the path of its list', async () => {
    for (const path of paths) assert.equal((await list(merchant, path, { limit: '1' })).url, path);
  });

  it('shows nothing of another merchant', async () => {
    const other = await service.createMerchant();
    for (const path of paths) {
      const empty = { data: [], url: path, has_more: false, cursors: { next: null, previous: null } };
      assert.deepEqual(await list(other, path), empty);
    }
  });

  it('may begin after any id, also one that matches no filter', async () => {
    const archived = sorted(
      rows.filter((row) => !row.active),
      'name',
      'asc',
    );
    const all = sorted(rows, 'name', 'asc');
    for (const row of rows.filter(({ active }) => active).slice(0, 20)) {
      const query = { active: 'false', sort: 'name', limit: '100' };
      const behind = archived.filter((id) => all.indexOf(id) > all.indexOf(row.id));
      assert.deepEqual(idsOf(await list(merchant, '/v1/products', { ...query, starting_after: row.id })), behind);
      const ahead = archived.filter((id) => all.indexOf(id) < all.indexOf(row.id));
      assert.deepEqual(idsOf(await list(merchant, '/v1/products', { ...query, ending_before: row.id })), ahead);
    }
  });

  it('takes an id in upper case for the same cursor', async () => {
    const [first, ...rest] = sorted(rows, 'created_at', 'desc');
    const page = await list(merchant, '/v1/products', { starting_after: first?.toUpperCase() ?? '' });
    assert.deepEqual(idsOf(page), rest.slice(0, 10));
  });

  it('behind the last object is empty and the end', async () => {
    const last = sorted(rows, 'created_at', 'desc').at(-1) ?? '';
    const { data, has_more, cursors } = await list(merchant, '/v1/products', { starting_after: last });
    assert.deepEqual({ data, has_more, next: cursors.next }, { data: [], has_more: false, next: null });
  });
});

describe('a cursor', () => {
  const id = newId(seedMs);

  it('is one: both together are refused', async () => {
    const { param, message } = await refusal('/v1/products', { starting_after: id, ending_before: id });
    assert.match(`${param} ${message}`, /ending_before.*starting_after/);
  });

  it('that is malformed is refused, and param names it', async () => {
    for (const name of ['starting_after', 'ending_before']) {
      for (const value of ['', 'nonsense', `${id}x`, id.replaceAll('-', ''), `{${id}}`, '1', `${id},${id}`]) {
        assert.equal((await refusal('/v1/products', { [name]: value })).param, name);
      }
    }
  });

  it('of an object of another kind is never an empty page: it is refused where the sort needs its values', async () => {
    const customer = await service.call('POST', '/v1/customers', { body: someCustomer() });
    const query = { sort: 'name', starting_after: customer.body.id as string };
    assert.equal((await refusal('/v1/products', query)).param, 'starting_after');
    await service.call('DELETE', `/v1/customers/${customer.body.id}`);
    assert.equal((await refusal('/v1/products', query)).param, 'starting_after');
  });
});

describe('sort', () => {
  const rows = someRows(12);

  it('takes every form: field and field[asc] ascend, -field and field[desc] descend', async () => {
    for (const path of paths) {
      const merchant = await seeded(path, rows);
      for (const sort of sortsOf[path]) {
        for (const form of [sort, `${sort}[asc]`]) {
          const page = await list(merchant, path, { sort: form, limit: '100' });
          assert.deepEqual(idsOf(page), sorted(rows, sort, 'asc'), form);
        }
        for (const form of [`-${sort}`, `${sort}[desc]`]) {
          const page = await list(merchant, path, { sort: form, limit: '100' });
          assert.deepEqual(idsOf(page), sorted(rows, sort, 'desc'), form);
        }
      }
    }
  });

  it('by an unknown field is refused with the allowed ones', async () => {
    const wrong = ['email', 'id', '', 'created_at[up]', '-created_at[asc]', '+name', 'created_at,name', '__proto__'];
    for (const path of paths) {
      for (const sort of wrong) {
        const { param, message } = await refusal(path, { sort });
        assert.equal(param, 'sort');
        for (const allowed of sortsOf[path]) assert.ok(message.includes(allowed), message);
      }
    }
    assert.doesNotMatch((await refusal('/v1/customers', { sort: 'amount' })).message.replace('sort:', ''), /amount/);
  });
});

describe('a walk through 95 objects with many ties', () => {
  const rows = someRows(95);
  const merchants = new Map<Path, Merchant>();
  before(async () => {
    for (const path of paths) merchants.set(path, await seeded(path, rows));
  });

  async function walkForward({ path, sort, direction }: Order, limit: number): Promise<void> {
    const merchant = merchants.get(path) as Merchant;
    const model = sorted(rows, sort, direction);
    let cursor: string | null = null;
    for (let start = 0; start < model.length; start += limit) {
      const query = { sort: `${sort}[${direction}]`, limit: String(limit), ...(cursor && { starting_after: cursor }) };
      const page = await list(merchant, path, query);
      const expected = model.slice(start, start + limit);
      const more = start + limit < model.length;
      assert.deepEqual(idsOf(page), expected);
      assert.equal(page.has_more, more);
      assert.deepEqual(page.cursors, {
        next: more ? expected.at(-1) : null,
        previous: start > 0 ? expected[0] : null,
      });
      cursor = page.cursors.next;
    }
    assert.equal(cursor, null);
  }

  async function walkBack({ path, sort, direction }: Order, limit: number): Promise<void> {
    const merchant = merchants.get(path) as Merchant;
    const model = sorted(rows, sort, direction);
    let cursor: string | null = model.at(-1) ?? '';
    for (let end = model.length - 1; end > 0; end -= limit) {
      assert.ok(cursor);
      const page = await list(merchant, path, {
        sort: `${sort}[${direction}]`,
        limit: String(limit),
        ending_before: cursor,
      });
      const expected = model.slice(Math.max(end - limit, 0), end);
      const more = end - limit > 0;
      assert.deepEqual(idsOf(page), expected);
      assert.equal(page.has_more, more);
      assert.deepEqual(page.cursors, { next: expected.at(-1), previous: more ? expected[0] : null });
      cursor = page.cursors.previous;
    }
    assert.equal(cursor, null);
  }

  for (const order of orders) {
    it(`never skips or repeats, there and back: ${order.path} ${order.sort}[${order.direction}]`, async () => {
      // 19 divides 95 and 47 divides 94: the last page may be exactly full.
      for (const limit of [7, 19, 47, 100]) {
        await walkForward(order, limit);
        await walkBack(order, limit);
      }
    });
  }

  it('can be turned round on any page', async () => {
    const merchant = merchants.get('/v1/products') as Merchant;
    const first = await list(merchant, '/v1/products', { sort: 'name' });
    const second = await list(merchant, '/v1/products', { sort: 'name', starting_after: first.cursors.next ?? '' });
    const back = await list(merchant, '/v1/products', { sort: 'name', ending_before: second.cursors.previous ?? '' });
    assert.deepEqual([back.data, back.cursors], [first.data, first.cursors]);
  });

  it('works with filters as without', async () => {
    const merchant = merchants.get('/v1/products') as Merchant;
    const active = sorted(
      rows.filter((row) => row.active),
      'amount',
      'desc',
    );
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query = { active: 'true', sort: '-amount', limit: '7', ...(cursor && { starting_after: cursor }) };
      const page: List = await list(merchant, '/v1/products', query);
      seen.push(...idsOf(page));
      cursor = page.cursors.next;
    } while (cursor);
    assert.deepEqual(seen, active);
  });
});

describe('pagination continues from an object that was deleted meanwhile', () => {
  for (const kind of ['hard', 'soft'] as const) {
    for (const { path, sort, direction } of orders) {
      it(`${kind} delete, ${path} ${sort}[${direction}]`, async () => {
        const rows = someRows(12);
        const merchant = await seeded(path, rows);
        const model = sorted(rows, sort, direction);
        const cursor = model[5] ?? '';
        if (kind === 'soft') withHistory.add(cursor);
        const reply = await service.call('DELETE', `${path}/${cursor}`, { key: merchant.key });
        assert.equal(reply.status, 200);
        const query = { sort: `${sort}[${direction}]`, limit: '100' };
        assert.deepEqual(idsOf(await list(merchant, path, { ...query, starting_after: cursor })), model.slice(6));
        assert.deepEqual(idsOf(await list(merchant, path, { ...query, ending_before: cursor })), model.slice(0, 5));
      });
    }
  }

  it('and reports that nothing is left before it', async () => {
    const rows = someRows(5);
    const merchant = await seeded('/v1/products', rows);
    const [first = '', ...rest] = sorted(rows, 'created_at', 'desc');
    await service.call('DELETE', `/v1/products/${first}`, { key: merchant.key });
    const page = await list(merchant, '/v1/products', { starting_after: first });
    assert.deepEqual(idsOf(page), rest);
    assert.deepEqual(page.cursors, { next: null, previous: null });
  });
});

describe('while objects are created and deleted between two pages', () => {
  const step = fc.record({
    creates: fc.integer({ min: 0, max: 2 }),
    deletes: fc.array(fc.nat(), { maxLength: 2 }),
    deletesCursor: fc.boolean(),
  });

  function walkProperty(soft: boolean, sorts: readonly Sort[]) {
    return fc.asyncProperty(
      fc.constantFrom(...sorts),
      fc.constantFrom('asc' as const, 'desc' as const),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 12 }),
      fc.array(step, { maxLength: 12 }),
      async (sort, direction, limit, count, steps) => {
        const merchant = await service.createMerchant();
        const { key } = merchant;
        const initial = someRows(count);
        await seedProducts(merchant, initial);
        const present = new Set(initial.map((row) => row.id));
        const throughout = new Set(present);
        const remove = async (id: string | undefined) => {
          if (id === undefined || !present.delete(id)) return;
          throughout.delete(id);
          if (soft) withHistory.add(id);
          assert.equal((await service.call('DELETE', `/v1/products/${id}`, { key })).status, 200);
        };
        const create = async (index: number) => {
          const { name = '', amount = 0 } = initial[index % count] ?? {};
          const body = someProduct({ name, pricing: { amount, currency: 'usd' } });
          const made = await service.call('POST', '/v1/products', { key, body, idempotencyKey: randomUUID() });
          present.add(made.body.id);
        };

        const seen: string[] = [];
        let cursor: string | null = null;
        for (let pages = 0; pages === 0 || cursor; pages += 1) {
          const query = { sort: `${sort}[${direction}]`, limit: String(limit) };
          const page: List = await list(merchant, '/v1/products', {
            ...query,
            ...(cursor && { starting_after: cursor }),
          });
          seen.push(...idsOf(page));
          cursor = page.cursors.next;
          const happening = steps[pages];
          if (!happening) continue;
          for (let index = 0; index < happening.creates; index += 1) await create(index + pages);
          for (const choice of happening.deletes) await remove([...present][choice % Math.max(present.size, 1)]);
          if (happening.deletesCursor && cursor) await remove(cursor);
        }
        assert.equal(new Set(seen).size, seen.length, 'an object was repeated');
        assert.deepEqual(
          [...throughout].filter((id) => !seen.includes(id)),
          [],
          'an object was skipped',
        );
      },
    );
  }

  it('a walk never repeats an object nor skips one that existed throughout', async () => {
    await fc.assert(walkProperty(false, sortsOf['/v1/products']), { numRuns: rounds(15) });
  });

  it('nor does it when objects with a history are deleted', async () => {
    await fc.assert(walkProperty(true, sortsOf['/v1/products']), { numRuns: rounds(15) });
  });
});

interface Plan {
  'Relation Name'?: string;
  readonly 'Node Type': string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Index Name'?: string;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

describe('among 5,000 objects', () => {
  let companyId: string;

  // Created a second apart; the ids are UUID v7, as the service makes them.
  const id = `(lpad(to_hex(${seedMs} + n * 1000), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`;
  const updatedAt = `to_timestamp(${seedMs / 1000} + n % 500)`;

  before(async () => {
    companyId = (await service.createMerchant()).sandbox.id;
    const other = (await service.createMerchant()).sandbox.id;
    // The other company's rows come first in the table: who reads it from its beginning has them all to pass.
    for (const company of [other, companyId]) {
      await service.db.query(
        `INSERT INTO products (company_id, id, name, amount, currency, requires_shipping, sku, availability, metadata,
           active, updated_at)
         SELECT $1, ${id}, 'Product ' || n % 100, n % 50, 'usd', true, 'sku-' || n, 'in_stock', '{}', n % 10 > 0,
           ${updatedAt}
         FROM generate_series(1, 5000) n`,
        [company],
      );
      await service.db.query(
        `INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, phone_key, tags,
           metadata, search, updated_at)
         SELECT $1, ${id}, 'c@example.com', n || '@example.com', 'Ada', 'Number' || n, '+1555' || (1000000 + n), '1555' || (1000000 + n), '{}', '{}',
           array_to_tsvector(ARRAY[$2 || '.ada', $2 || '.number' || n]), ${updatedAt}
         FROM generate_series(1, 5000) n`,
        [company, company.slice(-12)],
      );
      await service.db.query(
        `INSERT INTO events (company_id, id, type, object_id, sequence, object)
         SELECT $1, ${id}, CASE WHEN n % 1000 = 0 THEN 'order.failed' ELSE 'order.created' END, ${id}, 1, '{}'
         FROM generate_series(1, 5000) n`,
        [company],
      );
    }
    await service.db.query('VACUUM ANALYZE products, customers, events');
  });

  /** The plans of the statements that `work` runs, and how many rows their scans touched. */
  async function plansOf(work: (db: Queryable) => Promise<unknown>): Promise<{ types: string[]; touched: number }> {
    const nodes: Plan[] = [];
    await work({
      async query<Result extends object>(text: string, values?: readonly unknown[]): Promise<Result[]> {
        const explain = `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`;
        const rows = await service.db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explain, values);
        // Of the few tombstones there are, reading all is as good as an index.
        const ofInterest = (node: Plan): boolean => node['Relation Name'] !== 'tombstones';
        nodes.push(...rows.flatMap((row) => nodesOf(row['QUERY PLAN'][0].Plan)).filter(ofInterest));
        return service.db.query<Result>(text, values);
      },
    });
    const touched = nodes
      .filter((node) => /(?<!CTE )Scan/.test(node['Node Type']))
      .map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1) + (node['Rows Removed by Filter'] ?? 0));
    return { types: nodes.map((node) => node['Node Type']), touched: touched.reduce((sum, rows) => sum + rows, 0) };
  }

  const assertWithout = (unwanted: RegExp, types: readonly string[]): void =>
    assert.ok(!types.some((type) => unwanted.test(type)), `the plan is ${types.join(', ')}`);

  const limit = 10;
  const newest: PageRequest = { limit, sort: { field: 'created_at', descending: true }, cursor: null };
  const noFilters = { emailKey: undefined, q: undefined, tags: undefined, includeDeleted: false };
  const listOf = {
    '/v1/customers': (db: Queryable, page: PageRequest) => listCustomers(db, companyId, noFilters, page),
    '/v1/products': (db: Queryable, page: PageRequest) => listProducts(db, companyId, {}, page),
  };

  for (const { path, sort, direction } of orders) {
    it(`every page comes from an index and costs what the first costs: ${path} ${sort}[${direction}]`, async () => {
      const order = sort === 'created_at' ? 'id' : `${sort}, id`;
      const positions = await service.db.query<{ id: string }>(
        `SELECT id FROM (SELECT id, row_number() OVER (ORDER BY ${order}) FROM ${path.slice('/v1/'.length)}
         WHERE company_id = $1) numbered WHERE row_number IN (5, 2500, 4995)`,
        [companyId],
      );
      const cursors = positions.flatMap((position) =>
        (['starting_after', 'ending_before'] as const).map((parameter) => ({ id: position.id, parameter })),
      );
      assert.equal(cursors.length, 6);
      for (const cursor of [null, ...cursors]) {
        const page = { limit, sort: { field: sort, descending: direction === 'desc' }, cursor };
        const { types, touched } = await plansOf((db) => listOf[path](db, page));
        assertWithout(/Seq Scan|Sort/, types);
        // The page and one more, where the cursor stands, and whether something is on its other side.
        assert.ok(touched <= limit + 1 + 2, `${touched} rows were read for a page of ${limit}`);
      }
    });
  }

  it('a page of active or archived products comes from an index', async () => {
    for (const active of [true, false]) {
      const { types, touched } = await plansOf((db) => listProducts(db, companyId, { active }, newest));
      assertWithout(/Seq Scan|Sort/, types);
      assert.ok(touched <= 2 * limit, `${touched} rows were read`);
    }
  });

  it('a date filter is a range of the primary key', async () => {
    const filters = { 'created_at[gte]': seedMs + 2_000_000, 'created_at[lt]': seedMs + 2_005_000 };
    const { types, touched } = await plansOf((db) => listProducts(db, companyId, filters, newest));
    assertWithout(/Seq Scan|Sort/, types);
    assert.equal(touched, 5);
  });

  it('a page of events of a type comes from an index, whether they are rare or not', async () => {
    for (const type of [['order.failed'], ['order.created'], ['order.failed', 'customer.created']]) {
      const { types, touched } = await plansOf((db) => listEvents(db, companyId, { type }, newest));
      assertWithout(/Seq Scan/, types);
      // From each piece of the table.
      assert.ok(touched <= 6 * limit, `${touched} rows were read for ${type.join(' and ')}: ${types.join(', ')}`);
    }
  });

  it('an email address comes from an index', async () => {
    const filters = { ...noFilters, emailKey: '777@example.com' };
    const { types, touched } = await plansOf((db) => listCustomers(db, companyId, filters, newest));
    assertWithout(/Seq Scan/, types);
    assert.equal(touched, 1);
  });

  it('a search for a rare word comes from the index of words', async () => {
    const filters = { ...noFilters, q: 'number177' };
    const { types, touched } = await plansOf((db) => listCustomers(db, companyId, filters, newest));
    assertWithout(/Seq Scan/, types);
    assert.ok(touched <= 100, `${touched} rows were read to find 11: ${types.join(', ')}`);
  });
});
