import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { vaultBehind } from '../../tests/support/connect.ts';
import { freePort, listen, unusedUrl } from '../../tests/support/listen.ts';
import { assertRefused } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { someSubscriber } from '../../tests/support/subscriptions.ts';
import { removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import { remoteVault } from './client.ts';
import { findCard } from './queries.ts';
import { buildVaultServer } from './server.ts';
import type { Vault } from './vault.ts';
import { cardWith, openStored, someNumber } from './testing.ts';

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const newCustomer = (): Promise<string> => someSubscriber(service, 'none');

const credential = `credential-${randomBytes(24).toString('hex')}`;

describe('the vault over HTTP', () => {
  let app: ReturnType<typeof buildVaultServer>;
  let url: string;
  let remote: Vault;
  before(async () => {
    app = buildVaultServer(service.vault, [new Secret(credential)]);
    url = await app.listen({ host: '127.0.0.1', port: 0 });
    remote = remoteVault([url], new Secret(credential));
  });
  after(() => app.close());

  const countOf = async (id: string): Promise<number> =>
    (await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE id = $1', [id])).length;

  it('stores, returns fingerprints and removes as the vault in the process does', async () => {
    const companyId = service.company.id;
    const digits = someNumber();
    const number = new CardNumber(digits);
    const cards = [randomUUID(), randomUUID(), randomUUID()];
    for (const cardId of cards) await remote.store({ companyId, cardId, mode: 'sandbox', number });
    for (const id of cards) {
      assert.equal(await openStored(service.vaultDb, service.keys, companyId, id), digits);
    }
    for (const mode of ['sandbox', 'live'] as const) {
      assert.equal(
        await remote.fingerprint(companyId, mode, number),
        await service.vault.fingerprint(companyId, mode, number),
      );
    }
    const [first = '', second = '', third = ''] = cards;
    await remote.remove([
      { companyId, cardId: first },
      { companyId, cardId: second },
      { companyId: randomUUID(), cardId: third },
    ]);
    assert.deepEqual([await countOf(first), await countOf(second), await countOf(third)], [0, 0, 1]);
    await remote.remove([]);
    await remote.remove([{ companyId, cardId: first }]);
  });

  it('lets the release before wait, which asks it to look up first after a restore', async () => {
    const companyId = service.company.id;
    const cardId = randomUUID();
    await remote.store({ companyId, cardId, mode: 'sandbox', number: new CardNumber('4242424242424242') });
    const operation = {
      companyId,
      mode: 'sandbox',
      reference: randomUUID(),
      validUntilMs: Date.now() + 60_000,
    } as const;
    const card = { cardId, expMonth: 12, expYear: 2031 };
    const charge = { ...operation, card, amount: 100, currency: 'usd', lookFirst: true };
    assert.equal((await remote.charge(charge)).outcome, 'unavailable');
    const lookup = { ...operation, isRestored: true };
    assert.equal((await remote.lookup(lookup)).outcome, 'unknown');
  });

  it('removes as many cards as the worker takes at once', async () => {
    const card = { companyId: service.company.id, cardId: randomUUID() };
    await remote.store({ ...card, mode: 'sandbox', number: new CardNumber(someNumber()) });
    const copies = await service.vaultDb.query<{ id: string }>(
      `INSERT INTO vault.cards (company_id, id, mode, key_version, wrapped_key, sealed)
       SELECT company_id, uuidv7(), mode, key_version, wrapped_key, sealed
       FROM vault.cards, generate_series(1, 500) WHERE id = $1 RETURNING id`,
      [card.cardId],
    );
    await remote.remove(copies.map(({ id }) => ({ ...card, cardId: id })));
    const ids = copies.map(({ id }) => id);
    const left = await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE id = ANY ($1::uuid[])', [ids]);
    assert.deepEqual([copies.length, left.length, await countOf(card.cardId)], [500, 0, 1]);
  });

  it('refuses to store a second number under the id of a card', async () => {
    const card = { companyId: service.company.id, cardId: randomUUID(), mode: 'sandbox' } as const;
    const digits = someNumber();
    await remote.store({ ...card, number: new CardNumber(digits) });
    await assert.rejects(remote.store({ ...card, number: new CardNumber(someNumber()) }));
    assert.equal(await openStored(service.vaultDb, service.keys, card.companyId, card.cardId), digits);
  });

  const store = () => ({
    company_id: service.company.id,
    card_id: randomUUID(),
    mode: 'sandbox',
    number: someNumber(),
  });

  const calls = [
    ...[
      '/store',
      '/fingerprint',
      '/remove',
      '/charge',
      '/authorize',
      '/capture',
      '/refund',
      '/void',
      '/lookup',
      '/operations',
      '/receive',
    ],
    ...['/connections/save', '/connections/forget', '/connections/test', '/poll', '/release', '/verification'],
    ...['/accept-dispute', '/defense-reasons', '/submit-evidence', '/submit-defense'],
    ...['/resume', '/sandbox-bank', '/set-up', '/set-up/resume', '/set-up/noticed', '/set-up/end'],
  ];

  it('has no call but those that the next tests try without the credential', () => {
    for (const url of calls) assert.ok(app.hasRoute({ method: 'POST', url }), url);
    assert.equal(app.printRoutes().match(/\(POST\)/g)?.length, calls.length);
  });

  for (const [what, headers] of Object.entries<Record<string, string>>({
    'no credential': {},
    'another credential': { authorization: `Bearer ${'x'.repeat(credential.length)}` },
    'the beginning of the credential': { authorization: `Bearer ${credential.slice(0, -1)}` },
    'the credential and more': { authorization: `Bearer ${credential}x` },
    'an empty credential': { authorization: 'Bearer ' },
    'the credential as a user name': { authorization: `Basic ${Buffer.from(credential).toString('base64')}` },
  })) {
    it(`refuses ${what} in every call, and does nothing`, async () => {
      const body = store();
      for (const path of [...calls, '/nothing', '/healthz/../store', '/store?/healthz']) {
        const reply = await fetch(url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        });
        assert.equal(reply.status, 401, path);
        assert.ok(!(await reply.text()).includes(body.number));
      }
      assert.equal((await fetch(`${url}/state`, { headers })).status, 401);
      assert.equal(await countOf(body.card_id), 0);
    });
  }

  it('refuses what is not a card, a company or a mode, repeating nothing', async () => {
    const number = someNumber();
    const wrong: [string, object | string][] = [
      ['/store', { ...store(), number: 'x'.repeat(16) }],
      ['/store', { ...store(), number: `${number}'` }],
      ['/store', { ...store(), number: Number(number) }],
      ['/store', { ...store(), card_id: number }],
      ['/store', { ...store(), mode: number }],
      ['/store', `{"number":"${number}"`],
      ['/fingerprint', { company_id: number, mode: 'sandbox', number }],
      ['/remove', { cards: [{ company_id: number, card_id: number }] }],
    ];
    for (const [path, body] of wrong) {
      const reply = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${credential}` },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      assert.ok(reply.status >= 400, path);
      assert.ok(!(await reply.text()).includes(number), path);
    }
  });

  it('has no call that gives a number back', async () => {
    const body = store();
    const send = (path: string, method = 'POST') =>
      fetch(url + path, {
        method,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${credential}` },
        ...(method === 'POST' && { body: JSON.stringify(body) }),
      });
    assert.equal(await (await send('/store')).text(), '{"done":true}');
    for (const path of ['/open', '/read', '/get', '/reveal', '/cards', `/cards/${body.card_id}`, '/store', '/']) {
      assert.equal((await send(path, 'GET')).status, 404, path);
    }
  });

  it('returns why a processor verified no card, where the release before reads no verification', async () => {
    const found = { outcome: 'rejected', rejection: 'The account is inactive.' } as const;
    const refusing = buildVaultServer(
      vaultBehind(
        () => service.vault,
        () => ({ store: async () => found }),
      ),
      [new Secret(credential)],
    );
    const at = await refusing.listen({ host: '127.0.0.1', port: 0 });
    try {
      const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' };
      const sent = { company_id: service.company.id, card_id: randomUUID(), mode: 'sandbox', number: someNumber() };
      const raw = await fetch(`${at}/store`, { method: 'POST', headers, body: JSON.stringify(sent) });
      assert.deepEqual(await raw.json(), { done: true, rejected: found });
      const card = { companyId: service.company.id, cardId: randomUUID(), mode: 'sandbox' } as const;
      const stored = await remoteVault([at], new Secret(credential)).store({
        ...card,
        number: new CardNumber(someNumber()),
      });
      assert.deepEqual(stored, found);
    } finally {
      await refusing.close();
    }
  });

  it('names neither the credential nor the number in the errors of the client', async () => {
    const digits = someNumber();
    const card = {
      companyId: service.company.id,
      cardId: randomUUID(),
      mode: 'sandbox',
      number: new CardNumber(digits),
    } as const;
    const other = `other-${credential}`;
    for (const at of [url, await unusedUrl()]) {
      const vault = remoteVault([at], new Secret(other));
      await assert.rejects(vault.store(card), (error: Error) => {
        const printed = inspect(error, { depth: null, showHidden: true }) + error.stack;
        return !printed.includes(credential) && !printed.includes(digits);
      });
    }
    assert.ok(!inspect(remote, { depth: null, showHidden: true }).includes(credential));
  });

  it('serves a whole capture through the API', async () => {
    const api = await startTestService({ database: service.database, vault: remote });
    try {
      const customer = await newCustomer();
      const number = someNumber();
      const body = { customer_id: customer, card: cardWith(number) };
      const reply = await api.call('POST', '/capture', { key: service.key, body });
      assert.equal(reply.status, 201, reply.text);
      const expected = await service.vault.fingerprint(service.company.id, 'sandbox', new CardNumber(number));
      assert.equal(reply.body.card.fingerprint, expected);
      const [row] = await service.db.query<{ card_id: string }>('SELECT card_id FROM payment_methods WHERE id = $1', [
        reply.body.id,
      ]);
      const { card_id = '' } = row ?? {};
      assert.equal(await openStored(service.vaultDb, service.keys, service.company.id, card_id), number);
      const logs = api.logLines.join('');
      assert.ok(!logs.includes(number) && !logs.includes(credential));
    } finally {
      await api.stop();
    }
  });
});

