import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { connectAcquirer, connectTo } from '../../../tests/support/connect.ts';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, openShop, order, type Shop } from '../../../tests/support/orders.ts';
import { openAcquirer, type OwnAcquirer } from '../../../tests/support/own-acquirer.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

/** Two acquirers, and companies that are connected to one or both of them. */

let service: TestService;
let first: OwnAcquirer;
let second: OwnAcquirer;
before(async () => {
  [first, second] = await Promise.all([openAcquirer(), openAcquirer()]);
  service = await startTestService({
    settings: { SVC_ACQUIRERS: `${first.url}/,${second.url}/`, SVC_PROCESSOR_ORIGINS: first.url },
  });
});
after(async () => {
  await Promise.all([first.stop(), second.stop(), service.stop()]);
});
beforeEach(async () => {
  for (const acquirer of [first, second]) await acquirer.control({ next: [], faults: {} });
});

interface Merchant {
  readonly shop: Shop;
  readonly key: string;
  readonly companyId: string;
  readonly connections: readonly string[];
}

const unreachable = 'http://127.0.0.1:1/';

const merchantAt = (...urls: readonly string[]): Promise<Merchant> => openMerchant(urls);

/** `change` is made to the connections before a request has read them. */
async function openMerchant(urls: readonly string[], change?: string): Promise<Merchant> {
  const { live } = await service.createMerchant();
  const connections: string[] = [];
  for (const url of urls) {
    const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
    connections.push(await connectAcquirer(service, live.id, { url, secret: first.secret, ...timing }));
  }
  if (change) await service.db.query(`UPDATE processor_connections SET ${change} WHERE company_id = $1`, [live.id]);
  const key = await service.createKey({ ...live, processor: 'connected' });
  return { shop: await openShop(service, undefined, { key }), key, companyId: live.id, connections };
}

const place = ({ shop, key }: Merchant, idempotencyKey: string = randomUUID()): Promise<Reply> =>
  order(service, shop, {}, { key, idempotencyKey });

async function connectionsOf(orderId: string): Promise<(string | null)[]> {
  const rows = await service.db.query<{ connection_id: string | null }>(
    'SELECT connection_id FROM all_transactions WHERE order_id = $1 ORDER BY id',
    [orderId],
  );
  return rows.map(({ connection_id }) => connection_id);
}

async function chargesOf(acquirer: OwnAcquirer, orderId: string): Promise<string[]> {
  const rows = await service.db.query<{ reference: string }>(
    'SELECT reference FROM all_transactions WHERE order_id = $1',
    [orderId],
  );
  const references = rows.map(({ reference }) => reference);
  const journal = await acquirer.journal();
  return journal.filter(({ reference }) => references.includes(reference)).map(({ status }) => status);
}

