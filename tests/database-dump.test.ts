import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { sendDueMails } from '../server/features/mails/jobs.ts';
import { codeAt, stepOf } from '../server/features/users/totp.ts';
import { silentLog } from './support/silent-log.ts';
import { colleague, invitationOf, lastMail, newPerson, type Person, signUp } from './support/dashboard.ts';
import { type Reply, someCustomer, startTestService, type TestService } from './support/service.ts';

/** Reading the whole database, with the rights of its owner or from a dump, opens no account and signs nothing. */

let service: TestService;
let owner: Person;
const secrets = new Map<string, string>();

const keep = (name: string, secret: string | undefined): string => {
  assert.ok(secret, `there is no ${name}`);
  secrets.set(name, secret);
  return secret;
};

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const fromBase32 = (text: string): Buffer => {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
};

async function made(work: Promise<Reply>): Promise<Reply['body']> {
  const reply = await work;
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
}

const ask = (email: string): Promise<Reply> =>
  newPerson(service).call('POST', '/dashboard/password_resets', { body: { email } });
const resetOf = async (person: Person): Promise<string | undefined> =>
  /token=(\S+)/.exec(await lastMail(service, person.email))?.[1];

before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  owner = await signUp(service);
  keep('password', owner.password);
  keep('session', owner.cookie.split('=')[1]);
  keep('cookie of a known browser', owner.browser.split('=')[1]);
  const roles = (await owner.in('GET', '/v1/roles')).body.data;
  const invite = (email: string): Promise<Reply> =>
    owner.in(
      'POST',
      '/v1/team_members',
      { email, first_name: 'Grace', last_name: 'Hopper', phone_number: '+15551234567', role_id: roles[0].id },
      { idempotencyKey: randomUUID() },
    );

  // Mails that are sent, and later ones that are not.
  const [sentTo, resetBy] = [`sent-${randomUUID()}@example.com`, await colleague(service, owner, 'Admin')];
  await made(invite(sentTo));
  keep('invitation that was sent', await invitationOf(service, sentTo));
  await made(ask(resetBy.email));
  keep('reset that was sent', await resetOf(resetBy));
  const mailer = { send: async () => undefined, check: async () => undefined, close: async () => undefined };
  await sendDueMails(service.db, mailer, service.mailKey, silentLog, 100);
  const waits = `waits-${randomUUID()}@example.com`;
  await made(invite(waits));
  keep('invitation that waits', await invitationOf(service, waits));
  await made(ask(owner.email));
  keep('reset that waits', await resetOf(owner));

  const begun = await made(resetBy.call('POST', '/dashboard/totp'));
  keep('TOTP secret', begun.secret);
  const code = codeAt(fromBase32(begun.secret), stepOf(service.clock.nowMs()));
  const { recovery_codes } = await made(resetBy.call('POST', '/dashboard/totp/confirm', { body: { code } }));
  for (const [index, recovery] of recovery_codes.entries()) keep(`recovery code ${index}`, recovery);

  const post = (path: string, body: unknown): Promise<Reply['body']> =>
    made(owner.in('POST', path, body, { idempotencyKey: randomUUID() }));
  const key = await post('/dashboard/api_keys', { name: 'Shop', kind: 'secret' });
  keep('secret key', key.key);
  keep('rotated key', (await post(`/dashboard/api_keys/${key.id}/rotate`, { grace_period_hours: 24 })).key);
  const publishable = keep(
    'publishable key',
    (await post('/dashboard/api_keys', { name: 'Page', kind: 'publishable' })).key,
  );
  const endpoint = await post('/v1/webhook_endpoints', { url: 'https://shop.example/', enabled_events: ['*'] });
  keep('signing secret', endpoint.signing_secret);
  const rotated = await post(`/v1/webhook_endpoints/${endpoint.id}/rotate_secret`, { grace_period_hours: 24 });
  keep('rotated signing secret', rotated.new_signing_secret);
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
  const options = { key: publishable, body: { card }, idempotencyKey: randomUUID() };
  const token = await made(service.call('POST', '/v1/card_tokens', options));
  keep('card token', token.id);
  const again = await made(service.call('POST', '/v1/card_tokens', options));
  assert.equal(again.id, token.id, 'a repeated key shows the same token');
  await post('/v1/customers', someCustomer());
  // The log of requests is written a moment later.
  const logged = async (): Promise<number> => (await service.db.query('SELECT 1 FROM requests')).length;
  for (let look = 0; look < 100 && (await logged()) < 8; look += 1) await new Promise((done) => setTimeout(done, 20));
});
after(() => service.stop());

