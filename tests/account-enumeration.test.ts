import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { reapAttempts, reapResets } from '../server/features/users/service.ts';
import { limits } from '../server/limits.ts';
import { colleague, inviteAs, lastMail, newPerson, type Person, signUp, somePassword } from './support/dashboard.ts';
import { assertRefused, countOf } from './support/orders.ts';
import { type Reply, startTestService, type TestService } from './support/service.ts';

/** Who has an account is not to be learned by asking, and strangers do not lock its owner out. */

let service: TestService;
before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
});
after(() => service.stop());

const minuteMs = 60_000;
let addresses = 0;
/** Another network address for each caller, so that none is refused for what others did. */
function from(): Record<string, string> {
  addresses += 1;
  return { 'x-forwarded-for': `203.0.${addresses >> 8}.${addresses & 255}` };
}

const unknownEmail = (): string => `unknown-${randomUUID()}@example.com`;

type Attempt = (email: string, headers: Record<string, string>) => Promise<Reply>;
/** From a browser without cookies. */
const signIn: Attempt = (email, headers) =>
  newPerson(service).call('POST', '/dashboard/session', { body: { email, password: 'wrong horse battery' }, headers });
const askReset: Attempt = (email, headers) =>
  newPerson(service).call('POST', '/dashboard/password_resets', { body: { email }, headers });

/** All that a caller sees, but for what differs between any two requests. */
function seen({ status, headers, text }: Reply): object {
  const own = ['date', 'svc-request-id', 'retry-after'];
  return {
    status,
    headers: [...headers].filter(([name]) => !own.includes(name)),
    waits: headers.has('retry-after'),
    body: text.replace(/req_[a-z2-7]{24}/, 'req_'),
  };
}

interface Compared {
  readonly replies: readonly Reply[];
  /** Of each attempt, in milliseconds. */
  readonly known: readonly number[];
  readonly unknown: readonly number[];
}

async function compare(attempt: Attempt, real: string, rounds: number, between = async () => {}): Promise<Compared> {
  const unknown = unknownEmail();
  const [here, there] = [from(), from()];
  const timed = async (email: string, headers: Record<string, string>): Promise<[Reply, number]> => {
    const startMs = performance.now();
    const reply = await attempt(email, headers);
    return [reply, performance.now() - startMs];
  };
  const found: Compared & { replies: Reply[]; known: number[]; unknown: number[] } = {
    replies: [],
    known: [],
    unknown: [],
  };
  for (let round = 1; round <= rounds; round += 1) {
    const [[one, oneMs], [other, otherMs]] = [await timed(real, here), await timed(unknown, there)];
    assert.deepEqual(seen(one), seen(other), `attempt ${round}`);
    // Both count down from the tenth failure, which is not the same moment.
    const apart = Number(one.headers.get('retry-after')) - Number(other.headers.get('retry-after'));
    assert.ok(Math.abs(apart) <= 5, `attempt ${round}: ${apart} s apart`);
    found.replies.push(one);
    found.known.push(oneMs);
    found.unknown.push(otherMs);
    await between();
  }
  return found;
}

const byNumber = (left: number, right: number): number => left - right;

/** The medians of both lie within the range of the other: nothing is learned from one answer, and little from many. */
function assertAlike(known: readonly number[], unknown: readonly number[]): void {
  const [one, other] = [known.toSorted(byNumber), unknown.toSorted(byNumber)];
  const median = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? 0;
  const text = (times: readonly number[]): string => times.map((ms) => ms.toFixed(1)).join(' ');
  const alike = median(one) <= (other.at(-1) ?? 0) && median(other) <= (one.at(-1) ?? 0);
  assert.ok(alike, `account: ${text(one)}; unknown: ${text(other)}`);
}

/** Measures again if another program was in the way. A difference that the service makes is there each time. */
async function inOneOfThree(measure: () => Promise<void>): Promise<void> {
  for (let left = 2; left > 0; left -= 1) {
    const failure = await measure().catch((error: unknown) => error);
    if (failure === undefined) return;
  }
  await measure();
}

