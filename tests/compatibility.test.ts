import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { readReleases, type Releases } from '../scripts/record-release.ts';
import { type Migration, readMigrations, readPromise } from '../server/platform/migration-files.ts';
import { migrate } from '../server/platform/migrations.ts';
import { compareVersions, programVersion } from '../server/platform/version.ts';
import { type Catalog, findBreaks, readCatalog } from './support/compatibility.ts';
import { cloneDatabase, emptyDatabase, type TestDatabase } from './support/database.ts';

/** The release before runs on the schema of this version, so a migration may only add to what that release uses. */

let releases: Releases;
let lastVersion: string;
/** The migrations since the last release. */
let added: readonly Migration[];
let database: TestDatabase;
let client: pg.Client;
let then: Catalog;

before(async () => {
  releases = await readReleases();
  lastVersion = Object.keys(releases).at(-1) ?? '';
  const names = new Set(Object.values(releases).flatMap(({ migrations }) => Object.keys(migrations)));
  const migrations = await readMigrations();
  const released = migrations.filter(({ name }) => names.has(name));
  added = migrations.filter(({ name }) => !names.has(name));
  database = await emptyDatabase();
  client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  for (const { text } of released) await client.query(text);
  then = await readCatalog(client);
});

after(async () => {
  await client.end();
  await database.drop();
});

/** What a change would take away, without keeping the change. */
async function breaksOf(change: string): Promise<string[]> {
  await client.query('BEGIN');
  try {
    await client.query(change);
    return findBreaks(then, await readCatalog(client)).map(({ object, problem }) => `${object} ${problem}`);
  } finally {
    await client.query('ROLLBACK');
  }
}

/**
 * New rules that triggers keep for the release before, which does not know them: `server/features/orders/operations/operation-moves.test.ts`
 * writes as that release does.
 */
const keptByTriggers = [
  'constraint open_transactions.open_transactions_accepted_check',
  'constraint open_transactions.open_transactions_flags_check',
  'constraint open_transactions.open_transactions_cause_check',
  'constraint open_transactions.open_transactions_without_cause',
  'constraint open_transactions.open_transactions_with_customer',
];

/** Rules about what that release does not write: its rows satisfy all of them. */
const ofNewFeatures = [
  // Each first charge of that release is one here too.
  'constraint orders.orders_of_change',
  'constraint subscriptions.subscriptions_change_pending',
  'constraint subscriptions.subscriptions_quantity',
  'index orders_change',
  'index orders_first_charge',
  'constraint companies.companies_authenticates_in_sandbox',
  'constraint processor_connections.processor_connections_rejected_operation_check',
  'constraint processor_connections.processor_connections_rejection',
  ...['authorized_at_most_total', 'captured_at_most_authorized', 'refunded_at_most_captured', 'held_while_pending'].map(
    (name) => `constraint orders.orders_${name}`,
  ),
  'constraint orders.orders_sale',
  'constraint open_transactions.open_transactions_waiting',
  'index transactions_one_authorization',
  'constraint checkout_sessions.checkout_sessions_capture_check',
  'constraint payment_links.payment_links_capture_check',
  'constraint orders.orders_authentication_ends',
  'constraint orders.orders_credit_applied',
  'constraint orders.orders_credit_refunded',
  // It allows more: a paused subscription that continues by itself.
  'constraint subscriptions.subscriptions_due',
];

describe('the schema of this version', () => {
  it('has everything that the release before uses', async () => {
    const own = await cloneDatabase(1);
    const now = new pg.Client({ connectionString: own.connectionString });
    await now.connect();
    try {
      const allowed = new Set([
        ...added.flatMap(({ promise }) => promise?.removes ?? []),
        ...keptByTriggers,
        ...ofNewFeatures,
      ]);
      const wrong = findBreaks(then, await readCatalog(now)).filter(({ object }) => !allowed.has(object));
      const advice = `${lastVersion} runs beside this version and uses this. Add instead of changing, and remove it in a
        contract migration after the next release (docs/decisions/0026-rolling-upgrades.md).`;
      assert.deepEqual(wrong, [], advice);
    } finally {
      await now.end();
      await own.drop();
    }
  });

  it('states in every new migration which versions run with it', () => {
    for (const { name, promise } of added) {
      assert.ok(promise, `${name}: the first line must be "-- expand, runs with ${lastVersion}"`);
      assert.ok(releases[promise.oldestVersion], `${name}: ${promise.oldestVersion} is not a release`);
      assert.equal(
        promise.kind === 'contract',
        promise.removes.length > 0,
        `${name}: a contract names what it removes`,
      );
    }
    assert.ok(compareVersions(programVersion, lastVersion) >= 0);
  });

  it('does not lock a table of the release before for as long as a scan of it takes', () => {
    assert.deepEqual(added.flatMap(slowChanges), []);
  });
});

