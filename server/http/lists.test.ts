import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { usualReferences } from '../app.ts';
import { insertCustomer, listCustomers } from '../features/customers/queries.ts';
import { listEvents } from '../features/events/queries.ts';
import { newEvent } from '../features/events/service.ts';
import { searchEntries } from '../features/customers/search.ts';
import { insertProduct, listProducts } from '../features/products/queries.ts';
import type { Queryable } from '../platform/database.ts';
import { idTimeMs, newId } from '../platform/ids.ts';
import { anyText, rounds } from '../../tests/support/random.ts';
import {
  type Merchant,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import type { PageRequest } from './route.ts';

type Query = Readonly<Record<string, string | readonly string[]>>;
type Path = '/v1/customers' | '/v1/products';

interface Listed {
  readonly id: string;
  readonly [name: string]: unknown;
}

interface List {
  readonly data: readonly Listed[];
  readonly url: string;
  readonly has_more: boolean;
  readonly cursors: { readonly next: string | null; readonly previous: string | null };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly param: string;
  readonly field_errors: readonly { readonly field: string; readonly message: string }[];
}

/** Objects with a history: deleting one of these is a soft delete. */
const withHistory = new Set<string>();
let service: TestService;
before(async () => {
  const inHistory = async (_db: unknown, _companyId: string, id: string) => withHistory.has(id);
  service = await startTestService({
    references: { ...usualReferences, hasHistory: inHistory, inArchivedPlans: inHistory },
  });
});
after(() => service.stop());

function urlOf(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) parameters.append(name, value);
  }
  return `${path}?${parameters}`;
}

async function list({ key }: Merchant, path: Path, query: Query = {}): Promise<List> {
  const reply = await service.call('GET', urlOf(path, query), { key });
  assert.equal(reply.status, 200, `${JSON.stringify(query)}: ${reply.text}`);
  return reply.body as List;
}

async function refusal(path: string, query: Query): Promise<Refusal> {
  const reply = await service.call('GET', urlOf(path, query));
  assert.equal(reply.status, 400, `${JSON.stringify(query)} was accepted`);
  assert.equal(reply.body.error.code, 'validation_error');
  return reply.body.error as Refusal;
}

const idsOf = ({ data }: List): string[] => data.map((object) => object.id);

/** What a list is compared with: an object's id and the value it is sorted by, under the name of each sort. */
interface Row {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: number;
  readonly name: string;
  readonly amount: number;
  readonly active: boolean;
}

const seedMs = Date.parse('2026-02-11T09:30:00.000Z');

/** Few values for many rows, so that each sort has ties across several pages. */
function someRows(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => {
    const id = newId(seedMs + (index % 4));
    return {
      id,
      created_at: id,
      updated_at: seedMs + 1000 * ((index * 7) % 3),
      name: ['apple', 'pear', 'plum', 'quince'][(index * 5) % 4] ?? '',
      amount: [0, 5, 100, 20_000_000][(index * 3) % 4] ?? 0,
      active: index % 3 > 0,
    };
  });
}

const blankProduct = {
  description: null,
  currency: 'usd',
  requires_shipping: false,
  availability: 'in_stock',
  category: null,
  brand: null,
  material: null,
  weight: null,
  return_window: null,
  ordered: false,
  inventory_quantity: null,
  metadata: {},
  deleted_at: null,
} as const;

async function seedProducts({ sandbox }: Merchant, rows: readonly Row[]): Promise<void> {
  await service.db.transaction(async (db) => {
    for (const { id, name, amount, active, updated_at } of rows) {
      const row = { ...blankProduct, id, name, amount, active, sku: id, updated_at: new Date(updated_at) };
      await insertProduct(db, sandbox.id, row);
    }
  });
}

const blankCustomer = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  company: null,
  shipping_address: null,
  default_payment_method_id: null,
  tags: [],
  metadata: {},
  sequence: 1,
  deleted_at: null,
};

let seededCustomers = 0;

