import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Releases } from '../scripts/record-release.ts';
import { type Migration, readMigrations } from '../server/platform/migration-files.ts';
import { migrate, requireMigrated } from '../server/platform/migrations.ts';
import releasesFile from '../server/releases.json' with { type: 'json' };
import { cloneDatabase, emptyDatabase, type TestDatabase } from './support/database.ts';
import { describeCatalog } from './support/schema.ts';

const releases: Releases = releasesFile;
let migrations: readonly Migration[];
const databases: TestDatabase[] = [];
let fresh: string;

async function database(make: () => Promise<TestDatabase>): Promise<string> {
  const made = await make();
  databases.push(made);
  return made.connectionString;
}

before(async () => {
  migrations = await readMigrations();
  fresh = await describeCatalog(await database(cloneDatabase));
});

after(async () => {
  await Promise.all(databases.map((made) => made.drop()));
});

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The table of migrations as 0.0.1 made it, without hashes. */
const oldTable =
  'CREATE TABLE schema_migrations (id serial PRIMARY KEY, name varchar(255) NOT NULL, run_on timestamp NOT NULL)';

/** A database as the release left it. */
async function released(version: string): Promise<string> {
  const url = await database(emptyDatabase);
  const names = new Set<string>();
  for (const [each, { migrations: added }] of Object.entries(releases)) {
    for (const name of Object.keys(added)) names.add(name);
    if (each === version) break;
  }
  await withClient(url, async (client) => {
    await client.query(oldTable);
    for (const { name, text } of migrations.filter((migration) => names.has(migration.name))) {
      await client.query(text);
      await client.query('INSERT INTO schema_migrations (name, run_on) VALUES ($1, now())', [name]);
    }
  });
  return url;
}

const hashesOf = (url: string): Promise<Pick<Migration, 'name' | 'sha256'>[]> =>
  withClient(
    url,
    async (client) =>
      (
        await client.query(
          'SELECT name, sha256 FROM schema_migrations UNION ALL SELECT name, sha256 FROM compatible_migrations ORDER BY name',
        )
      ).rows,
  );

const expectedHashes = (): Pick<Migration, 'name' | 'sha256'>[] =>
  migrations.map(({ name, sha256 }) => ({ name, sha256 }));

