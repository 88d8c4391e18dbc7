import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { ApiError } from '../server/errors.ts';
import { limits } from '../server/limits.ts';
import {
  colleague,
  companyOf,
  lastMail,
  newPerson,
  type Person,
  refusals,
  signUp,
  somePassword,
} from './support/dashboard.ts';
import { startFaultyService } from './support/faulty-service.ts';
import { assertRefused } from './support/orders.ts';
import { type Reply, someCustomer, someProduct, startTestService, type TestService } from './support/service.ts';

/** Attacks by people who have some access to the dashboard and want more. */

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

const minuteMs = 60_000;

const signIn = (person: Person, more: object = {}): Promise<Reply> =>
  person.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password, ...more } });

async function roleIdOf(name: string): Promise<string> {
  const { data } = (await owner.in('GET', '/v1/roles')).body;
  return data.find((role: { name: string }) => role.name === name).id;
}

const newMember = (role_id: string): object => ({
  email: `member-${randomUUID()}@example.com`,
  first_name: 'Some',
  last_name: 'Body',
  phone_number: '+15551234567',
  role_id,
});

/** A key of the sandbox, made by the owner. */
const keyWith = async (permissions: readonly string[] | undefined, maker = owner): Promise<string> =>
  (await maker.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret', permissions })).body.key;

describe('an API key', () => {
  it('does not invite by triggering the event of an invitation', async () => {
    const key = await keyWith(['orders:write']);
    const body = { type: 'team_member.invited', overrides: { role_id: await roleIdOf('Owner') } };
    assertRefused(
      await service.call('POST', '/v1/sandbox/events/trigger', { key, body }),
      403,
      'insufficient_permissions',
    );
  });
});

describe('an idempotency key', () => {
  it('shows a secret again to the member it was shown to, and to no other', async () => {
    const maker = {
      name: 'Copier',
      permissions: ['api_keys:read', 'api_keys:write', 'requests:read', 'team_members:read'],
    };
    await owner.in('POST', '/dashboard/roles', maker);
    const copier = await colleague(service, owner, 'Copier');
    const idempotencyKey = randomUUID();
    const create = (person: Person): Promise<Reply> =>
      person.in('POST', '/dashboard/api_keys', { name: 'Strong', kind: 'secret' }, { idempotencyKey });
    const made = await create(owner);
    assert.equal((await create(owner)).body.key, made.body.key);
    const copied = await create(copier);
    assertRefused(copied, 422, 'idempotency_key_conflict');
    assert.ok(!copied.text.includes('svc_test_sk_'));
  });
});

describe('guessing', () => {
  it('many at once are no more guesses than one after another', async () => {
    const person = await signUp(service);
    const guesses = Array.from({ length: 3 * limits.failedSignIns }, () =>
      signIn(newPerson(service, person.email), { password: 'wrong' }),
    );
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 401).length, limits.failedSignIns);
    assert.equal(statuses.filter((status) => status === 429).length, 2 * limits.failedSignIns);
  });

  it('does not go on where the password is changed', async () => {
    const person = await signUp(service);
    const change = (current_password: string): Promise<Reply> =>
      person.call('POST', '/dashboard/password', { body: { current_password, password: 'another horse battery' } });
    for (let guess = 0; guess < limits.failedSignIns; guess += 1) {
      assertRefused(await change('wrong'), 400, 'validation_error');
    }
    assertRefused(await change(somePassword), 429, 'too_many_requests');
  });
});

describe('a stolen cookie', () => {
  it('is worth nothing once its person has changed the password', async () => {
    const person = await signUp(service);
    const thief = newPerson(service);
    thief.cookie = person.cookie;
    const body = { current_password: person.password, password: 'another horse battery' };
    assert.equal((await person.call('POST', '/dashboard/password', { body })).status, 200);
    assert.equal((await person.call('GET', '/dashboard/session')).status, 200);
    assertRefused(await thief.call('GET', '/dashboard/session'), 401, 'missing_session');
  });

  it('does not sign a person in without the password', async () => {
    const person = await signUp(service);
    const roles = (await person.in('GET', '/v1/roles')).body.data;
    const made = await person.in('POST', '/dashboard/roles', { name: 'Small', permissions: ['orders:read'] });
    const members = (await person.in('GET', '/v1/team_members')).body.data;
    service.clock.advance((limits.stepUpMinutes + 1) * minuteMs);
    const refused = [
      await person.in('POST', '/v1/team_members', newMember(roles[0].id)),
      await person.in('PATCH', `/dashboard/team_members/${members[0].id}`, { role_id: roles[0].id }),
      await person.in('PATCH', `/dashboard/roles/${made.body.id}`, { permissions: ['orders:read', 'orders:write'] }),
      await person.in('POST', '/v1/sandbox/events/trigger', {
        type: 'team_member.invited',
        overrides: newMember(roles[0].id),
      }),
    ];
    for (const reply of refused) assertRefused(reply, 403, 'step_up_required');
  });
});