/** Tables with at most some thousand rows, which a migration may read and rewrite as a whole. */
const smallTables =
  /^(companies|open_transactions|roles|restores|secret_checks|webhook_workers|vault\.(secret_checks|connections))$/;

const slow: readonly [pattern: RegExp, instead: string][] = [
  [
    /\bCREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\w+ ON (?<table>[\w.]+)/g,
    'CREATE INDEX CONCURRENTLY, in a migration of its own',
  ],
  [
    /\bALTER TABLE (?<table>[\w.]+)[^;]*\bADD CONSTRAINT \w+ (?:CHECK|FOREIGN KEY)(?![^;]*NOT VALID)/g,
    'NOT VALID, then VALIDATE CONSTRAINT',
  ],
  [/\bALTER TABLE (?<table>[\w.]+)[^;]*\b(?:SET NOT NULL|SET DATA TYPE|ALTER COLUMN \w+ TYPE)\b/g, 'a new column'],
  [/^\s*(?:UPDATE|DELETE FROM) (?<table>[\w.]+)/gm, 'a job of the worker, in batches'],
];

function slowChanges({ name, text }: Pick<Migration, 'name' | 'text'>): string[] {
  // What a function does happens later, when its trigger fires.
  const code = text.replaceAll(/--.*$/gm, '').replaceAll(/\$\$[\s\S]*?\$\$/g, '');
  const problems = slow.flatMap(([pattern, instead]) =>
    [...code.matchAll(pattern)]
      .map(({ groups }) => groups?.table ?? '')
      .filter((table) => then.relations.has(table) && !smallTables.test(table))
      .map((table) => `${name} locks ${table} for long: use ${instead}`),
  );
  const isMixed =
    /CONCURRENTLY/.test(code) && code.split(';').some((part) => part.trim() && !/CONCURRENTLY/.test(part));
  return isMixed ? [...problems, `${name} builds an index CONCURRENTLY and does something else`] : problems;
}