describe('a charge of a company with two connections', () => {
  it('goes to the first, and is recorded there', async () => {
    const merchant = await merchantAt(first.url, second.url);
    const { body } = await place(merchant);
    assert.equal(body.status, 'succeeded');
    assert.deepEqual(await connectionsOf(body.id), [merchant.connections[0]]);
    assert.deepEqual([await chargesOf(first, body.id), await chargesOf(second, body.id)], [['approved'], []]);
  });

  it('goes to the second in the same request, if the first cannot be reached', async () => {
    const merchant = await merchantAt(unreachable, second.url);
    const { status, body } = await place(merchant);
    assert.deepEqual([status, body.status], [201, 'succeeded']);
    assert.deepEqual(await connectionsOf(body.id), [merchant.connections[1]], 'one transaction');
  });

  it('never goes to the second while its outcome at the first is unknown', async () => {
    const merchant = await merchantAt(first.url, second.url);
    await first.control({ next: ['reset_after'] });
    const key = randomUUID();
    assertRefused(await place(merchant, key), 502, 'gateway_error');
    const { body } = await place(merchant, key);
    assert.equal(body.status, 'succeeded', 'the first is asked, and knows it');
    assert.deepEqual([await chargesOf(first, body.id), await chargesOf(second, body.id)], [['approved'], []]);
  });

  it('is repeated at the second as a new transaction, if the first itself has failed', async () => {
    const merchant = await merchantAt(first.url, second.url);
    await first.control({ next: ['decline:03'] });
    const key = randomUUID();
    const { body } = await place(merchant, key);
    assert.equal(body.status, 'succeeded');
    assert.deepEqual(
      body.transactions.map(({ status }: { status: string }) => status),
      ['failed', 'succeeded'],
    );
    assert.deepEqual(await connectionsOf(body.id), merchant.connections);
    assert.deepEqual((await place(merchant, key)).body, body, 'the key answers with the order that was paid');
  });

  it('is not made twice at the second, if the database has forgotten it with its order', async () => {
    const merchant = await merchantAt(first.url, second.url);
    await first.control({ next: ['decline:03'] });
    const key = randomUUID();
    assert.equal((await place(merchant, key)).body.status, 'succeeded');
    const { length } = await second.journal();
    for (const table of ['transactions', 'events', 'idempotency_keys', 'orders'])
      await service.db.query(`DELETE FROM ${table} WHERE company_id = $1`, [merchant.companyId]);
    const { body } = await place(merchant, key);
    assert.equal(body.status, 'succeeded');
    assert.deepEqual(await chargesOf(second, body.id), ['approved']);
    assert.equal((await second.journal()).length, length);
  });

  it('is not repeated if the bank declined it', async () => {
    const merchant = await merchantAt(first.url, second.url);
    for (const code of ['51', '06', '91'] as const) {
      await first.control({ next: [`decline:${code}`] });
      const { body } = await place(merchant);
      assert.equal(body.status, 'failed');
      assert.deepEqual(await chargesOf(second, body.id), []);
    }
  });

  it('goes to the second if the account at the first does not take its currency', async () => {
    const { live } = await service.createMerchant();
    const timing = { timeoutMs: 500, requestLifeMs: 60_000 };
    const nmi = { security_key: 'NotARealKeyAtAll00000', currencies: 'eur', api_url: first.url };
    const extraOrigins = [first.url];
    await connectTo(service, live.id, { kind: 'nmi', configuration: nmi, ...timing, extraOrigins });
    const { url, secret } = second;
    const connection = await connectAcquirer(service, live.id, { url, secret, ...timing });
    const key = await service.createKey({ ...live, processor: 'connected' });
    const shop = await openShop(service, undefined, { key });
    const { body } = await order(service, shop, {}, { key });
    assert.equal(body.status, 'succeeded');
    assert.deepEqual(await connectionsOf(body.id), [connection], 'one transaction');
  });

  it('is not sent if no connection takes its currency, or if the last one was disconnected meanwhile', async () => {
    for (const change of [`rules = '{"currencies": ["eur"]}'`, 'disconnected_at = now()']) {
      const { status, body } = await place(await openMerchant([first.url], change));
      const [{ failure_code, failure_reason }] = body.transactions;
      assert.deepEqual(
        { status, order: body.status, failure_code, failure_reason },
        {
          status: 201,
          order: 'failed',
          failure_code: 'invalid_merchant_configuration',
          failure_reason: 'No connected processor takes USD with this card brand.',
        },
      );
      assert.deepEqual(await chargesOf(first, body.id), []);
    }
  });

  it('uses a connection that another process has just made', async () => {
    const merchant = await openMerchant([first.url], 'disconnected_at = now()');
    await service.db.query('UPDATE processor_connections SET disconnected_at = NULL WHERE company_id = $1', [
      merchant.companyId,
    ]);
    assert.equal((await place(merchant)).body.status, 'succeeded');
  });

  it('is declined if every processor has failed', async () => {
    const merchant = await merchantAt(first.url, second.url);
    await first.control({ next: ['decline:03'] });
    await second.control({ next: ['decline:03'] });
    const { body } = await place(merchant);
    assert.deepEqual([body.status, body.transactions.length], ['failed', 2]);
  });
});