async function seedCustomers({ sandbox }: Merchant, rows: readonly Pick<Row, 'id' | 'updated_at'>[]): Promise<void> {
  await service.db.transaction(async (db) => {
    for (const { id, updated_at } of rows) {
      seededCustomers += 1;
      const phoneKey = String(15_550_000_000 + seededCustomers);
      const email = `${id}@example.com`;
      const row = { ...blankCustomer, id, email, phone: `+${phoneKey}`, updated_at: new Date(updated_at) };
      const keys = { emailKey: email, phoneKey, searchWords: searchEntries(sandbox.id, ['Ada'], []) };
      const created = newEvent(sandbox.id, idTimeMs(id), 'customer.created', { id }, 1, null);
      await insertCustomer(db, sandbox.id, row, keys, created);
    }
  });
}

type Sort = 'created_at' | 'updated_at' | 'name' | 'amount';
const sortsOf: Readonly<Record<Path, readonly Sort[]>> = {
  '/v1/customers': ['created_at', 'updated_at'],
  '/v1/products': ['created_at', 'updated_at', 'name', 'amount'],
};
const seed = { '/v1/customers': seedCustomers, '/v1/products': seedProducts };
const paths: readonly Path[] = ['/v1/customers', '/v1/products'];

interface Order {
  readonly path: Path;
  readonly sort: Sort;
  readonly direction: 'asc' | 'desc';
}

const orders: readonly Order[] = paths.flatMap((path) =>
  sortsOf[path].flatMap((sort) => [
    { path, sort, direction: 'asc' as const },
    { path, sort, direction: 'desc' as const },
  ]),
);

const compare = <Value extends string | number>(left: Value, right: Value): number =>
  left < right ? -1 : left > right ? 1 : 0;

function sorted(rows: readonly Row[], sort: Sort, direction: 'asc' | 'desc'): string[] {
  const ascending = rows.toSorted((left, right) => compare(left[sort], right[sort]) || compare(left.id, right.id));
  const ids = ascending.map((row) => row.id);
  return direction === 'asc' ? ids : ids.toReversed();
}

async function seeded(path: Path, rows: readonly Row[]): Promise<Merchant> {
  const merchant = await service.createMerchant();
  await seed[path](merchant, rows);
  return merchant;
}

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

  it('and knows that nothing is left before it', async () => {
    const rows = someRows(5);
    const merchant = await seeded('/v1/products', rows);
    const [first = '', ...rest] = sorted(rows, 'created_at', 'desc');
    await service.call('DELETE', `/v1/products/${first}`, { key: merchant.key });
    const page = await list(merchant, '/v1/products', { starting_after: first });
    assert.deepEqual(idsOf(page), rest);
    assert.deepEqual(page.cursors, { next: null, previous: null });
  });
});

