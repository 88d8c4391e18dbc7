import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { idsOf, type Query, seedMs, someRows, startListsService, urlOf } from '../../tests/support/lists.ts';
import { anyText, rounds } from '../../tests/support/random.ts';
import { type Merchant, someCustomer, someProduct } from '../../tests/support/service.ts';
import { newId } from '../platform/ids.ts';

/** The parameters of a list: filters, search, sparse fields and expand. */

const { service, withHistory, list, refusal, seedCustomers, seeded } = await startListsService();
after(() => service.stop());

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

  it('without a word matches no customer, with any other filters', async () => {
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

  it('is never a 5xx, for any text', async () => {
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
