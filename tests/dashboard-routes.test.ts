import assert from 'node:assert/strict';
import { connectAcquirer } from './support/connect.ts';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { dashboardRoutes } from '../server/app.ts';
import { limits } from '../server/limits.ts';
import { eventIdOf } from '../server/platform/ids.ts';
import { colleague, companyOf, type Person, signUp } from './support/dashboard.ts';
import { eventually } from './support/webhooks.ts';
import { assertRefused } from './support/orders.ts';
import { type Reply, startTestService, someCustomer, someProduct, type TestService } from './support/service.ts';

/** The common rules hold for the dashboard's own routes as they do for those of the API. */

const routes = dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0]);

let service: TestService;
let owner: Person;
let stranger: Person;
before(async () => {
  service = await startTestService();
  [owner, stranger] = [await signUp(service), await signUp(service)];
});
after(() => service.stop());

const pathOf = (path: string, id: string): string =>
  path.replace(':id', id).replace(':eventId', eventIdOf(randomUUID()));
const minuteMs = 60_000;

/** Bodies that pass the schema. */
const bodies: Record<string, () => unknown> = {
  createApiKey: () => ({ name: 'Key', kind: 'secret' }),
  dismissCardWarnings: () => ({ seen_by: '2026-02-11T09:30:00Z' }),
  rotateApiKey: () => ({ grace_period_hours: 24 }),
  inviteTeamMember: () => ({
    first_name: 'Grace',
    last_name: 'Hopper',
    email: `${randomUUID()}@example.com`,
    phone_number: '+49 30 123456',
    role_id: randomUUID(),
  }),
  updateTeamMember: () => ({ role_id: randomUUID() }),
  createRole: () => ({ name: `Role ${randomUUID()}`, permissions: ['orders:read'] }),
  createPlan: () => ({ name: 'Plan', amount: 100, currency: 'usd', billing_cycle: cycle }),
  previewPlan: () => ({ amount: 100, billing_cycle: cycle }),
  resendFailedEvents: () => ({ since: '2026-02-11T09:30:00Z' }),
  resolveChargeback: () => ({ outcome: 'accepted' }),
  resolveDispute: () => ({ outcome: 'won' }),
  matchChargeback: () => ({ transaction_id: randomUUID() }),
  requestPayment: () => ({ send: true }),
  createCustomerNote: () => ({ text: 'Called.' }),
  createOrderNote: () => ({ text: 'Called.' }),
  connectProcessor: () => ({
    kind: 'acquirer',
    configuration: { url: 'https://acquirer.example/', secret: 'x' },
  }),
  testProcessorCredentials: () => ({
    kind: 'acquirer',
    configuration: { url: 'https://acquirer.example/', secret: 'x' },
  }),
  orderProcessors: () => ({ connection_ids: [randomUUID()] }),
  updateProcessor: () => ({ name: 'Main' }),
  createBulkRefund: () => ({
    orders: [{ order_id: randomUUID(), amount: 100 }],
    totals: [{ currency: 'usd', amount: 100 }],
  }),
  createPlanGroup: () => somePlanGroup([randomUUID()]),
  updatePlanGroup: () => ({ name: 'Teas' }),
  createPriceChange: () => ({ plan_id: randomUUID(), to_plan_id: randomUUID() }),
  previewPriceChange: () => ({ plan_id: randomUUID(), to_plan_id: randomUUID() }),
  createExport: () => ({ list: 'orders' }),
  createSavedView: () => ({ list: '/v1/orders', name: 'Failed', search: { status: 'failed' } }),
  updateDispute: () => ({ evidence: { explanation: 'The customer signed for it.' } }),
  addDisputeFile: () => ({ kind: 'receipt', name: 'a.pdf', content_type: 'application/pdf', content: 'JVBERi0x' }),
};
const cycle = { interval: 'month', interval_count: 1, anchor_day: 31 };
const somePlanGroup = (plan_ids: readonly string[]) => ({
  ...{ name: 'Teas', plan_ids, upgrade: 'now', downgrade: 'renewal', proration: 'difference' },
  ...{ after_cycles: 0, seats_max: null },
});

