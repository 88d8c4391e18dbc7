import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Vault } from '../server/vault/vault.ts';
import { localVault } from '../server/vault/vault.ts';
import { colleague, companyOf, invitationOf, newPerson, type Person, signUp } from './support/dashboard.ts';
import { assertRefused } from './support/orders.ts';
import { type Reply, someCustomer, someProduct, startTestService, type TestService } from './support/service.ts';
import { svc } from './support/command.ts';

/** Every change of keys, teams or money has an audit entry, or it does not happen. */

const acquirer = 'https://acquirer.example/';
let service: TestService;
let owner: Person;
let key: string;
/** What the processor says of a void, when a test wants another answer than its own. */
let lostVoids = false;

before(async () => {
  let own: Vault | undefined;
  const vault = new Proxy({} as Vault, {
    get: (_, name: keyof Vault) => {
      if (name === 'void' && lostVoids) return async () => ({ outcome: 'unknown', reason: 'no answer' });
      // Asked while the service starts.
      if (name === 'nowMs') return async () => Date.now();
      own ??= localVault(service.vaultDb, service.keys, service.clock);
      return own[name];
    },
  });
  service = await startTestService({ vault, settings: { SVC_ACQUIRERS: acquirer } });
  owner = await signUp(service);
  const made = await owner.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret' });
  key = made.body.key;
});
after(() => service.stop());

async function whileNothingCanBeTold<Result>(work: () => Promise<Result>): Promise<Result> {
  for (const statement of [
    `CREATE FUNCTION refuse_entries() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no entry today'; END $$`,
    'CREATE TRIGGER refuse_entries BEFORE INSERT ON audit_entries EXECUTE FUNCTION refuse_entries()',
  ]) {
    await service.db.query(statement);
  }
  try {
    return await work();
  } finally {
    await service.db.query('DROP FUNCTION refuse_entries() CASCADE');
  }
}

async function newMember(): Promise<Record<string, unknown>> {
  const { data } = (await owner.in('GET', '/v1/roles')).body;
  return {
    email: `member-${randomUUID()}@example.com`,
    first_name: 'Some',
    last_name: 'Body',
    phone_number: '+15551234567',
    role_id: data.find(({ name }: { name: string }) => name === 'Viewer').id,
  };
}

const endpoint = { url: 'https://receiver.invalid/', enabled_events: ['*'] };
const live = (): string => companyOf(owner, 'live');
const connection = (url: string): object => ({ kind: 'acquirer', configuration: { url, secret: 'any-secret' } });

/** What there is of what the attempts would change. */
async function state(): Promise<unknown> {
  const rows = await service.db.query(
    `SELECT (SELECT json_agg(json_build_array(id, status) ORDER BY id) FROM team_members) AS members,
       (SELECT json_agg(json_build_array(id, secret) ORDER BY id) FROM webhook_endpoints) AS endpoints,
       (SELECT json_agg(json_build_array(id, revoked_at, expires_at) ORDER BY id) FROM api_keys) AS keys,
       (SELECT json_agg(json_build_array(id, name, processor, dunning_days) ORDER BY id) FROM companies) AS companies,
       (SELECT count(*) FROM mails) AS mails`,
  );
  return [
    rows,
    await service.vaultDb.query('SELECT count(*) FROM vault.connections'),
    await service.control.query('SELECT password_hash, totp_secret FROM users WHERE email = $1', [owner.email]),
  ];
}

