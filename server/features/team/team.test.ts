import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { assertRefused, contextOf, countOf, until } from '../../../tests/support/orders.ts';
import { newPerson, signUp, somePassword } from '../../../tests/support/dashboard.ts';
import { type CallOptions, type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { memberPermissions } from '../../http/permissions.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { smtpMailer } from '../../platform/mail/smtp.ts';
import { removeExpiredLinks, sendDueMails } from '../mails/jobs.ts';
import { latestMails } from '../mails/service.ts';
import { createEndpoint, disableEndpoint } from '../webhooks/service.ts';
import { ensureRoles } from './service.ts';

let service: TestService;
let roles: { id: string; name: string }[];

before(async () => {
  service = await startTestService();
  roles = (await service.call('GET', '/v1/roles')).body.data;
});
after(() => service.stop());

let counter = 0;
const newMember = (overrides: Record<string, unknown> = {}): Record<string, unknown> => {
  counter += 1;
  return {
    first_name: 'Grace',
    last_name: 'Hopper',
    email: `member-${process.pid}-${counter}@example.com`,
    phone_number: '+15551234567',
    role_id: roles[0]?.id,
    ...overrides,
  };
};
const invite = (body: Record<string, unknown>, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', '/v1/team_members', { body, ...options });

const mailsTo = async (recipient: string): Promise<{ subject: string; body: string }[]> =>
  (await latestMails(service.shards, service.mailKey, 1_000))
    .filter((mail) => mail.recipient === recipient)
    .toReversed();

interface KeptRow {
  readonly sent_at: Date | null;
  readonly sealed_body: Buffer | null;
  readonly next_attempt_at: Date | null;
}
const rowsTo = (recipient: string): Promise<KeptRow[]> =>
  service.db.query<KeptRow>('SELECT * FROM mails WHERE recipient = $1 ORDER BY id', [recipient]);

const linkIn = (body: string): string => new URL(/https?:\S+/.exec(body)?.[0] ?? '').pathname;

describe('roles', () => {
  it('are six for each company, sorted by name, without permissions unless asked for', async () => {
    const reply = await service.call('GET', '/v1/roles');
    const names = reply.body.data.map(({ name }: { name: string }) => name);
    assert.deepEqual(names, ['Admin', 'Developer', 'Finance', 'Owner', 'Support', 'Viewer']);
    for (const role of reply.body.data) {
      assert.deepEqual(Object.keys(role).toSorted(), ['custom', 'default_page', 'description', 'id', 'name']);
    }
    assert.deepEqual(Object.keys(reply.body), ['data']);
  });

  it('show their permission keys with expand=permissions', async () => {
    const { data } = (await service.call('GET', '/v1/roles?expand=permissions')).body;
    const of = (name: string): string[] => data.find((role: { name: string }) => role.name === name).permissions;
    assert.deepEqual(of('Owner'), [...memberPermissions]);
    assert.ok(of('Viewer').every((permission) => permission.endsWith(':read')));
    assert.ok(of('Finance').includes('orders:write') && !of('Finance').includes('team_members:write'));
    assertRefused(await service.call('GET', '/v1/roles?expand=members'), 400, 'validation_error', 'expand');
  });

  it('have ids of their own in each company', async () => {
    const other = await service.createMerchant();
    const { data } = (await service.call('GET', '/v1/roles', { key: other.key })).body;
    assert.ok(data.every(({ id }: { id: string }) => !roles.some((role) => role.id === id)));
  });

  it('are made for companies that have none yet', async () => {
    const { sandbox, key } = await service.createMerchant();
    await service.db.query('DELETE FROM roles WHERE company_id = $1', [sandbox.id]);
    await ensureRoles(service.db, service.clock.nowMs());
    assert.equal((await service.call('GET', '/v1/roles', { key })).body.data.length, 6);
  });
});

describe('inviting a team member', () => {
  it('returns it pending, with its role, and sends an event', async () => {
    const body = newMember();
    const reply = await invite(body);
    assert.equal(reply.status, 201, reply.text);
    const { id, created_at, updated_at, invited_at, ...rest } = reply.body;
    const { role_id: _, ...person } = body;
    const role = { id: roles[0]?.id, name: roles[0]?.name };
    assert.deepEqual(rest, { ...person, role, status: 'pending', accepted_at: null });
    assert.deepEqual([updated_at, invited_at], [created_at, created_at]);
    const [event] = (await service.call('GET', `/v1/events?object_id=${id}`)).body.data;
    assert.deepEqual([event.type, event.data.object], ['team_member.invited', reply.body]);
  });

  for (const field of ['first_name', 'last_name', 'email', 'phone_number', 'role_id']) {
    it(`needs ${field}`, async () => {
      const { [field]: _, ...rest } = newMember();
      const reply = await invite(rest);
      assertRefused(reply, 400, 'validation_error', field);
      assert.equal(reply.body.error.field_errors[0].code, 'required_field');
    });
  }

  it('takes US numbers only: +1 and exactly ten digits', async () => {
    for (const phone_number of ['+1555123456', '+155512345678', '15551234567', '+4915123456789', '+1 5551234567', '']) {
      assertRefused(await invite(newMember({ phone_number })), 400, 'validation_error', 'phone_number');
    }
  });

  it('is 409 resource_already_exists for an address with a pending or active membership, in any case', async () => {
    const body = newMember();
    assert.equal((await invite(body)).status, 201);
    const again = { ...newMember(), email: String(body.email).toUpperCase() };
    assertRefused(await invite(again), 409, 'resource_already_exists', 'email');
    await service.db.query(`UPDATE team_members SET status = 'active', accepted_at = now() WHERE email = $1`, [
      body.email,
    ]);
    assertRefused(await invite({ ...newMember(), email: body.email }), 409, 'resource_already_exists', 'email');
    assert.equal((await mailsTo(String(body.email))).length, 1, 'one email is sent');
  });

  it('repeat no words in their email that lead to another site', async () => {
    const stranger = newPerson(service);
    const signedUp = await stranger.call('POST', '/dashboard/sign_up', {
      body: {
        email: stranger.email,
        password: somePassword,
        first_name: 'Mallory',
        last_name: 'Example',
        phone_number: '+15551234567',
        company_name: 'Win at evil.example/x',
      },
    });
    assert.equal(signedUp.status, 201, signedUp.text);
    const permissions = ['products:read'];
    const role = await stranger.in('POST', '/dashboard/roles', { name: 'Winner at evil.example/x', permissions });
    const email = `invited-${randomUUID()}@example.com`;
    const body = newMember({ email, first_name: 'Visit evil.example', role_id: role.body.id });
    assert.equal((await stranger.in('POST', '/v1/team_members', body)).status, 201);
    const [mail] = await mailsTo(email);
    assert.match(mail?.subject ?? '', /^You are invited to join a company on /);
    assert.match(mail?.body ?? '', /^Hello,$/m);
    assert.doesNotMatch(`${mail?.subject} ${mail?.body}`, /evil/);
  });

  it('of two at once lets one through', async () => {
    const { email } = newMember();
    const replies = await Promise.all(Array.from({ length: 10 }, () => invite(newMember({ email }))));
    assert.equal(replies.filter(({ status }) => status === 201).length, 1);
    assert.equal(await countOf(service, 'team_members', 'email = $1', [email]), 1);
    assert.equal((await mailsTo(String(email))).length, 1);
  });

  it('is made once for an idempotency key', async () => {
    const idempotencyKey = randomUUID();
    const body = newMember();
    const [first, again] = [await invite(body, { idempotencyKey }), await invite(body, { idempotencyKey })];
    assert.deepEqual([again.status, again.text], [201, first.text]);
  });

  it('rejects roles that do not exist or belong to another company', async () => {
    const other = await service.createMerchant();
    const [theirs] = (await service.call('GET', '/v1/roles', { key: other.key })).body.data;
    for (const role_id of [randomUUID(), theirs.id]) {
      assertRefused(await invite(newMember({ role_id })), 404, 'resource_not_found', 'role_id');
    }
  });

  it('needs the permission to', async () => {
    const reader = await service.createKey(service.company, { permissions: ['team_members:read'] });
    assertRefused(await invite(newMember(), { key: reader }), 403, 'insufficient_permissions');
    assert.equal((await service.call('GET', '/v1/team_members', { key: reader })).status, 200);
    const other = await service.createKey(service.company, { permissions: ['customers:read'] });
    for (const path of ['/v1/roles', '/v1/team_members']) {
      assertRefused(await service.call('GET', path, { key: other }), 403, 'insufficient_permissions');
    }
  });
});

describe('the list of members', () => {
  it('is newest first, in pages, and can be filtered by status', async () => {
    const { key } = await service.createMerchant();
    const [role] = (await service.call('GET', '/v1/roles', { key })).body.data;
    const made: string[] = [];
    for (let n = 0; n < 3; n += 1) made.unshift((await invite(newMember({ role_id: role.id }), { key })).body.id);
    await service.db.query(`UPDATE team_members SET status = 'active', accepted_at = now() WHERE id = $1`, [made[1]]);
    const read = async (query: string): Promise<string[]> =>
      (await service.call('GET', `/v1/team_members${query}`, { key })).body.data.map(({ id }: { id: string }) => id);
    assert.deepEqual(await read(''), made);
    assert.deepEqual(await read(`?limit=1&starting_after=${made[0]}`), [made[1]]);
    assert.deepEqual(await read('?status=active'), [made[1]]);
    assert.deepEqual(await read('?status=pending'), [made[0], made[2]]);
    assert.deepEqual(await read('?status=blocked'), []);
    assertRefused(
      await service.call('GET', '/v1/team_members?status=gone', { key }),
      400,
      'validation_error',
      'status',
    );
  });
});

describe('the invitation', () => {
  it('is mailed with a link that is accepted once', async () => {
    const { body: member } = await invite(newMember());
    const [mail] = await mailsTo(member.email);
    const path = linkIn(mail?.body ?? '');
    const shown = (await newPerson(service).call('GET', `/dashboard${path}`)).body;
    assert.deepEqual(
      [shown.email, shown.role_name, shown.status, shown.expired, shown.has_account],
      [member.email, member.role.name, 'pending', false, false],
    );
    assert.equal((await statusOf(member.id)).status, 'pending', 'looking at it accepts nothing');
    assert.equal((await accept(path)).status, 200);
    const active = await statusOf(member.id);
    assert.deepEqual([active.status, active.accepted_at !== null], ['active', true]);
    assertRefused(await accept(path), 422, 'invalid_state_transition');
  });

  it('keeps its link sealed until it is accepted, sent again, removed or expired', async () => {
    const links = async (): Promise<number> =>
      (await rowsTo(member.email)).filter(({ sealed_body, next_attempt_at }) => sealed_body && next_attempt_at).length;
    let { body: member } = await invite(newMember());
    assert.equal(await links(), 1);
    assert.equal((await accept(linkIn((await mailsTo(member.email))[0]?.body ?? ''))).status, 200);
    assert.equal(await links(), 0);

    const owner = await signUp(service);
    const role_id = (await owner.in('GET', '/v1/roles')).body.data[0].id;
    member = (await owner.in('POST', '/v1/team_members', newMember({ role_id }))).body;
    assert.equal((await owner.in('POST', `/dashboard/team_members/${member.id}/resend`)).status, 200);
    assert.equal(await links(), 1, 'of two mails, only the later one has a link');
    assert.equal((await owner.in('DELETE', `/dashboard/team_members/${member.id}`)).status, 200);
    assert.equal(await links(), 0);

    member = (await invite(newMember())).body;
    await service.db.query(`UPDATE mails SET link_expires_at = now() WHERE recipient = $1`, [member.email]);
    assert.equal(await removeExpiredLinks(service.db), 1);
    assert.equal(await links(), 0);
  });

  it('ends after seven days, and for one who is blocked', async () => {
    const { body: member } = await invite(newMember());
    const path = linkIn((await mailsTo(member.email))[0]?.body ?? '');
    await service.db.query(`UPDATE team_members SET status = 'blocked' WHERE id = $1`, [member.id]);
    assertRefused(await accept(path), 422, 'invalid_state_transition');
    await service.db.query(
      `UPDATE team_members SET status = 'pending', invitation_expires_at = now() - interval '1 s' WHERE id = $1`,
      [member.id],
    );
    assertRefused(await accept(path), 422, 'invalid_state_transition');
    assert.equal((await statusOf(member.id)).status, 'pending');
  });

  const accept = (path: string): Promise<Reply> =>
    newPerson(service).call('POST', `/dashboard${path}/accept`, { body: { password: somePassword } });

  async function statusOf(id: string): Promise<Record<string, unknown>> {
    const { data } = (await service.call('GET', '/v1/team_members?limit=100')).body;
    return data.find((member: { id: string }) => member.id === id);
  }
});

describe('mails', () => {
  it('are shown at /mailbox on the same machine only, newest first', async () => {
    const { body: member } = await invite(newMember());
    const html = await (await fetch(`${service.baseUrl}/mailbox`)).text();
    assert.match(html, new RegExp(`To ${member.email} –`));
    assert.match(html, /<a href="http:\/\/service\.test\/invitations\//);
    const { host, port } = new URL(service.baseUrl);
    for (const headers of [{ host: `evil.example:${port}` }, { host, 'x-forwarded-for': '203.0.113.7' }]) {
      const { statusCode } = await service.app.inject({ method: 'GET', url: '/mailbox', headers });
      assert.equal(statusCode, 404);
    }
  });

  it('name the installation in the invitation and in the password reset', async () => {
    const branded = await startTestService({ settings: { SVC_BRAND_NAME: 'Till' } });
    try {
      const owner = await signUp(branded);
      const role_id = (await owner.in('GET', '/v1/roles')).body.data[0].id;
      const { body: member } = await owner.in('POST', '/v1/team_members', newMember({ role_id }));
      await newPerson(branded).call('POST', '/dashboard/password_resets', { body: { email: owner.email } });
      const subjects = async (): Promise<string[]> => {
        const recipients = [member.email, owner.email];
        const text = 'SELECT subject FROM mails WHERE recipient = ANY ($1) ORDER BY subject';
        return (await branded.db.query<{ subject: string }>(text, [recipients])).map(({ subject }) => subject);
      };
      await until('both mails are stored', async () => (await subjects()).length === 2);
      const [reset, invitation = ''] = await subjects();
      assert.equal(reset, 'Reset your password for Till');
      assert.match(invitation, /^You are invited to join .+ on Till$/);
    } finally {
      await branded.stop();
    }
  });

  it('are never shown at /mailbox behind a public address, even if the proxy hides its clients', async () => {
    const behind = await startTestService({ settings: { SVC_BASE_URL: 'https://pay.example.com' } });
    try {
      assert.equal((await fetch(`${behind.baseUrl}/mailbox`)).status, 404);
    } finally {
      await behind.stop();
    }
  });

  it('go out by SMTP, once each, and again later when the server refuses', async () => {
    const received: string[] = [];
    let refuse = true;
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onRcptTo: (_address, _session, done) =>
        done(refuse ? Object.assign(new Error('try later'), { responseCode: 450 }) : null),
      onData(stream, _session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          received.push(Buffer.concat(chunks).toString());
          done();
        });
      },
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    const { port } = server.server.address() as { port: number };
    const mailer = smtpMailer(`smtp://127.0.0.1:${port}`, 'Payments <svc@example.com>');
    try {
      await service.db.query('DELETE FROM mails');
      const { body: member } = await invite(newMember());
      assert.equal(
        await sendDueMails(service.db, undefined, service.mailKey, silentLog, 10),
        0,
        'without a server they are kept',
      );
      assert.equal(await sendDueMails(service.db, mailer, service.mailKey, silentLog, 10), 1);
      const [refused] = await service.db.query<{ last_error: string; sent_at: null }>('SELECT * FROM mails');
      assert.match(refused?.last_error ?? '', /try later/);
      assert.equal(await sendDueMails(service.db, mailer, service.mailKey, silentLog, 10), 0, 'not before its time');
      refuse = false;
      await service.db.query('UPDATE mails SET next_attempt_at = now()');
      assert.equal(await sendDueMails(service.db, mailer, service.mailKey, silentLog, 10), 1);
      await service.db.query('UPDATE mails SET inserted_at = inserted_at');
      assert.equal(await sendDueMails(service.db, mailer, service.mailKey, silentLog, 10), 0);
      assert.equal(received.length, 1);
      assert.match(received[0] ?? '', new RegExp(`To: ${member.email}`));
      assert.match(received[0] ?? '', /From: Payments <svc@example\.com>/);
      assert.match(received[0] ?? '', /invitations/);
      const [sent] = await rowsTo(member.email);
      assert.ok(sent?.sent_at && !sent.sealed_body, 'a mail that was sent has no link any more');
      assert.equal((await mailsTo(member.email))[0]?.body, '', 'nor a text');
    } finally {
      await mailer.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  });

  it('inform the active members, and no others, that an endpoint was disabled', async () => {
    const { sandbox, key } = await service.createMerchant();
    const [role] = (await service.call('GET', '/v1/roles', { key })).body.data;
    const [active, pending] = [
      (await invite(newMember({ role_id: role.id }), { key })).body,
      (await invite(newMember({ role_id: role.id }), { key })).body,
    ];
    await service.db.query(`UPDATE team_members SET status = 'active', accepted_at = now() WHERE id = $1`, [active.id]);
    const url = 'https://receiver.invalid/hook';
    const webhooks = {
      outbound: service.outbound,
      isAllowed: () => true,
      clock: service.clock,
      secretKey: service.webhookSecretKey,
      baseUrl: service.baseUrl,
    };
    const context = contextOf(service, sandbox);
    const { id } = await createEndpoint(context, webhooks, { url, enabled_events: ['*'] }, { url });
    await disableEndpoint({ db: service.db, clock: service.clock }, sandbox.id, id, 'failing');
    const [, mail] = await mailsTo(active.email);
    assert.equal(mail?.subject, 'Webhook endpoint disabled');
    assert.match(mail?.body ?? '', /receiver\.invalid\/hook.*5 days/);
    assert.equal((await mailsTo(pending.email)).length, 1, 'only the invitation');
    await disableEndpoint({ db: service.db, clock: service.clock }, sandbox.id, id, 'failing');
    assert.equal((await mailsTo(active.email)).length, 2, 'not again when it is disabled already');
  });
});
