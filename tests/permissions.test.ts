import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { dashboardRoutes } from '../server/app.ts';
import { permissionsToTrigger } from '../server/features/sandbox/trigger-permissions.ts';
import { triggerable } from '../server/features/sandbox/trigger.ts';
import {
  type MemberPermission,
  type Permission,
  permissionNotes,
  permissions,
  usualPermissions,
} from '../server/http/permissions.ts';
import type { Route, RouteBase } from '../server/http/route.ts';
import { colleague, type Person, signUp } from './support/dashboard.ts';
import { document, routes } from './support/openapi.ts';
import { assertRefused } from './support/orders.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';

/** A permission is needed for what a call shows and touches, not only for its path. */

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

const someone = (role_id: string): object => ({
  email: `member-${randomUUID()}@example.com`,
  first_name: 'Grace',
  last_name: 'Hopper',
  phone_number: '+15551234567',
  role_id,
});

async function makeRole(name: string, list: readonly MemberPermission[]): Promise<string> {
  const made = await owner.in('POST', '/dashboard/roles', { name, permissions: list });
  assert.equal(made.status, 201, made.text);
  return made.body.id;
}

function assertLacks(reply: Reply, ...missing: readonly string[]): void {
  assertRefused(reply, 403, 'insufficient_permissions');
  for (const permission of missing) {
    assert.ok(reply.body.error.message.includes(permission), `${reply.body.error.message} does not name ${permission}`);
  }
}

describe('expand', () => {
  const expanding = routes.filter((route): route is Route & Required<Pick<RouteBase, 'expand'>> => !!route.expand);
  const pathTo = (route: RouteBase, names: string): string =>
    `${route.path.replace(/:\w+/g, () => randomUUID())}?expand=${names}`;
  const keyWithout = (missing: readonly string[]): Promise<string> =>
    service.createKey(service.company, { permissions: permissions.filter((one) => !missing.includes(one)) });

  it('is declared with the permission of what it adds, or does not compile', () => {
    type Fits<Declared> = Declared extends NonNullable<RouteBase['expand']> ? true : false;
    const names: Fits<readonly string[]> = false;
    const written: Fits<{ customer: 'customers:write' }> = false;
    const read: Fits<{ customer: 'customers:read' }> = true;
    assert.deepEqual([names, written, read], [false, false, true]);
  });

  for (const route of expanding) {
    for (const [name, needed] of Object.entries(route.expand)) {
      it(`${route.operationId} with expand=${name} needs ${needed}`, async () => {
        const key = await keyWithout([needed]);
        const refused = await service.call('GET', pathTo(route, name), { key });
        assertLacks(refused, needed);
        if (needed === route.permission) return;
        assert.equal(refused.body.error.param, 'expand');
        const only = { permissions: [route.permission as Permission, needed as Permission] };
        const allowed = await service.createKey(service.company, only);
        const { status } = await service.call('GET', pathTo(route, name), { key: allowed });
        assert.equal(status, route.list || !route.path.includes(':') ? 200 : 404);
        assert.notEqual((await service.call('GET', pathTo(route, '').split('?')[0] ?? '', { key })).status, 403);
      });
    }
  }

  it('is refused whichever way its names are written, before anything is looked up', async () => {
    const key = await service.createKey(service.company, { permissions: ['transactions:read', 'customers:read'] });
    for (const query of [
      'expand=customer,order',
      'expand=customer&expand=order',
      'expand=order&fields[transactions]=id',
    ]) {
      assertLacks(await service.call('GET', `/v1/transactions?${query}`, { key }), 'orders:read');
      assertLacks(await service.call('GET', `/v1/transactions/${randomUUID()}?${query}`, { key }), 'orders:read');
    }
  });

  it('follows the role of a member as it follows a key', async () => {
    await makeRole('Packer', ['orders:read']);
    const packer = await colleague(service, owner, 'Packer');
    assert.equal((await packer.in('GET', '/v1/orders')).status, 200);
    assertLacks(await packer.in('GET', '/v1/orders?expand=customer'), 'customers:read');
    const { figures } = (await packer.in('GET', '/dashboard/statistics')).body;
    assert.deepEqual(
      [figures.mrr, figures.expansion, figures.active_subscribers, figures.churn, figures.new_customers],
      [null, null, null, null, null],
    );
    assert.equal(figures.gross_volume.value, 0);
    const whole = (await owner.in('GET', '/dashboard/statistics')).body.figures;
    assert.deepEqual([whole.mrr.value, whole.active_subscribers.value, whole.new_customers.value], [0, 0, 0]);
    await makeRole('Clerk', ['products:read']);
    const clerk = await colleague(service, owner, 'Clerk');
    const blind = (await clerk.in('GET', '/dashboard/statistics')).body;
    assert.deepEqual([blind.figures.gross_volume, blind.declines], [null, null]);
    assert.deepEqual((await clerk.in('GET', '/dashboard/attention')).body.data, []);
  });

  it('names the permissions in the API document', () => {
    const operation = document.paths['/v1/orders']?.get as unknown as {
      parameters: { name: string; description: string }[];
      'x-expand-permissions': object;
    };
    const parameter = operation.parameters.find(({ name }) => name === 'expand');
    assert.match(parameter?.description ?? '', /`customer` \(needs `customers:read`\)/);
    assert.deepEqual(operation['x-expand-permissions'], { customer: 'customers:read', consents: 'orders:read' });
  });
});

