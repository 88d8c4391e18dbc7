import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertRefused } from '../../../tests/support/orders.ts';
import {
  colleague,
  companyOf,
  invitationOf,
  inviteAs,
  lastMail,
  newPerson,
  type Person,
  refusals,
  signUp,
  somePassword,
} from '../../../tests/support/dashboard.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';
import { codeAt, stepOf, toBase32 } from './totp.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const session = (person: Person): ReturnType<Person['call']> => person.call('GET', '/dashboard/session');
const signIn = (person: Person, more: object = {}): ReturnType<Person['call']> =>
  person.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password, ...more } });

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe('signing up', () => {
  it('makes the live company and its sandbox, both owned', async () => {
    const person = await signUp(service);
    const { body } = await session(person);
    assert.equal(body.user.email, person.email);
    assert.deepEqual(
      body.companies.map(({ mode, name, role }: Person['companies'][number]) => [mode, name, role.name]),
      [
        ['live', 'Engines', 'Owner'],
        ['sandbox', 'Engines (demo)', 'Owner'],
      ],
    );
    assert.equal(body.companies[0].account_id, body.companies[1].account_id);
    assert.ok(body.companies[0].permissions.includes('company:write'));
    const members = await person.in('GET', '/v1/team_members');
    assert.equal(members.body.data[0].email, person.email);
    assert.equal(members.body.data[0].phone_number, '+15551234567');
  });

  it('gives a cookie that scripts cannot read and other sites do not send', async () => {
    const person = newPerson(service);
    const reply = await person.call('POST', '/dashboard/sign_up', {
      body: {
        email: person.email,
        password: somePassword,
        first_name: 'A',
        last_name: 'B',
        phone_number: '+15551234567',
        company_name: 'C',
      },
    });
    assert.match(
      reply.headers.get('set-cookie') ?? '',
      /^svc_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age/,
    );
  });

  it('keeps neither the password nor the token', async () => {
    const person = await signUp(service);
    const [row] = await service.control.query<{ text: string }>(
      `SELECT (SELECT row_to_json(u)::text FROM users u WHERE email = $1) ||
         (SELECT string_agg(row_to_json(s)::text, '') FROM sessions s) AS text`,
      [person.email],
    );
    assert.match(row?.text ?? '', /\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.ok(!row?.text.includes(somePassword));
    assert.ok(!row?.text.includes(person.cookie.split('=')[1] ?? '?'));
    assert.ok(!service.logLines.some((line) => line.includes(somePassword)));
  });

  it('refuses an address that has an account, in any case', async () => {
    const person = await signUp(service);
    const body = {
      email: person.email.toUpperCase(),
      password: somePassword,
      first_name: 'A',
      last_name: 'B',
      phone_number: '+15551234567',
      company_name: 'C',
    };
    assertRefused(
      await newPerson(service).call('POST', '/dashboard/sign_up', { body }),
      409,
      'resource_already_exists',
    );
  });

  for (const [why, password] of [
    ['short', 'short'],
    ['common', 'Password1234'],
    ['of one letter', 'aaaaaaaaaaaaaaa'],
  ] as const) {
    it(`refuses a password that is ${why}`, async () => {
      const person = newPerson(service);
      const body = {
        email: person.email,
        password,
        first_name: 'A',
        last_name: 'B',
        phone_number: '+15551234567',
        company_name: 'C',
      };
      const reply = await person.call('POST', '/dashboard/sign_up', { body });
      assertRefused(reply, 400, 'validation_error');
      assert.equal(reply.body.error.field_errors[0].field, 'password');
    });
  }

  it('can be closed by the operator', async () => {
    const closed = await startTestService({ settings: { SVC_SIGN_UP: 'off' } });
    try {
      await assert.rejects(signUp(closed), /403/);
    } finally {
      await closed.stop();
    }
  });
});

describe('signing in', () => {
  it('opens a new session each time', async () => {
    const person = await signUp(service);
    const first = person.cookie;
    assert.equal((await signIn(person)).status, 200);
    assert.notEqual(person.cookie, first);
    const { body } = await person.call('GET', '/dashboard/sessions');
    assert.equal(body.data.length, 2);
    assert.equal(body.data.filter(({ current }: { current: boolean }) => current).length, 1);
  });

  it('gives the same response for a wrong password and for an unknown email', async () => {
    const person = await signUp(service);
    const wrong = await signIn(person, { password: 'wrong horse battery' });
    const unknown = await signIn(newPerson(service));
    assertRefused(wrong, 401, 'invalid_credentials');
    assert.deepEqual({ ...wrong.body.error, request_id: '' }, { ...unknown.body.error, request_id: '' });
  });

  it('locks after ten failures, also for the right password, and not for ever', async () => {
    const person = await signUp(service);
    for (let attempt = 0; attempt < limits.failedSignIns; attempt += 1) {
      assertRefused(await signIn(person, { password: 'wrong' }), 401, 'invalid_credentials');
    }
    const locked = await signIn(person);
    assertRefused(locked, 429, 'too_many_requests');
    assert.ok(Number(locked.headers.get('retry-after')) > 0);
    service.clock.advance((limits.lockMinutes + 1) * minuteMs);
    assert.equal((await signIn(person)).status, 200);
  });

  it('lets an address guess only so often', async () => {
    const guarded = await startTestService();
    try {
      await refusals(guarded, limits.signInsPerAddress.count - 10);
      const guesses = await Promise.all(Array.from({ length: 30 }, () => signIn(newPerson(guarded))));
      const [judged, refused] = [401, 429].map((wanted) => guesses.filter(({ status }) => status === wanted));
      assert.ok(
        judged && refused && judged.length >= 10 && refused.length > 0,
        guesses.map(({ status }) => status).join(),
      );
      assertRefused(refused[0] as Reply, 429, 'too_many_requests');
    } finally {
      await guarded.stop();
    }
  });
});

describe('a session', () => {
  it('is invalid after signing out, also with a stolen cookie', async () => {
    const person = await signUp(service);
    const thief = newPerson(service);
    thief.cookie = person.cookie;
    assert.equal((await session(thief)).status, 200);
    assert.equal((await person.call('DELETE', '/dashboard/session')).status, 200);
    assert.equal(person.cookie, '');
    assertRefused(await session(thief), 401, 'missing_session');
    thief.companies = person.companies;
    assertRefused(await thief.in('GET', '/v1/customers'), 401, 'missing_session');
  });

  it('ends when it was idle, and when it is old', async () => {
    const idle = await signUp(service);
    service.clock.advance((limits.sessionIdleHours + 1) * hourMs);
    assertRefused(await session(idle), 401, 'session_expired');
    const busy = await signUp(service);
    for (let day = 0; day < limits.sessionDays * 4; day += 1) {
      service.clock.advance(6 * hourMs);
      if (day < limits.sessionDays * 4 - 1) assert.equal((await session(busy)).status, 200);
    }
    assertRefused(await session(busy), 401, 'session_expired');
  });

  it('can be ended from another one', async () => {
    const person = await signUp(service);
    const other = newPerson(service, person.email);
    await signIn(other);
    const { body } = await person.call('GET', '/dashboard/sessions');
    const { id } = body.data.find(({ current }: { current: boolean }) => !current);
    assert.equal((await person.call('DELETE', `/dashboard/sessions/${id}`)).status, 200);
    assertRefused(await session(other), 401, 'missing_session');
    assertRefused(await person.call('DELETE', `/dashboard/sessions/${id}`), 404, 'resource_not_found');
  });

  it('of another person cannot be ended', async () => {
    const [one, other] = [await signUp(service), await signUp(service)];
    const { body } = await other.call('GET', '/dashboard/sessions');
    assertRefused(await one.call('DELETE', `/dashboard/sessions/${body.data[0].id}`), 404, 'resource_not_found');
    assertRefused(await one.call('DELETE', '/dashboard/sessions/x'), 404, 'resource_not_found');
  });

  it('opens only the companies of its person', async () => {
    const [one, other] = [await signUp(service), await signUp(service)];
    for (const company of [companyOf(other, 'sandbox'), companyOf(other, 'live'), randomUUID(), 'x']) {
      assertRefused(await one.call('GET', '/v1/customers', { company }), 403, 'insufficient_permissions');
      assertRefused(await one.call('GET', '/dashboard/api_keys', { company }), 403, 'insufficient_permissions');
    }
  });
});

describe('requests of other sites', () => {
  const crossings: Record<string, string>[] = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ];
  for (const headers of crossings) {
    it(`are refused: ${JSON.stringify(headers)}`, async () => {
      const person = await signUp(service);
      const asked = { origin: '', ...headers };
      assertRefused(await person.call('DELETE', '/dashboard/session', { headers: asked }), 403, 'cross_site_request');
      const created = await person.in('POST', '/v1/customers', {}, { headers: asked });
      assertRefused(created, 403, 'cross_site_request');
      const revoke = await person.in('DELETE', `/dashboard/api_keys/${randomUUID()}`, undefined, { headers: asked });
      assertRefused(revoke, 403, 'cross_site_request');
      assert.equal((await session(person)).status, 200);
    });
  }

  it('are rejected, and those of the public address are not, behind a proxy that does not forward the host', async () => {
    const person = await signUp(service);
    const headers = { origin: 'http://service.test', 'sec-fetch-site': 'same-origin' };
    assert.equal((await person.call('DELETE', '/dashboard/session', { headers })).status, 200);
  });

  it('cannot sign a person in', async () => {
    const person = await signUp(service);
    const reply = await person.call('POST', '/dashboard/session', {
      body: { email: person.email, password: person.password },
      headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    });
    assertRefused(reply, 403, 'cross_site_request');
    assert.equal(reply.headers.get('set-cookie'), null);
  });

  it('get no company by the cookie alone', async () => {
    const person = await signUp(service);
    assertRefused(await person.call('GET', '/v1/customers'), 401, 'missing_api_key');
  });
});