describe('every route of the dashboard', () => {
  for (const route of routes) {
    const ask = (person: Person, id: string = randomUUID()): Promise<Reply> =>
      person.in(
        route.method,
        pathOf(route.path, id),
        route.method === 'GET' ? undefined : (bodies[route.operationId]?.() ?? {}),
      );

    it(`${route.operationId} rejects API keys and requests without a session`, async () => {
      const path = pathOf(route.path, randomUUID());
      const body = route.method === 'GET' ? {} : { body: bodies[route.operationId]?.() ?? {} };
      assertRefused(await service.call(route.method, path, body), 403, 'insufficient_permissions');
      assertRefused(await service.call(route.method, path, { key: null, ...body }), 401, 'missing_api_key');
    });

    if (route.permission) {
      it(`${route.operationId} needs ${route.permission}`, async () => {
        const member = await colleagueWith(await roleWithout(route.permission ?? ''));
        assertRefused(await ask(member), 403, 'insufficient_permissions');
      });
    }

    if (route.path.includes(':id')) {
      it(`${route.operationId} knows nothing of another company`, async () => {
        const theirs = await ask(owner, await idOf(route.path, stranger));
        const unknown = await ask(owner);
        assert.equal(theirs.status, 404);
        assert.deepEqual({ ...theirs.body.error, request_id: '' }, { ...unknown.body.error, request_id: '' });
      });
    }

    if (route.stepUp) {
      it(`${route.operationId} asks for the password again after a while`, async () => {
        const person = await signUp(service);
        await service.control.query(
          `UPDATE sessions SET stepped_up_at = stepped_up_at - $2 * interval '1 min'
           WHERE user_id = (SELECT id FROM users WHERE email = $1)`,
          [person.email, limits.stepUpMinutes + 1],
        );
        assertRefused(await ask(person), 403, 'step_up_required');
      });
    }
  }

  const roles = new Set<string>();
  /** One role for each permission: a company can have a limited number. */
  async function roleWithout(permission: string): Promise<string> {
    const name = `Without ${permission}`;
    if (roles.has(name)) return name;
    roles.add(name);
    const permissions = owner.companies[0]?.permissions.filter((one) => one !== permission);
    const created = await owner.in('POST', '/dashboard/roles', { name, permissions });
    assert.equal(created.status, 201, created.text);
    return name;
  }

  /** One person for all roles: signing up costs 50 ms of argon2. */
  let member: Person | undefined;
  async function colleagueWith(roleName: string): Promise<Person> {
    member ??= await colleague(service, owner, 'Viewer');
    const { data: known } = (await owner.in('GET', '/v1/roles')).body;
    const { data: members } = (await owner.in('GET', '/v1/team_members?limit=100')).body;
    const role_id = known.find(({ name }: { name: string }) => name === roleName).id;
    const { id } = members.find(({ email }: { email: string }) => email === member?.email);
    assert.equal((await owner.in('PATCH', `/dashboard/team_members/${id}`, { role_id })).status, 200);
    return member;
  }

  const made = new Map<string, Promise<string>>();
  /** Something of the person's sandbox that the route would take. */
  function idOf(path: string, person: Person): Promise<string> {
    const kind = path.split('/')[2] ?? '';
    const known = made.get(kind) ?? makeOne(kind, person);
    made.set(kind, known);
    return known;
  }

  async function makeOne(kind: string, person: Person): Promise<string> {
    const post = async (path: string, body: unknown): Promise<string> => {
      const reply = await person.in('POST', path, body, { idempotencyKey: randomUUID() });
      assert.equal(reply.status, 201, reply.text);
      return reply.body.id;
    };
    if (kind === 'api_keys') return post('/dashboard/api_keys', bodies.createApiKey?.());
    if (kind === 'roles') return post('/dashboard/roles', bodies.createRole?.());
    if (kind === 'plans') return post('/dashboard/plans', bodies.createPlan?.());
    if (kind === 'plan_groups') {
      const plan = { ...(bodies.createPlan?.() as object), plan_code: randomUUID() };
      return post('/dashboard/plan_groups', somePlanGroup([await post('/dashboard/plans', plan)]));
    }
    if (kind === 'price_changes') {
      const planOf = (): Promise<string> =>
        post('/dashboard/plans', { ...(bodies.createPlan?.() as object), plan_code: randomUUID() });
      return post('/dashboard/price_changes', { plan_id: await planOf(), to_plan_id: await planOf() });
    }
    if (kind === 'webhook_endpoints') {
      return post('/v1/webhook_endpoints', { url: 'https://shop.example.com/hook', enabled_events: ['*'] });
    }
    if (kind === 'exports') return post('/dashboard/exports', bodies.createExport?.());
    if (kind === 'saved_views') return post('/dashboard/saved_views', bodies.createSavedView?.());
    if (kind === 'team_members') return (await person.in('GET', '/v1/team_members')).body.data[0].id;
    const customer_id = await post('/v1/customers', someCustomer());
    const number = '4242424242424242';
    await post('/capture', { customer_id, card: { number, exp_month: '12', exp_year: '2032', cvc: '999' } });
    if (kind === 'processors') {
      const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
      return connectAcquirer(service, companyOf(person, 'live'), { url: 'http://127.0.0.1:1', secret: 'x', ...timing });
    }
    if (['orders', 'disputes', 'bulk_refunds'].includes(kind)) {
      const product_id = await post('/v1/products', someProduct());
      const order_id = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
      if (kind === 'orders') return order_id;
      if (kind === 'bulk_refunds') {
        const [orders, totals] = [[{ order_id, amount: 4900 }], [{ currency: 'usd', amount: 4900 }]];
        return post('/dashboard/bulk_refunds', { orders, totals });
      }
      assert.equal((await person.in('POST', `/v1/sandbox/orders/${order_id}/chargeback`, {})).status, 200);
      return (await person.in('GET', '/dashboard/disputes')).body.data[0].id;
    }
    const plan_id = await post('/dashboard/plans', { ...(bodies.createPlan?.() as object), plan_code: randomUUID() });
    return post('/v1/subscriptions', { customer_id, plan_id });
  }
});

