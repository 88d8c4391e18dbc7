import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { connectAcquirer } from '../../tests/support/connect.ts';
import { colleague, companyOf, type Person, signUp } from '../../tests/support/dashboard.ts';
import { routes as apiRoutes } from '../../tests/support/openapi.ts';
import { assertRefused } from '../../tests/support/orders.ts';
import {
  type Reply,
  someCustomer,
  someProduct,
  startTestService,
  type TestService,
} from '../../tests/support/service.ts';
import { eventually } from '../../tests/support/webhooks.ts';
import { dashboardRoutes } from '../app.ts';
import { settableFields } from './object-versions.ts';
import type { Route } from './route.ts';

/** Every object that can be changed has a version, and a change can name the version that it is based on. */

const routes = [...apiRoutes, ...dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0])] as readonly Route[];

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

interface Subject {
  readonly read: string;
  readonly write?: string;
  readonly changes: readonly [object, object];
  readonly live?: boolean;
}

async function post(path: string, body: unknown): Promise<string> {
  const reply = await owner.in('POST', path, body, { idempotencyKey: randomUUID() });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.id;
}

const at = async (collection: string, id: Promise<string>, ...changes: Subject['changes']): Promise<Subject> => ({
  read: `${collection}/${await id}`,
  changes,
});
const rename = [{ name: 'First' }, { name: 'Second' }] as const;
const describeAs = [{ description: 'First' }, { description: 'Second' }] as const;
const cycle = { interval: 'month', interval_count: 1, anchor_day: 31 };
const createPlan = (): Promise<string> =>
  post('/dashboard/plans', {
    name: 'Plan',
    amount: 100,
    currency: 'usd',
    billing_cycle: cycle,
    plan_code: randomUUID(),
  });

async function customerWithCard(): Promise<string> {
  const customer_id = await post('/v1/customers', someCustomer());
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  await post('/capture', { customer_id, card });
  return customer_id;
}

async function openDispute(): Promise<string> {
  const [customer_id, product_id] = [await customerWithCard(), await post('/v1/products', someProduct())];
  const order_id = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
  assert.equal((await owner.in('POST', `/v1/sandbox/orders/${order_id}/chargeback`, {})).status, 200);
  return (await owner.in('GET', `/dashboard/disputes?order_id=${order_id}`)).body.data[0].id;
}

async function memberAndRoles(): Promise<Subject> {
  const member = await colleague(service, owner, 'Viewer');
  const { data: roles } = (await owner.in('GET', '/v1/roles')).body;
  const { data: members } = (await owner.in('GET', '/v1/team_members?limit=100')).body;
  const { id } = members.find(({ email }: { email: string }) => email === member.email);
  const change = (wanted: string) => ({ role_id: roles.find(({ name }: { name: string }) => name === wanted).id });
  return { read: `/dashboard/team_members/${id}`, changes: [change('Support'), change('Developer')] };
}

const products = [{ product_id: '', quantity: 1 }];

/** By the operation that changes it: an object, and two changes of it. */
const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  updateProduct: () => at('/v1/products', post('/v1/products', someProduct()), ...rename),
  updateCustomer: () =>
    at('/v1/customers', post('/v1/customers', someCustomer()), { first_name: 'First' }, { first_name: 'Second' }),
  updateCoupon: () =>
    at('/v1/coupons', post('/v1/coupons', { name: `C${randomUUID()}`.slice(0, 20), percentage: 5 }), ...describeAs),
  updatePaymentLink: async () => {
    const items = [{ ...products[0], product_id: await post('/v1/products', someProduct()) }];
    return at('/v1/payment_links', post('/v1/payment_links', { mode: 'payment', name: 'Link', items }), ...rename);
  },
  updateWebhookEndpoint: () =>
    at(
      '/v1/webhook_endpoints',
      post('/v1/webhook_endpoints', { url: 'https://shop.example.com/hook', enabled_events: ['*'] }),
      ...describeAs,
    ),
  updateSubscription: async () => {
    const body = { customer_id: await customerWithCard(), plan_id: await createPlan() };
    return at('/v1/subscriptions', post('/v1/subscriptions', body), ...describeAs);
  },
  updatePlan: async () => {
    const id = await createPlan();
    return { read: `/v1/plans/${id}`, write: `/dashboard/plans/${id}`, changes: rename };
  },
  updatePlanGroup: async () => {
    const rules = { upgrade: 'now', downgrade: 'renewal', proration: 'difference', after_cycles: 0, seats_max: null };
    const group = { name: 'Teas', plan_ids: [await createPlan()], ...rules };
    return at('/dashboard/plan_groups', post('/dashboard/plan_groups', group), ...rename);
  },
  updateCompany: async () => ({
    read: '/dashboard/company',
    changes: [{ name: randomUUID() }, { name: randomUUID() }],
  }),
  updateProfile: async () => ({
    read: '/dashboard/profile',
    changes: [{ tax_id: randomUUID() }, { tax_id: randomUUID() }],
  }),
  updateInvoiceSettings: async () => ({
    read: '/dashboard/invoice_settings',
    changes: [{ legal_name: randomUUID() }, { legal_name: randomUUID() }],
  }),
  updateDispute: () =>
    at(
      '/dashboard/disputes',
      openDispute(),
      { evidence: { explanation: 'First' } },
      { evidence: { explanation: 'Second' } },
    ),
  updateRole: () =>
    at(
      '/dashboard/roles',
      post('/dashboard/roles', { name: randomUUID(), permissions: ['orders:read'] }),
      ...describeAs,
    ),
  updateTeamMember: memberAndRoles,
  updateApiKey: () =>
    at('/dashboard/api_keys', post('/dashboard/api_keys', { name: 'Key', kind: 'secret' }), ...rename),
  updateProcessor: async () => {
    const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
    const acquirer = { url: 'http://127.0.0.1:1', secret: 'x', ...timing };
    const id = connectAcquirer(service, companyOf(owner, 'live'), acquirer);
    return { ...(await at('/dashboard/processors', id, ...rename)), live: true };
  },
};