describe('a vault that is away', () => {
  const answerWith =
    (status: number, type: string, body: string): RequestListener =>
    (request, response) => {
      request.resume().on('end', () => response.writeHead(status, { 'content-type': type }).end(body));
    };
  const failures: Record<string, RequestListener | undefined> = {
    'does not listen': undefined,
    'ends connections without an answer': (request) => void request.socket.destroy(),
    'breaks off in the middle of its answer': (request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"finger');
        setTimeout(() => response.destroy(), 20);
      });
    },
    'refuses the credential': answerWith(401, 'application/json', '{"error":"unauthorized"}'),
    'answers 500': answerWith(500, 'application/json', '{"error":"failed"}'),
    'answers 404': answerWith(404, 'application/json', '{}'),
    'is a proxy that answers 200 with a page': answerWith(200, 'text/html', '<h1>Welcome</h1>'),
    'answers 200 with an object that says nothing': answerWith(200, 'application/json', '{}'),
    'answers 200 with null': answerWith(200, 'application/json', 'null'),
    redirects: (_request, response) => {
      response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
    },
  };

  /** Everything that a capture leaves behind, except the note that a card of this id is to be removed. */
  async function traces(): Promise<unknown> {
    const [row] = await service.db.query(
      `SELECT (SELECT count(*) FROM card_tokens) AS tokens, (SELECT count(*) FROM payment_methods) AS methods,
         (SELECT count(*) FROM vault.cards) AS cards, (SELECT count(*) FROM idempotency_keys) AS keys`,
    );
    return row;
  }

  let port: number;
  let api: TestService;
  before(async () => {
    port = await freePort();
    const vault = remoteVault([`http://127.0.0.1:${port}`], new Secret(credential));
    api = await startTestService({ database: service.database, vault });
  });
  after(() => api.stop());

  for (const [failure, listener] of Object.entries(failures)) {
    it(`which ${failure} makes the API answer 503 and store nothing, and a retry works when it is back`, async () => {
      const broken = listener && createServer(listener);
      const real = buildVaultServer(service.vault, [new Secret(credential)]);
      try {
        if (broken) await listen(broken, port);
        const customer = await newCustomer();
        const number = someNumber();
        const attempts = [
          { path: '/v1/card_tokens', body: { card: cardWith(number) } },
          { path: '/capture', body: { customer_id: customer, card: cardWith(number) } },
        ].flatMap(({ path, body }) => [
          { path, call: { key: service.key, body } },
          { path, call: { key: service.key, body, idempotencyKey: randomUUID() } },
        ]);
        const before = await traces();
        for (const { path, call } of attempts) {
          const reply = await api.call('POST', path, call);
          assertRefused(reply, 503, 'service_unavailable');
          assert.ok(reply.headers.has('retry-after'));
        }
        assert.deepEqual(await traces(), before);
        const logs = api.logLines.join('');
        assert.ok(!logs.includes(number) && !logs.includes(credential));

        if (broken) {
          broken.close();
          broken.closeAllConnections();
          await once(broken, 'close');
        }
        await real.listen({ host: '127.0.0.1', port });
        for (const { path, call } of attempts) {
          const reply = await api.call('POST', path, call);
          assert.equal(reply.status, 201, reply.text);
        }
      } finally {
        broken?.close();
        await real.close();
      }
    });
  }

  it('does not count its refusals as cards that were refused', async () => {
    for (let count = 0; count < 25; count += 1) {
      const body = { card: cardWith(someNumber()) };
      const reply = await api.call('POST', '/v1/card_tokens', { key: service.key, body });
      assertRefused(reply, 503, 'service_unavailable');
    }
  });

  it('keeps the note of a card that it could not remove, and the card goes when it is back', async () => {
    const companyId = service.company.id;
    const cardId = randomUUID();
    await service.vault.store({ companyId, cardId, mode: 'sandbox', number: new CardNumber(someNumber()) });
    await service.db.query('INSERT INTO unreferenced_cards (company_id, card_id, due_at) VALUES ($1, $2, now())', [
      companyId,
      cardId,
    ]);
    const away = remoteVault([await unusedUrl()], new Secret(credential));
    await assert.rejects(removeUnreferencedCards(service.db, away, 500));
    const note = 'SELECT 1 FROM unreferenced_cards WHERE card_id = $1';
    assert.equal((await service.db.query(note, [cardId])).length, 1);
    await service.db.query(`UPDATE unreferenced_cards SET due_at = now() WHERE card_id = $1`, [cardId]);
    await removeUnreferencedCards(service.db, service.vault, 500);
    assert.equal((await service.db.query(note, [cardId])).length, 0);
    assert.equal(await findCard(service.vaultDb, companyId, cardId), undefined);
  });
});
