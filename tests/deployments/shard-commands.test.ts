import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { examineShards } from '../../cli/doctor-shards.ts';
import { noteRestored } from '../../server/features/restores/service.ts';
import type { Queryable } from '../../server/platform/database.ts';
import type { EmbeddedPostgres } from '../../server/platform/embedded-postgres/embedded-postgres.ts';
import { findAccount, moveCompanies, type Mover } from '../../server/shards/move/move.ts';
import { findCompaniesOn } from '../../server/shards/inspect-queries.ts';
import { applyMoves, planMoves } from '../../server/shards/move/rebalance.ts';
import { svc } from '../support/command.ts';
import { startMigratedServer } from '../support/migrated-cluster.ts';
import { openShop, succeeded } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { type ShardServers, startShardServers } from '../support/shard-servers.ts';

/** `svc shards`, `svc companies move` and `svc companies rebalance`, as an operator runs them. */

describe('svc shards and svc companies', () => {
  let servers: ShardServers;
  let service: TestService;
  let mover: Mover;

  before(async () => {
    servers = await startShardServers();
    ({ service } = servers);
    mover = { shards: service.shards, urlOf: servers.urlOf, keptMs: 100, onStep: () => undefined };
  });

  after(async () => servers?.stop());

  const secret = { SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1') };

  const run = async (...parameters: string[]) => {
    const settings = { ...secret, DATABASE_URL: servers.urlOf('a'), SVC_SHARDS: `b=${servers.urlOf('b')}` };
    const { code, stdout, stderr } = await svc(settings, ...parameters);
    return { code, stderr, body: stdout ? JSON.parse(stdout) : undefined };
  };

  /** Lets time pass for the rows that a command keeps for a while on the old shard. */
  async function withoutTheWait<Result>(command: Promise<Result>): Promise<Result> {
    let hasEnded = false;
    const ended = command.finally(() => {
      hasEnded = true;
    });
    while (!hasEnded) {
      for (const { db } of service.shards.all)
        await db.query(`UPDATE company_fences SET since = since - interval '1 minute' WHERE state = 'left'`);
      await Promise.race([ended, sleep(200)]);
    }
    return ended;
  }

  it('list and drain shards, and name the moves of a rebalance', async () => {
    const { body: drained } = await run('shards', 'drain', 'b', '--json');
    assert.deepEqual(
      drained.map(({ name, drains, wal_level }: Record<string, unknown>) => [name, drains, wal_level]),
      [
        ['a', false, 'logical'],
        ['b', true, 'logical'],
      ],
    );
    const { id } = (await service.createMerchant()).sandbox;
    const { accountId } = await findAccount(mover, id);
    const { body: plan } = await run('companies', 'rebalance', '--dry-run', '--json');
    assert.equal(plan.applied, false);
    const accounts = await Promise.all(
      plan.moves.map(async ({ company, from, to }: Record<string, string>) => {
        assert.deepEqual([from, to], ['b', 'a']);
        return (await findAccount(mover, company ?? '')).accountId;
      }),
    );
    assert.ok(accounts.includes(accountId));
    await run('shards', 'undrain', 'b', '--json');
    assert.equal((await run('shards', 'list', '--json')).body[1].drains, false);
    assert.match((await run('shards', 'drain', 'z')).stderr, /a, b/);
  });

  it('move companies until every shard has about as many', async () => {
    const stores = await Promise.all(Array.from({ length: 3 }, () => service.createMerchant()));
    const shops = await Promise.all(stores.map(({ key }) => openShop(service, undefined, { key })));
    const before = await run('shards', 'list', '--json');
    const { code, stderr, body } = await withoutTheWait(run('companies', 'rebalance', '--apply', '--json'));
    assert.equal(code, 0, stderr);
    assert.equal(body.applied, true);
    assert.ok(body.moves.length >= 2, `${body.moves.length} moves`);
    const { body: lists } = await run('shards', 'list', '--json');
    const [a, b] = lists.map(({ companies }: { companies: number }) => companies);
    // Each account has two companies.
    assert.ok(Math.abs(a - b) <= 2, `${a} and ${b} companies`);
    const sum = (list: { companies: number }[]): number => list.reduce((all, { companies }) => all + companies, 0);
    assert.equal(a + b, sum(before.body));
    for (const [index, { key }] of stores.entries())
      await succeeded(service, shops[index] as (typeof shops)[number], { key });
    assert.deepEqual(await examineShards(service.shards), []);
    const again = await run('companies', 'rebalance', '--dry-run', '--json');
    assert.deepEqual(again.body.moves, []);
  });

  it('list the companies of all shards or of one, in pages, with their orders and moves', async () => {
    const { live, sandbox, key } = await service.createMerchant();
    const shop = await openShop(service, undefined, { key });
    for (let count = 0; count < 3; count += 1) await succeeded(service, shop, { key });
    const list = async (...parameters: string[]) => (await run('companies', 'list', '--json', ...parameters)).body;
    const { companies, next } = await list('--limit', '1000');
    assert.equal(next, null);
    type Row = Record<'id' | 'shard' | 'state' | 'mode', string> & { orders: number };
    const found = (company: { id: string }): Row => companies.find(({ id }: Row) => id === company.id);
    const { shard } = found(sandbox);
    assert.equal(shard, sandbox.shard);
    assert.deepEqual([found(sandbox).mode, found(sandbox).state, found(sandbox).orders], ['sandbox', 'settled', 3]);
    assert.deepEqual([found(live).mode, found(live).shard, found(live).orders], ['live', shard, 0]);
    const { db } = service.shards.of(sandbox);
    await db.query('ANALYZE orders');
    const estimated = await findCompaniesOn(db, undefined, 1_000, 1);
    assert.equal(estimated.find(({ id }) => id === sandbox.id)?.orders, 3);
    const ids = (rows: Row[]): string[] => rows.map(({ id }) => id);
    const pages: string[] = [];
    for (let after: string[] = []; ; ) {
      const page = await list('--limit', '4', ...after);
      assert.ok(page.companies.length <= 4);
      pages.push(...ids(page.companies));
      if (page.next === null) break;
      after = ['--after', page.next];
    }
    assert.deepEqual(pages, ids(companies));
    const there = await list('--limit', '1000', '--shard', shard);
    assert.deepEqual(ids(there.companies), ids(companies.filter((one: Row) => one.shard === shard)));
    await service.control.query(
      `INSERT INTO company_shards (company_id, shard, moving_to, moving_since) VALUES ($1, $2, 'z', now())
       ON CONFLICT (company_id) DO UPDATE SET moving_to = 'z', moving_since = now()`,
      [sandbox.id, shard],
    );
    const settings = { ...secret, DATABASE_URL: servers.urlOf('a'), SVC_SHARDS: `b=${servers.urlOf('b')}` };
    const { stdout } = await svc(settings, 'companies', 'list', '--limit', '1000');
    assert.match(stdout, new RegExp(`^${sandbox.id}  ${shard} +sandbox +3 +.*\\(moves to z since 20`, 'm'));
    await service.control.query(
      'UPDATE company_shards SET moving_to = NULL, moving_since = NULL WHERE company_id = $1',
      [sandbox.id],
    );
    const partly = await svc({ ...settings, SVC_SHARDS: 'b=postgres://svc@127.0.0.1:9/svc' }, 'companies', 'list');
    assert.equal(partly.code, 1);
    assert.match(partly.stdout, /shard "b", cannot be used/);
    for (const [parameters, message] of [
      [['--shard', 'z'], /--shard: a, b/],
      [['--limit', '0'], /--limit must be a whole number from 1 to 1000/],
      [['--after', 'z'], /--after must be the ID of a company/],
    ] as const)
      assert.match((await run('companies', 'list', ...parameters)).stderr, message);
  });

  it('bill no company on two shards after a restore from before its move', async () => {
    const { live, sandbox } = await service.createMerchant();
    const ids = [live.id, sandbox.id].toSorted();
    const { db } = service.shards.of({ shard: 'b' });
    const rows = await db.query('SELECT * FROM companies WHERE id = ANY($1)', [ids]);
    await moveCompanies(mover, live.id, 'a');
    await insertAgain(db, ids, rows);
    await noteRestored(db, service.clock.nowMs(), 'as the service notices it');
    assert.match((await run('reconcile')).stderr, /2 companies are on two shards .*svc restored --shard/);
    const settings = { ...secret, DATABASE_URL: servers.urlOf('a'), SVC_SHARDS: `b=${servers.urlOf('b')}` };
    const { stdout } = await svc(settings, 'restored', '--shard', 'b');
    for (const id of ids) assert.ok(stdout.includes(`svc companies move --company ${id} --to a\n`), stdout);
    await db.query('DELETE FROM company_fences WHERE company_id = ANY($1)', [ids]);
    const { code, stderr, body } = await run('restored', '--shard', 'b', '--json');
    assert.equal(code, 0, stderr);
    assert.deepEqual(body.moved.toSorted(), ids);
    assert.deepEqual(await examineShards(service.shards), []);
    await moveCompanies(mover, live.id, 'a');
    assert.deepEqual(await db.query('SELECT 1 FROM companies WHERE id = ANY($1)', [ids]), []);
    await db.query('DELETE FROM restores');
  });

  it('bill no company on two shards after a restore of the directory from before its move', async () => {
    const { live, sandbox } = await service.createMerchant();
    const ids = [live.id, sandbox.id];
    const { db } = service.shards.of({ shard: 'a' });
    await moveCompanies(mover, live.id, 'a');
    const rows = await db.query('SELECT * FROM companies WHERE id = ANY($1)', [ids]);
    await moveCompanies(mover, live.id, 'b');
    await insertAgain(db, ids, rows);
    await service.control.query(`UPDATE company_shards SET shard = 'a' WHERE company_id = ANY($1)`, [ids]);
    const { body } = await run('restored', '--shard', 'a', '--json');
    assert.deepEqual(body.moved, [], 'the directory cannot know which copy is right');
    assert.match((await run('reconcile')).stderr, /2 companies are on two shards .*docs\/scaling\.md/);
    const guide = await readFile(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
    const [, statements = ''] = /```sql\n(INSERT INTO company_shards.*?)```/s.exec(guide) ?? [];
    const client = new pg.Client({ connectionString: servers.urlOf('a') });
    await client.connect();
    for (const id of ids) await client.query(statements.replaceAll('ID', id));
    await client.end();
    await moveCompanies(mover, live.id, 'b');
    assert.deepEqual(await examineShards(service.shards), []);
    assert.deepEqual(await db.query('SELECT 1 FROM companies WHERE id = ANY($1)', [ids]), []);
    await db.query('DELETE FROM restores');
  });

  it('refuse to drain the last shard that takes new companies, and a name instead of an ID', async () => {
    await run('shards', 'drain', 'b', '--json');
    assert.match((await run('shards', 'drain', 'a')).stderr, /last that takes new companies/);
    await run('shards', 'undrain', 'b', '--json');
    const { stderr } = await run('companies', 'move', '--company', 'demo', '--to', 'b');
    assert.match(stderr, /"demo" is not the ID of a company/);
  });

  it('find companies on a shard that the settings of the command lack', async () => {
    await service.createMerchant();
    const { stderr } = await svc({ ...secret, DATABASE_URL: servers.urlOf('a') }, 'doctor');
    assert.match(stderr, /company on a shard that SVC_SHARDS does not name/);
  });

  it('show the shards that respond in svc status, name one that does not, and exit with 1', async () => {
    const away = 'postgres://svc@127.0.0.1:9/svc';
    for (const [there, gone, settings] of [
      ['a', 'b', { DATABASE_URL: servers.urlOf('a'), SVC_SHARDS: `b=${away}` }],
      ['b', 'a', { DATABASE_URL: away, SVC_SHARDS: `b=${servers.urlOf('b')}` }],
    ] as const) {
      const shown = await svc({ ...secret, ...settings }, 'status');
      assert.equal(shown.code, 1, shown.stderr);
      assert.match(shown.stdout, new RegExp(`^Shard ${there} +PostgreSQL \\d.* companies$`, 'm'));
      assert.match(shown.stdout, new RegExp(`^Shard ${gone} +unreachable, .*ECONNREFUSED`, 'm'));
      assert.match(shown.stdout, /^Charges in doubt +0$/m);
      const { code, stdout } = await svc({ ...secret, ...settings }, 'status', '--json');
      assert.equal(code, 1);
      const { shards, database, renewals } = JSON.parse(stdout);
      assert.deepEqual(
        shards.map(({ name, problem }: { name: string; problem: string | null }) => [name, problem === null]),
        [
          ['a', there === 'a'],
          ['b', there === 'b'],
        ],
      );
      assert.equal(database === null, gone === 'a');
      assert.equal(renewals.due, 0);
    }
    const neither = await svc({ ...secret, DATABASE_URL: away, SVC_SHARDS: `b=${away}` }, 'status');
    assert.equal(neither.code, 1);
    assert.match(neither.stderr, /The database of DATABASE_URL cannot be used/);
  });

  it('refuse to abort what does not move, and a shard that does not exist', async () => {
    const { id } = (await service.createMerchant()).live;
    const move = (...parameters: string[]) => run('companies', 'move', '--company', id, ...parameters);
    for (const [parameters, message, exitCode] of [
      [['--abort'], /no move of these companies is under way/, 1],
      [['--to', 'z'], /--to: a, b/, 2],
      [[], /--to SHARD/, 2],
    ] as const) {
      const { code, stderr } = await move(...parameters);
      assert.equal(code, exitCode);
      assert.match(stderr, message);
    }
  });
});

/** As a restore does: the backup has the companies, and does not know that they have left. */
async function insertAgain(db: Queryable, ids: readonly string[], rows: readonly object[]): Promise<void> {
  await db.query('DELETE FROM company_fences WHERE company_id = ANY($1)', [ids]);
  for (const row of rows)
    await db.query('INSERT INTO companies SELECT * FROM json_populate_record(NULL::companies, $1)', [
      JSON.stringify(row),
    ]);
}

describe('svc shards add', () => {
  let folder: string;
  let server: EmbeddedPostgres;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-shards-add-'));
    server = await startMigratedServer({ dataDirectory: join(folder, 'postgres') });
  });

  after(async () => {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const urlOf = (database: string): string => {
    const url = new URL(server.connectionString);
    url.pathname = `/${database}`;
    return url.href;
  };

  async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** A database with these statements run on it. */
  async function newDatabase(name: string, ...statements: string[]): Promise<string> {
    await withClient(server.connectionString, (client) => client.query(`CREATE DATABASE ${name}`));
    await runOn(name, statements);
    return urlOf(name);
  }

  /** The same with the schema of this version. */
  async function migratedDatabase(name: string, ...statements: string[]): Promise<string> {
    await withClient(server.connectionString, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE postgres`));
    await runOn(name, statements);
    return urlOf(name);
  }

  const runOn = (name: string, statements: readonly string[]): Promise<void> =>
    withClient(urlOf(name), async (client) => {
      for (const statement of statements) await client.query(statement);
    });

  const add = (entry: string, shards?: string) => {
    const settings = { DATABASE_URL: server.connectionString, ...(shards && { SVC_SHARDS: shards }) };
    return svc(settings, 'shards', 'add', entry, '--json');
  };

  /** Errors are JSON if the answer would be. */
  const messageOf = ({ stderr, stdout }: { stderr: string; stdout: string }): string =>
    (stderr + stdout).replaceAll('\\"', '"');

  it('migrates an empty database, and prints the setting with which the service uses it', async () => {
    const [b, c] = [await newDatabase('shard_b'), await newDatabase('shard_c')];
    const { code, stdout, stderr } = await add(`b=${b}`);
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { name: 'b', wal_level: 'replica', SVC_SHARDS: `b=${b}` });
    const next = await add(`c=${c}`, `b=${b}`);
    const { SVC_SHARDS: setting } = JSON.parse(next.stdout);
    assert.equal(setting, `b=${b} c=${c}`);
    const listed = await svc(
      { DATABASE_URL: server.connectionString, SVC_SHARDS: setting },
      'shards',
      'list',
      '--json',
    );
    assert.deepEqual(
      JSON.parse(listed.stdout).map(({ name, companies }: Record<string, unknown>) => [name, companies]),
      [
        ['a', 0],
        ['b', 0],
        ['c', 0],
      ],
    );
    const shown = await svc({ DATABASE_URL: server.connectionString }, 'shards', 'add', `b=${b}`);
    assert.match(shown.stdout, /SVC_SHARDS="b=postgres/);
    assert.match(shown.stdout, /wal_level = replica/);
  });

  it('refuses a database that is away, of another program, of another shard, or of another installation', async () => {
    const foreign = await newDatabase('shop', 'CREATE TABLE goods (id integer)');
    const other = await migratedDatabase(
      'elsewhere',
      `INSERT INTO companies (id, account_id, mode, name, api_version) VALUES (uuidv7(), uuidv7(), 'live', 'Other', '1')`,
    );
    const lax = await newDatabase('lax', `ALTER DATABASE lax SET synchronous_commit = 'off'`);
    for (const [entry, message] of [
      ['b=postgres://127.0.0.1:1/svc', /SVC_SHARDS, shard "b", cannot be used/],
      [`b=${urlOf('missing')}`, /shard "b", cannot be used.*missing/],
      [`b=${foreign}`, /"b" has tables of another program \(public\.goods\)/],
      [`b=${server.connectionString}`, /is that of the shard "a"/],
      [`b=${other}`, /which the directory places on the shard "a"/],
      [`b=${lax}`, /"b" has synchronous_commit = off/],
      [`a=${foreign}`, /must not name the shard "a"/],
      ['b', /for example "b=postgres/],
    ] as const) {
      const refused = await add(entry);
      assert.equal(refused.code, 1, entry);
      assert.match(messageOf(refused), message);
    }
    const tables = await withClient(foreign, (client) =>
      client.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`),
    );
    assert.equal(tables.rows.length, 1, 'a refused database is left as it was');
  });

  it('refuses a shard with a newer or edited schema and names it, as every command does', async () => {
    const newer = await migratedDatabase(
      'newer',
      `INSERT INTO schema_migrations (name, run_on) VALUES ('999999_later', now())`,
    );
    const edited = await migratedDatabase(
      'edited',
      `UPDATE schema_migrations SET sha256 = repeat('f00d', 16) WHERE name = '000009_people'`,
    );
    const behind = await newDatabase('behind');
    const ownSettings = { SVC_DATA_DIR: join(folder, 'data'), SVC_MASTER_SECRET: 'x'.repeat(32), PORT: '0' };
    for (const [url, message] of [
      [newer, /shard "b" of SVC_SHARDS: .*newer version of the service \(999999_later\)/],
      [edited, /shard "b" of SVC_SHARDS: .*edited after this database ran them/],
    ] as const) {
      assert.match(messageOf(await add(`b=${url}`)), message);
      const settings = { DATABASE_URL: server.connectionString, SVC_SHARDS: `b=${url}` };
      for (const words of [['status'], ['migrate'], ['start']]) {
        const refused = await svc({ ...settings, ...ownSettings }, ...words);
        assert.equal(refused.code, 1, words.join());
        assert.match(messageOf(refused), message, words.join());
      }
    }
    const settings = { DATABASE_URL: server.connectionString, SVC_SHARDS: `b=${behind}` };
    assert.match((await svc(settings, 'status')).stderr, /shard "b" of SVC_SHARDS: .*older than this version/);
  });

  it('migrates every other shard if some cannot be used, names those, and continues with them', async () => {
    const gone = new URL(server.connectionString);
    gone.pathname = '/left_out';
    const edited = await migratedDatabase(
      'edited_again',
      `UPDATE schema_migrations SET sha256 = repeat('f00d', 16) WHERE name = '000009_people'`,
    );
    const empty = await newDatabase('empty_shard');
    const settings = {
      DATABASE_URL: server.connectionString,
      SVC_SHARDS: `b=${gone.href} c=${edited} d=${empty}`,
    };
    const first = await svc(settings, 'migrate');
    assert.equal(first.code, 1);
    for (const message of [
      /The database of SVC_SHARDS, shard "b", cannot be used: .*left_out/,
      /shard "c" of SVC_SHARDS: .*edited after this database ran them/,
      /^2 of 4 databases are migrated to .*Run `svc migrate` again/m,
    ])
      assert.match(first.stderr, message);
    await newDatabase('left_out');
    await withClient(edited, (client) =>
      client.query(`UPDATE schema_migrations SET sha256 = NULL WHERE name = '000009_people'`),
    );
    const again = await svc(settings, 'migrate', '--json');
    assert.deepEqual([again.code, JSON.parse(again.stdout).failed], [0, []]);
    assert.equal(JSON.parse(again.stdout).databases, 4);
  });

  it('uses few connections with many shards, and names only those that need attention', async () => {
    const url = new URL(
      await migratedDatabase('many', `CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 25 IN ROLE svc_api`),
    );
    Object.assign(url, { username: 'few', password: 'few' });
    const names = Array.from({ length: 40 }, (_, index) => `m${index}=${url.href}`);
    const settings = {
      DATABASE_URL: server.connectionString,
      SVC_MASTER_SECRET: 'x'.repeat(32),
      SVC_DATA_DIR: join(folder, 'data'),
    };
    const listed = await svc({ ...settings, SVC_SHARDS: names.join(' ') }, 'shards', 'list', '--json');
    assert.equal(listed.code, 0, listed.stderr);
    assert.equal(JSON.parse(listed.stdout).length, 41);
    const away = { ...settings, SVC_SHARDS: `${names.join(' ')} z=${url.href}_not_there` };
    const { code, stdout } = await svc(away, 'status');
    assert.equal(code, 1);
    assert.match(stdout, /^Shards +42, of which 1 cannot be used, with \d+ companies; PostgreSQL .*, schema /m);
    assert.deepEqual(
      [...stdout.matchAll(/^Shard (\w+) /gm)].map(([, name]) => name),
      ['z'],
    );
    assert.match((await svc(away, 'status', '--all-shards')).stdout, /^Shard m39 /m);
  });
});

