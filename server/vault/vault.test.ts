import assert from 'node:assert/strict';
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import pg from 'pg';
import { assertRefused } from '../../tests/support/orders.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { someSubscriber } from '../../tests/support/subscriptions.ts';
import { removeUnreferencedCards } from '../features/payment-methods/jobs.ts';
import { CardNumber } from './card-number.ts';
import { fileKeyStore, type KeyStore } from './key-store.ts';
import { fingerprint, open, rewrap, type SealedCard, seal } from './keys.ts';
import { findCard, insertCard } from './queries.ts';
import { rotate } from './rotate.ts';
import { localVault, type Vault } from './vault.ts';
import { cardWith, newKey, newRing, openStored, someNumber } from './testing.ts';

const root = await mkdtemp(join(tmpdir(), 'svc-vault-'));
after(() => rm(root, { recursive: true, force: true }));
const newFolder = (): Promise<string> => mkdtemp(join(root, 'data-'));

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const newCustomer = (): Promise<string> => someSubscriber(service, 'none');

describe('sealing', () => {
  const company = randomUUID();
  const card = randomUUID();
  const number = someNumber();
  const ring = newRing();
  const sealed = seal(ring, company, card, number);

  it('opens to the number that was sealed', () => {
    assert.equal(open(ring, company, card, sealed), number);
  });

  it('shows nothing of the number, and nothing equal for equal numbers', () => {
    const parts = Array.from({ length: 50 }, () => seal(ring, company, card, number)).flatMap((one) => [
      one.sealed,
      one.wrappedKey,
    ]);
    const beginnings = new Set(parts.map((part) => part.toString('hex', 0, 12)));
    assert.equal(beginnings.size, parts.length, 'a nonce was used twice');
    assert.equal(new Set(parts.map((part) => part.toString('hex', 12))).size, parts.length);
    for (const part of parts) assert.ok(!part.includes(number));
  });

  it('gives two rows that share nothing when the same number is stored twice', async () => {
    const ids = [randomUUID(), randomUUID()];
    for (const cardId of ids) {
      const card = { companyId: service.company.id, cardId, mode: 'sandbox', number: new CardNumber(number) } as const;
      await service.vault.store(card);
    }
    const rows = await service.vaultDb.query<{ wrapped_key: Buffer; sealed: Buffer }>(
      'SELECT wrapped_key, sealed FROM vault.cards WHERE id = ANY($1::uuid[])',
      [ids],
    );
    assert.equal(rows.length, 2);
    assert.notDeepEqual(rows[0]?.wrapped_key, rows[1]?.wrapped_key);
    assert.notDeepEqual(rows[0]?.sealed, rows[1]?.sealed);
    for (const id of ids) {
      assert.equal(await openStored(service.vaultDb, service.keys, service.company.id, id), number);
    }
  });

  for (const part of ['sealed', 'wrappedKey'] as const) {
    it(`does not open when any bit of ${part} was changed`, () => {
      for (let at = 0; at < sealed[part].length * 8; at += 1) {
        const bytes = Buffer.from(sealed[part]);
        bytes[at >> 3] = (bytes[at >> 3] ?? 0) ^ (1 << (at & 7));
        assert.throws(() => open(ring, company, card, { ...sealed, [part]: bytes }), `bit ${at}`);
      }
    });

    it(`does not open when ${part} was cut or made longer at either end`, () => {
      for (let length = 0; length < sealed[part].length; length += 1) {
        for (const bytes of [sealed[part].subarray(0, length), sealed[part].subarray(-length || sealed[part].length)]) {
          assert.throws(() => open(ring, company, card, { ...sealed, [part]: bytes }), `${length} bytes`);
        }
      }
      for (const bytes of [
        [sealed[part], Buffer.alloc(1)],
        [Buffer.alloc(1), sealed[part]],
      ].map((parts) => Buffer.concat(parts))) {
        assert.throws(() => open(ring, company, card, { ...sealed, [part]: bytes }));
      }
    });
  }

  it('does not open for another company or as another card', () => {
    assert.throws(() => open(ring, randomUUID(), card, sealed));
    assert.throws(() => open(ring, company, randomUUID(), sealed));
    assert.throws(() => open(ring, card, company, sealed));
  });

  it('does not open with the wrapped key or the number of another card of the same company', () => {
    const other = seal(ring, company, randomUUID(), someNumber());
    assert.throws(() => open(ring, company, card, { ...sealed, wrappedKey: other.wrappedKey }));
    assert.throws(() => open(ring, company, card, { ...sealed, sealed: other.sealed }));
    assert.throws(() => open(ring, company, card, other));
  });

  it('does not open under another key version, even one with the same key', () => {
    const [, key] = [...ring.keys][0] ?? [];
    assert.ok(key);
    const both = { ...ring, keys: new Map([...ring.keys, [2, key] as const, [3, newKey()] as const]) };
    for (const keyVersion of [2, 3, 4, 0, -1]) {
      assert.throws(() => open(both, company, card, { ...sealed, keyVersion }), `version ${keyVersion}`);
    }
  });

  it('names no digit and no key when it does not open', () => {
    const secrets = [number, ...[...ring.keys.values()].map((key) => key.reveal().toString('base64url'))];
    const broken: SealedCard[] = [
      { ...sealed, keyVersion: 9 },
      { ...sealed, sealed: Buffer.alloc(44) },
      { ...sealed, wrappedKey: Buffer.alloc(0) },
    ];
    for (const one of broken) {
      assert.throws(
        () => open(ring, company, card, one),
        (error: Error) => secrets.every((secret) => !inspect(error).includes(secret)),
      );
    }
  });

  it('takes a new wrapping without a change to the sealed number', () => {
    const next = { ...ring, current: 2, keys: new Map([...ring.keys, [2, newKey()] as const]) };
    const again = rewrap(next, company, card, sealed);
    assert.equal(again.keyVersion, 2);
    assert.deepEqual(again.sealed, sealed.sealed);
    assert.equal(open(next, company, card, again), number);
    assert.throws(() => open(ring, company, card, again), 'the old keys alone still open it');
  });

  it('uses other keys for sandbox and live', async () => {
    const [sandbox, live] = [await service.keys.ring('sandbox'), await service.keys.ring('live')];
    const secrets = [sandbox, live].flatMap((one) => [one.fingerprintKey, ...one.keys.values()]);
    assert.equal(new Set(secrets.map((key) => key.reveal().toString('hex'))).size, secrets.length);
    assert.throws(() => open(live, company, card, seal(sandbox, company, card, number)));
    assert.throws(() => open(sandbox, company, card, seal(live, company, card, number)));
  });
});