describe('the check of the schema', () => {
  const refused: readonly [change: string, finding: RegExp][] = [
    ['DROP TABLE login_attempts', /^table login_attempts is gone$/],
    ['ALTER TABLE customers DROP COLUMN phone CASCADE', /^column customers\.phone is gone$/],
    ['ALTER TABLE customers RENAME COLUMN phone TO telephone', /^column customers\.phone is gone$/],
    ['ALTER TABLE orders RENAME TO sales', /^table orders is gone$/],
    [
      'ALTER TABLE orders ALTER COLUMN total TYPE numeric',
      /^column orders\.total has the type numeric instead of bigint$/,
    ],
    ['ALTER TABLE users ALTER COLUMN phone_number SET NOT NULL', /^column users\.phone_number is required now$/],
    ['ALTER TABLE orders ADD COLUMN channel text NOT NULL', /^column orders\.channel is new and required/],
    [
      'ALTER TABLE missing_operations ALTER COLUMN found_at DROP DEFAULT',
      /^column missing_operations\.found_at has no default any more$/,
    ],
    [
      'ALTER TABLE customers ADD CONSTRAINT named CHECK (first_name <> last_name)',
      /^constraint customers\.named is new$/,
    ],
    ['CREATE UNIQUE INDEX one_phone ON customers (company_id, phone)', /^index one_phone is new$/],
    ['DROP INDEX restores_open', /^index restores_open is gone, and ON CONFLICT may name it$/],
    ['DROP FUNCTION maintain_partitions CASCADE', /^function maintain_partitions\(.*\) is gone$/],
    ['REVOKE UPDATE ON orders FROM svc_api', /^right UPDATE on orders for svc_api is gone$/],
    [
      `ALTER TABLE missing_operations DROP CONSTRAINT missing_operations_kind_check,
         ADD CONSTRAINT missing_operations_kind_check CHECK (kind IN ('charge', 'refund'))`,
      /^constraint missing_operations\.missing_operations_kind_check has changed$/,
    ],
    [
      `ALTER TABLE transactions DROP CONSTRAINT transactions_type_check,
         ADD CONSTRAINT transactions_type_check CHECK (type = ANY ('{sale,auth}'::text[]))`,
      /^constraint transactions\.transactions_type_check has changed$/,
    ],
  ];
  for (const [change, finding] of refused) {
    it(`refuses: ${change.replaceAll(/\s+/g, ' ')}`, async () => {
      const found = await breaksOf(change);
      assert.ok(
        found.some((line) => finding.test(line)),
        `found: ${found.join('; ')}`,
      );
    });
  }

  const allowed = [
    'CREATE TABLE notes (company_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (company_id, id))',
    `ALTER TABLE orders ADD COLUMN channel text CONSTRAINT channels CHECK (channel IN ('web', 'shop'))`,
    'ALTER TABLE orders ADD COLUMN channel text NOT NULL DEFAULT $$web$$',
    'ALTER TABLE users ADD COLUMN handle text; CREATE UNIQUE INDEX handles ON users (handle)',
    `ALTER TABLE missing_operations DROP CONSTRAINT missing_operations_kind_check,
       ADD CONSTRAINT missing_operations_kind_check CHECK (kind IN ('charge', 'refund', 'void', 'capture'))`,
  ];
  for (const change of allowed) {
    it(`accepts: ${change.replaceAll(/\s+/g, ' ')}`, async () => {
      assert.deepEqual(await breaksOf(change), []);
    });
  }

  it('names the changes that would lock a large table, and accepts the ways around them', () => {
    const lines = (text: string): string[] => slowChanges({ name: 'x', text });
    assert.match(lines('CREATE INDEX late ON orders (id);').join(), /locks orders.*CONCURRENTLY/);
    assert.match(lines('ALTER TABLE orders ADD CONSTRAINT c CHECK (total > 0);').join(), /NOT VALID/);
    assert.match(lines('ALTER TABLE orders ALTER COLUMN total SET NOT NULL;').join(), /a new column/);
    assert.match(lines('UPDATE orders SET total = 1;').join(), /a job of the worker/);
    assert.match(lines('CREATE INDEX CONCURRENTLY late ON orders (id);\nSELECT 1;').join(), /something else/);
    assert.deepEqual(lines('CREATE INDEX CONCURRENTLY late ON orders (id);\n'), []);
    assert.deepEqual(
      lines('CREATE TABLE a (id int);\nCREATE INDEX b ON a (id);\nUPDATE companies SET name = name;'),
      [],
    );
    assert.deepEqual(lines('ALTER TABLE orders ADD CONSTRAINT c CHECK (total > 0) NOT VALID;'), []);
  });
});

describe('a database that a newer version migrated', () => {
  const newer = async (table: string, oldest: string | null): Promise<TestDatabase> => {
    const own = await cloneDatabase(1);
    const owner = new pg.Client({ connectionString: own.connectionString });
    await owner.connect();
    await owner.query(
      `INSERT INTO ${table} (name, run_on, sha256, oldest_version) VALUES ('999999_later', now(), 'f00d', $1)`,
      [oldest],
    );
    await owner.end();
    return own;
  };

  it('is used as it is if this version runs with its migrations', async () => {
    for (const table of ['compatible_migrations', 'schema_migrations']) {
      const own = await newer(table, programVersion);
      await migrate(own.connectionString);
      await own.drop();
    }
  });

  it('is refused otherwise, with the version to start and the way back', async () => {
    for (const [oldest, advice] of [
      [
        '99.0.0',
        /and \d+\.\d+\.\d+ does not run on it\. Start 99\.0\.0 or newer\. To go back to .* restore the backup/,
      ],
      [null, /Start that version\. To go back/],
    ] as const) {
      const own = await newer('schema_migrations', oldest);
      await assert.rejects(migrate(own.connectionString), advice);
      await own.drop();
    }
  });
});

it('the first line of a migration names its kind, the oldest version beside it, and what it removes', () => {
  assert.deepEqual(readPromise('-- expand, runs with 0.1.0\nSELECT 1'), {
    kind: 'expand',
    oldestVersion: '0.1.0',
    removes: [],
  });
  assert.deepEqual(readPromise('-- contract, runs with 0.2.0: column orders.note, table drafts\n'), {
    kind: 'contract',
    oldestVersion: '0.2.0',
    removes: ['column orders.note', 'table drafts'],
  });
  assert.equal(readPromise('-- Adds a column.\n'), undefined);
});
