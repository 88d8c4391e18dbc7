import assert from 'node:assert/strict';
import { usualReferences } from '../../server/references.ts';
import { insertCustomer } from '../../server/features/customers/queries.ts';
import { searchEntries } from '../../server/features/customers/search.ts';
import { newEvent } from '../../server/features/events/service.ts';
import { insertProduct } from '../../server/features/products/queries.ts';
import { idTimeMs, newId } from '../../server/platform/ids.ts';
import { type Merchant, type Reply, startTestService, type TestService } from './service.ts';

/** Two kinds of objects, their lists over HTTP, and the order in which a list must return them. */

export type Query = Readonly<Record<string, string | readonly string[]>>;
export type Path = '/v1/customers' | '/v1/products';

interface Listed {
  readonly id: string;
  readonly [name: string]: unknown;
}

export interface List {
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

export function urlOf(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, values] of Object.entries(query)) {
    for (const value of [values].flat()) parameters.append(name, value);
  }
  return `${path}?${parameters}`;
}

export const idsOf = ({ data }: List): string[] => data.map((object) => object.id);

/** The ids of all pages of a list, read to the end, and then back to the beginning. */
export async function walkPages(
  read: (page: string) => Promise<Reply>,
): Promise<{ readonly forwards: string[]; readonly back: string[] }> {
  let page = (await read('')).body as List;
  assert.equal(page.cursors.previous, null);
  const forwards = idsOf(page);
  while (page.cursors.next) {
    page = (await read(`&starting_after=${page.cursors.next}`)).body as List;
    forwards.push(...idsOf(page));
  }
  const back = idsOf(page);
  while (page.cursors.previous) {
    page = (await read(`&ending_before=${page.cursors.previous}`)).body as List;
    back.unshift(...idsOf(page));
  }
  return { forwards, back };
}

/** What a list is compared with: an object's id and the value it is sorted by, under the name of each sort. */
export interface Row {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: number;
  readonly name: string;
  readonly amount: number;
  readonly active: boolean;
}

export const seedMs = Date.parse('2026-02-11T09:30:00.000Z');

/** Few values for many rows, so that each sort has ties across several pages. */
export function someRows(count: number): Row[] {
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

const blankCustomer = {
  first_name: 'Ada',
  last_name: 'Lovelace',
  company: null,
  tax_id: null,
  locale: null,
  shipping_address: null,
  default_payment_method_id: null,
  tags: [],
  metadata: {},
  sequence: 1,
  deleted_at: null,
};

export type Sort = 'created_at' | 'updated_at' | 'name' | 'amount';
export const sortsOf: Readonly<Record<Path, readonly Sort[]>> = {
  '/v1/customers': ['created_at', 'updated_at'],
  '/v1/products': ['created_at', 'updated_at', 'name', 'amount'],
};
export const paths: readonly Path[] = ['/v1/customers', '/v1/products'];

export interface Order {
  readonly path: Path;
  readonly sort: Sort;
  readonly direction: 'asc' | 'desc';
}

export const orders: readonly Order[] = paths.flatMap((path) =>
  sortsOf[path].flatMap((sort) => [
    { path, sort, direction: 'asc' as const },
    { path, sort, direction: 'desc' as const },
  ]),
);

const compare = <Value extends string | number>(left: Value, right: Value): number =>
  left < right ? -1 : left > right ? 1 : 0;

export function sorted(rows: readonly Row[], sort: Sort, direction: 'asc' | 'desc'): string[] {
  const ascending = rows.toSorted((left, right) => compare(left[sort], right[sort]) || compare(left.id, right.id));
  const ids = ascending.map((row) => row.id);
  return direction === 'asc' ? ids : ids.toReversed();
}

export interface ListsService {
  readonly service: TestService;
  /** Objects with a history: deleting one of these is a soft delete. */
  readonly withHistory: Set<string>;
  list(merchant: Merchant, path: Path, query?: Query): Promise<List>;
  refusal(path: string, query: Query): Promise<Refusal>;
  seedProducts(merchant: Merchant, rows: readonly Row[]): Promise<void>;
  seedCustomers(merchant: Merchant, rows: readonly Pick<Row, 'id' | 'updated_at'>[]): Promise<void>;
  /** A merchant with these objects. */
  seeded(path: Path, rows: readonly Row[]): Promise<Merchant>;
}

export async function startListsService(): Promise<ListsService> {
  const withHistory = new Set<string>();
  const inHistory = async (_db: unknown, _companyId: string, id: string) => withHistory.has(id);
  const service = await startTestService({
    references: { ...usualReferences, hasHistory: inHistory, inArchivedPlans: inHistory },
  });

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

  async function seedProducts({ sandbox }: Merchant, rows: readonly Row[]): Promise<void> {
    await service.db.transaction(async (db) => {
      for (const { id, name, amount, active, updated_at } of rows) {
        const row = { ...blankProduct, id, name, amount, active, sku: id, updated_at: new Date(updated_at) };
        await insertProduct(db, sandbox.id, row);
      }
    });
  }

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

  const seed = { '/v1/customers': seedCustomers, '/v1/products': seedProducts };

  async function seeded(path: Path, rows: readonly Row[]): Promise<Merchant> {
    const merchant = await service.createMerchant();
    await seed[path](merchant, rows);
    return merchant;
  }

  return { service, withHistory, list, refusal, seedProducts, seedCustomers, seeded };
}