describe('whatever is created and deleted between two pages', () => {
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

describe('a date filter', () => {
  const momentMs = Date.parse('2026-02-11T09:30:00.123Z');
  const midnightMs = Date.parse('2026-02-11T00:00:00.000Z');
  let merchant: Merchant;
  before(async () => {
    merchant = await service.createMerchant();
    const times = [midnightMs, momentMs].flatMap((ms) => [ms - 1, ms, ms + 1]);
    await seedCustomers(
      merchant,
      times.map((ms) => ({ id: newId(ms), updated_at: ms })),
    );
  });

  async function found(query: Query): Promise<string[]> {
    const { data } = await list(merchant, '/v1/customers', { sort: 'created_at', ...query });
    return data.map((customer) => String(customer.created_at).slice(5));
  }

  const all = [
    '02-10T23:59:59.999Z',
    '02-11T00:00:00.000Z',
    '02-11T00:00:00.001Z',
    '02-11T09:30:00.122Z',
    '02-11T09:30:00.123Z',
    '02-11T09:30:00.124Z',
  ];

  it('takes a date-time, exact to the millisecond', async () => {
    const moment = '2026-02-11T09:30:00.123Z';
    assert.deepEqual(await found({ 'created_at[gt]': moment }), all.slice(5));
    assert.deepEqual(await found({ 'created_at[gte]': moment }), all.slice(4));
    assert.deepEqual(await found({ 'created_at[lt]': moment }), all.slice(0, 4));
    assert.deepEqual(await found({ 'created_at[lte]': moment }), all.slice(0, 5));
  });

  it('takes a date for its 00:00 UTC', async () => {
    assert.deepEqual(await found({ 'created_at[gt]': '2026-02-11' }), all.slice(2));
    assert.deepEqual(await found({ 'created_at[gte]': '2026-02-11' }), all.slice(1));
    assert.deepEqual(await found({ 'created_at[lt]': '2026-02-11' }), all.slice(0, 1));
    assert.deepEqual(await found({ 'created_at[lte]': '2026-02-11' }), all.slice(0, 2));
  });

  it('minds the zone', async () => {
    for (const moment of ['2026-02-11T11:30:00.123+02:00', '2026-02-11T04:00:00.123-05:30']) {
      assert.deepEqual(await found({ 'created_at[gte]': moment }), all.slice(4));
    }
  });

  it('takes date-times without seconds or with microseconds', async () => {
    assert.deepEqual(await found({ 'created_at[gte]': '2026-02-11T09:30Z' }), all.slice(3));
    assert.deepEqual(await found({ 'created_at[gt]': '2026-02-11T09:30:00.122500Z' }), all.slice(4));
    assert.deepEqual(await found({ 'created_at[lte]': '2026-02-11T09:30:00.122500Z' }), all.slice(0, 4));
    assert.deepEqual(await found({ 'created_at[gte]': '2026-02-11T09:30:00.122500Z' }), all.slice(4));
    assert.deepEqual(await found({ 'created_at[lt]': '2026-02-11T09:30:00.122500Z' }), all.slice(0, 4));
  });

  it('can be combined with others into a range', async () => {
    const range = { 'created_at[gte]': '2026-02-11', 'created_at[lt]': '2026-02-11T09:30:00.123Z' };
    assert.deepEqual(await found(range), all.slice(1, 4));
    assert.deepEqual(await found({ 'created_at[gt]': '2026-02-12', 'created_at[lt]': '2026-02-11' }), []);
  });

  it('takes any date there is, however early or late', async () => {
    assert.deepEqual(await found({ 'created_at[gte]': '1970-01-01', 'created_at[lte]': '9999-12-31' }), all);
    assert.deepEqual(await found({ 'created_at[gte]': '2024-02-29' }), all);
    assert.deepEqual(await found({ 'created_at[gte]': '1969-12-31' }), all);
    assert.deepEqual(await found({ 'created_at[lt]': '1900-01-01' }), []);
  });

  it('refuses what is no date, and the error names the parameter', async () => {
    const dates = ['2026-02-30', '2026-02-29', '2026-04-31', '2100-02-29', '2026-13-01', '2026-00-10', '2026-01-00'];
    const times = ['2026-02-11T09:30:00', '2026-02-30T09:30:00Z', '2026-02-11T25:00:00Z', '2026-02-11T09:60:00Z'];
    const garbage = [
      '',
      'yesterday',
      '2026-2-1',
      '20260211',
      '1770802800',
      '2026-02-11Z',
      '2026-02',
      '2026-02-11 ',
      'null',
    ];
    for (const text of [...dates, ...times, ...garbage]) {
      for (const operator of ['gt', 'gte', 'lt', 'lte']) {
        assert.equal(
          (await refusal('/v1/products', { [`created_at[${operator}]`]: text })).param,
          `created_at[${operator}]`,
        );
      }
    }
  });
});

describe('query parameters', () => {
  it('that are unknown are refused; the error names them and the allowed ones', async () => {
    for (const name of ['page', 'Limit', 'created_at', 'created_at[eq]', 'fields[customers]', '__proto__', 'limit[]']) {
      const { param, message } = await refusal('/v1/products', { [name]: '1' });
      assert.equal(param, name);
      for (const allowed of [
        'limit',
        'starting_after',
        'ending_before',
        'sort',
        'active',
        'expand',
        'fields[products]',
      ]) {
        assert.ok(message.includes(allowed), message);
      }
    }
  });

  it('that are wrong are all reported at once', async () => {
    const { field_errors } = await refusal('/v1/products', { page: '2', limit: '0', sort: 'x', active: 'yes' });
    assert.deepEqual(field_errors.map((error) => error.field).toSorted(), ['active', 'limit', 'page', 'sort']);
  });

  it('that are unknown are refused on single reads and on writes too', async () => {
    const { body } = await service.call('POST', '/v1/customers', { body: someCustomer() });
    assert.equal((await refusal(`/v1/customers/${body.id}`, { limit: '1' })).param, 'limit');
    const reply = await service.call('POST', '/v1/customers?dry_run=true', { body: someCustomer() });
    assert.deepEqual([reply.status, reply.body.error.param], [400, 'dry_run']);
  });

  it('that take one value are refused when repeated', async () => {
    const id = newId(seedMs);
    const scalars = { limit: '10', sort: 'name', active: 'true', starting_after: id, 'created_at[gte]': '2026-01-01' };
    for (const [name, value] of Object.entries(scalars)) {
      assert.equal((await refusal('/v1/products', { [name]: [value, value] })).param, name);
    }
    for (const name of ['email', 'q', 'deleted']) {
      assert.equal((await refusal('/v1/customers', { [name]: ['true', 'true'] })).param, name);
    }
  });
});

describe('sparse fields', () => {
  let merchant: Merchant;
  let productId: string;
  before(async () => {
    merchant = await service.createMerchant();
    const options = { key: merchant.key, body: someProduct(), idempotencyKey: randomUUID() };
    productId = (await service.call('POST', '/v1/products', options)).body.id;
    await service.call('POST', '/v1/customers', { key: merchant.key, body: someCustomer() });
  });

  async function single(query: Query): Promise<Record<string, unknown>> {
    const reply = await service.call('GET', urlOf(`/v1/products/${productId}`, query), { key: merchant.key });
    assert.equal(reply.status, 200, reply.text);
    return reply.body;
  }

  it('leave only the wanted ones and the id, in a list and on a single read', async () => {
    const expected = ['id', 'name', 'pricing'];
    for (const value of ['name,pricing', 'id,pricing,name', 'pricing, name', ['name', 'pricing']]) {
      const page = await list(merchant, '/v1/products', { 'fields[products]': value });
      assert.deepEqual(Object.keys(page.data[0] ?? {}).toSorted(), expected);
      assert.deepEqual(Object.keys(await single({ 'fields[products]': value })).toSorted(), expected);
    }
    const page = await list(merchant, '/v1/customers', { 'fields[customers]': 'email' });
    assert.deepEqual(Object.keys(page.data[0] ?? {}).toSorted(), ['email', 'id']);
  });

  it('leave the frame of the list whole', async () => {
    const page = await list(merchant, '/v1/products', { 'fields[products]': 'sku' });
    assert.deepEqual(Object.keys(page).toSorted(), ['cursors', 'data', 'has_more', 'url']);
  });

  it('that do not exist are refused with the allowed ones', async () => {
    for (const path of ['/v1/products', `/v1/products/${productId}`]) {
      for (const value of ['price', 'name,price', '', 'name,', 'pricing.amount', '__proto__', 'deleted_at']) {
        const { param, message } = await refusal(path, { 'fields[products]': value });
        assert.equal(param, 'fields[products]');
        assert.match(message, /\bname\b.*\bpricing\b.*\bsku\b/);
      }
    }
  });

  it('do not hide what was expanded', async () => {
    const query = { 'fields[products]': 'name', expand: 'images' };
    assert.deepEqual(Object.keys(await single(query)).toSorted(), ['id', 'images', 'name']);
  });
});

describe('expand', () => {
  let merchant: Merchant;
  before(async () => {
    merchant = await seeded('/v1/products', someRows(1));
  });

  it('is repeated or comma-separated', async () => {
    for (const expand of ['images', 'images,images', ['images', 'images'], 'images, images']) {
      const { data } = await list(merchant, '/v1/products', { expand });
      assert.deepEqual(data[0]?.images, []);
    }
  });

  it('adds nothing unless asked for', async () => {
    const { data } = await list(merchant, '/v1/products');
    assert.ok(data[0] && !('images' in data[0]));
  });

  it('of an unknown name is refused with the allowed ones', async () => {
    for (const expand of ['plan', 'images,plan', ['images', 'plan'], '', 'images,', 'Images']) {
      const { param, message } = await refusal('/v1/products', { expand });
      assert.equal(param, 'expand');
      assert.match(message.replace('expand:', ''), /\bimages\b/);
    }
    assert.equal((await refusal('/v1/customers', { expand: 'images' })).param, 'expand');
  });
});

describe('a search of customers', () => {
  let merchant: Merchant;
  let names: Map<string, string>;
  const people: Readonly<Record<string, Record<string, unknown>>> = {
    jose: {
      first_name: 'Jos\u00e9',
      last_name: '\u00d1and\u00fa',
      email: 'jn@hotel.example',
      company: 'Caf\u00e9 M\u00fcller GmbH',
    },
    brien: {
      first_name: 'Pat',
      last_name: "O'Brien-Smith",
      email: 'pat.obrien+news@mail.example',
      company: 'R&D (Labs)',
    },
    ada: { first_name: 'Ada', last_name: 'Lovelace', email: 'Ada.L@Engine.example', company: 'Analytical Engines' },
    zed: {
      first_name: '\u0417\u0435\u0434',
      last_name: '\u674e\u5c0f\u9f99',
      email: 'zed@hotel.example',
      company: null,
      tags: ['vip'],
    },
  };
  before(async () => {
    merchant = await service.createMerchant();
    names = new Map();
    for (const [name, fields] of Object.entries(people)) {
      const reply = await service.call('POST', '/v1/customers', { key: merchant.key, body: someCustomer(fields) });
      assert.equal(reply.status, 201, reply.text);
      names.set(reply.body.id, name);
    }
  });

  async function found(q: string, more: Query = {}): Promise<string[]> {
    const page = await list(merchant, '/v1/customers', { q, ...more });
    return idsOf(page)
      .map((id) => names.get(id) ?? id)
      .toSorted();
  }

  it('finds the beginnings of words in names, e-mail and company', async () => {
    assert.deepEqual(await found('lov'), ['ada']);
    assert.deepEqual(await found('pa'), ['brien']);
    assert.deepEqual(await found('hotel'), ['jose', 'zed']);
    assert.deepEqual(await found('engin'), ['ada']);
    assert.deepEqual(await found('news'), ['brien']);
    assert.deepEqual(await found('gmb'), ['jose']);
    assert.deepEqual(await found('\u674e\u5c0f'), ['zed']);
  });

  it('does not find text inside a word', async () => {
    assert.deepEqual(await found('ovelace'), []);
    assert.deepEqual(await found('ngine'), []);
  });

  it('finds a whole email address', async () => {
    assert.deepEqual(await found('pat.obrien+news@mail.example'), ['brien']);
  });

  it('minds neither case nor accents', async () => {
    for (const q of ['jose', 'JOS\u00c9', 'Jos\u00e8', 'jose\u0301', '\u00f1ANDU', 'nandu', 'M\u00dcLLER', 'cafe']) {
      assert.deepEqual(await found(q), ['jose'], q);
    }
    assert.deepEqual(await found('\u0417\u0415\u0414'), ['zed']);
  });

  it('requires every word, in any order and any field', async () => {
    assert.deepEqual(await found('love ada'), ['ada']);
    assert.deepEqual(await found('muller jos hotel'), ['jose']);
    assert.deepEqual(await found('ada hotel'), []);
  });

  it('takes punctuation for the end of a word', async () => {
    for (const q of ["O'Brien", 'brien-sm', 'R&D', '(labs)', '"labs"', 'smith, pat']) {
      assert.deepEqual(await found(q), ['brien'], q);
    }
  });

  it('does not look into tags, phone numbers or other merchants', async () => {
    assert.deepEqual(await found('vip'), []);
    assert.deepEqual(await found('1555'), []);
    const other = await service.createMerchant();
    assert.deepEqual((await list(other, '/v1/customers', { q: 'ada' })).data, []);
  });

  it('goes together with other filters', async () => {
    assert.deepEqual(await found('hotel', { tags: 'vip' }), ['zed']);
    assert.deepEqual(await found('hotel', { email: 'JN@hotel.example' }), ['jose']);
  });

  it('follows a change of the customer', async () => {
    const { body } = await service.call('POST', '/v1/customers', {
      key: merchant.key,
      body: someCustomer({ last_name: 'Before' }),
    });
    await service.call('PATCH', `/v1/customers/${body.id}`, { key: merchant.key, body: { last_name: 'Afterwards' } });
    assert.deepEqual([await found('before'), await found('afterw')], [[], [body.id]]);
  });

  it('without a word matches no customer, whatever the other filters are', async () => {
    for (const q of ['!!!', ':*', '-']) {
      assert.deepEqual(await found(q), []);
      assert.deepEqual(await found(q, { tags: 'vip' }), []);
    }
  });

  const hostile = [
    ...String.raw`' '' \ \\ \' : :* * & | ! ( ) &|!() <-> <2> !a a:* a' a':* a'b a\ " % _ %00 $1 ;-- {} [] # ß`.split(
      ' ',
    ),
    'a & b',
    'a <-> b',
    ...'\u202e \ufeffa \uffff \u{1f600} a\u0300\u0301 \u0130I\u0131'.split(' '),
    ...['x', '\u674e', '\u{20000}'].map((letter) => letter.repeat(255 / letter.length)),
  ];

  it('takes hostile characters for text', async () => {
    for (const q of hostile) await list(merchant, '/v1/customers', { q });
  });

  it('is never a 5xx, whatever the text', async () => {
    const text = fc.oneof(anyText(60), fc.constantFrom(...hostile));
    await fc.assert(
      fc.asyncProperty(text, text, async (q, tags) => {
        for (const query of [{ q }, { tags }, { q, tags }]) {
          const { status } = await service.call('GET', urlOf('/v1/customers', query));
          assert.ok(status === 200 || status === 400, String(status));
        }
      }),
      { numRuns: rounds(25) },
    );
  });

  it('is never a 5xx for text that grows when it is normalised', async () => {
    // U+337F is four letters of three bytes each; a tsquery takes words of at most 2,046 bytes.
    for (const letter of ['\u337f', '\ufdfa', '\u1e9b']) {
      const { status } = await service.call('GET', urlOf('/v1/customers', { q: letter.repeat(255) }));
      assert.ok(status === 200 || status === 400, `${letter}: ${status}`);
    }
  });

  it('finds a customer whose longest word is too long for the index by its other words', async () => {
    const { key } = merchant;
    const body = someCustomer({
      first_name: '\u337f'.repeat(255),
      last_name: 'Zuse',
      company: 'Aalto',
      tags: ['long'],
    });
    const reply = await service.call('POST', '/v1/customers', { key, body });
    assert.equal(reply.status, 201);
    for (const query of [{ q: 'zuse' }, { q: 'aalto' }, { tags: 'long' }, { q: '\u682a\u5f0f' }] as Query[]) {
      assert.deepEqual(idsOf(await list(merchant, '/v1/customers', query)), [reply.body.id], JSON.stringify(query));
    }
  });
});

describe('the filter', () => {
  const odd = String.raw`it's a:b a:* "quoted" back\slash ' \ !a <-> (x) a&b|c ünï 日本 😀 100% a+b #1`.split(' ');
  const tagsOf = [['vip'], ['vip', 'gold'], ['two'], ['VIP'], ['a b'], ...odd.map((tag) => [tag])];
  let merchant: Merchant;
  const ids: string[] = [];
  before(async () => {
    merchant = await service.createMerchant();
    for (const tags of tagsOf) {
      const reply = await service.call('POST', '/v1/customers', { key: merchant.key, body: someCustomer({ tags }) });
      assert.equal(reply.status, 201, reply.text);
      ids.push(reply.body.id);
    }
  });

  async function tagged(tags: string | readonly string[]): Promise<string[]> {
    return idsOf(await list(merchant, '/v1/customers', { tags, limit: '100', sort: 'created_at' }));
  }

  const having = (...wanted: string[]): string[] =>
    ids.filter((_, index) => wanted.every((tag) => tagsOf[index]?.includes(tag)));

  it('`tags` requires all of them, repeated or comma-separated', async () => {
    assert.deepEqual(await tagged('vip'), having('vip'));
    assert.deepEqual(await tagged(['vip', 'gold']), having('vip', 'gold'));
    assert.deepEqual(await tagged('gold,vip'), having('vip', 'gold'));
    assert.deepEqual(await tagged(['vip', 'two']), []);
  });

  it('`tags` compares whole tags exactly', async () => {
    assert.deepEqual(await tagged('vi'), []);
    assert.deepEqual(await tagged('VIP'), having('VIP'));
    assert.deepEqual(await tagged('it'), []);
  });

  it('`tags` finds every tag that a customer can have', async () => {
    for (const tag of new Set(tagsOf.flat())) assert.deepEqual(await tagged(tag), having(tag), JSON.stringify(tag));
  });

  it('`tags` finds also a tag with a comma or spaces around it, unless it cannot be stored', async () => {
    for (const tag of ['with,comma', ' padded', 'padded ']) {
      const reply = await service.call('POST', '/v1/customers', {
        key: merchant.key,
        body: someCustomer({ tags: [tag] }),
      });
      if (reply.status === 400) continue;
      assert.deepEqual(await tagged(reply.body.tags[0]), [reply.body.id], JSON.stringify(tag));
    }
  });

  it('`tags` refuses an empty one, and names the parameter', async () => {
    for (const tags of ['', 'vip,', ['vip', '']]) {
      assert.equal((await refusal('/v1/customers', { tags })).param, 'tags');
    }
  });

  it('`tags` is never a 5xx, however long or odd the tag', async () => {
    for (const tags of ['x'.repeat(3000), 'a\0b', '\u674e'.repeat(1000), 'x,'.repeat(1000).slice(0, -1)]) {
      const { status } = await service.call('GET', urlOf('/v1/customers', { tags }));
      assert.ok(status === 200 || status === 400, `${tags.slice(0, 10)}: ${status}`);
    }
  });

  it('`email` is exact and minds no case', async () => {
    const body = someCustomer({ email: 'Grace.Hopper@Navy.example' });
    const { id } = (await service.call('POST', '/v1/customers', { key: merchant.key, body })).body;
    const found = async (email: string) => idsOf(await list(merchant, '/v1/customers', { email }));
    assert.deepEqual(await found('grace.hopper@navy.example'), [id]);
    assert.deepEqual(await found('GRACE.HOPPER@NAVY.EXAMPLE'), [id]);
    for (const other of [
      'grace.hopper',
      'hopper@navy.example',
      'grace%',
      'grace.hopper@navy.exampl',
      '_race.hopper@navy.example',
    ]) {
      assert.deepEqual(await found(other), [], other);
    }
  });

  it('`deleted=true` lists deleted customers and others alike; by default they are hidden', async () => {
    const own = await service.createMerchant();
    const [kept, removed, gone] = someRows(3).map((row) => row.id) as [string, string, string];
    await seedCustomers(
      own,
      [kept, removed, gone].map((id) => ({ id, updated_at: seedMs })),
    );
    withHistory.add(removed);
    for (const id of [removed, gone]) await service.call('DELETE', `/v1/customers/${id}`, { key: own.key });
    const found = async (query: Query) => idsOf(await list(own, '/v1/customers', { sort: 'created_at', ...query }));
    assert.deepEqual(await found({}), [kept]);
    assert.deepEqual(await found({ deleted: 'false' }), [kept]);
    assert.deepEqual(await found({ deleted: 'true' }), [kept, removed]);
    assert.deepEqual(await found({ deleted: 'true', email: `${gone}@example.com` }), []);
    assert.equal((await refusal('/v1/customers', { deleted: 'yes' })).param, 'deleted');
  });

  it('`active` lists active or archived products; deleted ones never', async () => {
    const rows = someRows(12);
    const own = await seeded('/v1/products', rows);
    const removed = rows[0]?.id ?? '';
    withHistory.add(removed);
    await service.call('DELETE', `/v1/products/${removed}`, { key: own.key });
    const found = async (query: Query) => idsOf(await list(own, '/v1/products', { limit: '100', ...query })).toSorted();
    const expected = (wanted: boolean[]) =>
      rows
        .filter(({ id, active }) => id !== removed && wanted.includes(active))
        .map((row) => row.id)
        .toSorted();
    assert.deepEqual(await found({ active: 'true' }), expected([true]));
    assert.deepEqual(await found({ active: 'false' }), expected([false]));
    assert.deepEqual(await found({}), expected([true, false]));
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
      .filter((node) => node['Node Type'].includes('Scan'))
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
