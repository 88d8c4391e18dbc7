import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, inviteAs, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, openShop, order } from '../../../tests/support/orders.ts';
import { openAcquirer, type OwnAcquirer } from '../../../tests/support/own-acquirer.ts';
import { type Reply, someProduct, startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';

let service: TestService;
let acquirer: OwnAcquirer;
before(async () => {
  acquirer = await openAcquirer();
  service = await startTestService({ settings: { SVC_ACQUIRERS: `${acquirer.url}/` } });
});
after(async () => {
  await Promise.all([acquirer.stop(), service.stop()]);
});

/** An owner, with calls in the sandbox and in the live company. */
async function merchant() {
  const owner = await signUp(service);
  const live = companyOf(owner, 'live');
  const post = async (path: string, body: object, company?: string): Promise<Record<string, any>> => {
    const options = { idempotencyKey: randomUUID(), ...(company && { company }) };
    const reply = await owner.in('POST', path, body, options);
    assert.ok(reply.status < 300, reply.text);
    return reply.body;
  };
  return {
    owner,
    live,
    inSandbox: (path: string, body: object) => post(path, body),
    inLive: (path: string, body: object) => post(path, body, live),
    liveList: async (path: string): Promise<Record<string, any>[]> =>
      (await owner.in('GET', `${path}?limit=100`, undefined, { company: live })).body.data,
    copy: (body: object = {}, options: object = {}): Promise<Reply> =>
      owner.in('POST', '/dashboard/copy_from_sandbox', body, { company: live, ...options }),
  };
}

const cycle = { interval: 'month', interval_count: 1, anchor_day: 'signup_date' };
const plan = (name: string, products: readonly string[] = []): object => ({
  name,
  amount: 900,
  currency: 'eur',
  billing_cycle: cycle,
  products: products.map((product_id) => ({ product_id, quantity: 2 })),
});

describe('going live', () => {
  it('lists what is done and what is not', async () => {
    const { owner, live, inLive } = await merchant();
    const progress = async (): Promise<Record<string, boolean>> => {
      const { body } = await owner.in('GET', '/dashboard/going_live', undefined, { company: live });
      const steps = body.steps.map(({ step, is_done }: { step: string; is_done: boolean }) => [step, is_done]);
      return { ...Object.fromEntries(steps), complete: body.is_complete };
    };
    const none = {
      rehearsal: false,
      processor: false,
      api_keys: false,
      webhooks: false,
      charge: false,
      complete: false,
    };
    assert.deepEqual(await progress(), none, 'without a processor, there are no notices to wait for');
    const { id } = await inLive('/dashboard/processors', {
      kind: 'acquirer',
      configuration: { url: `${acquirer.url}/`, secret: acquirer.secret },
    });
    await inLive('/dashboard/api_keys', { name: 'Page', kind: 'publishable' });
    const connected = { ...none, processor: true, notices: false };
    assert.deepEqual(await progress(), connected, 'a publishable key alone is not enough');
    await inLive('/dashboard/api_keys', { name: 'Server', kind: 'secret' });
    await inLive('/v1/webhook_endpoints', { url: 'https://shop.example.com/hook', enabled_events: ['*'] });
    assert.deepEqual(await progress(), { ...connected, api_keys: true, webhooks: true });
    const key = await service.createKey({ ...service.company, id: live, mode: 'live', processor: 'connected' });
    const placed = await order(service, await openShop(service, undefined, { key }), {}, { key });
    assert.equal(placed.body.status, 'succeeded', placed.text);
    await service.db.query('UPDATE processor_connections SET notice_seen_at = now() WHERE id = $1', [id]);
    assert.equal((await progress()).complete, true);
    await service.db.query('UPDATE api_keys SET revoked_at = now() WHERE company_id = $1', [live]);
    assert.deepEqual([(await progress()).api_keys, (await progress()).complete], [false, false]);
  });

  it('lists the notices of each connected processor that sends them', async () => {
    const { owner, live } = await merchant();
    const connection = randomUUID();
    await service.db.query(
      `INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms)
       VALUES ($1, $2, 'stripe', 'Stripe', 1, 60000)`,
      [live, connection],
    );
    const notices = async (): Promise<unknown> => {
      const { body } = await owner.in('GET', '/dashboard/going_live', undefined, { company: live });
      return body.steps.find(({ step }: { step: string }) => step === 'notices')?.is_done;
    };
    assert.equal(await notices(), false);
    await service.db.query('UPDATE processor_connections SET notice_seen_at = now() WHERE id = $1', [connection]);
    assert.equal(await notices(), true);
    await service.db.query('UPDATE processor_connections SET disconnected_at = now() WHERE id = $1', [connection]);
    assert.equal(await notices(), undefined);
  });

  it('is not for a sandbox', async () => {
    const owner = await signUp(service);
    assertRefused(await owner.in('GET', '/dashboard/going_live'), 400, 'invalid_request');
    assertRefused(await owner.in('POST', '/dashboard/copy_from_sandbox', {}), 400, 'invalid_request');
  });
});

describe('copying from the sandbox', () => {
  it('copies products, plans, coupons and webhook endpoints once, and skips what exists', async () => {
    const { owner, live, inSandbox, inLive, liveList, copy } = await merchant();
    const pot = await inSandbox('/v1/products', someProduct({ sku: 'pot', metadata: { shelf: 'A' }, weight: '900 g' }));
    const cup = await inSandbox('/v1/products', someProduct({ sku: 'cup', name: 'Cup' }));
    await owner.in('PATCH', `/v1/products/${cup.id}`, { active: false }, { idempotencyKey: randomUUID() });
    const gone = await inSandbox('/v1/products', someProduct({ sku: 'gone' }));
    await owner.in('DELETE', `/v1/products/${gone.id}`);
    const monthly = await inSandbox('/dashboard/plans', plan('Monthly', [pot.id, cup.id]));
    await inSandbox('/dashboard/plans', plan('Bare'));
    const old = await inSandbox('/dashboard/plans', plan('Old'));
    await owner.in('PATCH', `/dashboard/plans/${old.id}`, { active: false });
    const scope = { product_scope: 'specific', product_ids: [pot.id], plan_scope: 'specific', plan_ids: [monthly.id] };
    await inSandbox('/v1/coupons', { name: 'Tea20', kind: 'promo', percentage: 20, duration: 'once', ...scope });
    await inSandbox('/v1/coupons', { name: 'Friends', amount: 500, currency: 'eur', codes: { count: 3 } });
    const hook = { url: 'https://shop.example.com/hook', enabled_events: ['order.*'], description: 'Shop' };
    await inSandbox('/v1/webhook_endpoints', hook);
    await inSandbox('/v1/webhook_endpoints', { ...hook, description: 'The same URL again' });
    const off = await inSandbox('/v1/webhook_endpoints', { ...hook, url: 'https://off.example.com/' });
    await owner.in('PATCH', `/v1/webhook_endpoints/${off.id}`, { status: 'disabled' });
    const existing = await inLive('/v1/products', someProduct({ sku: 'pot', name: 'Live pot' }));

    const key = randomUUID();
    const { status, body } = await copy({}, { idempotencyKey: key });
    assert.equal(status, 200);
    const { left_out, signing_secrets, ...counts } = body;
    assert.deepEqual(counts, {
      products: { copied: 1, skipped: 1 },
      plans: { copied: 2, skipped: 0 },
      coupons: { copied: 2, skipped: 0 },
      webhook_endpoints: { copied: 1, skipped: 1 },
    });
    assert.deepEqual(left_out, []);
    assert.match(signing_secrets[0].signing_secret, /^whsec_/);
    assert.deepEqual((await copy({}, { idempotencyKey: key })).body, body, 'the key shows the secrets again');
    const stored = await service.db.query(
      `SELECT action FROM audit_entries WHERE company_id = $1 AND action = 'copyFromSandbox'`,
      [live],
    );
    assert.equal(stored.length, 1);

    const products = await liveList('/v1/products');
    const bySku = Object.fromEntries(products.map((one) => [one.sku, one]));
    assert.deepEqual(Object.keys(bySku).toSorted(), ['cup', 'pot']);
    assert.deepEqual([bySku.pot?.id, bySku.pot?.name], [existing.id, 'Live pot'], 'what exists stays as it is');
    assert.equal(bySku.cup?.active, false);
    const [bare, copiedPlan] = (await liveList('/v1/plans')).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    assert.deepEqual([bare?.plan_code, bare?.products, copiedPlan?.currency], ['bare', [], 'eur']);
    assert.deepEqual(copiedPlan?.products, [
      { product_id: existing.id, name: 'Live pot', quantity: 2 },
      { product_id: bySku.cup?.id, name: 'Cup', quantity: 2 },
    ]);
    const coupons = Object.fromEntries((await liveList('/v1/coupons')).map((one) => [one.name, one]));
    assert.partialDeepStrictEqual(coupons.Tea20, {
      percentage: 20,
      product_ids: [existing.id],
      plan_ids: [copiedPlan?.id],
      total_redemptions: 0,
    });
    const codesOf = async (name: string): Promise<string[]> =>
      (await liveList(`/v1/coupons/${coupons[name]?.id}/codes`)).map(({ code }) => code);
    assert.deepEqual([await codesOf('Tea20'), await codesOf('Friends')], [['TEA20'], []]);
    const [endpoint] = await liveList('/v1/webhook_endpoints');
    assert.partialDeepStrictEqual(endpoint, { ...hook, status: 'enabled', id: signing_secrets[0].endpoint_id });

    const { signing_secrets: secrets, left_out: left, ...again } = (await copy()).body;
    assert.deepEqual([secrets, left], [[], []]);
    assert.deepEqual(again, {
      products: { copied: 0, skipped: 2 },
      plans: { copied: 0, skipped: 2 },
      coupons: { copied: 0, skipped: 2 },
      webhook_endpoints: { copied: 0, skipped: 2 },
    });
  });

  it('leaves out what refers to something that the live company lacks, and says so', async () => {
    const { inSandbox, copy, liveList } = await merchant();
    const { id } = await inSandbox('/v1/products', someProduct({ sku: 'lamp' }));
    await inSandbox('/dashboard/plans', plan('Light', [id]));
    const specific = { product_scope: 'specific', product_ids: [id], plan_scope: 'none' };
    await inSandbox('/v1/coupons', { name: 'BRIGHT', kind: 'promo', percentage: 10, duration: 'once', ...specific });
    const { body } = await copy({ include: ['plans', 'coupons'] });
    assert.deepEqual(
      [body.products, body.plans, body.coupons],
      Array.from({ length: 3 }, () => ({ copied: 0, skipped: 0 })),
    );
    assert.deepEqual(body.left_out, [
      { kind: 'plans', name: 'Light', reason: 'One of its products does not exist in the live company.' },
      { kind: 'coupons', name: 'BRIGHT', reason: 'None of its products or plans exists in the live company.' },
    ]);
    const later = (await copy()).body;
    assert.deepEqual([later.products.copied, later.plans.copied, later.coupons.copied], [1, 1, 1]);
    assert.equal((await liveList('/v1/plans')).length, 1);
  });

  it('skips a coupon whose code another coupon has', async () => {
    const { inSandbox, inLive, copy } = await merchant();
    await inSandbox('/v1/coupons', { name: 'Spring', kind: 'promo', percentage: 10, duration: 'once' });
    await inLive('/v1/coupons', { name: 'SPRING', kind: 'promo', percentage: 30, duration: 'once' });
    assert.deepEqual((await copy()).body.coupons, { copied: 0, skipped: 1 });
  });

  it('copies once when two owners copy at the same time', async () => {
    const { inSandbox, copy, liveList } = await merchant();
    await inSandbox('/v1/products', someProduct({ sku: 'twin' }));
    await inSandbox('/v1/coupons', { name: 'TWIN', kind: 'promo', percentage: 10, duration: 'once' });
    await inSandbox('/v1/webhook_endpoints', { url: 'https://twin.example.com/', enabled_events: ['*'] });
    // Each kind alone: copies of the same products would wait for each other anyway.
    for (const kind of ['webhook_endpoints', 'products', 'coupons']) {
      const include = { include: [kind] };
      const replies = await Promise.all([copy(include), copy(include), copy(include), copy(include)]);
      assert.deepEqual(
        replies.map(({ status, body }) => [status, body[kind].copied]).toSorted(([, one], [, other]) => one - other),
        [
          [200, 0],
          [200, 0],
          [200, 0],
          [200, 1],
        ],
        kind,
      );
      assert.equal((await liveList(`/v1/${kind}`)).length, 1, kind);
    }
  });

  it('rejects a sandbox with too many products, and copies nothing of it', async () => {
    const { owner, inSandbox, copy, liveList } = await merchant();
    const { id } = await inSandbox('/v1/products', someProduct({ sku: 'seed' }));
    await service.db.query(
      `INSERT INTO products SELECT (jsonb_populate_record(p, jsonb_build_object('id', uuidv7(), 'sku', 'n-' || n))).*
       FROM products p, generate_series(1, $3::integer) n WHERE company_id = $1 AND id = $2`,
      [companyOf(owner, 'sandbox'), id, limits.copiedObjects],
    );
    const refused = await copy();
    assertRefused(refused, 400, 'invalid_request');
    assert.match(refused.body.error.message, /more than 5000 products/);
    assert.deepEqual(await liveList('/v1/products'), []);
    await owner.in('DELETE', `/v1/products/${id}`);
    assert.equal((await copy()).body.products.copied, limits.copiedObjects);
  });

  it('reads the sandbox only for a member who can read it', async () => {
    const { owner, live, inSandbox, copy } = await merchant();
    await inSandbox('/v1/products', someProduct({ sku: 'hidden' }));
    // A second owner of the live company, who is not in the team of the sandbox.
    const other = await signUp(service);
    const inLive: Person = { ...owner, in: (method, path, body) => owner.in(method, path, body, { company: live }) };
    const token = await inviteAs(service, inLive, other.email, 'Owner');
    const accepted = await other.call('POST', `/dashboard/invitations/${token}/accept`, {
      body: { password: other.password },
    });
    assert.equal(accepted.status, 200, accepted.text);
    const ask = (): Promise<Reply> => other.in('POST', '/dashboard/copy_from_sandbox', {}, { company: live });
    assertRefused(await ask(), 403, 'insufficient_permissions');
    // A blocked owner of the sandbox cannot either.
    await service.db.query(`UPDATE team_members SET status = 'blocked' WHERE company_id = $1`, [
      companyOf(owner, 'sandbox'),
    ]);
    assertRefused(await copy(), 403, 'insufficient_permissions');
  });

  it('needs the permission to write what it copies', async () => {
    const { owner, live, copy, inLive } = await merchant();
    const { name } = await inLive('/dashboard/roles', {
      name: 'Settings only',
      permissions: ['company:read', 'company:write', 'products:write'],
    });
    const scoped: Person = { ...owner, in: (method, path, body) => owner.in(method, path, body, { company: live }) };
    const member = await colleague(service, scoped, name);
    const ask = (body: object): Promise<Reply> =>
      member.in('POST', '/dashboard/copy_from_sandbox', body, { company: live });
    const refused = await ask({});
    assertRefused(refused, 403, 'insufficient_permissions');
    assert.match(refused.body.error.message, /plans:write, coupons:write, webhook_endpoints:write/);
    assertRefused(await ask({ include: ['products'] }), 403, 'insufficient_permissions');
    assert.equal((await copy({ include: ['products'] })).status, 200);
  });
});