/** Where the clock was moved, the password was given long ago. */
const stepUp = (): Promise<Reply> =>
  owner.call('POST', '/dashboard/session/step_up', { body: { password: owner.password } });

describe('API keys', () => {
  before(stepUp);
  const create = (body: object): Promise<Reply> => owner.in('POST', '/dashboard/api_keys', body);
  const uses = (key: string, path = '/v1/customers'): Promise<Reply> => service.call('GET', path, { key });

  it('are shown once, work at once, and are listed by their beginning', async () => {
    const { body: made } = await create({ name: 'Server', kind: 'secret' });
    assert.match(made.key, /^svc_test_sk_/);
    assert.ok(made.key.startsWith(made.prefix));
    assert.equal((await uses(made.key)).status, 200);
    // The use is recorded after the response.
    const listed = await eventually('the use is recorded', async () => {
      const { body } = await owner.in('GET', '/dashboard/api_keys');
      const found = body.data.find(({ id }: { id: string }) => id === made.id);
      return found.last_used_at && found;
    });
    assert.deepEqual([listed.key, listed.status, listed.name], [undefined, 'active', 'Server']);
  });

  it('of the live company are live ones', async () => {
    const made = await owner.in(
      'POST',
      '/dashboard/api_keys',
      { name: 'L', kind: 'publishable' },
      {
        company: companyOf(owner, 'live'),
      },
    );
    assert.match(made.body.key, /^svc_live_pk_/);
    assert.deepEqual(made.body.permissions, []);
  });

  it('are restricted, and what they may do can be edited', async () => {
    const { body: made } = await create({ name: 'R', kind: 'secret', permissions: ['orders:read'] });
    assertRefused(await uses(made.key), 403, 'insufficient_permissions');
    const change = { permissions: ['customers:read'], name: 'Renamed' };
    const changed = await owner.in('PATCH', `/dashboard/api_keys/${made.id}`, change);
    assert.deepEqual([changed.body.permissions, changed.body.name], [['customers:read'], 'Renamed']);
    assert.equal((await uses(made.key)).status, 200);
  });

  it('are refused from addresses that are not allowed, and after they expired', async () => {
    const { body: made } = await create({ name: 'A', kind: 'secret', allowed_addresses: ['203.0.113.0/24'] });
    assertRefused(await uses(made.key), 403, 'ip_not_allowed');
    const expires_at = new Date(service.clock.nowMs() + 1000).toISOString();
    const { body: short } = await create({ name: 'E', kind: 'secret', expires_at });
    assert.equal((await uses(short.key)).status, 200);
    service.clock.advance(2000);
    assertRefused(await uses(short.key), 401, 'expired_api_key');
  });

  for (const [what, body, field] of [
    ['an address that is none', { allowed_addresses: ['10.0.0.0/8', 'x'] }, 'allowed_addresses[1]'],
    ['an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    ['a permission that is none', { permissions: ['company:write'] }, 'permissions[0]'],
  ] as const) {
    it(`refuse ${what}`, async () => {
      const reply = await create({ name: 'B', kind: 'secret', ...body });
      assertRefused(reply, 400, 'validation_error');
      assert.equal(reply.body.error.field_errors[0].field, field);
    });
  }

  it('rotate: both work during the grace period, the new one afterwards', async () => {
    const { body: old } = await create({ name: 'Rotated', kind: 'secret', permissions: ['customers:read'] });
    const rotated = await owner.in('POST', `/dashboard/api_keys/${old.id}/rotate`, { grace_period_hours: 1 });
    assert.equal(rotated.status, 201);
    assert.deepEqual(rotated.body.permissions, ['customers:read']);
    assert.equal((await uses(old.key)).status, 200);
    assert.equal((await uses(rotated.body.key)).status, 200);
    service.clock.advance(61 * minuteMs);
    assertRefused(await uses(old.key), 401, 'expired_api_key');
    assert.equal((await uses(rotated.body.key)).status, 200);
    await stepUp();
    const again = await owner.in('POST', `/dashboard/api_keys/${old.id}/rotate`, { grace_period_hours: 1 });
    assertRefused(again, 422, 'invalid_state_transition');
  });

  it('are revoked at once', async () => {
    const { body: made } = await create({ name: 'Revoked', kind: 'secret' });
    assert.equal((await owner.in('DELETE', `/dashboard/api_keys/${made.id}`)).body.status, 'revoked');
    assertRefused(await uses(made.key), 401, 'revoked_api_key');
  });

  it('cannot have more permissions than the member who creates them', async () => {
    const role = {
      name: 'Key maker',
      permissions: ['api_keys:read', 'api_keys:write', 'orders:read', 'team_members:read'],
    };
    await owner.in('POST', '/dashboard/roles', role);
    const maker = await colleague(service, owner, 'Key maker');
    const make = (body: object): Promise<Reply> =>
      maker.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret', ...body });
    assertRefused(await make({ permissions: ['orders:write'] }), 403, 'insufficient_permissions', 'permissions');
    const made = await make({});
    assert.deepEqual(made.body.permissions, ['orders:read', 'team_members:read']);
    const { body: strong } = await create({ name: 'Strong', kind: 'secret' });
    const stolen = await maker.in('POST', `/dashboard/api_keys/${strong.id}/rotate`, { grace_period_hours: 0 });
    assertRefused(stolen, 403, 'insufficient_permissions');
    const gained = await maker.in('PATCH', `/dashboard/api_keys/${made.body.id}`, { permissions: ['orders:write'] });
    assertRefused(gained, 403, 'insufficient_permissions', 'permissions');
  });
});

describe('the team', () => {
  const memberId = async (person: Person): Promise<string> => {
    const { data } = (await owner.in('GET', '/v1/team_members?limit=100')).body;
    return data.find(({ email }: { email: string }) => email === person.email).id;
  };
  const roleId = async (name: string): Promise<string> => {
    const { data } = (await owner.in('GET', '/v1/roles')).body;
    return data.find((role: { name: string }) => role.name === name).id;
  };

  it('blocks a member whose open session ends at once, and lets it in again', async () => {
    const member = await colleague(service, owner, 'Support');
    const id = await memberId(member);
    assert.equal((await member.in('GET', '/v1/customers')).status, 200);
    assert.equal((await owner.in('POST', `/dashboard/team_members/${id}/block`)).body.status, 'blocked');
    const company = companyOf(member, 'sandbox');
    assertRefused(await member.call('GET', '/v1/customers', { company }), 403, 'insufficient_permissions');
    assert.deepEqual((await member.call('GET', '/dashboard/session')).body.companies, []);
    assertRefused(await owner.in('POST', `/dashboard/team_members/${id}/block`), 422, 'invalid_state_transition');
    assert.equal((await owner.in('POST', `/dashboard/team_members/${id}/unblock`)).body.status, 'active');
    assert.equal((await member.call('GET', '/v1/customers', { company })).status, 200);
  });

  it('removes a member', async () => {
    const member = await colleague(service, owner, 'Support');
    const company = companyOf(member, 'sandbox');
    const id = await memberId(member);
    assert.deepEqual((await owner.in('DELETE', `/dashboard/team_members/${id}`)).body, { id, deleted: true });
    assertRefused(await member.call('GET', '/v1/customers', { company }), 403, 'insufficient_permissions');
  });

  it('enforces a role exactly as a key with the same permissions', async () => {
    const member = await colleague(service, owner, 'Support');
    assert.equal((await member.in('POST', '/v1/customers', someCustomer())).status, 201);
    assertRefused(
      await member.in('POST', '/v1/products', someProduct(), { idempotencyKey: randomUUID() }),
      403,
      'insufficient_permissions',
    );
    assertRefused(await member.in('GET', '/dashboard/api_keys'), 403, 'insufficient_permissions');
  });

  it('keeps an owner', async () => {
    const id = await memberId(owner);
    const demoted = await owner.in('PATCH', `/dashboard/team_members/${id}`, { role_id: await roleId('Viewer') });
    assertRefused(demoted, 422, 'invalid_state_transition');
    assertRefused(await owner.in('DELETE', `/dashboard/team_members/${id}`), 422, 'invalid_state_transition');
    assertRefused(await owner.in('POST', `/dashboard/team_members/${id}/block`), 422, 'invalid_state_transition');
    const second = await colleague(service, owner, 'Owner');
    const both = await Promise.all(
      [
        [owner, await memberId(second)],
        [second, id],
      ].map(async ([person, other]) =>
        (person as Person).in('PATCH', `/dashboard/team_members/${other as string}`, {
          role_id: await roleId('Viewer'),
        }),
      ),
    );
    assert.equal(both.filter(({ status }) => status === 200).length, 1, 'two owners cannot depose each other');
    const [survivor, fallen] = both[0]?.status === 200 ? [owner, second] : [second, owner];
    const restored = await survivor.in('PATCH', `/dashboard/team_members/${await idIn(survivor, fallen)}`, {
      role_id: await roleIdBy(survivor, 'Owner'),
    });
    assert.equal(restored.status, 200);
  });

  const idIn = async (asker: Person, person: Person): Promise<string> => {
    const { data } = (await asker.in('GET', '/v1/team_members?limit=100')).body;
    return data.find(({ email }: { email: string }) => email === person.email).id;
  };
  const roleIdBy = async (asker: Person, name: string): Promise<string> => {
    const { data } = (await asker.in('GET', '/v1/roles')).body;
    return data.find((role: { name: string }) => role.name === name).id;
  };

  it('lets no member grant or revoke a permission that they do not have', async () => {
    const admin = await colleague(service, owner, 'Admin');
    const ownerRole = await roleId('Owner');
    const invitation = {
      email: `x-${randomUUID()}@example.com`,
      first_name: 'X',
      last_name: 'Y',
      phone_number: '+15551234567',
      role_id: ownerRole,
    };
    assertRefused(await admin.in('POST', '/v1/team_members', invitation), 403, 'insufficient_permissions');
    const self = await memberId(admin);
    assertRefused(
      await admin.in('PATCH', `/dashboard/team_members/${self}`, { role_id: ownerRole }),
      403,
      'insufficient_permissions',
    );
    assertRefused(
      await admin.in('POST', `/dashboard/team_members/${await memberId(owner)}/block`),
      403,
      'insufficient_permissions',
    );
    const role = { name: 'More', permissions: ['company:write'] };
    assertRefused(await admin.in('POST', '/dashboard/roles', role), 403, 'insufficient_permissions', 'permissions');
  });

  it('sends a limited number of mails a day', async () => {
    const person = await signUp(service);
    const [viewer] = (await person.in('GET', '/v1/roles')).body.data;
    await service.db.query(
      `INSERT INTO mails (company_id, id, recipient, subject, body)
       SELECT $1, uuidv7(), 'x@example.com', 'x', 'x' FROM generate_series(1, $2)`,
      [companyOf(person, 'sandbox'), limits.mailsPerDay],
    );
    const invited = await person.in('POST', '/v1/team_members', {
      email: 'nuisance@example.com',
      first_name: 'X',
      last_name: 'Y',
      phone_number: '+15551234567',
      role_id: viewer.id,
    });
    assertRefused(invited, 429, 'rate_limit_exceeded');
    assert.equal((await person.in('GET', '/v1/team_members')).body.data.length, 1);
  });

  it('has custom roles, which can be changed, and removed when no member has them', async () => {
    const made = await owner.in('POST', '/dashboard/roles', { name: 'Packer', permissions: ['orders:read'] });
    assert.deepEqual([made.status, made.body.custom, made.body.default_page], [201, true, '/home']);
    assertRefused(
      await owner.in('POST', '/dashboard/roles', { name: 'Packer', permissions: ['orders:read'] }),
      409,
      'resource_already_exists',
    );
    const packer = await colleague(service, owner, 'Packer');
    assertRefused(await packer.in('GET', '/v1/customers'), 403, 'insufficient_permissions');
    const path = `/dashboard/roles/${made.body.id}`;
    await owner.in('PATCH', path, { permissions: ['orders:read', 'customers:read'] });
    assert.equal((await packer.in('GET', '/v1/customers')).status, 200);
    assertRefused(await owner.in('DELETE', path), 409, 'resource_in_use');
    await owner.in('DELETE', `/dashboard/team_members/${await memberId(packer)}`);
    assert.equal((await owner.in('DELETE', path)).status, 200);
    const builtIn = `/dashboard/roles/${await roleId('Viewer')}`;
    assertRefused(await owner.in('PATCH', builtIn, { name: 'X' }), 422, 'invalid_state_transition');
  });
});

describe('the settings of a company', () => {
  it('are read and changed', async () => {
    const { body } = await owner.in('GET', '/dashboard/company');
    assert.deepEqual([body.mode, body.dunning_days, body.processor], ['sandbox', [1, 3, 5, 7], 'sandbox']);
    assert.ok(body.rate_limits.some(({ category }: { category: string }) => category === 'capture'));
    const change = { name: 'Renamed', api_version: '2025-11-04', dunning_days: [2, 4], after_dunning: 'canceled' };
    const changed = await owner.in('PATCH', '/dashboard/company', change);
    for (const [name, value] of Object.entries(change)) assert.deepEqual(changed.body[name], value);
    // The dashboard itself uses the latest version, not the pinned one.
    assert.ok((await owner.in('GET', '/dashboard/company')).body.id);
    await owner.in('PATCH', '/dashboard/company', { api_version: '2026-02-11' });
  });

  it('refuse what cannot be', async () => {
    for (const change of [{ dunning_days: [3, 1] }, { api_version: '2020-01-01' }, { name: '' }, { mode: 'live' }]) {
      assertRefused(await owner.in('PATCH', '/dashboard/company', change), 400, 'validation_error');
    }
  });

  it('connect a live company only to an acquirer that the operator has named', async () => {
    const named = await startTestService({ settings: { SVC_ACQUIRERS: 'https://acquirer.example' } });
    try {
      const person = await signUp(named);
      const live = { company: companyOf(person, 'live') };
      const connect = (url: string, options = live): Promise<Reply> =>
        person.in(
          'POST',
          '/dashboard/processors',
          { kind: 'acquirer', configuration: { url, secret: 'any-secret' } },
          options,
        );
      assertRefused(await connect('http://169.254.169.254/'), 400, 'validation_error');
      assertRefused(
        await connect('https://acquirer.example/', { company: companyOf(person, 'sandbox') }),
        400,
        'invalid_request',
      );
      const connected = await connect('https://acquirer.example/');
      assert.deepEqual([connected.status, connected.body.status], [201, 'connected']);
      assert.ok(!connected.text.includes('any-secret'));
      const processor = async (): Promise<unknown> =>
        (await person.in('GET', '/dashboard/company', undefined, live)).body.processor;
      assert.equal(await processor(), 'connected');
      const ended = await person.in('POST', `/dashboard/processors/${connected.body.id}/disconnect`, {}, live);
      assert.equal(ended.body.status, 'disconnected');
      assert.equal(await processor(), null);
    } finally {
      await named.stop();
    }
  });
});

describe('plans', () => {
  it('are previewed with the dates they would be billed on', async () => {
    const body = {
      amount: 1900,
      one_time_amount: 500,
      billing_cycle: cycle,
      billing_cycles: 3,
      start_date: '2027-01-31',
    };
    const { body: preview } = await owner.in('POST', '/dashboard/plans/preview', body);
    assert.deepEqual(
      preview.data.map(({ at, amount }: { at: string; amount: number }) => [at.slice(0, 10), amount]),
      [
        ['2027-01-31', 2400],
        ['2027-02-28', 1900],
        ['2027-03-31', 1900],
      ],
    );
  });

  it('keep their money; name, description and whether they can be subscribed change', async () => {
    const { body: plan } = await owner.in('POST', '/dashboard/plans', {
      ...(bodies.createPlan?.() as object),
      plan_code: 'editable',
    });
    const changed = await owner.in('PATCH', `/dashboard/plans/${plan.id}`, { name: 'New name', active: false });
    assert.deepEqual([changed.body.name, changed.body.active, changed.body.amount], ['New name', false, 100]);
    assertRefused(await owner.in('PATCH', `/dashboard/plans/${plan.id}`, { amount: 1 }), 400, 'validation_error');
  });
});

describe('the audit log', () => {
  before(stepUp);
  const entries = async (query = ''): Promise<Record<string, any>[]> =>
    (await owner.in('GET', `/dashboard/audit_log?limit=100${query}`)).body.data;

  it('says who changed what from where, for people and keys alike, without values', async () => {
    const secret = `Secret ${randomUUID()}`;
    const { body: customer } = await owner.in('POST', '/v1/customers', someCustomer({ company: secret }));
    const { body: key } = await owner.in('POST', '/dashboard/api_keys', { name: 'Auditor', kind: 'secret' });
    await service.call('PATCH', `/v1/customers/${customer.id}`, { key: key.key, body: { company: secret } });
    let logged: Record<string, any>[] = [];
    for (let turn = 0; turn < 50 && logged.length < 2; turn += 1) logged = await entries(`&object_id=${customer.id}`);
    assert.deepEqual(
      logged.map(({ action, actor, fields, address }) => [action, actor.kind, actor.name, fields, address]),
      [
        ['updateCustomer', 'key', 'Auditor', ['company'], '127.0.0.1'],
        [
          'createCustomer',
          'member',
          owner.email,
          ['email', 'first_name', 'last_name', 'phone', 'company'],
          '127.0.0.1',
        ],
      ],
    );
    const all = await service.db.query<{ text: string }>('SELECT a::text AS text FROM audit_entries a');
    assert.ok(all.every(({ text }) => !text.includes(secret) && !text.includes(key.key)));
  });

  it('has entries of sign-ins and password changes', async () => {
    const actions = new Set((await entries()).map(({ action }) => action));
    assert.ok(actions.has('createRole') && actions.has('blockTeamMember') && actions.has('createApiKey'));
    const person = await signUp(service);
    const { data } = (await person.in('GET', '/dashboard/audit_log')).body;
    assert.deepEqual(
      data.map(({ action }: { action: string }) => action),
      ['signUp'],
    );
  });

  it('has no entry of what was rejected or only repeated', async () => {
    const idempotencyKey = randomUUID();
    const body = someCustomer();
    const { body: made } = await owner.in('POST', '/v1/customers', body, { idempotencyKey });
    await owner.in('POST', '/v1/customers', body, { idempotencyKey });
    assertRefused(await owner.in('POST', '/v1/customers', body), 409, 'email_already_exists');
    assert.equal((await entries(`&object_id=${made.id}`)).length, 1);
    assert.equal((await entries()).filter(({ action }) => action === 'createCustomer').length >= 1, true);
  });

  it('cannot be changed by the service itself', async () => {
    const [row] = await service.db.query<{ update: boolean; delete: boolean; insert: boolean }>(
      `SELECT has_table_privilege('svc_api', 'audit_entries', 'UPDATE') AS update,
         has_table_privilege('svc_api', 'audit_entries', 'DELETE') AS delete,
         has_table_privilege('svc_api', 'audit_entries', 'INSERT') AS insert`,
    );
    assert.deepEqual(row, { update: false, delete: false, insert: true });
  });
});