describe('an account and an unknown address', () => {
  it('are answered alike by sign-in, and as soon, also when they are locked', () =>
    inOneOfThree(async () => {
      const { email } = await signUp(service);
      const { replies, known, unknown } = await compare(signIn, email, 15);
      assert.deepEqual(
        replies.map(({ status }) => status),
        Array.from({ length: 15 }, (_, index) => (index < limits.failedSignIns ? 401 : 429)),
      );
      assertAlike(known.slice(0, limits.failedSignIns), unknown.slice(0, limits.failedSignIns));
      assertAlike(known.slice(limits.failedSignIns), unknown.slice(limits.failedSignIns));
    }));

  it('are answered alike by sign-in with a code, where the account asks for codes', async () => {
    const { email } = await signUp(service);
    await service.control.query(`UPDATE users SET totp_secret = '\\x00', totp_confirmed_at = now() WHERE email = $1`, [
      email,
    ]);
    const withCode: Attempt = (address, headers) =>
      newPerson(service).call('POST', '/dashboard/session', {
        body: { email: address, password: 'wrong horse battery', totp_code: '123456' },
        headers,
      });
    const { replies } = await compare(withCode, email, 2);
    for (const reply of replies) assertRefused(reply, 401, 'invalid_credentials');
  });

  it('are answered alike, and as soon, when a new password is asked for', () =>
    inOneOfThree(async () => {
      const { email } = await signUp(service);
      const { replies, known, unknown } = await compare(askReset, email, 15, async () => {
        await service.background.flush();
        // A link was mailed a moment ago otherwise, and less is done.
        service.clock.advance((limits.passwordResetPauseMinutes + 1) * minuteMs);
      });
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
      assert.match(await lastMail(service, email), /reset-password\?token=/);
      assertAlike(known, unknown);
    }));

  it('are locked alike however the address is written', async () => {
    const { email } = await signUp(service);
    for (const address of [email, unknownEmail()]) {
      await lockByStrangers(address.toUpperCase());
      assertRefused(await signIn(address, from()), 429, 'too_many_requests');
    }
  });
});

const right = (person: Person, headers = from()): Promise<Reply> =>
  person.call('POST', '/dashboard/session', { body: { email: person.email, password: person.password }, headers });

/** One attempt that fails; the others are written down, since each takes its time. */
async function lockByStrangers(email: string): Promise<void> {
  await signIn(email, from());
  await fail();
  assertRefused(await signIn(email, from()), 429, 'too_many_requests');
}

/** The counter that was used last has failed as often as it may. */
async function fail(count: number = limits.failedSignIns): Promise<void> {
  await service.control.query(
    'UPDATE login_attempts SET failures = $1 WHERE expires_at = (SELECT max(expires_at) FROM login_attempts)',
    [count],
  );
}

describe('a person whose address strangers try', () => {
  it('signs in as before in a browser that is known, and steps up, and changes the password', async () => {
    const person = await signUp(service);
    await lockByStrangers(person.email);
    assert.equal((await right(person)).status, 200);
    const body = { password: person.password };
    assert.equal((await person.call('POST', '/dashboard/session/step_up', { body, headers: from() })).status, 200);
    const change = { current_password: person.password, password: 'another horse battery' };
    assert.equal((await person.call('POST', '/dashboard/password', { body: change, headers: from() })).status, 200);
    await lockByStrangers(person.email);
    await person.call('DELETE', '/dashboard/session', { headers: from() });
    const again = { email: person.email, password: change.password };
    assert.equal((await person.call('POST', '/dashboard/session', { body: again, headers: from() })).status, 200);
  });

  it('waits elsewhere, or comes in by a new password, also while the strangers go on', async () => {
    const person = await signUp(service);
    await lockByStrangers(person.email);
    const elsewhere = newPerson(service, person.email);
    assertRefused(await right(elsewhere), 429, 'too_many_requests');
    await askReset(person.email, from());
    const token = /token=(\S+)/.exec(await lastMail(service, person.email))?.[1];
    const password = 'another horse battery';
    const complete = { body: { token, password }, headers: from() };
    assert.equal((await elsewhere.call('POST', '/dashboard/password_resets/complete', complete)).status, 200);
    await lockByStrangers(person.email);
    const body = { email: person.email, password };
    assert.equal((await elsewhere.call('POST', '/dashboard/session', { body, headers: from() })).status, 200);
    assertRefused(
      await newPerson(service).call('POST', '/dashboard/session', { body, headers: from() }),
      429,
      'too_many_requests',
    );
  });

  it('opens the link of an hour, however often strangers ask for another one', async () => {
    const person = newPerson(service, (await signUp(service)).email);
    const ask = async (): Promise<string> => {
      await askReset(person.email, from());
      return /token=(\S+)/.exec(await lastMail(service, person.email))?.[1] ?? '';
    };
    const complete = (token: string): Promise<Reply> =>
      person.call('POST', '/dashboard/password_resets/complete', {
        body: { token, password: somePassword },
        headers: from(),
      });
    const token = await ask();
    let later = token;
    for (let count = 0; count < 5; count += 1) {
      service.clock.advance((limits.passwordResetPauseMinutes + 1) * minuteMs);
      later = await ask();
    }
    assert.notEqual(later, token);
    assert.equal((await complete(token)).status, 200);
    assertRefused(await complete(later), 400, 'validation_error');
    const ofPerson = 'user_id = (SELECT id FROM users WHERE email = $1)';
    assert.equal(await countOf(service, 'password_resets', ofPerson, [person.email]), 0);
    await ask();
    service.clock.advance((limits.passwordResetMinutes + 1) * minuteMs);
    assert.ok((await reapResets({ db: service.control, clock: service.clock })) >= 1);
    assert.equal(await countOf(service, 'password_resets', 'true', []), 0);
  });

  it('is let in again once the time is over', async () => {
    const person = await signUp(service);
    await lockByStrangers(person.email);
    service.clock.advance((limits.lockMinutes + 1) * minuteMs);
    assert.equal((await right(newPerson(service, person.email))).status, 200);
  });

  it('is not tried more often by who has the cookie of a known browser, of another person or of before', async () => {
    const [person, other] = [await signUp(service), await signUp(service)];
    const thief = newPerson(service);
    const tries = async (browser: string): Promise<number[]> => {
      thief.browser = browser;
      const body = { email: person.email, password: 'wrong horse battery' };
      const attempt = async (): Promise<number> =>
        (await thief.call('POST', '/dashboard/session', { body, headers: from() })).status;
      const first = await attempt();
      if (first === 401) await fail();
      return [first, await attempt()];
    };
    const [once, none] = [
      [401, 429],
      [429, 429],
    ];
    const before = person.browser;
    assert.deepEqual(await tries(before), once, 'a known browser has as many attempts, and no more');
    assert.deepEqual(await tries(other.browser), once);
    for (const forged of ['', 'svc_browser=', 'svc_browser=.', `svc_browser=${randomUUID()}.AAAA`]) {
      assert.deepEqual(await tries(forged), none, 'all strangers count together');
    }
    const change = { current_password: person.password, password: 'another horse battery' };
    assert.equal((await person.call('POST', '/dashboard/password', { body: change, headers: from() })).status, 200);
    assert.deepEqual(await tries(before), none, 'a cookie from before the password changed is a stranger’s');
  });
});

