import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { colleague, companyOf, newPerson, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { until } from '../../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { eventually } from '../../../tests/support/webhooks.ts';
import { limits } from '../../limits.ts';
import { reapSessions } from '../users/sessions.ts';

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

const create = (person: Person): ReturnType<Person['in']> => person.in('POST', '/dashboard/api_keys/trial');
const customersWith = async (key: string): Promise<number> =>
  (await service.call('GET', '/v1/customers', { key })).status;

test('a member has few such keys at a time, and the list of keys does not fill with old ones', async () => {
  const other = await colleague(service, owner, 'Viewer');
  const theirs = (await create(other)).body.key;
  const first = (await create(owner)).body.key;
  const made = await create(owner);
  const second = made.body.key;
  assert.equal(made.headers.get('cache-control'), 'no-store');
  for (let n = 2; n < limits.trialKeys; n += 1) await create(owner);
  assert.equal(await customersWith(first), 200);
  await create(owner);
  assert.equal((await service.call('GET', '/v1/customers', { key: first })).body.error.code, 'revoked_api_key');
  assert.deepEqual([await customersWith(second), await customersWith(theirs)], [200, 200]);
  const { data } = (await owner.in('GET', '/dashboard/api_keys')).body;
  assert.equal(
    data.filter(({ name }: { name: string }) => name.startsWith('API reference')).length,
    limits.trialKeys + 1,
  );
});

test('the key has only permissions of the member, and none that ask for the password', async () => {
  const full: string[] = (await create(owner)).body.permissions;
  assert.ok(full.includes('orders:write'));
  for (const withheld of ['team_members:write', 'webhook_endpoints:write']) assert.ok(!full.includes(withheld));
  const viewer = await colleague(service, owner, 'Viewer');
  const { body } = await create(viewer);
  const own = viewer.companies.find(({ mode }) => mode === 'sandbox')?.permissions ?? [];
  assert.ok(body.permissions.length > 0);
  assert.ok(body.permissions.every((permission: string) => own.includes(permission)));
  const refused = await service.call('POST', '/v1/customers', { key: body.key, body: {} });
  assert.equal(refused.body.error.code, 'insufficient_permissions');
});

test('every call of the API that asks members for the password needs a permission that the key lacks', async () => {
  const { routes } = await import('../../../tests/support/openapi.ts');
  const { permissions } = (await create(owner)).body;
  const guarded = routes.filter((route) => route.stepUp);
  assert.ok(guarded.length > 0);
  for (const route of guarded) assert.ok(!permissions.includes(route.permission), route.operationId);
});

test('the key ends when its member is blocked or gets another role', async () => {
  const roles = (await owner.in('GET', '/v1/roles')).body.data as { id: string; name: string }[];
  const changes: Record<string, (id: string) => ReturnType<Person['in']>> = {
    block: (id) => owner.in('POST', `/dashboard/team_members/${id}/block`),
    role: (id) =>
      owner.in('PATCH', `/dashboard/team_members/${id}`, { role_id: roles.find(({ name }) => name === 'Support')?.id }),
    removal: (id) => owner.in('DELETE', `/dashboard/team_members/${id}`),
  };
  for (const [what, change] of Object.entries(changes)) {
    const member = await colleague(service, owner, 'Viewer');
    const { key } = (await create(member)).body;
    assert.equal(await customersWith(key), 200);
    const { data } = (await owner.in('GET', '/v1/team_members?limit=100')).body;
    const { id } = data.find(({ email }: { email: string }) => email === member.email);
    assert.equal((await change(id)).status, 200, what);
    // Each process hears of it within moments.
    await eventually(what, async () => {
      const { body } = await service.call('GET', '/v1/customers', { key });
      return body.error?.code === 'revoked_api_key';
    });
  }
});

test('the key ends with the session in which it was made, however the session ends', async () => {
  const ends: Record<string, (person: Person, session: string) => Promise<{ readonly status: number }>> = {
    'sign-out': (person) => person.call('DELETE', '/dashboard/session'),
    'an end from another browser': async (person, session) => {
      const elsewhere = newPerson(service, person.email);
      await elsewhere.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password } });
      return elsewhere.call('DELETE', `/dashboard/sessions/${session}`);
    },
    'a new password': (person) =>
      person.call('POST', '/dashboard/password', {
        body: { current_password: person.password, password: 'another horse battery' },
      }),
    'a new password elsewhere': async (person) => {
      const elsewhere = newPerson(service, person.email);
      await elsewhere.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password } });
      return elsewhere.call('POST', '/dashboard/password', {
        body: { current_password: person.password, password: 'another horse battery' },
      });
    },
    expiry: async (_person, session) => {
      await service.shards.control.query(`UPDATE sessions SET expires_at = now() WHERE id = $1`, [session]);
      await reapSessions({ db: service.shards.control, clock: service.clock });
      return { status: 200 };
    },
  };
  for (const [what, end] of Object.entries(ends)) {
    const person = await signUp(service);
    const { key } = (await create(person)).body;
    assert.equal(await customersWith(key), 200, what);
    const [session] = (await person.call('GET', '/dashboard/sessions')).body.data;
    assert.equal((await end(person, session.id)).status, 200, what);
    // Each process hears of it within moments.
    await eventually(what, async () => {
      const { body } = await service.call('GET', '/v1/customers', { key });
      return body.error?.code === 'revoked_api_key';
    });
  }
});

test('a key of a session that has ended is not in the list, and none is made in such a session', async () => {
  const person = await signUp(service);
  assert.equal((await create(person)).status, 201);
  const listed = async (): Promise<number> => {
    const { data } = (await person.in('GET', '/dashboard/api_keys')).body;
    return data.filter(({ name }: { name: string }) => name.startsWith('API reference')).length;
  };
  assert.equal(await listed(), 1);
  const [session] = (await person.call('GET', '/dashboard/sessions')).body.data;
  const later = newPerson(service, person.email);
  await later.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password } });
  const { made } = await service.shards.control.transaction(async (transaction) => {
    await transaction.query('DELETE FROM sessions WHERE id = $1', [session.id]);
    const waiting = create(person);
    await until('the key waits for the session', async () => {
      const rows = await service.shards.control.query(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
      );
      return rows.length > 0;
    });
    return { made: waiting };
  });
  assert.equal((await made).body.error.code, 'missing_session');
  person.cookie = later.cookie;
  assert.equal(await listed(), 0);
});

test('there is no such key for a live company', async () => {
  const { status, body } = await owner.in('POST', '/dashboard/api_keys/trial', undefined, {
    company: companyOf(owner, 'live'),
  });
  assert.deepEqual([status, body.error.code], [400, 'invalid_request']);
  assert.match(body.error.message, /only to the sandbox/);
});

test('a key for the API reference works in the sandbox for an hour, and is in the audit log', async () => {
  const { status, body } = await create(owner);
  assert.equal(status, 201);
  assert.match(body.key, /^svc_test_sk_/);
  assert.equal(await customersWith(body.key), 200);
  const { data } = (await owner.in('GET', '/dashboard/audit_log')).body;
  assert.equal(data[0].action, 'createTrialKey');
  service.clock.advance(limits.trialKeySeconds * 1_000 + 1);
  assert.equal((await service.call('GET', '/v1/customers', { key: body.key })).body.error.code, 'expired_api_key');
  assert.equal((await create(owner)).status, 201, 'it never asks for the password');
});