/** What another change sets meanwhile, in the table of the object. */
const rows: Readonly<Record<string, readonly [table: string, column: string, value?: unknown]>> = {
  updateProduct: ['products', 'name'],
  updateCustomer: ['customers', 'first_name'],
  updateCoupon: ['coupons', 'description'],
  updatePaymentLink: ['payment_links', 'name'],
  updateWebhookEndpoint: ['webhook_endpoints', 'description'],
  updateSubscription: ['subscriptions', 'description'],
  updatePlan: ['plans', 'name'],
  updateCompany: ['companies', 'name'],
  updateProfile: ['company_profiles', 'tax_id'],
  updateInvoiceSettings: ['invoice_settings', 'legal_name'],
  updateDispute: ['disputes', 'evidence', { explanation: 'Meanwhile' }],
  updateRole: ['roles', 'description'],
  updateApiKey: ['api_keys', 'name'],
  updateProcessor: ['processor_connections', 'name'],
};

/** These do not edit the fields of an object. */
const actions = ['reorderProductImages', 'updatePaymentMethod'];

const company = ({ live = false }: Subject): string => companyOf(owner, live ? 'live' : 'sandbox');
const read = async (subject: Subject): Promise<Reply> => {
  const reply = await owner.in('GET', subject.read, undefined, { company: company(subject) });
  assert.equal(reply.status, 200, reply.text);
  return reply;
};
const statusesOf = (replies: readonly Reply[]): number[] =>
  replies.map(({ status }) => status).toSorted((one, other) => one - other);
const etagOf = ({ headers }: Reply): string => headers.get('etag') ?? '';
const change = (subject: Subject, body: object, ifMatch?: string, idempotencyKey?: string): Promise<Reply> =>
  owner.in('PATCH', subject.write ?? subject.read, body, {
    company: company(subject),
    idempotencyKey: idempotencyKey ?? randomUUID(),
    ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
  });