describe('siblings', () => {
  it('an invitation counts wrong passwords of an account as sign-in does', async () => {
    const [owner, other] = [await signUp(service), await signUp(service)];
    const member = await colleague(service, owner, 'Viewer');
    const token = await inviteAs(service, other, member.email, 'Viewer');
    const accept = (password: string): Promise<Reply> =>
      newPerson(service).call('POST', `/dashboard/invitations/${token}/accept`, {
        body: { password },
        headers: from(),
      });
    assertRefused(await accept('wrong horse battery'), 401, 'invalid_credentials');
    await fail();
    assertRefused(await accept(somePassword), 429, 'too_many_requests');
    assertRefused(await signIn(member.email, from()), 429, 'too_many_requests');
  });

  it('inviting says nothing of whether the address has an account', async () => {
    const [owner, other] = [await signUp(service), await signUp(service)];
    const role_id = (await owner.in('GET', '/v1/roles')).body.data[0].id;
    const invite = async (email: string): Promise<object> => {
      const person = { email, first_name: 'G', last_name: 'H', phone_number: '+15551234567', role_id };
      const { status, body } = await owner.in('POST', '/v1/team_members', person);
      return { status, fields: Object.keys(body), role: body.role, state: body.status };
    };
    assert.deepEqual(await invite(other.email), await invite(unknownEmail()));
  });

  it('sign-up says that an address is taken only so often to one network address', async () => {
    const { email } = await signUp(service);
    const headers = from();
    const taken = (address: string): Promise<Reply> =>
      newPerson(service).call('POST', '/dashboard/sign_up', {
        body: {
          email: address,
          password: somePassword,
          first_name: 'A',
          last_name: 'B',
          phone_number: '+15551234567',
          company_name: 'C',
        },
        headers,
      });
    const { count } = limits.signInsPerAddress;
    // Refusals of all kinds count together, and these cost less.
    for (let refused = 0; refused < count - 2; refused += 1) {
      const complete = { body: { token: 'unknown', password: somePassword }, headers };
      await newPerson(service).call('POST', '/dashboard/password_resets/complete', complete);
    }
    for (let said = 0; said < 2; said += 1) assertRefused(await taken(email), 409, 'resource_already_exists');
    const [known, other] = [await taken(email), await taken(unknownEmail())];
    assertRefused(known, 429, 'too_many_requests');
    assert.deepEqual(seen(known), seen(other));
  });
});

describe('what is kept of attempts', () => {
  it('names no address, and is deleted when its time is over', async () => {
    const email = unknownEmail();
    await signIn(email, from());
    const rows = await service.control.query<{ text: string }>('SELECT encode(key, $1) AS text FROM login_attempts', [
      'escape',
    ]);
    assert.ok(rows.length > 0 && rows.every(({ text }) => !text.includes('example.com')));
    service.clock.advance((limits.lockMinutes + 1) * minuteMs);
    await reapAttempts({ db: service.control, clock: service.clock });
    assert.equal(await countOf(service, 'login_attempts', 'true', []), 0);
  });

  it('is nothing where the attempt could not be looked at', async () => {
    const { email } = await signUp(service);
    await service.control.query(`UPDATE users SET password_hash = 'damaged' WHERE email = $1`, [email]);
    assert.equal((await signIn(email, from())).status, 500);
    assert.equal(await countOf(service, 'login_attempts', 'true', []), 0);
  });
});