describe('migrations', () => {
  it('are never changed or taken away once they are released', () => {
    const released = Object.entries(releases).flatMap(([version, { migrations: added }]) =>
      Object.entries(added).map(([name, sha256]) => ({ version, name, sha256 })),
    );
    assert.ok(released.length >= 14);
    for (const { version, name, sha256 } of released) {
      const present = migrations.find((migration) => migration.name === name);
      assert.equal(present?.sha256, sha256, `${name} is part of ${version}: keep its text, and write a new migration`);
    }
    const names = new Set(released.map(({ name }) => name));
    const last = released.at(-1)?.name ?? '';
    const between = migrations.filter(({ name }) => !names.has(name) && name < last);
    assert.deepEqual(between, [], 'a new migration has a higher number than the released ones');
  });

  it('have a number each, without gaps', () => {
    assert.deepEqual(
      migrations.map(({ name }) => name.slice(0, 6)),
      migrations.map((_, index) => String(index + 1).padStart(6, '0')),
      'two branches took the same number: rename the later migration',
    );
  });

  for (const version of Object.keys(releases)) {
    it(`make of a database of ${version} the same schema as of an empty one`, async () => {
      const url = await released(version);
      await migrate(url);
      assert.equal(await describeCatalog(url), fresh);
      assert.deepEqual(await hashesOf(url), expectedHashes());
    });
  }

  it('make the same schema of a database that ran an earlier text of 000009, with optional phone numbers', async () => {
    const url = await released('0.0.1');
    await withClient(url, (client) => client.query('ALTER TABLE team_members ALTER COLUMN phone_number DROP NOT NULL'));
    await migrate(url);
    assert.equal(await describeCatalog(url), fresh);
  });

  it('write the phones of customers in E.164, and give the people of a team their numbers', async () => {
    const url = await released('0.0.1');
    const id = '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60';
    await withClient(url, async (client) => {
      await client.query(
        `INSERT INTO companies (id, account_id, name, mode, api_version) VALUES ($1, $1, 'Tea', 'live', '2026-02-11')`,
        [id],
      );
      const phones = ['+44 (20) 7946-0958', '+15551234567'];
      for (const phone of phones) {
        await client.query(
          `INSERT INTO customers (company_id, id, email, email_key, first_name, last_name, phone, phone_key, tags,
             metadata, search, updated_at)
           VALUES ($1, uuidv7(), $2, $2, 'A', 'L', $2, regexp_replace($2, '\\D', '', 'g'), '{}', '{}', '', now())`,
          [id, phone],
        );
      }
      await client.query(
        `INSERT INTO roles (company_id, id, name, description, default_page, permissions) VALUES ($1, $1, 'Owner', '', '/home', '{}')`,
        [id],
      );
      await client.query(
        `INSERT INTO team_members (company_id, id, email, email_key, first_name, last_name, phone_number, status, role_id, invited_at, accepted_at, updated_at)
         VALUES ($1, $1, 'a@example.com', 'a@example.com', 'A', 'L', '+15551234567', 'active', $1, now(), now(), now())`,
        [id],
      );
      for (const [user, email] of [
        [id, 'a@example.com'],
        [id.replace('0', '1'), 'b@example.com'],
      ]) {
        await client.query(
          `INSERT INTO users (id, email, email_key, first_name, last_name, password_hash) VALUES ($1, $2, $2, 'A', 'L', '')`,
          [user, email],
        );
      }
      await client.query('INSERT INTO memberships (user_id, company_id, member_id) VALUES ($1, $1, $1)', [id]);
      await migrate(url);
      const customers = await client.query('SELECT phone FROM customers ORDER BY 1');
      assert.deepEqual(customers.rows, [{ phone: '+15551234567' }, { phone: '+442079460958' }]);
      const people = await client.query('SELECT phone_number FROM users ORDER BY id');
      assert.deepEqual(people.rows, [{ phone_number: '+15551234567' }, { phone_number: null }]);
      await assert.rejects(client.query(`UPDATE customers SET phone = '+44 20'`), /customers_phone_e164/);
    });
  });

  it('remove the links and card tokens that 0.0.1 kept in plain, and leave everything else', async () => {
    const url = await released('0.0.1');
    const links = ['https://pay.example/invitations/AZxMHw', 'http://127.0.0.1:8080/reset-password?token=q8Zx-_1'];
    const [company, other] = ['019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60', 'See https://pay.example/docs/webhooks.'];
    const mails = await withClient(url, async (client) => {
      await client.query(
        `INSERT INTO companies (id, account_id, name, mode, api_version) VALUES ($1, $1, 'Tea', 'live', '2026-02-11')`,
        [company],
      );
      for (const [index, body] of [...links.map((link) => `Open\n\n${link}\n\nBye`), other].entries()) {
        for (const sent of [true, false]) {
          await client.query(
            `INSERT INTO mails (company_id, id, recipient, subject, body, sent_at, next_attempt_at)
             VALUES ($1, uuidv7(), $2, 'Hello', $3, CASE WHEN $4 THEN now() END, CASE WHEN $4 THEN NULL ELSE now() END)`,
            [company, `${index}-${sent}`, body, sent],
          );
        }
      }
      await client.query(
        `INSERT INTO idempotency_keys (company_id, key, method, path, field_hashes, request_id, api_version, status, body, expires_at)
         SELECT $1, path, 'POST', path, '{}', 'req', '2026-02-11', 201, '{}', now() FROM unnest($2::text[]) path`,
        [company, ['/v1/card_tokens', '/v1/orders']],
      );
      await migrate(url);
      assert.deepEqual((await client.query('SELECT path FROM idempotency_keys')).rows, [{ path: '/v1/orders' }]);
      return (await client.query('SELECT recipient, body, next_attempt_at IS NULL AS ended FROM mails ORDER BY 1'))
        .rows;
    });
    const removed = 'Open\n\n[link removed]\n\nBye';
    assert.deepEqual(mails, [
      { recipient: '0-false', body: removed, ended: true },
      { recipient: '0-true', body: removed, ended: true },
      { recipient: '1-false', body: removed, ended: true },
      { recipient: '1-true', body: removed, ended: true },
      { recipient: '2-false', body: other, ended: false },
      { recipient: '2-true', body: other, ended: true },
    ]);
  });

  it('are recorded with their hashes, and run once when several processes start together', async () => {
    const url = await database(emptyDatabase);
    await Promise.all([migrate(url), migrate(url), migrate(url)]);
    assert.deepEqual(await hashesOf(url), expectedHashes());
    assert.equal(await describeCatalog(url), fresh);
  });

  it('stop a start when the database ran another text, and name what differs', async () => {
    const url = await database(cloneDatabase);
    const ours = migrations[8];
    assert.ok(ours);
    await withClient(url, (client) =>
      client.query('UPDATE schema_migrations SET sha256 = $2 WHERE name = $1', [ours.name, 'f00d'.repeat(16)]),
    );
    for (const start of [migrate, requireMigrated]) {
      await assert.rejects(start(url), (error: Error) => {
        assert.match(error.message, /edited after this database ran them/);
        assert.match(
          error.message,
          new RegExp(`000009_people: the database ran f00df00df00d, this version has ${ours.sha256.slice(0, 12)}`),
        );
        assert.doesNotMatch(error.message, /000008|000010/);
        return true;
      });
    }
  });

  it('stop a start when the database misses one that comes before those it ran, or knows one that is newer', async () => {
    const url = await database(cloneDatabase);
    await withClient(url, (client) =>
      client.query(`DELETE FROM schema_migrations WHERE name = '000014_secret_checks'`),
    );
    await assert.rejects(migrate(url), /without 000014_secret_checks, which comes before it/);
    const newer = await database(cloneDatabase);
    await withClient(newer, (client) =>
      client.query(`INSERT INTO schema_migrations (name, run_on) VALUES ('999999_later', now())`),
    );
    await assert.rejects(migrate(newer), /newer version of the service \(999999_later\)/);
  });

  const later = (text: string): Migration => ({
    name: '999999_later',
    text,
    sha256: 'f00d',
    promise: { kind: 'expand', oldestVersion: '0.1.0', removes: [] },
  });

  it('wait for a table in use in short turns, so that other statements on it do not wait for long', async () => {
    const url = await database(cloneDatabase);
    await withClient(url, async (busy) => {
      await busy.query('BEGIN; LOCK TABLE orders IN ACCESS SHARE MODE');
      let ended = false;
      const migrated = migrate(url, [...migrations, later('ALTER TABLE orders ADD COLUMN later text')]).finally(() => {
        ended = true;
      });
      const waitsMs = await withClient(url, async (other) => {
        const waits: number[] = [];
        while (waits.reduce((sum, each) => sum + each, 0) < 2_500) {
          const startedMs = performance.now();
          await other.query('SELECT count(*) FROM orders');
          await sleep(20);
          waits.push(performance.now() - startedMs);
        }
        return waits;
      });
      assert.ok(!ended, 'the table was in use all the time');
      assert.ok(Math.max(...waitsMs) < 1_800, `waited ${Math.max(...waitsMs)} ms`);
      await busy.query('COMMIT');
      await migrated;
    });
  });

  it('build indexes while rows are written, from several processes at once and after a build that failed', async () => {
    const url = await database(cloneDatabase);
    const build = later('-- expand, runs with 0.1.0\nCREATE INDEX CONCURRENTLY orders_later ON orders (updated_at);\n');
    const known = [...migrations, build];
    await withClient(url, async (busy) => {
      await busy.query('BEGIN; LOCK TABLE orders IN ROW EXCLUSIVE MODE');
      const building = Promise.all([migrate(url, known), migrate(url, known)]);
      await sleep(200);
      await busy.query('COMMIT');
      await building;
      const isValid = async (): Promise<boolean> =>
        (await busy.query(`SELECT indisvalid FROM pg_index WHERE indexrelid = 'orders_later'::regclass`)).rows[0]
          .indisvalid;
      assert.equal(await isValid(), true);
      await busy.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_later'::regclass`);
      await busy.query(`DELETE FROM compatible_migrations WHERE name = $1`, [build.name]);
      await migrate(url, known);
      assert.equal(await isValid(), true);
    });
  });

  it('leave nothing behind when one of them fails', async () => {
    const url = await database(emptyDatabase);
    await withClient(url, (client) => client.query('CREATE TABLE orders (id int)'));
    await assert.rejects(migrate(url), /"orders" already exists/);
    const names = (await hashesOf(url)).map(({ name }) => name);
    assert.deepEqual(names, ['000001_foundation', '000002_cards']);
    await withClient(url, (client) => client.query('DROP TABLE orders'));
    await migrate(url);
    assert.equal(await describeCatalog(url), fresh);
  });
});