describe('the version of an object', () => {
  it('is checked by every route that edits one', () => {
    const patches = routes.filter(({ method }) => method === 'PATCH').map(({ operationId }) => operationId);
    assert.deepEqual(patches.toSorted(), [...Object.keys(subjects), ...actions].toSorted());
    const versioned = routes.filter(({ current }) => current).map(({ operationId }) => operationId);
    assert.deepEqual(versioned.toSorted(), Object.keys(subjects).toSorted());
  });

  for (const [operationId, create] of Object.entries(subjects)) {
    it(`of ${operationId} is the same in each response, and changes with the object`, async () => {
      const subject = await create();
      const original = await read(subject);
      assert.match(etagOf(original), /^"[\w-]{22}"$/);
      assert.equal(etagOf(await read(subject)), etagOf(original));
      const changed = await change(subject, subject.changes[0]);
      assert.equal(changed.status, 200, changed.text);
      assert.notEqual(etagOf(changed), etagOf(original));
      assert.equal(etagOf(await read(subject)), etagOf(changed));
      const { body } = routes.find((route) => route.operationId === operationId) ?? {};
      assert.ok(body);
      const unseen = Object.entries(settableFields(body, original.body)).filter(([, value]) => value === undefined);
      assert.deepEqual(
        unseen.map(([name]) => name),
        operationId === 'updateProcessor' ? ['configuration'] : [],
        'a field that can be set is part of the version',
      );
    });

    it(`lets exactly one of two requests of ${operationId} change it`, async () => {
      const subject = await create();
      const version = etagOf(await read(subject));
      const keys = [randomUUID(), randomUUID()] as const;
      const [first, second] = await Promise.all([
        change(subject, subject.changes[0], version, keys[0]),
        change(subject, subject.changes[1], version, keys[1]),
      ]);
      assert.deepEqual(statusesOf([first, second]), [200, 412], `${first.text} ${second.text}`);
      const won = first.status === 200 ? 0 : 1;
      const [winner, loser] = won === 0 ? [first, second] : [second, first];
      assertRefused(loser, 412, 'resource_changed', 'If-Match');
      const now = await read(subject);
      assert.deepEqual([etagOf(now), etagOf(loser)], [etagOf(winner), etagOf(winner)]);
      // The key of the winner replays its response. That of the loser was not used.
      const replay = await change(subject, subject.changes[won], version, keys[won]);
      assert.deepEqual(
        [replay.status, replay.headers.get('svc-idempotent-replayed'), etagOf(replay)],
        [200, 'true', etagOf(winner)],
      );
      const other = won === 0 ? 1 : 0;
      const repeated = await change(subject, subject.changes[other], etagOf(loser), keys[other]);
      assert.equal(repeated.status, 200, repeated.text);
    });
  }

  for (const [operationId, [table, column, value]] of Object.entries(rows)) {
    it(`is compared by ${operationId} only when no other change of the object is under way`, async () => {
      const subject = await subjects[operationId]?.();
      assert.ok(subject);
      const original = await read(subject);
      const [key, id] = ['company_profiles', 'invoice_settings'].includes(table)
        ? ['company_id', company(subject)]
        : ['id', original.body.id];
      let waiting: Promise<Reply> | undefined;
      await service.db.transaction(async (db) => {
        await db.query(`UPDATE ${table} SET ${column} = $2 WHERE ${key} = $1`, [id, value ?? randomUUID()]);
        waiting = change(subject, subject.changes[0], etagOf(original));
        await eventually('the request waits for the row', async () => {
          const found = await service.db.query(
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
          );
          return found.length > 0;
        });
      });
      assertRefused((await waiting) as Reply, 412, 'resource_changed');
    });
  }

  it('is also checked for API keys, without an idempotency key too', async () => {
    const { body: made } = await service.call('POST', '/v1/customers', { body: someCustomer() });
    const path = `/v1/customers/${made.id}`;
    const version = etagOf(await service.call('GET', path));
    const patch = (first_name: string, ifMatch: string): Promise<Reply> =>
      service.call('PATCH', path, { body: { first_name }, headers: { 'if-match': ifMatch } });
    const replies = await Promise.all(['A', 'B', 'C', 'D'].map((name) => patch(name, version)));
    assert.deepEqual(statusesOf(replies), [200, 412, 412, 412]);
    assert.equal((await service.call('PATCH', path, { body: { first_name: 'E' } })).status, 200);
    assertRefused(await patch('F', version), 412, 'resource_changed');
    assert.equal((await service.call('GET', path)).body.first_name, 'E');
  });

  it('does not depend on the fields, the expansions or the API version of a read', async () => {
    const { body: made } = await service.call('POST', '/v1/customers', { body: someCustomer() });
    const path = `/v1/customers/${made.id}`;
    const versions = await Promise.all([
      service.call('GET', path),
      service.call('GET', `${path}?fields[customers]=email`),
      service.call('GET', `${path}?expand=payment_methods,subscriptions`),
      service.call('GET', path, { headers: { 'svc-version': '2025-11-04' } }),
    ]);
    assert.equal(new Set(versions.map(etagOf)).size, 1);
  });

  it('ignores what no change can set, such as the use of a key', async () => {
    const subject = await subjects.updateApiKey?.();
    assert.ok(subject);
    const unused = await read(subject);
    await service.db.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [unused.body.id]);
    const used = await read(subject);
    assert.notEqual(used.body.last_used_at, unused.body.last_used_at);
    assert.equal(etagOf(used), etagOf(unused));
  });

  it('is any with *, one of several, or weak behind a proxy that compresses', async () => {
    const subject = await subjects.updateProduct?.();
    assert.ok(subject);
    const next = async (header: (version: string) => string): Promise<number> => {
      const version = etagOf(await read(subject));
      return (await change(subject, { name: randomUUID() }, header(version))).status;
    };
    assert.equal(await next(() => '*'), 200);
    assert.equal(await next((version) => `"other", ${version}`), 200);
    assert.equal(await next((version) => `W/${version}`), 200);
    assert.equal(await next(() => '"other", "another"'), 412);
    assert.equal(await next(() => '""'), 412);
    const missing = { ...subject, read: `/v1/products/${randomUUID()}` };
    assertRefused(await change(missing, { name: 'A' }, '*'), 404, 'resource_not_found');
    assertRefused(await change(missing, { name: 'A' }, '"other"'), 404, 'resource_not_found');
  });

  it('must be written as it was received', async () => {
    const subject = await subjects.updateProduct?.();
    assert.ok(subject);
    const version = etagOf(await read(subject));
    for (const header of [version.slice(1, -1), `${version},`, `${version} ${version}`, `'${version}'`, '**', '']) {
      const reply = await change(subject, { name: 'Wrong' }, header);
      assertRefused(reply, 400, 'invalid_request', 'If-Match');
      assert.match(reply.body.error.message, /quotation marks/);
    }
    assert.equal(etagOf(await read(subject)), version);
  });
});