/** Every row of every table as text, as its owner reads it. */
async function dump(): Promise<string> {
  const tables = await service.db.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind IN ('r', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`,
  );
  assert.ok(tables.length > 40);
  const rows = await Promise.all(
    tables.map(({ name }) => service.db.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`)),
  );
  return rows
    .flat()
    .map(({ text }) => text)
    .join('\n');
}

/** What may be a secret, as it stands there and as bytes that stand there in hex or base64 would be written. */
function candidatesIn(text: string): Set<string> {
  const found = new Set(text.match(/[A-Za-z0-9_+/=.-]{20,}/g) ?? []);
  for (const hex of text.match(/(?<=\\x)[0-9a-f]{32,}/g) ?? []) {
    const bytes = Buffer.from(hex, 'hex');
    for (const written of [bytes.toString('base64url'), bytes.toString('base64'), hex]) found.add(written);
  }
  return found;
}

describe('a dump of the database', () => {
  it('shows no secret in any form that is read without a key', async () => {
    const text = await dump();
    const decoded = [...candidatesIn(text)].map((one) => Buffer.from(one, 'base64').toString('latin1')).join('\n');
    const bytes = (text.match(/(?<=\\x)[0-9a-f]{8,}/g) ?? []).map((hex) => Buffer.from(hex, 'hex').toString('latin1'));
    const everything = [text, decoded, bytes.join('\n')].join('\n');
    for (const [name, secret] of secrets) assert.ok(!everything.includes(secret), `the ${name} is there`);
    assert.ok(everything.includes(owner.email), 'what is no secret is found');
  });

  it('opens no account: each of its values is tried where a secret opens one', async () => {
    const customer = (await owner.in('GET', '/v1/customers')).body.data[0].id;
    let address = 0;
    const from = (): Record<string, string> => {
      address += 1;
      return { 'x-forwarded-for': `203.0.${address >> 8}.${address & 255}`, origin: service.baseUrl };
    };
    const attempts: Record<string, (candidate: string) => Promise<Reply>> = {
      invitation: (token) =>
        service.call('GET', `/dashboard/invitations/${encodeURIComponent(token)}`, { key: null, headers: from() }),
      reset: (token) =>
        service.call('POST', '/dashboard/password_resets/complete', {
          key: null,
          headers: from(),
          body: { token, password: 'taken over by a reader' },
        }),
      session: (token) =>
        service.call('GET', '/dashboard/session', {
          key: null,
          headers: { ...from(), cookie: `svc_session=${token}` },
        }),
      key: (key) => service.call('GET', '/v1/customers', { key, headers: from() }),
      'card token': (card_token) =>
        owner.in('POST', `/v1/customers/${customer}/payment_methods`, { card_token }, { headers: from() }),
    };
    // Each of them works with the secret itself, or the test would prove nothing.
    const works: Record<string, string> = {
      invitation: secrets.get('invitation that waits') ?? '',
      session: secrets.get('session') ?? '',
      key: secrets.get('rotated key') ?? '',
      'card token': secrets.get('card token') ?? '',
      reset: secrets.get('reset that was sent') ?? '',
    };
    const candidates = [...candidatesIn(await dump())].filter((one) => one.length <= 200);
    assert.ok(candidates.length > 50);
    for (const [where, attempt] of Object.entries(attempts)) {
      const replies = await inTurns(candidates, attempt);
      const opened = replies.filter(({ status }) => status < 300).length;
      const strange = replies.filter(({ status }) => status >= 500 || status === 429);
      assert.deepEqual([opened, strange.map(({ text }) => text)], [0, []], where);
    }
    for (const [where, secret] of Object.entries(works)) {
      const reply = await attempts[where]?.(secret);
      assert.ok(reply && reply.status < 300, `${where}: ${reply?.text}`);
    }
  });
});

async function inTurns<Result>(
  candidates: readonly string[],
  attempt: (candidate: string) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const batch = 20;
  for (let at = 0; at < candidates.length; at += batch) {
    results.push(...(await Promise.all(candidates.slice(at, at + batch).map(attempt))));
  }
  return results;
}