describe('a company that has moved to another processor', () => {
  it('refunds, voids and looks up at the processor that made the charge', async () => {
    const merchant = await merchantAt(first.url);
    const { body: paid } = await place(merchant);
    await connectAcquirer(service, merchant.companyId, {
      url: second.url,
      secret: second.secret,
      timeoutMs: 500,
      requestLifeMs: 60_000,
    });
    await service.db.query('UPDATE processor_connections SET disconnected_at = now() WHERE id = $1', [
      merchant.connections[0],
    ]);
    await first.control({ next: ['reset_after'] });
    const refund = { key: merchant.key, idempotencyKey: randomUUID(), body: { amount: 100 } };
    assertRefused(await service.call('POST', `/v1/orders/${paid.id}/refund`, refund), 502, 'gateway_error');
    const { body } = await service.call('POST', `/v1/orders/${paid.id}/refund`, refund);
    assert.equal(body.status, 'partially_refunded');
    assert.deepEqual(new Set(await connectionsOf(paid.id)), new Set(merchant.connections));
    assert.deepEqual(await chargesOf(second, paid.id), []);
  });

  it('does not wait for what is in doubt at the one before, and learns its outcome there', async () => {
    const person = await signUp(service);
    const company = companyOf(person, 'live');
    const connect = (url: string): Promise<Reply> =>
      person.in(
        'POST',
        '/dashboard/processors',
        { kind: 'acquirer', configuration: { url, secret: first.secret } },
        { company },
      );
    const { body: old } = await connect(`${first.url}/`);
    const key = await service.createKey({ ...service.company, id: company, mode: 'live', processor: 'connected' });
    const merchant = {
      shop: await openShop(service, undefined, { key }),
      key,
      companyId: company,
      connections: [old.id],
    };
    await first.control({ faults: { reset_after: 1, lookup_error: 1 } });
    const idempotencyKey = randomUUID();
    assertRefused(await place(merchant, idempotencyKey), 502, 'gateway_error');
    assert.equal((await connect(`${second.url}/`)).status, 201);
    const ended = await person.in('POST', `/dashboard/processors/${old.id}/disconnect`, {}, { company });
    assert.equal(ended.body.status, 'disconnected');
    const removed = await person.in('DELETE', `/dashboard/processors/${old.id}`, undefined, { company });
    assertRefused(removed, 409, 'resource_in_use');
    assert.equal((await place(merchant)).body.status, 'succeeded', 'new orders go to the new one');
    await first.control({ faults: {} });
    const { body: paid } = await place(merchant, idempotencyKey);
    assert.equal(paid.status, 'succeeded');
    const gone = await person.in('DELETE', `/dashboard/processors/${old.id}`, undefined, { company });
    assert.deepEqual([gone.body.status, gone.body.notice_url], ['removed', null]);
    const tested = await person.in('POST', `/dashboard/processors/${old.id}/test`, {}, { company });
    assert.equal(tested.body.works, false, 'the vault has forgotten it at once');
    const refused = await service.call('POST', `/v1/orders/${paid.id}/refund`, {
      key,
      idempotencyKey: randomUUID(),
      body: { amount: 100 },
    });
    assertRefused(refused, 422, 'invalid_state_transition');
    assert.match(refused.text, /credentials of the processor that made the charge were removed/);
    assert.equal((await service.vaultDb.query('SELECT 1 FROM vault.connections WHERE id = $1', [old.id])).length, 0);
  });
});