describe('plain HTTP', () => {
  it('opens no account, and no session that everybody on the way could take over', async () => {
    const email = `plain-${randomUUID()}@example.com`;
    const payload = {
      email,
      password: somePassword,
      first_name: 'A',
      last_name: 'B',
      phone_number: '+15551234567',
      company_name: 'C',
    };
    const headers = { host: 'svc.example', origin: 'http://svc.example' };
    const reply = await service.app.inject({ method: 'POST', url: '/dashboard/sign_up', headers, payload });
    assert.equal(reply.statusCode, 400);
    assert.equal(reply.headers['set-cookie'], undefined);
    assert.deepEqual(await service.control.query('SELECT 1 FROM users WHERE email = $1', [email]), []);
  });
});

describe('X-Forwarded-Host', () => {
  const forwarded = { origin: 'https://pay.example.com', 'x-forwarded-host': 'pay.example.com' };
  const signOut = (on: TestService): Promise<Reply> =>
    newPerson(on).call('DELETE', '/dashboard/session', { headers: forwarded });

  it('counts only from the addresses of SVC_TRUST_PROXY', async () => {
    assertRefused(await signOut(service), 403, 'cross_site_request');
    const elsewhere = await startTestService({ settings: { SVC_TRUST_PROXY: '203.0.113.7' } });
    try {
      assertRefused(await signOut(elsewhere), 403, 'cross_site_request');
    } finally {
      await elsewhere.stop();
    }
    const behind = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
    try {
      assert.notEqual((await signOut(behind)).body.error?.code, 'cross_site_request');
      // What a client put there itself stands before what the proxy added.
      const spoofed = { ...forwarded, 'x-forwarded-host': 'pay.example.com, other.example.com' };
      const reply = await newPerson(behind).call('DELETE', '/dashboard/session', { headers: spoofed });
      assertRefused(reply, 403, 'cross_site_request');
    } finally {
      await behind.stop();
    }
  });
});

describe('strangers', () => {
  const ask = (email: string, on = service): Promise<Reply> =>
    newPerson(on).call('POST', '/dashboard/password_resets', { body: { email } });

  it('do not fill the mailbox of a person', async () => {
    const person = await signUp(service);
    await Promise.all(Array.from({ length: 5 }, () => ask(person.email)));
    const mails = async (): Promise<unknown[]> => {
      await service.background.flush();
      return service.db.query('SELECT 1 FROM mails WHERE recipient = $1', [person.email]);
    };
    assert.equal((await mails()).length, 1);
    service.clock.advance((limits.passwordResetPauseMinutes + 1) * minuteMs);
    await ask(person.email);
    assert.equal((await mails()).length, 2);
  });

  it('are rejected with Retry-After when one IP address asks too often', async () => {
    const guarded = await startTestService();
    try {
      const { count } = limits.strangersPerAddress;
      const replies = await Promise.all(Array.from({ length: count + 1 }, () => ask('unknown@example.com', guarded)));
      assert.equal(replies.filter(({ status }) => status === 429).length, 1);
      await assert.rejects(signUp(guarded), /429/);
    } finally {
      await guarded.stop();
    }
  });
});