describe('fingerprints', () => {
  it('stay the same for one card of one company, also after a rotation', async () => {
    const keys = await fileKeyStore(join(await newFolder(), 'vault.keys'), { create: true });
    const vault = localVault(service.vaultDb, keys);
    const number = new CardNumber(someNumber());
    const first = await vault.fingerprint(service.company.id, 'sandbox', number);
    await keys.addKeys();
    assert.equal((await keys.ring('sandbox')).current, 2);
    assert.equal(await vault.fingerprint(service.company.id, 'sandbox', number), first);
  });

  it('differ for other numbers, companies, modes and installations', async () => {
    const number = someNumber();
    const [sandbox, live] = [await service.keys.ring('sandbox'), await service.keys.ring('live')];
    const company = randomUUID();
    const values = [
      fingerprint(sandbox, company, number),
      fingerprint(live, company, number),
      fingerprint(sandbox, randomUUID(), number),
      fingerprint(sandbox, company, someNumber()),
      fingerprint(newRing(), company, number),
    ];
    assert.equal(new Set(values).size, values.length);
    for (const value of values) assert.match(value, /^[\w-]{22}$/);
  });
});

describe('the logins of the database', () => {
  const refusedCode = '42501';

  async function connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  }

  let api: pg.Client;
  let vault: pg.Client;
  const cardId = randomUUID();
  before(async () => {
    const number = new CardNumber(someNumber());
    await service.vault.store({ companyId: service.company.id, cardId, mode: 'sandbox', number });
    [api, vault] = [await connect(service.companyUrls.apiUrl), await connect(service.companyUrls.vaultUrl)];
  });
  after(() => Promise.all([api.end(), vault.end()]));

  const refusedToApi = [
    'SELECT * FROM vault.cards',
    'SELECT * FROM vault.saved_cards',
    'SELECT count(*) FROM vault.cards',
    'SELECT 1 FROM vault.cards LIMIT 0',
    'TABLE vault.cards',
    `INSERT INTO vault.cards VALUES (uuidv7(), uuidv7(), 'sandbox', 1, '', '')`,
    'UPDATE vault.cards SET key_version = 1',
    'DELETE FROM vault.cards',
    `MERGE INTO vault.cards USING (SELECT 1) one ON false WHEN MATCHED THEN DELETE`,
    'TRUNCATE vault.cards',
    'COPY vault.cards TO STDOUT',
    'COPY (SELECT * FROM vault.cards) TO STDOUT',
    `COPY vault.cards TO '/tmp/cards'`,
    `COPY customers FROM PROGRAM 'cat /etc/passwd'`,
    'EXPLAIN SELECT * FROM vault.cards',
    'EXPLAIN ANALYZE DELETE FROM vault.cards',
    'DO $$ BEGIN LOCK TABLE vault.cards; END $$',
    'CREATE TEMP VIEW peek AS SELECT * FROM vault.cards',
    'CREATE TEMP TABLE peek AS SELECT * FROM vault.cards',
    'CREATE TEMP TABLE peek (LIKE vault.cards)',
    'CREATE TABLE vault.mine (id int)',
    'ALTER TABLE vault.cards OWNER TO svc_api',
    'DROP TABLE vault.cards',
    'DROP SCHEMA vault CASCADE',
    'VACUUM vault.cards',
    `SELECT pg_relation_filepath('vault.cards')`,
    `SELECT query_to_xml('SELECT * FROM vault.cards', true, true, '')`,
    `SELECT table_to_xml('vault.cards', true, true, '')`,
    `SELECT pg_read_file('PG_VERSION')`,
    `SELECT lo_import('/etc/passwd')`,
    'SET ROLE svc_vault',
    'SET SESSION AUTHORIZATION svc_vault',
    'SET ROLE svc',
    'GRANT svc_vault TO svc_api',
    'GRANT SELECT ON vault.cards TO svc_api',
    'ALTER ROLE svc_api SUPERUSER',
    `ALTER ROLE svc_vault PASSWORD 'mine'`,
    'CREATE ROLE another IN ROLE svc_vault',
    `CREATE FUNCTION public.peek() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
  ];
  for (const statement of refusedToApi) {
    it(`refuse the API: ${statement}`, async () => {
      await assert.rejects(api.query(statement), (error: pg.DatabaseError) => {
        assert.equal(error.code, refusedCode, error.message);
        return true;
      });
    });
  }

  it('leave a card in the vault as it was, after every attempt of the API', async () => {
    const rows = await service.vaultDb.query('SELECT 1 FROM vault.cards WHERE id = $1', [cardId]);
    assert.equal(rows.length, 1);
  });

  it('hide the table and what is in it from the views that list tables, columns and statistics to the API', async () => {
    await service.db.query('ANALYZE vault.cards');
    for (const view of ['information_schema.tables', 'information_schema.columns']) {
      const { rows } = await api.query(`SELECT 1 FROM ${view} WHERE table_schema = 'vault'`);
      assert.deepEqual(rows, [], view);
    }
    assert.deepEqual((await api.query(`SELECT 1 FROM pg_stats WHERE schemaname = 'vault'`)).rows, []);
  });

  it('do not show the API what the vault asks of the database', async () => {
    const { rows } = await api.query<{ query: string }>(
      `SELECT DISTINCT query FROM pg_stat_activity WHERE usename = 'svc_vault'`,
    );
    assert.deepEqual(rows, [{ query: '<insufficient privilege>' }]);
  });

  it('have no rights but to read and write rows: neither is a superuser or may make roles and databases', async () => {
    const { rows } = await api.query(
      `SELECT 1 FROM pg_roles WHERE rolname IN ('svc_api', 'svc_vault')
         AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
       UNION ALL SELECT 1 FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
         WHERE r.rolname IN ('svc_api', 'svc_vault')`,
    );
    assert.deepEqual(rows, []);
  });

  it('let the vault see no table but its own, and on which shard a company is', async () => {
    const rows = await service.db.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'vault')`,
    );
    const names = rows.map((row) => row.name);
    for (const needed of ['public.customers', 'public.card_tokens', 'public.api_keys', 'public.payment_methods']) {
      assert.ok(names.includes(needed), needed);
    }
    await vault.query('SELECT company_id, shard FROM company_shards');
    for (const name of names) {
      const reading = name === 'public.company_shards' ? [] : [`SELECT 1 FROM ${name}`];
      for (const statement of [...reading, `DELETE FROM ${name}`, `TRUNCATE ${name}`]) {
        await assert.rejects(vault.query(statement), { code: refusedCode }, statement);
      }
    }
  });

  it('let the vault neither empty nor change its table, nor become the API', async () => {
    for (const statement of ['TRUNCATE vault.cards', 'DROP TABLE vault.cards', 'SET ROLE svc_api']) {
      await assert.rejects(vault.query(statement), { code: refusedCode }, statement);
    }
  });
});