describe('the connections of a company', () => {
  let owner: Person;
  let company: string;
  beforeEach(async () => {
    owner = await signUp(service);
    company = companyOf(owner, 'live');
  });
  const ask = (method: string, path: string, body?: object): Promise<Reply> =>
    owner.in(method, `/dashboard/processors${path}`, body, { company });
  const acquirerOf = (url: string, secret = first.secret): object => ({
    kind: 'acquirer',
    configuration: { url, secret },
  });

  it('are ordered, named and ruled, and list no secret', async () => {
    const one = (await ask('POST', '', { ...acquirerOf(`${first.url}/`), name: 'Main' })).body;
    const two = (await ask('POST', '', acquirerOf(`${second.url}/`))).body;
    assert.deepEqual([one.name, one.position, two.position], ['Main', 1, 2]);
    const { body } = await ask('POST', '/order', { connection_ids: [two.id, one.id] });
    assert.deepEqual(
      body.connections.map(({ id }: { id: string }) => id),
      [two.id, one.id],
    );
    assertRefused(await ask('POST', '/order', { connection_ids: [two.id] }), 400, 'validation_error');
    const rules = { currencies: ['eur'], brands: ['visa'], share: 20 };
    assert.deepEqual((await ask('PATCH', `/${two.id}`, { rules, name: 'Euro' })).body.rules, rules);
    assertRefused(await ask('PATCH', `/${two.id}`, { rules: { share: 0 } }), 400, 'validation_error');
    const listed = await ask('GET', '');
    assert.ok(!listed.text.includes(first.secret));
    assert.equal((await ask('POST', `/${one.id}/test`, {})).body.works, true);
  });

  it('name the field of a wrong configuration, and what would be right', async () => {
    const wrong = (configuration: object): Promise<Reply> => ask('POST', '', { kind: 'acquirer', configuration });
    const refused = await wrong({ url: 'http://169.254.169.254/', secret: 'x' });
    assertRefused(refused, 400, 'validation_error');
    assert.equal(refused.body.error.param, 'configuration.url');
    assertRefused(await wrong({ url: `${first.url}/` }), 400, 'validation_error');
    assertRefused(await wrong({ url: `${first.url}/`, secret: 'x', key: 'y' }), 400, 'validation_error');
    assertRefused(await ask('POST', '', { kind: 'bank', configuration: {} }), 400, 'validation_error');
  });

  it('keep the credentials that a change leaves out', async () => {
    const { id } = (await ask('POST', '', acquirerOf(`${first.url}/`))).body;
    const changed = await ask('PATCH', `/${id}`, { configuration: { secret: 'another' } });
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await ask('POST', `/${id}/test`, {})).body.works, false, 'the new secret is wrong, at the same URL');
    const test = { kind: 'acquirer', configuration: { secret: first.secret }, connection_id: id };
    assert.equal((await ask('POST', '/test', test)).body.works, true, 'a test keeps them too, and stores nothing');
    assert.equal((await ask('POST', `/${id}/test`, {})).body.works, false);
    assertRefused(await ask('POST', '/test', { ...test, connection_id: randomUUID() }), 404, 'resource_not_found');
  });

  it('belong to one account for ever: the credentials of another account are refused', async () => {
    const { id } = (await ask('POST', '', acquirerOf(`${first.url}/`))).body;
    const move = (url: string): Promise<Reply> =>
      ask('PATCH', `/${id}`, { configuration: { url, secret: first.secret } });
    const refused = await move(`${second.url}/`);
    assertRefused(refused, 400, 'validation_error');
    assert.match(
      refused.text,
      new RegExp(`must be of the account ${first.url}.*Connect that account as a new processor`),
    );
    assert.equal((await move(`${first.url}/`)).status, 200);
    // One that was connected before the account was recorded is asked for it.
    await service.db.query('UPDATE processor_connections SET account_id = NULL WHERE id = $1', [id]);
    assertRefused(await move(`${second.url}/`), 400, 'validation_error');
    assert.equal((await ask('POST', `/${id}/test`, {})).body.works, true, 'nothing was stored');
  });

  it('are tested with a harmless call that says what is wrong', async () => {
    const test = async (secret: string): Promise<Reply> => ask('POST', '/test', acquirerOf(`${first.url}/`, secret));
    assert.deepEqual((await test(first.secret)).body.works, true);
    const { body } = await test('another');
    assert.deepEqual(
      [body.works, body.problem],
      [false, 'The acquirer rejects the secret. Enter the secret that it gave you.'],
    );
  });
});