describe('a permission that shows more than its name says', () => {
  it('says so in the API document and in the list the dashboard grants from', async () => {
    const { data } = (await owner.in('GET', '/dashboard/permissions')).body;
    for (const [permission, note] of Object.entries(permissionNotes)) {
      assert.equal(data.find(({ key }: { key: string }) => key === permission).note, note);
      const operations = Object.values(document.paths).flatMap((path) => Object.values(path)) as unknown as {
        'x-permission': string;
        description: string;
      }[];
      const needing = operations.filter((operation) => operation['x-permission'] === permission);
      // No operation needs that of agents: it is about the tools.
      assert.equal(needing.length > 0, permission !== 'agents:write', permission);
      assert.ok(needing.every(({ description }) => description.includes(note)));
    }
  });
});

describe('a member', () => {
  const rights: MemberPermission[] = ['api_keys:read', 'api_keys:write', 'team_members:read', 'team_members:write'];
  const touching = dashboardRoutes({} as Parameters<typeof dashboardRoutes>[0]).filter(
    ({ path, method, operationId }) =>
      method !== 'GET' &&
      /^\/dashboard\/(api_keys|roles|team_members)\b/.test(path) &&
      // It makes a key with permissions of the member alone, and touches nothing else.
      operationId !== 'createTrialKey',
  );
  /** `id` is of something with these permissions; `role` is a role with them. */
  interface Target {
    readonly permissions: readonly MemberPermission[];
    readonly role: string;
    readonly id: string;
  }
  const bodies: Record<string, ((target: Target) => object)[]> = {
    createApiKey: [(target) => ({ name: 'Key', kind: 'secret', permissions: target.permissions })],
    updateApiKey: [
      () => ({ name: 'Renamed' }),
      () => ({ permissions: [] }),
      () => ({ allowed_addresses: [] }),
      () => ({ expires_at: null }),
      (target) => ({ permissions: target.permissions }),
    ],
    rotateApiKey: [() => ({ grace_period_hours: 0 })],
    revokeApiKey: [() => ({})],
    inviteTeamMember: [(target) => someone(target.role)],
    updateTeamMember: [(target) => ({ role_id: target.role }), () => ({ role_id: weakRole })],
    blockTeamMember: [() => ({})],
    unblockTeamMember: [() => ({})],
    resendInvitation: [() => ({})],
    deleteTeamMember: [() => ({})],
    createRole: [(target) => ({ name: `Role ${randomUUID()}`, permissions: target.permissions })],
    updateRole: [
      () => ({ name: `Role ${randomUUID()}` }),
      () => ({ permissions: ['team_members:read'] }),
      (target) => ({ permissions: target.permissions }),
    ],
    deleteRole: [() => ({})],
  };
  let weaker: Person;
  let weakRole: string;

  before(async () => {
    await makeRole('Weaker', rights);
    weakRole = await makeRole('Weak', ['team_members:read']);
    weaker = await colleague(service, owner, 'Weaker');
  });

  const tables: Record<string, string> = { api_keys: 'api_keys', roles: 'roles', team_members: 'team_members' };
  const kindOf = (route: Route): string => route.path.split('/')[2] ?? '';
  const rowOf = async (route: Route, id: string): Promise<unknown> =>
    (await service.db.query(`SELECT * FROM ${tables[kindOf(route)]} WHERE id = $1`, [id]))[0];
  const statusFor: Record<string, string> = { resendInvitation: 'pending', unblockTeamMember: 'blocked' };

  /** Something of the kind that the route is about, with these permissions. */
  async function targetFor(route: Route, list: readonly MemberPermission[]): Promise<Target> {
    const role = await makeRole(`Target ${randomUUID()}`, list);
    const made = async (path: string, body: object): Promise<Target> => {
      const reply = await owner.in('POST', path, body);
      assert.equal(reply.status, 201, reply.text);
      return { id: reply.body.id, role, permissions: list };
    };
    if (kindOf(route) === 'api_keys') {
      const limits = { allowed_addresses: ['203.0.113.7'], expires_at: '2100-01-01T00:00:00.000Z' };
      return made('/dashboard/api_keys', { name: 'Target', kind: 'secret', permissions: list, ...limits });
    }
    if (kindOf(route) === 'roles') return { id: role, role, permissions: list };
    const target = await made('/v1/team_members', someone(role));
    const status = statusFor[route.operationId] ?? 'active';
    await service.db.query(`UPDATE team_members SET status = $2, accepted_at = now() WHERE id = $1`, [
      target.id,
      status,
    ]);
    return target;
  }

  const ask = (route: Route, id: string, body: object): Promise<Reply> =>
    weaker.in(route.method, route.path.replace(':id', id), route.method === 'DELETE' ? undefined : body);

  for (const route of touching) {
    it(`${route.operationId} is out of reach where it concerns more permissions than the member has`, async () => {
      const cases = bodies[route.operationId];
      assert.ok(cases, `say what ${route.operationId} is sent`);
      const target = await targetFor(route, ['team_members:read', 'orders:write']);
      const before = await rowOf(route, target.id);
      for (const body of cases) {
        assertLacks(await ask(route, target.id, body(target)), 'orders:write');
        assert.deepEqual(await rowOf(route, target.id), before);
      }
    });

    it(`${route.operationId} is in reach where the member has all of the permissions`, async () => {
      for (const body of bodies[route.operationId] ?? []) {
        const target = await targetFor(route, ['team_members:read']);
        const reply = await ask(route, target.id, body(target));
        assert.ok(reply.status < 300, reply.text);
      }
    });

    it(`${route.operationId} asks for the password again`, () => {
      assert.ok(route.stepUp);
    });
  }

  it('cannot touch an invitation into a stronger role', async () => {
    const role = await makeRole('Stronger', ['team_members:read', 'orders:write']);
    const { id } = (await owner.in('POST', '/v1/team_members', someone(role))).body;
    const path = `/dashboard/team_members/${id}`;
    assertLacks(await weaker.in('PATCH', path, { role_id: weakRole }), 'orders:write');
    assertLacks(await weaker.in('DELETE', path), 'orders:write');
    assertLacks(await weaker.in('POST', `${path}/resend`), 'orders:write');
    assertLacks(await weaker.in('POST', '/v1/team_members', someone(role)), 'orders:write');
  });

  it('lets only an admin create a key with every permission', async () => {
    await makeRole('Nearly', [...permissions, 'api_keys:read', 'api_keys:write']);
    const nearly = await colleague(service, owner, 'Nearly');
    const create = (body: object): Promise<Reply> =>
      nearly.in('POST', '/dashboard/api_keys', { name: 'Key', kind: 'secret', ...body });
    assertLacks(await create({ permissions }), 'audit_log:read', 'plans:write', 'company:read');
    const made = await create({});
    assert.deepEqual(
      made.body.permissions,
      usualPermissions.filter((permission) => permission !== 'team_members:write'),
    );
    const path = `/dashboard/api_keys/${made.body.id}`;
    assertLacks(await nearly.in('PATCH', path, { permissions }), 'audit_log:read');
  });
});