describe('passwords', () => {
  it('change, and end every other session', async () => {
    const person = await signUp(service);
    const other = newPerson(service, person.email);
    await signIn(other);
    const change = { current_password: person.password, password: 'another horse battery' };
    assert.equal((await person.call('POST', '/dashboard/password', { body: change })).status, 200);
    assertRefused(await session(other), 401, 'missing_session');
    assert.equal((await session(person)).status, 200);
    assertRefused(await signIn(person), 401, 'invalid_credentials');
    assert.equal((await signIn(person, { password: change.password })).status, 200);
  });

  it('do not change without the present one', async () => {
    const person = await signUp(service);
    const change = { current_password: 'wrong', password: 'another horse battery' };
    assertRefused(await person.call('POST', '/dashboard/password', { body: change }), 400, 'validation_error');
  });

  it('are reset by a link that works once and not for long', async () => {
    const person = await signUp(service);
    const ask = (email: string): ReturnType<Person['call']> =>
      newPerson(service).call('POST', '/dashboard/password_resets', { body: { email } });
    const tokenOf = async (): Promise<string> => /token=(\S+)/.exec(await lastMail(service, person.email))?.[1] ?? '';
    const complete = (token: string, password: string): ReturnType<Person['call']> =>
      newPerson(service).call('POST', '/dashboard/password_resets/complete', { body: { token, password } });

    const known = await ask(person.email);
    const unknown = await ask('unknown@example.com');
    assert.deepEqual([known.status, known.text], [unknown.status, unknown.text]);

    const expired = await tokenOf();
    service.clock.advance((limits.passwordResetMinutes + 1) * minuteMs);
    assertRefused(await complete(expired, 'another horse battery'), 400, 'validation_error');

    await ask(person.email);
    const token = await tokenOf();
    assertRefused(await complete(token, 'short'), 400, 'validation_error');
    assert.equal((await complete(token, 'another horse battery')).status, 200);
    assertRefused(await complete(token, 'yet another horse'), 400, 'validation_error');
    assertRefused(await session(person), 401, 'missing_session');
    assert.equal((await signIn(person, { password: 'another horse battery' })).status, 200);
  });
});