describe('the audit log', () => {
  it('has one entry for an order in doubt', async () => {
    const person = await signUp(service);
    const post = (path: string, body: object, idempotencyKey = randomUUID()): Promise<Reply> =>
      person.in('POST', path, body, { idempotencyKey });
    const { id: customer_id } = (await post('/v1/customers', someCustomer())).body;
    const card = { number: '4000009999007070', exp_month: '12', exp_year: '2032', cvc: '999' };
    assert.equal((await post('/capture', { customer_id, card })).status, 201);
    const { id: product_id } = (await post('/v1/products', someProduct())).body;
    const body = { customer_id, items: [{ product_id, quantity: 1 }] };
    const key = randomUUID();
    assertRefused(await post('/v1/orders', body, key), 502, 'gateway_error');
    await post('/v1/orders', body, key);
    // The entry is written a moment later.
    let actions: string[] = [];
    for (let look = 0; look < 50 && !actions.includes('createOrder'); look += 1) {
      const { data } = (await person.in('GET', '/dashboard/audit_log')).body;
      actions = data.map(({ action }: { action: string }) => action);
    }
    assert.equal(actions.filter((action) => action === 'createOrder').length, 1);
  });

  it('has an entry of a password that was chosen by a link', async () => {
    const person = await signUp(service);
    await newPerson(service).call('POST', '/dashboard/password_resets', { body: { email: person.email } });
    const token = /token=(\S+)/.exec(await lastMail(service, person.email))?.[1];
    const body = { token, password: 'another horse battery' };
    assert.equal((await newPerson(service).call('POST', '/dashboard/password_resets/complete', { body })).status, 200);
    assert.equal((await signIn(person, { password: body.password })).status, 200);
    const { data } = (await person.in('GET', '/dashboard/audit_log', undefined, { company: companyOf(person, 'live') }))
      .body;
    const actions = data.map(({ action }: { action: string }) => action);
    assert.deepEqual(actions, ['signIn', 'resetPassword', 'signUp']);
  });
});

describe('a vault that does not answer', () => {
  it('keeps the processors of a company when connecting another one fails', async () => {
    const [present, other] = ['https://one.example/', 'https://other.example/'];
    const {
      service: named,
      faults,
      stop,
    } = await startFaultyService({
      settings: { SVC_ACQUIRERS: `${present},${other}` },
    });
    try {
      const person = await signUp(named);
      const company = companyOf(person, 'live');
      const connect = (url: string): Promise<Reply> => {
        const body = { kind: 'acquirer', configuration: { url, secret: 'any-secret' } };
        return person.in('POST', '/dashboard/processors', body, { company });
      };
      assert.equal((await connect(present)).status, 201);
      faults.connect = () => Promise.reject(new ApiError('service_unavailable', 'The vault does not answer.'));
      assertRefused(await connect(other), 503, 'service_unavailable');
      const { body } = await person.in('GET', '/dashboard/processors', undefined, { company });
      assert.equal(body.connections.length, 1);
      delete faults.connect;
      assert.equal((await connect(other)).status, 201);
    } finally {
      await stop();
    }
  });
});

describe('a flood', () => {
  it('of statistics is refused before it takes the database', async () => {
    const flood = Array.from({ length: 40 }, () => owner.in('GET', '/dashboard/statistics?range=12m'));
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    assert.ok(statuses.includes(200) && statuses.includes(429), statuses.join());
    assert.equal((await owner.in('GET', '/dashboard/statistics')).status, 200);
  });

  it('of sign-ins is rejected before it takes CPU time, and a person with the password can still sign in', async () => {
    const flooded = await startTestService();
    try {
      const person = await signUp(flooded);
      const left = 15;
      await refusals(flooded, limits.signInsPerAddress.count - left);
      const known = (count: number): Promise<Reply>[] =>
        Array.from({ length: count }, () => signIn(newPerson(flooded, person.email)));
      const guesses = Array.from({ length: 150 }, () => signIn(newPerson(flooded)));
      const replies = await Promise.all([...guesses, ...known(limits.failedSignIns)]);
      const statuses = replies.map(({ status }) => status);
      const judged = statuses.filter((status) => status !== 429).length;
      // A slow machine takes so long that some of the limit comes back meanwhile.
      assert.ok(judged >= left && judged < 2 * left, statuses.join());
      flooded.clock.advance(limits.signInsPerAddress.windowSeconds * 1000);
      assert.deepEqual(
        (await Promise.all(known(1))).map(({ status }) => status),
        [200],
      );
    } finally {
      await flooded.stop();
    }
  });
});