describe('rotation', () => {
  async function storeMany(keys: KeyStore, company: string, count: number): Promise<Map<string, string>> {
    const ring = await keys.ring('sandbox');
    const numbers = new Map(Array.from({ length: count }, () => [randomUUID(), someNumber()] as const));
    const cards = [...numbers].map(([id, number]) => seal(ring, company, id, number));
    await service.vaultDb.query(
      `INSERT INTO vault.cards (company_id, id, mode, key_version, wrapped_key, sealed)
       SELECT $1, id, 'sandbox', $2, wrapped_key, sealed
       FROM unnest($3::uuid[], $4::bytea[], $5::bytea[]) AS one (id, wrapped_key, sealed)`,
      [company, ring.current, [...numbers.keys()], cards.map((one) => one.wrappedKey), cards.map((one) => one.sealed)],
    );
    return numbers;
  }

  async function versionsOf(company: string): Promise<Record<number, number>> {
    const rows = await service.vaultDb.query<{ key_version: number; count: number }>(
      'SELECT key_version, count(*) FROM vault.cards WHERE company_id = $1 GROUP BY 1',
      [company],
    );
    return Object.fromEntries(rows.map((row) => [row.key_version, row.count]));
  }

  /** All the cards of a company, opened. */
  async function numbersOf(company: string, keys: KeyStore): Promise<Map<string, string>> {
    const ring = await keys.ring('sandbox');
    const rows = await service.vaultDb.query<{ id: string } & SealedCard>(
      `SELECT id, key_version AS "keyVersion", wrapped_key AS "wrappedKey", sealed FROM vault.cards
       WHERE company_id = $1`,
      [company],
    );
    return new Map(rows.map((row) => [row.id, open(ring, company, row.id, row)]));
  }

  // Each test has keys of its own: what other keys have sealed must not be in its way.
  async function newKeys(): Promise<{ path: string; keys: KeyStore }> {
    await service.vaultDb.query('DELETE FROM vault.cards');
    const path = join(await newFolder(), 'vault.keys');
    return { path, keys: await fileKeyStore(path, { create: true }) };
  }

  /** Cards of a company that an old key has wrapped, and the store that has a new one. */
  async function withNewKey(
    count: number,
  ): Promise<{ company: string; numbers: Map<string, string>; after: KeyStore }> {
    const { path, keys } = await newKeys();
    const company = randomUUID();
    const numbers = await storeMany(keys, company, count);
    await keys.addKeys();
    return { company, numbers, after: await fileKeyStore(path, { create: false }) };
  }

  const rotateSandbox = (keys: KeyStore): Promise<number> => rotate(service.vaultDb, keys, 'sandbox', () => undefined);

  it('runs twice beside 8 writers and readers without an error, and leaves no card on an old key', async () => {
    const { keys } = await newKeys();
    const vault = localVault(service.vaultDb, keys);
    const company = randomUUID();
    const numbers = await storeMany(keys, company, 600);
    const ending = new AbortController();
    let opened = 0;
    const write = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const [cardId, number] = [randomUUID(), someNumber()];
        await vault.store({ companyId: company, cardId, mode: 'sandbox', number: new CardNumber(number) });
        numbers.set(cardId, number);
        await sleep(20);
      }
    };
    const read = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const ids = [...numbers.keys()];
        const id = ids[randomInt(ids.length)] ?? '';
        assert.equal(await openStored(service.vaultDb, keys, company, id), numbers.get(id));
        opened += 1;
        await sleep(10);
      }
    };
    const clients = Promise.all([...Array.from({ length: 8 }, write), ...Array.from({ length: 4 }, read)]);
    // A failure of any of them shows at the end; meanwhile it must not be "unhandled".
    clients.catch(() => undefined);
    const before = numbers.size;
    try {
      for (const version of [2, 3]) {
        await keys.addKeys();
        const [cards, looks] = [numbers.size, opened];
        const enough = (): boolean => numbers.size >= cards + 30 && opened >= looks + 30;
        while (!enough()) await Promise.race([sleep(5), clients]);
        assert.ok((await rotateSandbox(keys)) >= before);
        assert.equal((await keys.ring('sandbox')).current, version);
      }
    } finally {
      ending.abort();
      await clients;
    }
    // What a writer had sealed but not yet stored when a rotation looked is found by the next look.
    await rotateSandbox(keys);
    assert.ok(numbers.size > before + 50 && opened > 50, `${numbers.size} cards, ${opened} opened`);
    assert.deepEqual(await versionsOf(company), { 3: numbers.size });
    assert.deepEqual(await numbersOf(company, keys), numbers);
  });

  it('can be repeated after it was ended in the middle', async () => {
    const { company, numbers, after } = await withNewKey(700);
    await assert.rejects(
      rotate(service.vaultDb, after, 'sandbox', () => {
        throw new Error('killed');
      }),
      /killed/,
    );
    assert.deepEqual(await versionsOf(company), { 1: 200, 2: 500 });
    assert.deepEqual(await numbersOf(company, after), numbers);
    assert.equal(await rotateSandbox(after), 200);
    assert.deepEqual(await versionsOf(company), { 2: 700 });
    assert.deepEqual(await numbersOf(company, after), numbers);
  });

  it('loses its connection in the middle of a batch and can be repeated', async () => {
    const { company, numbers, after } = await withNewKey(600);
    let cuts = 0;
    const cut = setInterval(() => {
      const statement = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE usename = 'svc_vault' AND datname = current_database() AND query LIKE 'UPDATE vault.cards%'`;
      service.db.query(statement).then(
        (rows) => {
          cuts += rows.length;
        },
        () => undefined,
      );
    }, 5);
    await Promise.allSettled([rotateSandbox(after)]);
    clearInterval(cut);
    await sleep(100);
    assert.ok(cuts > 0);
    await rotateSandbox(after);
    assert.deepEqual(await versionsOf(company), { 2: 600 });
    assert.deepEqual(await numbersOf(company, after), numbers);
  });

  it('leaves the cards of the other environment alone', async () => {
    const { company, after } = await withNewKey(5);
    const liveId = randomUUID();
    const live = seal(await after.ring('live'), company, liveId, someNumber());
    await insertCard(service.vaultDb, company, liveId, 'live', live);
    await after.addKeys();
    assert.equal(await rotateSandbox(after), 5);
    assert.deepEqual(await findCard(service.vaultDb, company, liveId), live);
    assert.equal(await rotate(service.vaultDb, after, 'live', () => undefined), 1);
  });

  it('continues during a second rotation and while cards are removed', async () => {
    const { company, numbers, after } = await withNewKey(1_200);
    const vault = localVault(service.vaultDb, after);
    const gone = [...numbers.keys()].toReversed().slice(0, 600);
    const remove = async (): Promise<void> => {
      for (let at = 0; at < gone.length; at += 100) {
        await vault.remove(gone.slice(at, at + 100).map((cardId) => ({ companyId: company, cardId })));
      }
    };
    await Promise.all([rotateSandbox(after), rotateSandbox(after), remove()]);
    assert.deepEqual(await versionsOf(company), { 2: 600 });
  });

  it('does not end in a deadlock with a removal that takes cards in another order', async () => {
    const { company, after } = await withNewKey(20);
    const rows = await service.vaultDb.query<{ id: string }>('SELECT id FROM vault.cards ORDER BY ctid');
    const [first, last] = [rows.at(0)?.id, rows.at(-1)?.id];
    const isWaiting = `SELECT 1 FROM pg_stat_activity
      WHERE usename = 'svc_vault' AND datname = current_database() AND wait_event_type = 'Lock'`;
    let rotation: Promise<number> | undefined;
    await service.vaultDb.transaction(async (removal) => {
      await removal.query('DELETE FROM vault.cards WHERE id = $1', [last]);
      rotation = rotateSandbox(after);
      rotation.catch(() => undefined);
      for (let turn = 0; turn < 50 && (await service.db.query(isWaiting)).length === 0; turn += 1) await sleep(10);
      await removal.query('DELETE FROM vault.cards WHERE id = $1', [first]);
    });
    await rotation;
    assert.deepEqual(await versionsOf(company), { 2: 18 });
  });

  it('is not kept from the other cards by one that is damaged, and says which one that is', async () => {
    const { company, numbers, after } = await withNewKey(20);
    const [damaged = ''] = numbers.keys();
    await service.vaultDb.query(`UPDATE vault.cards SET wrapped_key = '\\x00' WHERE id = $1`, [damaged]);
    await assert.rejects(rotateSandbox(after), (error: Error) => error.message.includes(damaged));
    assert.deepEqual(await versionsOf(company), { 1: 1, 2: 19 });
  });

  it('reaches a process that has not looked at the key file yet: it opens what the newest key has wrapped', async () => {
    const { path, keys } = await newKeys();
    const company = randomUUID();
    const early = await fileKeyStore(path, { create: false });
    await early.ring('sandbox');
    await keys.addKeys();
    const noticed = await fileKeyStore(path, { create: false });
    const [cardId, number] = [randomUUID(), someNumber()];
    const card = { companyId: company, cardId, mode: 'sandbox', number: new CardNumber(number) } as const;
    await localVault(service.vaultDb, noticed).store(card);
    assert.equal(await openStored(service.vaultDb, early, company, cardId), number);
  });
});

describe('cards that nothing names', () => {
  const job = (): Promise<number> => removeUnreferencedCards(service.db, service.vault, 500);
  const isStored = async (id: string): Promise<boolean> =>
    (await findCard(service.vaultDb, service.company.id, id)) !== undefined;
  const dueIn = async (id: string): Promise<number | undefined> => {
    const [row] = await service.db.query<{ seconds: string }>(
      'SELECT extract(epoch FROM due_at - now()) AS seconds FROM unreferenced_cards WHERE card_id = $1',
      [id],
    );
    return row && Number(row.seconds);
  };
  const letPass = async (id: string, seconds: number): Promise<void> => {
    await service.db.query(
      `UPDATE unreferenced_cards SET due_at = due_at - $2 * interval '1 second' WHERE card_id = $1`,
      [id, seconds],
    );
  };

  async function idOf(table: 'card_tokens' | 'payment_methods', number: string): Promise<string> {
    const value = await service.vault.fingerprint(service.company.id, 'sandbox', new CardNumber(number));
    const [row] = await service.db.query<{ card_id: string }>(`SELECT card_id FROM ${table} WHERE fingerprint = $1`, [
      value,
    ]);
    assert.ok(row);
    return row.card_id;
  }

  async function newToken(number: string): Promise<string> {
    const reply = await service.call('POST', '/v1/card_tokens', { body: { card: cardWith(number) } });
    assert.equal(reply.status, 201, reply.text);
    return reply.body.id;
  }

  async function captured(customer: string): Promise<{ id: string; cardId: string; number: string }> {
    const number = someNumber();
    const body = { customer_id: customer, card: cardWith(number) };
    const reply = await service.call('POST', '/capture', { body });
    assert.equal(reply.status, 201, reply.text);
    return { id: reply.body.id, cardId: await idOf('payment_methods', number), number };
  }

  it('leave the vault when their token was never used and its time is over, and not a second before', async () => {
    const number = someNumber();
    const token = await newToken(number);
    const id = await idOf('card_tokens', number);
    const seconds = (await dueIn(id)) ?? 0;
    assert.ok(seconds > 15 * 60 + 60, `due in ${seconds} s, while the token still works`);
    await letPass(id, seconds - 2);
    await job();
    assert.ok(await isStored(id));
    await letPass(id, 3);
    await job();
    assert.equal(await isStored(id), false);
    assert.equal(await dueIn(id), undefined);
    const late = await service.call('POST', `/v1/customers/${await newCustomer()}/payment_methods`, {
      body: { card_token: token },
    });
    assertRefused(late, 400, 'invalid_request');
  });

  it('stay for the whole life of the token, and the card of a used token stays', async () => {
    const number = someNumber();
    const token = await newToken(number);
    const id = await idOf('card_tokens', number);
    await letPass(id, 15 * 60);
    await job();
    const customer = await newCustomer();
    const reply = await service.call('POST', `/v1/customers/${customer}/payment_methods`, {
      body: { card_token: token },
    });
    assert.equal(reply.status, 201, reply.text);
    assert.equal(await dueIn(id), undefined);
    await job();
    assert.equal(await openStored(service.vaultDb, service.keys, service.company.id, id), number);
  });

  it('include a deleted payment method’s, and not those of the customer’s other cards', async () => {
    const customer = await newCustomer();
    const [kept, gone] = [await captured(customer), await captured(customer)];
    await job();
    assert.ok(await isStored(gone.cardId));
    const reply = await service.call('DELETE', `/v1/customers/${customer}/payment_methods/${gone.id}`);
    assert.equal(reply.status, 200, reply.text);
    await job();
    assert.equal(await isStored(gone.cardId), false);
    assert.ok(await isStored(kept.cardId));
  });

  for (const hasOrders of [false, true]) {
    it(`include all those of a deleted customer ${hasOrders ? 'that orders name' : 'without orders'}`, async () => {
      const references = { hasHistory: async () => hasOrders };
      const other = await startTestService({ database: service.database, references });
      try {
        const customer = await newCustomer();
        const cards = [await captured(customer), await captured(customer), await captured(customer)];
        const [, , deletedBefore] = cards;
        await service.call('DELETE', `/v1/customers/${customer}/payment_methods/${deletedBefore?.id}`);
        const bystander = await captured(await newCustomer());
        const reply = await other.call('DELETE', `/v1/customers/${customer}`, { key: service.key });
        assert.equal(reply.status, 200, reply.text);
        await job();
        for (const { cardId } of cards) assert.equal(await isStored(cardId), false);
        assert.ok(await isStored(bystander.cardId));
      } finally {
        await other.stop();
      }
    });
  }

  it('are noted before they are stored, so a card is removed after a crash between the vault and the token', async () => {
    const stored: string[] = [];
    const vault: Vault = {
      ...service.vault,
      async store(card) {
        assert.ok((await dueIn(card.cardId)) !== undefined, 'stored before it was noted');
        await service.vault.store(card);
        stored.push(card.cardId);
        throw new Error('the process died');
      },
    };
    const crashing = await startTestService({ database: service.database, vault });
    try {
      const body = { card: cardWith(someNumber()) };
      await crashing.call('POST', '/v1/card_tokens', { key: service.key, body });
      await crashing.call('POST', '/capture', {
        key: service.key,
        body: { ...body, customer_id: await newCustomer() },
        idempotencyKey: randomUUID(),
      });
    } finally {
      await crashing.stop();
    }
    assert.equal(stored.length, 2);
    await job();
    for (const id of stored) {
      assert.ok(await isStored(id));
      await letPass(id, 3_600);
    }
    await job();
    for (const id of stored) assert.equal(await isStored(id), false);
  });

  it('go, too, when the capture was refused after they were stored', async () => {
    const number = '4000009999001000';
    const customer = await newCustomer();
    const before = await service.vaultDb.query<{ id: string }>('SELECT id FROM vault.cards');
    const body = { customer_id: customer, card: cardWith(number) };
    assertRefused(await service.call('POST', '/capture', { body }), 400, 'invalid_request');
    const known = new Set(before.map((row) => row.id));
    const left = (await service.vaultDb.query<{ id: string }>('SELECT id FROM vault.cards')).filter(
      (row) => !known.has(row.id),
    );
    for (const { id } of left) await letPass(id, 3_600);
    await job();
    for (const { id } of left) assert.equal(await isStored(id), false);
  });

  it('are not left behind by a repeated idempotency key', async () => {
    const customer = await newCustomer();
    const number = someNumber();
    const call = { body: { customer_id: customer, card: cardWith(number) }, idempotencyKey: randomUUID() };
    const count = async (): Promise<number> => (await service.vaultDb.query('SELECT 1 FROM vault.cards')).length;
    assert.equal((await service.call('POST', '/capture', call)).status, 201);
    const before = await count();
    for (let repeat = 0; repeat < 3; repeat += 1) await service.call('POST', '/capture', call);
    assert.equal(await count(), before);
  });

  it('have one winner when a token is used in the moment its card is taken away', async () => {
    for (let round = 0; round < 20; round += 1) {
      const number = someNumber();
      const [token, customer] = [await newToken(number), await newCustomer()];
      const id = await idOf('card_tokens', number);
      await letPass(id, 3_600);
      const [reply] = await Promise.all([
        service.call('POST', `/v1/customers/${customer}/payment_methods`, { body: { card_token: token } }),
        job(),
      ]);
      assert.ok([201, 400].includes(reply.status), reply.text);
      await job();
      assert.equal(await isStored(id), reply.status === 201);
    }
  });
});