describe('a rebalance', () => {
  it('moves accounts from full shards to empty ones, and all of them from a shard that drains', () => {
    const load = (shard: string, accounts: string[], drains = false) => ({ shard, accounts, drains });
    assert.deepEqual(planMoves([load('a', ['1', '2', '3']), load('b', ['4', '5'])]), []);
    assert.deepEqual(planMoves([load('a', ['1', '2', '3', '4']), load('b', [])]), [
      { companyId: '4', from: 'a', to: 'b' },
      { companyId: '3', from: 'a', to: 'b' },
    ]);
    assert.deepEqual(planMoves([load('a', ['1'], true), load('b', ['2'])]), [{ companyId: '1', from: 'a', to: 'b' }]);
    assert.deepEqual(planMoves([load('a', ['1'], true)]), []);
  });

  it('copies from and to each shard at most two accounts at once, and begins no more after a failure', async () => {
    const move = (companyId: string, from: string, to: string) => ({ companyId, from, to });
    const drained = ['1', '2', '3', '4', '5', '6'].map((id) => move(id, 'a', `t${id}`));
    const others = ['7', '8', '9'].map((id) => move(id, `s${id}`, 'b'));
    const copying = new Set<string>();
    const most: Record<string, number> = {};
    const made: string[] = [];
    const note = ({ from, to }: { from: string; to: string }): void => {
      for (const shard of [from, to])
        most[shard] = Math.max(most[shard] ?? 0, [...copying].filter((name) => name.split(' ').includes(shard)).length);
      most.all = Math.max(most.all ?? 0, copying.size);
    };
    await applyMoves(
      [...drained, ...others],
      () => undefined,
      async (planned, onStep) => {
        const name = `${planned.companyId} ${planned.from} ${planned.to}`;
        copying.add(name);
        note(planned);
        await sleep(1);
        copying.delete(name);
        onStep('clean');
        made.push(planned.companyId);
      },
    );
    assert.equal(made.length, 9);
    assert.deepEqual([most.a, most.b, most.all], [2, 2, 4]);
    const begun: string[] = [];
    const failing = applyMoves(
      drained,
      () => undefined,
      async ({ companyId }) => {
        begun.push(companyId);
        throw new Error(`no move of ${companyId}`);
      },
    );
    await assert.rejects(failing, /no move of 1/);
    assert.deepEqual(begun, ['1', '2']);
  });
});