describe('an API key', () => {
  const rolesOf = async (): Promise<{ id: string; name: string; permissions: string[] }[]> =>
    (await service.call('GET', '/v1/roles?expand=permissions')).body.data;
  const invite = (key: string, role: string): Promise<Reply> =>
    service.call('POST', '/v1/team_members', { key, body: someone(role) });

  it('invites only into roles whose permissions it has', async () => {
    const roles = await rolesOf();
    const inviter = await service.createKey(service.company, { permissions: ['team_members:write'] });
    for (const role of roles) {
      const missing = role.permissions.filter((permission) => permission !== 'team_members:write');
      assertLacks(await invite(inviter, role.id), ...missing);
    }
    const support = roles.find(({ name }) => name === 'Support');
    const list = [...(support?.permissions ?? []), 'team_members:write'] as Permission[];
    const able = await service.createKey(service.company, { permissions: list });
    assert.equal((await invite(able, support?.id ?? '')).status, 201);
    const almost = await service.createKey(service.company, {
      permissions: list.filter((one) => one !== 'orders:write'),
    });
    assertLacks(await invite(almost, support?.id ?? ''), 'orders:write');
  });

  it('with every permission invites into every role but Owner', async () => {
    const full = await service.createKey(service.company);
    for (const role of await rolesOf()) {
      const reply = await invite(full, role.id);
      if (role.name === 'Owner') assertLacks(reply, 'company:write');
      else assert.equal(reply.status, 201, reply.text);
    }
  });

  for (const type of triggerable) {
    it(`triggers ${type} with the permissions to make what that makes, and not without`, async () => {
      const needed: Permission[] = [...permissionsToTrigger(type)];
      const trigger = async (list: readonly Permission[]): Promise<Reply> => {
        const key = await service.createKey(service.company, { permissions: list });
        return service.call('POST', '/v1/sandbox/events/trigger', { key, body: { type } });
      };
      const all = [...new Set<Permission>(['orders:write', ...needed])];
      for (const missing of needed) assertLacks(await trigger(all.filter((one) => one !== missing)), missing);
    });
  }

  it('triggers nothing with orders:write alone but what that may make', async () => {
    const key = await service.createKey(service.company, { permissions: ['orders:write'] });
    for (const type of triggerable) {
      const reply = await service.call('POST', '/v1/sandbox/events/trigger', { key, body: { type } });
      assertRefused(reply, 403, 'insufficient_permissions');
    }
  });

  it('triggers an invitation into a role it may give, where it names none', async () => {
    const { sandbox } = await service.createMerchant();
    const made = await service.createKey(sandbox);
    const roles = (await service.call('GET', '/v1/roles?expand=permissions', { key: made })).body.data;
    const support = roles.find(({ name }: { name: string }) => name === 'Support');
    const list = [...support.permissions, 'team_members:write'] as Permission[];
    const key = await service.createKey(sandbox, { permissions: list });
    const body = { type: 'team_member.invited' };
    const reply = await service.call('POST', '/v1/sandbox/events/trigger', { key, body });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.body.data.object.role.name, 'Support');
  });
});