describe('codes of an authenticator app', () => {
  it('follow RFC 6238', () => {
    const secret = Buffer.from('12345678901234567890');
    // The last six of its eight digits.
    for (const [seconds, code] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_234_567_890, '005924'],
      [20_000_000_000, '353130'],
    ] as const) {
      assert.equal(codeAt(secret, stepOf(seconds * 1000)), code);
    }
    assert.equal(toBase32(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
  });

  const fromBase32 = (text: string): Buffer => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
    return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  };
  async function enrolled(): Promise<{ person: Person; code: () => string; recovery: string[] }> {
    const person = await signUp(service);
    const begun = await person.call('POST', '/dashboard/totp');
    const secret = fromBase32(begun.body.secret);
    assert.match(begun.body.otpauth_url, /^otpauth:\/\/totp\/svc:person-.*secret=/);
    const code = (): string => codeAt(secret, stepOf(service.clock.nowMs()));
    assertRefused(
      await person.call('POST', '/dashboard/totp/confirm', { body: { code: '000000' } }),
      400,
      'validation_error',
    );
    const confirmed = await person.call('POST', '/dashboard/totp/confirm', { body: { code: code() } });
    assert.equal(confirmed.status, 200);
    return { person, code, recovery: confirmed.body.recovery_codes };
  }

  it('are asked for, and each is good once', async () => {
    const { person, code } = await enrolled();
    assertRefused(await signIn(person), 401, 'totp_required');
    assertRefused(await signIn(person, { totp_code: code() }), 401, 'invalid_credentials');
    service.clock.advance(30_000);
    const fresh = code();
    assert.equal((await signIn(person, { totp_code: fresh })).status, 200);
    assertRefused(await signIn(person, { totp_code: fresh }), 401, 'invalid_credentials');
  });

  it('stay on when the password is reset by mail', async () => {
    const { person } = await enrolled();
    await newPerson(service).call('POST', '/dashboard/password_resets', { body: { email: person.email } });
    const token = /token=(\S+)/.exec(await lastMail(service, person.email))?.[1];
    const body = { token, password: 'another horse battery' };
    assert.equal((await newPerson(service).call('POST', '/dashboard/password_resets/complete', { body })).status, 200);
    assertRefused(await signIn(person, { password: body.password }), 401, 'totp_required');
  });

  it('have recovery codes, each good once', async () => {
    const { person, recovery } = await enrolled();
    assert.equal(recovery.length, 10);
    assert.equal((await signIn(person, { totp_code: recovery[0] })).status, 200);
    assertRefused(await signIn(person, { totp_code: recovery[0] }), 401, 'invalid_credentials');
  });

  it('of one moment let in one of two at once', async () => {
    const { person, code } = await enrolled();
    service.clock.advance(30_000);
    const fresh = code();
    const both = await Promise.all([signIn(person, { totp_code: fresh }), signIn(person, { totp_code: fresh })]);
    assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([200, 401]));
  });

  it('are switched on and off only after the password was given again', async () => {
    const { person } = await enrolled();
    service.clock.advance((limits.stepUpMinutes + 1) * minuteMs);
    assertRefused(await person.call('DELETE', '/dashboard/totp'), 403, 'step_up_required');
    const other = await signUp(service);
    service.clock.advance((limits.stepUpMinutes + 1) * minuteMs);
    assertRefused(await other.call('POST', '/dashboard/totp'), 403, 'step_up_required');
    assert.equal(
      (await other.call('POST', '/dashboard/session/step_up', { body: { password: other.password } })).status,
      200,
    );
    assert.equal((await other.call('POST', '/dashboard/totp')).status, 200);
  });
});