describe('what cannot be written to the audit log', () => {
  for (const [what, attempt] of [
    ['an invitation with a key', async () => api('POST', '/v1/team_members', await newMember())],
    ['an invitation', async () => owner.in('POST', '/v1/team_members', await newMember())],
    ['an endpoint made with a key', () => api('POST', '/v1/webhook_endpoints', endpoint)],
    ['an API key', () => owner.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret' })],
    ['a setting of the company', () => owner.in('PATCH', '/dashboard/company', { name: 'Other' })],
    [
      'a connection to an acquirer',
      () => owner.in('POST', '/dashboard/processors', connection(acquirer), { company: live() }),
    ],
    [
      'a password',
      () =>
        owner.call('POST', '/dashboard/password', {
          body: { current_password: owner.password, password: 'another horse battery' },
        }),
    ],
  ] as const) {
    it(`does not happen: ${what}`, async () => {
      const before = await state();
      const reply = await whileNothingCanBeTold(attempt);
      assert.equal(reply.status, 500, reply.text);
      assert.deepEqual(await state(), before);
    });
  }

  it('does not happen: a secret that is rotated with a key', async () => {
    const { body } = await api('POST', '/v1/webhook_endpoints', endpoint);
    const before = await state();
    const reply = await whileNothingCanBeTold(() => api('POST', `/v1/webhook_endpoints/${body.id}/rotate_secret`, {}));
    assert.equal(reply.status, 500);
    assert.deepEqual(await state(), before);
  });

  it('does not happen: an invitation that is accepted', async () => {
    const invited = await newMember();
    await owner.in('POST', '/v1/team_members', invited);
    const before = await state();
    const member = newPerson(service);
    const path = `/dashboard/invitations/${await invitationOf(service, String(invited.email))}/accept`;
    const body = { password: member.password };
    assert.equal((await whileNothingCanBeTold(() => member.call('POST', path, { body }))).status, 500);
    assert.deepEqual(await state(), before);
    assert.equal((await member.call('POST', path, { body })).status, 200);
  });
});

const api = (method: string, path: string, body: object): Promise<Reply> => service.call(method, path, { key, body });

async function entriesOf(company: string, ...actions: string[]): Promise<Record<string, any>[]> {
  const { data } = (await owner.in('GET', '/dashboard/audit_log?limit=100', undefined, { company })).body;
  return data.filter(({ action }: { action: string }) => actions.includes(action));
}

describe('the audit log', () => {
  it('has one entry of an endpoint that was created with a key, written before the response', async () => {
    const { body } = await api('POST', '/v1/webhook_endpoints', endpoint);
    const entries = await entriesOf(companyOf(owner, 'sandbox'), 'createWebhookEndpoint');
    assert.equal(entries.filter(({ object_id }) => object_id === body.id).length, 1);
  });

  it('has one entry of a connection to an acquirer, and none of one that was rejected', async () => {
    const company = live();
    const connect = (url: string): Promise<Reply> =>
      owner.in('POST', '/dashboard/processors', connection(url), { company });
    assertRefused(await connect('https://elsewhere.example/'), 400, 'validation_error');
    assert.deepEqual(await entriesOf(company, 'connectProcessor'), []);
    const { status, body } = await connect(acquirer);
    assert.equal(status, 201);
    const path = `/dashboard/processors/${body.id}/disconnect`;
    assert.equal((await owner.in('POST', path, {}, { company })).status, 200);
    const entries = await entriesOf(company, 'connectProcessor', 'disconnectProcessor');
    assert.deepEqual(
      entries.map(({ action, actor }) => [action, actor.name]),
      [
        ['disconnectProcessor', owner.email],
        ['connectProcessor', owner.email],
      ],
    );
  });

  it('has one entry of a void, written before its outcome is known, and none of a refused one', async () => {
    const post = (path: string, body: object): Promise<Reply> =>
      owner.in('POST', path, body, { idempotencyKey: randomUUID() });
    const { id: customer_id } = (await post('/v1/customers', someCustomer())).body;
    const card = { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' };
    assert.equal((await post('/capture', { customer_id, card })).status, 201);
    const { id: product_id } = (await post('/v1/products', someProduct())).body;
    const order = await post('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
    const voiding = (idempotencyKey: string): Promise<Reply> =>
      owner.in('POST', `/v1/orders/${order.body.id}/void`, {}, { idempotencyKey });
    const idempotencyKey = randomUUID();
    const entries = async (): Promise<unknown[]> =>
      (await entriesOf(companyOf(owner, 'sandbox'), 'voidOrder')).map(({ object_id, actor }) => [
        object_id,
        actor.name,
      ]);
    lostVoids = true;
    try {
      assertRefused(await voiding(idempotencyKey), 502, 'gateway_error');
    } finally {
      lostVoids = false;
    }
    assert.deepEqual(await entries(), [[order.body.id, owner.email]]);
    assert.equal((await voiding(idempotencyKey)).body.status, 'voided');
    assert.equal((await voiding(idempotencyKey)).body.status, 'voided');
    assertRefused(await voiding(randomUUID()), 422, 'invalid_state_transition');
    assert.equal((await entries()).length, 1);
  });

  it('has entries of what an operator did from a shell', async () => {
    const company = companyOf(owner, 'sandbox');
    const settings = {
      ...service.database.settings,
      SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
    };
    const made = await svc(settings, 'keys', 'create', '--company', company, '--json');
    assert.equal(made.code, 0, made.stderr);
    const { id } = JSON.parse(made.stdout);
    assert.equal((await svc(settings, 'keys', 'revoke', id, '--company', company)).code, 0);
    assert.equal((await svc(settings, 'companies', 'dunning', '--days', '1,2', '--company', company)).code, 0);
    const entries = (await entriesOf(company, 'createApiKey', 'revokeApiKey', 'updateCompany')).filter(
      ({ actor }) => actor.kind === 'operator',
    );
    assert.deepEqual(
      entries.map(({ action, object_id }) => [action, object_id]),
      [
        ['updateCompany', company],
        ['revokeApiKey', id],
        ['createApiKey', id],
      ],
    );
    for (const { actor, address } of entries) assert.ok(actor.id === null && actor.name && address);
    const nothing = await svc(settings, 'keys', 'revoke', randomUUID(), '--company', company);
    assert.equal(nothing.code, 3);
    assert.equal((await entriesOf(company, 'revokeApiKey')).length, 1);
  });
});

describe('an entry', () => {
  it('names its object to members who can read it, and can be found by its action', async () => {
    const { body: customer } = await owner.in(
      'POST',
      '/v1/customers',
      someCustomer({ first_name: 'Rosa', last_name: 'Lux' }),
    );
    const permissions = owner.companies[0]?.permissions.filter((one) => !one.startsWith('customers:'));
    await owner.in('POST', '/dashboard/roles', { name: 'Without customers', permissions });
    const other = await colleague(service, owner, 'Without customers');
    const path = `/dashboard/audit_log?object_id=${customer.id}&action=createCustomer,updateCustomer`;
    const [seen, hidden] = [await owner.in('GET', path), await other.in('GET', path)];
    assert.deepEqual(seen.body.data[0].object, { type: 'customer', name: 'Rosa Lux' });
    assert.equal(hidden.body.data[0].object, null);
    assert.deepEqual((await owner.in('GET', path.replace(/action=.*/, 'action=refundOrder'))).body.data, []);
  });
});
