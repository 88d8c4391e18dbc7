import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertNotUsable, type SomeCoupon, someCoupon, tally, validate } from '../../../tests/support/coupons.ts';
import { assertRefused, openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { limits } from '../../limits.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

/** The codes of a coupon: how they are made, listed and found. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

const mint = (id: string, body: Record<string, unknown>): Promise<Reply> =>
  service.call('POST', `/v1/coupons/${id}/codes`, { body });

async function minted(id: string, body: Record<string, unknown>): Promise<string[]> {
  const reply = await mint(id, body);
  assert.equal(reply.status, 201, reply.text);
  assert.deepEqual(Object.keys(reply.body), ['data']);
  return reply.body.data.map(({ code }: { code: string }) => code);
}

describe('POST /v1/coupons/{id}/codes', () => {
  let coupon: SomeCoupon;
  before(async () => {
    coupon = await someCoupon(service, { max_redemptions_per_code: 3 });
  });

  it('makes as many as are asked for, of ten characters without a prefix', async () => {
    const reply = await mint(coupon.id, { count: 2 });
    assert.equal(reply.status, 201, reply.text);
    for (const { id, created_at, code, ...rest } of reply.body.data) {
      assert.match(id, /^[0-9a-f-]{36}$/);
      assert.match(created_at, /Z$/);
      assert.match(code, /^[A-Z2-9]{10}$/);
      assert.deepEqual(rest, { coupon_id: coupon.id, active: true, redemptions: 0, max_redemptions: 3 });
    }
    assert.equal(reply.body.data.length, 2);
  });

  it('takes 1 to 1,000, a prefix of up to 20 characters, a length of 6 to 32', async () => {
    assert.equal((await minted(coupon.id, { count: 1 })).length, 1);
    const [short = ''] = await minted(coupon.id, { count: 1, length: 6 });
    assert.equal(short.length, 6);
    const [long = ''] = await minted(coupon.id, { count: 1, length: 32, prefix: 'P'.repeat(20) });
    assert.match(long, /^P{20}.{32}$/);
    for (const [body, field] of [
      [{}, 'count'],
      [{ count: 0 }, 'count'],
      [{ count: 1001 }, 'count'],
      [{ count: 1.5 }, 'count'],
      [{ count: '1' }, 'count'],
      [{ count: 1, length: 5 }, 'length'],
      [{ count: 1, length: 33 }, 'length'],
      [{ count: 1, prefix: 'P'.repeat(21) }, 'prefix'],
      [{ count: 1, prefix: null }, 'prefix'],
      [{ count: 1, suffix: 'x' }, 'suffix'],
    ] as const) {
      assertRefused(await mint(coupon.id, body), 400, 'validation_error', field);
    }
  });

  it('makes no more than 100,000 for a coupon, however many requests come at once', async () => {
    const full = await someCoupon(service);
    await service.db.query('UPDATE coupons SET code_count = $2 WHERE id = $1', [full.id, limits.couponCodes - 900]);
    assertRefused(await mint(full.id, { count: 901 }), 400, 'validation_error', 'count');
    const replies = await Promise.all(Array.from({ length: 4 }, () => mint(full.id, { count: 500 })));
    assert.deepEqual(replies.map(({ status }) => `${status}`).toSorted(), ['201', '400', '400', '400']);
    const refused = replies.find(({ status }) => status === 400);
    assert.match(refused?.body.error.message ?? '', /at most 100,000 codes/);
    const [{ count } = { count: 0 }] = await service.db.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM coupon_codes WHERE coupon_id = $1',
      [full.id],
    );
    assert.equal(count, 501, 'a refused request leaves no codes');
    assert.equal((await minted(full.id, { count: 400 })).length, 400);
    assertRefused(await mint(full.id, { count: 1 }), 400, 'validation_error', 'count');
  });

  it('counts the codes that a coupon had before they were counted', async () => {
    const old = await someCoupon(service, { codes: { count: 30 } });
    await service.db.query('UPDATE coupons SET code_count = NULL WHERE id = $1', [old.id]);
    for (const count of [5, 7]) await minted(old.id, { count });
    const [row] = await service.db.query<object>('SELECT code_count FROM coupons WHERE id = $1', [old.id]);
    assert.deepEqual(row, { code_count: 42 });
  });

  it('uses the prefix of the coupon where none is given', async () => {
    const prefixed = await someCoupon(service, { code_prefix: 'tea-' });
    assert.match(prefixed.code, /^TEA-.{10}$/);
    const [own = ''] = await minted(prefixed.id, { count: 1 });
    assert.match(own, /^TEA-.{10}$/);
    const [other = ''] = await minted(prefixed.id, { count: 1, prefix: 'NO_' });
    assert.match(other, /^NO_.{10}$/);
  });

  it('says what is wrong with a prefix', async () => {
    const reply = await mint(coupon.id, { count: 1, prefix: 'A B' });
    assertRefused(reply, 400, 'validation_error', 'prefix');
    assert.doesNotMatch(reply.body.error.message, /blank/, 'it is not blank');
  });

  it('makes 1,000 in well under a second, no two alike, of letters that are not taken for one another', async () => {
    const startMs = performance.now();
    const codes = await minted(coupon.id, { count: 1000, prefix: '', length: 10 });
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 1000, `took ${tookMs} ms`);
    assert.equal(new Set(codes).size, 1000);
    const letters = new Set(codes.join(''));
    for (const lookAlike of ['0', 'O', '1', 'I', 'L']) assert.ok(!letters.has(lookAlike), lookAlike);
    assert.ok([...letters].every((letter) => /[A-Z0-9]/.test(letter)));
    assert.ok(letters.size > 25, 'they are drawn from a whole alphabet');
    const firsts = new Map<string, number>();
    for (const letter of codes.join('')) firsts.set(letter, (firsts.get(letter) ?? 0) + 1);
    const mean = 10_000 / letters.size;
    for (const [letter, count] of firsts) assert.ok(Math.abs(count - mean) < mean * 0.4, `${letter} ${count}`);
  });

  it('of many at once makes no two alike', async () => {
    const batches = await Promise.all(Array.from({ length: 8 }, () => minted(coupon.id, { count: 250, length: 6 })));
    assert.equal(new Set(batches.flat()).size, 2000);
  });

  it('is 422 for a promo, and 404 for a coupon that does not exist or belongs to another merchant', async () => {
    const promo = await someCoupon(service, { kind: 'promo', name: 'Only one' });
    assertRefused(await mint(promo.id, { count: 1 }), 422, 'invalid_request');
    const { data } = (await service.call('GET', `/v1/coupons/${promo.id}/codes`)).body;
    assert.equal(data.length, 1);
    assertRefused(await mint(randomUUID(), { count: 1 }), 404, 'resource_not_found', 'id');
    const { key } = await service.createMerchant();
    const path = `/v1/coupons/${coupon.id}/codes`;
    assertRefused(await service.call('POST', path, { key, body: { count: 1 } }), 404, 'resource_not_found', 'id');
  });

  it('answers a repeated key with the same codes', async () => {
    const made = await someCoupon(service);
    const options = { idempotencyKey: randomUUID(), body: { count: 5 } };
    const first = await service.call('POST', `/v1/coupons/${made.id}/codes`, options);
    const again = await service.call('POST', `/v1/coupons/${made.id}/codes`, options);
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal((await service.call('GET', `/v1/coupons/${made.id}/codes`)).body.data.length, 6);
  });
});

describe('GET /v1/coupons/{id}/codes', () => {
  it('lists those of the coupon, newest first, page by page', async () => {
    const { id, body } = await someCoupon(service, { codes: { count: 25 } });
    await someCoupon(service, { codes: { count: 5 } });
    const walk = async (more: string): Promise<string[]> => {
      const ids: string[] = [];
      let cursor = '';
      do {
        const page = (await service.call('GET', `/v1/coupons/${id}/codes?limit=7${more}${cursor}`)).body;
        assert.equal(page.url, `/v1/coupons/${id}/codes`);
        ids.push(...page.data.map((code: { id: string }) => code.id));
        cursor = page.has_more ? `&starting_after=${page.cursors.next}` : '';
      } while (cursor);
      return ids;
    };
    const made = body.codes.map((code: { id: string }) => code.id);
    const down = await walk('');
    assert.deepEqual(new Set(down), new Set(made));
    assert.equal(down.length, 25);
    assert.deepEqual(await walk('&sort=created_at'), down.toReversed());
    assert.equal((await service.call('GET', `/v1/coupons/${id}/codes`)).body.data.length, 10);
    const back = await service.call('GET', `/v1/coupons/${id}/codes?limit=7&ending_before=${down[10]}`);
    assert.deepEqual(
      back.body.data.map((code: { id: string }) => code.id),
      down.slice(3, 10),
    );
    const wrong = await service.call('GET', `/v1/coupons/${id}/codes?sort=code`);
    assertRefused(wrong, 400, 'validation_error', 'sort');
  });

  it('counts the redemptions of each', async () => {
    const { id, body } = await someCoupon(service, { codes: { count: 2 }, max_redemptions_per_code: 2 });
    const [first, second] = body.codes;
    for (let round = 0; round < 2; round += 1) await order(service, shop, { coupon_code: first.code });
    await order(service, shop, { coupon_code: second.code });
    const { data } = (await service.call('GET', `/v1/coupons/${id}/codes`)).body;
    const counts = Object.fromEntries(
      data.map((code: Record<string, unknown>) => [code.id, [code.redemptions, code.max_redemptions]]),
    );
    assert.deepEqual(counts, { [first.id]: [2, 2], [second.id]: [1, 2] });
  });
});

describe('a code', () => {
  it('is found in any case, with spaces around it', async () => {
    const { id, code } = await someCoupon(service, { code_prefix: 'Mix-' });
    for (const written of [code.toLowerCase(), ` ${code} `, code]) {
      assert.equal((await validate(service, { code: written, amount: 100 })).body.valid, true);
      const reply = await order(service, shop, { coupon_code: written });
      assert.deepEqual([reply.status, reply.body.coupon?.code], [201, code], reply.text);
    }
    assert.deepEqual(await tally(service, id), [3, 0]);
  });

  it('of another merchant is not found', async () => {
    const { key } = await service.createMerchant();
    const { code } = await someCoupon(service, {}, { key });
    assertNotUsable(await order(service, shop, { coupon_code: code }), 'code_not_found');
    assert.equal((await validate(service, { code, amount: 100 })).body.reason, 'code_not_found');
  });
});

describe('a coupon with 60,000 codes, between others', () => {
  let coupon: SomeCoupon;
  before(async () => {
    coupon = await someCoupon(service);
    const older = await someCoupon(service);
    const newer = await someCoupon(service);
    // Ids of three times: those of the coupon lie between those of the others.
    for (const [s, { id }] of [older, coupon, newer].entries()) {
      await service.db.query(
        `INSERT INTO coupon_codes (company_id, id, coupon_id, code)
         SELECT $1, (lpad(to_hex(1700000000000 + n / 100 + 10000000 * $3::integer), 12, '0')
           || '7' || substr(md5(n || 'a' || $3), 1, 3) || '8' || substr(md5(n || 'b' || $3), 1, 15))::uuid,
           $2, 'BULK' || $3 || '-' || n
         FROM generate_series(1, $4) AS n`,
        [service.company.id, id, s + 1, id === coupon.id ? 60_000 : 20_000],
      );
    }
    await service.db.query('ANALYZE coupon_codes');
  });

  const medianMs = async (work: () => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 9; round += 1) {
      const startMs = performance.now();
      await work();
      times.push(performance.now() - startMs);
    }
    return times.toSorted((left, right) => left - right)[4] ?? 0;
  };

  it('lists any page fast, first, last and in the middle', async () => {
    const path = `/v1/coupons/${coupon.id}/codes?limit=100`;
    const [middle] = await service.db.query<{ id: string }>(`SELECT id FROM coupon_codes WHERE code = 'BULK2-30000'`);
    for (const more of ['', '&sort=created_at', `&starting_after=${middle?.id}`, `&ending_before=${middle?.id}`]) {
      const tookMs = await medianMs(async () => {
        const reply = await service.call('GET', path + more);
        assert.equal(reply.body.data.length, 100);
        assert.ok(reply.body.data.every((code: { coupon_id: string }) => code.coupon_id === coupon.id));
      });
      assert.ok(tookMs < 200, `${more} took ${tookMs} ms`);
    }
  });

  it('is listed by its index, also beside many others', async () => {
    const plan = await service.db.query<Record<string, string>>(
      `EXPLAIN SELECT id, coupon_id, code, redemptions FROM coupon_codes
       WHERE company_id = '${service.company.id}' AND coupon_id = '${coupon.id}' ORDER BY id DESC LIMIT 101`,
    );
    const text = plan.map((row) => Object.values(row)[0]).join('\n');
    assert.match(text, /coupon_codes_pkey[^]*coupon_id = /, text);
    assert.doesNotMatch(text, /Seq Scan|Sort/, text);
  });

  it('is validated, redeemed and minted for as fast as one with a single code', async () => {
    const single = await someCoupon(service);
    const times: number[] = [];
    for (const code of [single.code, 'bulk2-40000']) {
      const validated = await medianMs(() => validate(service, { code, amount: 100, customer_id: shop.customerId }));
      const ordered = await medianMs(async () => {
        const reply = await order(service, shop, { coupon_code: code });
        assert.equal(reply.body.discount_amount, 490, reply.text);
      });
      times.push(validated, ordered);
    }
    const [oneValidated = 0, oneOrdered = 0, manyValidated = 0, manyOrdered = 0] = times;
    assert.ok(manyValidated < 3 * oneValidated + 10, `${manyValidated} ms instead of ${oneValidated} ms`);
    assert.ok(manyOrdered < 3 * oneOrdered + 10, `${manyOrdered} ms instead of ${oneOrdered} ms`);
    const mintedMs = await medianMs(() => minted(coupon.id, { count: 10 }));
    assert.ok(mintedMs < 400, `${mintedMs} ms`);
  });
});