describe('invitations', () => {
  it('are accepted once, with a new password', async () => {
    const owner = await signUp(service);
    const member = newPerson(service);
    const token = await inviteAs(service, owner, member.email, 'Viewer');
    const accept = (person: Person): Promise<Reply> =>
      person.call('POST', `/dashboard/invitations/${token}/accept`, { body: { password: member.password } });
    assert.equal((await accept(member)).status, 200);
    assert.deepEqual(
      member.companies.map(({ mode, role }) => [mode, role.name]),
      [['sandbox', 'Viewer']],
    );
    assertRefused(await accept(newPerson(service)), 422, 'invalid_state_transition');
  });

  it('that do not exist are 404', async () => {
    for (const token of ['x', randomUUID(), 'A'.repeat(64)]) {
      assertRefused(await newPerson(service).call('GET', `/dashboard/invitations/${token}`), 404, 'resource_not_found');
    }
  });

  it('ask a person with an account for its password', async () => {
    const [one, other] = [await signUp(service), await signUp(service)];
    const member = await colleague(service, one, 'Viewer');
    const roles = await other.in('GET', '/v1/roles');
    await other.in('POST', '/v1/team_members', {
      email: member.email,
      first_name: 'G',
      last_name: 'H',
      phone_number: '+15551234567',
      role_id: roles.body.data[0].id,
    });
    const token = await invitationOf(service, member.email);
    const shown = await newPerson(service).call('GET', `/dashboard/invitations/${token}`);
    assert.equal(shown.body.has_account, true);
    const path = `/dashboard/invitations/${token}/accept`;
    const guess = await newPerson(service).call('POST', path, { body: { password: 'a new horse battery' } });
    assertRefused(guess, 401, 'invalid_credentials');
    const accepted = await member.call('POST', path, { body: { password: member.password } });
    assert.equal(accepted.body.companies.length, 2);
  });

  it('take over an account that was opened with the email of another person', async () => {
    const owner = await signUp(service);
    const squatter = await signUp(service);
    const secret = await squatter.call('POST', '/dashboard/totp');
    assert.equal(secret.status, 200);
    const roles = await owner.in('GET', '/v1/roles');
    await owner.in('POST', '/v1/team_members', {
      email: squatter.email,
      first_name: 'G',
      last_name: 'H',
      phone_number: '+15551234567',
      role_id: roles.body.data[0].id,
    });
    const token = await invitationOf(service, squatter.email);
    const rightful = newPerson(service, squatter.email);
    const accepted = await rightful.call('POST', `/dashboard/invitations/${token}/accept`, {
      body: { password: 'the rightful one' },
    });
    assert.equal(accepted.status, 200);
    assertRefused(await session(squatter), 401, 'missing_session');
    assertRefused(await signIn(squatter), 401, 'invalid_credentials');
  });
});
