import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { loadConfig } from '../../server/config.ts';
import { freePort } from '../support/listen.ts';
import { silentLog } from '../support/silent-log.ts';
import { type Service, startService } from '../../server/service.ts';
import { welcome } from '../../server/welcome.ts';
import { type Ended, svc } from '../support/command.ts';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';

/** What docs/self-hosting.md tells an operator to do, and what they get wrong. */

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), 'svc-operators-'));
const masterSecret = 'a master secret of this test, long enough';
const token = 'a credential of this test for its vault, long enough';
const own = { SVC_MASTER_SECRET: masterSecret };

type Settings = Record<string, string>;

const running: Service[] = [];
const databases: TestDatabase[] = [];
let folders = 0;

async function database(made = cloneDatabase): Promise<TestDatabase> {
  const one = await made();
  databases.push(one);
  return one;
}

function newFolder(): string {
  folders += 1;
  return join(folder, String(folders));
}

async function start(settings: Settings): Promise<Service> {
  const config = loadConfig({ PORT: '0', SVC_MAX_EVENT_LOOP_DELAY_MS: '0', ...settings });
  const service = await startService(config, silentLog, () => undefined);
  running.push(service);
  return service;
}

async function startVault(settings: Settings): Promise<{ url: string; service: Service; settings: Settings }> {
  const port = String(await freePort());
  const all = {
    SVC_ROLES: 'vault',
    SVC_VAULT_TOKEN: token,
    SVC_VAULT_PORT: port,
    SVC_DATA_DIR: newFolder(),
    ...settings,
  };
  return { url: `http://127.0.0.1:${port}`, service: await start(all), settings: all };
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status;
}

async function demoKey(dataDir: string): Promise<string> {
  return (JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')) as { secret_key: string }).secret_key;
}

/** A customer with a card, and an order that charges it. */
async function buy(baseUrl: string, key: string): Promise<string> {
  const post = async (path: string, body: object): Promise<{ id: string; status: string }> => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': crypto.randomUUID(),
    };
    const reply = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
    assert.equal(reply.status, 201, path);
    return (await reply.json()) as { id: string; status: string };
  };
  const some = crypto.randomUUID();
  const phone = `+1555${String(parseInt(some.slice(0, 8), 16) % 10_000_000).padStart(7, '0')}`;
  const name = { first_name: 'Ada', last_name: 'Poe' };
  const customer = await post('/v1/customers', { email: `${some}@example.com`, ...name, phone });
  const pricing = { amount: 900, currency: 'usd' };
  const product = await post('/v1/products', {
    name: 'Tea',
    description: '',
    pricing,
    requires_shipping: false,
    sku: some,
  });
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2040', cvc: '999' };
  await post('/capture', { customer_id: customer.id, card });
  const items = [{ product_id: product.id, quantity: 1 }];
  return (await post('/v1/orders', { customer_id: customer.id, items })).status;
}

/** Said in words, and without a stack. */
function assertSaid({ code, stderr }: Ended, pattern: RegExp, expected = 1): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, pattern);
  assert.doesNotMatch(stderr, /^\s+at .*[:(]/m);
}

afterEach(async () => {
  for (const service of running.splice(0).toReversed()) await service.stop();
});
after(async () => {
  for (const one of databases) await one.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('a vault of its own', () => {
  it('needs its own login and nothing else, and keeps the cards in that database', async () => {
    const { vaultUrl, apiUrl, connectionString } = await database();
    const vault = await startVault({ SVC_VAULT_DATABASE_URL: vaultUrl });
    assert.equal(existsSync(join(vault.settings.SVC_DATA_DIR ?? '', 'postgres')), false);
    const dataDir = newFolder();
    const roles = { SVC_ROLES: 'api,worker', SVC_VAULT_URL: vault.url, SVC_VAULT_TOKEN: token };
    const api = await start({ ...own, ...roles, DATABASE_URL: apiUrl, SVC_DEMO: 'empty', SVC_DATA_DIR: dataDir });
    assert.equal(await buy(api.baseUrl, await demoKey(dataDir)), 'succeeded');
    assert.equal(existsSync(join(dataDir, 'vault.keys')), false);
    const client = new pg.Client({ connectionString });
    await client.connect();
    const { rows } = await client.query('SELECT count(*)::integer AS count FROM vault.cards');
    await client.end();
    assert.deepEqual(rows, [{ count: 1 }]);
  });

  it('waits for a database that does not answer yet', async (t) => {
    const { vaultUrl } = await database();
    const { hostname, port } = new URL(vaultUrl);
    const sockets: Socket[] = [];
    // Accepts the first connection and answers nothing, as a server that is recovering behind a proxy does.
    const proxy = createServer((client) => {
      sockets.push(client.on('error', () => undefined));
      if (sockets.length === 1) return;
      const server = connect(Number(port), hostname);
      sockets.push(server.on('error', () => undefined));
      client.pipe(server).pipe(client);
    }).listen(0, '127.0.0.1');
    t.after(() => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    });
    await once(proxy, 'listening');
    const slow = new URL(vaultUrl);
    slow.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await startVault({ SVC_VAULT_DATABASE_URL: slow.href });
    assert.ok(sockets.length > 1);
  });

  it('does not claim to serve the API', async () => {
    const { vaultUrl } = await database();
    const { service, settings } = await startVault({ SVC_VAULT_DATABASE_URL: vaultUrl });
    const text = welcome(loadConfig(settings), service, 100);
    assert.match(text, /Vault +port/);
    assert.doesNotMatch(text, /API|Guides|Dashboard/);
  });

  it('says what to do when its database has no vault yet', async () => {
    const { connectionString } = await database(emptyDatabase);
    await assert.rejects(startVault({ SVC_VAULT_DATABASE_URL: connectionString }), /`svc migrate`/);
  });

  it('is not given a login while everything else would go to an embedded database', () => {
    assert.throws(() => loadConfig({ SVC_VAULT_DATABASE_URL: 'postgres://a@b/c' }), /needs DATABASE_URL/);
  });

  it('creates no keys if another vault has created them, unless they are given up before the first card', async () => {
    const { vaultUrl } = await database();
    const { settings } = await startVault({ SVC_VAULT_DATABASE_URL: vaultUrl });
    await assert.rejects(
      startVault({ SVC_VAULT_DATABASE_URL: vaultUrl }),
      /an earlier start has created them in another place/,
    );
    await running.pop()?.stop();
    assert.equal((await svc(settings, 'vault', 'reset')).code, 0);
    await startVault({ SVC_VAULT_DATABASE_URL: vaultUrl });
  });

  it('refuses keys that are not those of the database', async () => {
    const [first, second] = [await database(), await database()];
    const other = await startVault({ SVC_VAULT_DATABASE_URL: first.vaultUrl });
    await startVault({ SVC_VAULT_DATABASE_URL: second.vaultUrl });
    const SVC_DATA_DIR = other.settings.SVC_DATA_DIR ?? '';
    const started = startVault({ SVC_VAULT_DATABASE_URL: second.vaultUrl, SVC_DATA_DIR });
    await assert.rejects(started, /does not contain the keys that encrypt/);
  });

  it('is where a processor is connected, from a shell that has no keys', async () => {
    const { vaultUrl, connectionString } = await database();
    const vault = await startVault({ SVC_VAULT_DATABASE_URL: vaultUrl });
    const shell = {
      ...own,
      DATABASE_URL: connectionString,
      SVC_DATA_DIR: newFolder(),
      SVC_PROCESSOR_SECRET: 'a secret',
    };
    await start({ ...shell, SVC_DEMO: 'empty', SVC_ROLES: 'api', SVC_VAULT_URL: vault.url, SVC_VAULT_TOKEN: token });
    const connectTo = (url: string): string[] => ['processors', 'connect', '--url', url];
    const connect = connectTo('https://acquirer.example');
    assertSaid(await svc(shell, ...connect), /vault keys are not in/, 78);
    assert.equal(existsSync(join(shell.SVC_DATA_DIR, 'vault.keys')), false);
    const named = { ...shell, SVC_VAULT_URL: vault.url, SVC_VAULT_TOKEN: token };
    assert.match((await svc(named, ...connect)).stdout, /is connected to https:\/\/acquirer\.example/);
    assertSaid(
      await svc({ ...named, SVC_VAULT_TOKEN: `${token}x` }, ...connectTo('https://b.example')),
      /does not respond/,
    );
    // The vault opens what was sealed there.
    const { SVC_ROLES: _addedBySystemd, ...settingsInFile } = vault.settings;
    const rotated = await svc(settingsInFile, 'vault', 'rotate');
    assert.match(rotated.stdout, /^Done/, rotated.stderr);
  });
});

describe('keys of the vault', () => {
  it('from before a rotation are refused if newer keys have sealed cards, and the doctor reports them', async () => {
    const { connectionString } = await database();
    const settings = { ...own, DATABASE_URL: connectionString, SVC_DATA_DIR: newFolder(), SVC_DEMO: 'empty' };
    const service = await start(settings);
    assert.equal(await buy(service.baseUrl, await demoKey(settings.SVC_DATA_DIR)), 'succeeded');
    const file = join(settings.SVC_DATA_DIR, 'vault.keys');
    const old = await readFile(file, 'utf8');
    assert.match((await svc(settings, 'vault', 'rotate')).stdout, /^Done: 1 sandbox/);
    assertSaid(await svc(settings, 'vault', 'reset'), /Nothing was changed/);
    assert.match((await svc(settings, 'doctor')).stdout, /^No problems found: \d+ checks\.\n\nLargest tables:\n/);
    assert.equal(await buy(service.baseUrl, await demoKey(settings.SVC_DATA_DIR)), 'succeeded');
    await running.pop()?.stop();
    await writeFile(file, old);
    assertSaid(await svc(settings, 'doctor'), /does not contain key 2 of the sandbox cards/);
    await assert.rejects(start(settings), /does not contain key 2 of the sandbox cards/);
  });

  it('from the setting are made, added to and rotated with what `vault keys` prints', async () => {
    const { connectionString } = await database();
    const first = (await svc({}, 'vault', 'keys')).stdout.trim();
    const settings = { ...own, DATABASE_URL: connectionString, SVC_DATA_DIR: newFolder(), SVC_DEMO: 'empty' };
    const service = await start({ ...settings, SVC_VAULT_KEYS: first });
    assert.equal(await buy(service.baseUrl, await demoKey(settings.SVC_DATA_DIR)), 'succeeded');
    await running.pop()?.stop();
    const second = (await svc({ SVC_VAULT_KEYS: first }, 'vault', 'keys')).stdout.trim();
    await start({ ...settings, SVC_VAULT_KEYS: second });
    const rotated = await svc({ ...settings, SVC_VAULT_KEYS: second }, 'vault', 'rotate');
    assert.match(rotated.stdout, /^Done: 1 sandbox/);
    assertSaid(
      await svc({ ...settings, SVC_VAULT_KEYS: first }, 'vault', 'rotate'),
      /SVC_VAULT_KEYS does not contain key 2/,
      78,
    );
  });
});

describe('another master secret', () => {
  it('is refused by the service and by every command, instead of making keys that do not work', async () => {
    const { connectionString } = await database();
    const settings = { ...own, DATABASE_URL: connectionString, SVC_DATA_DIR: newFolder(), SVC_DEMO: 'empty' };
    await start(settings);
    const wrong = { ...settings, SVC_MASTER_SECRET: `${masterSecret}!` };
    await assert.rejects(start(wrong), /does not belong to this database/);
    for (const command of [['doctor'], ['keys', 'create', '--company', 'demo']]) {
      assertSaid(await svc(wrong, ...command), /does not belong to this database/, 78);
    }
    assert.equal((await svc(settings, 'keys', 'create', '--company', 'demo')).code, 0);
  });
});

describe('a login that is not the owner’s', () => {
  it('starts the API once the owner has migrated, and says so before', async () => {
    const { connectionString, apiUrl, vaultUrl } = await database(emptyDatabase);
    const settings = { ...own, SVC_DATA_DIR: newFolder() };
    const logins = { ...settings, DATABASE_URL: apiUrl, SVC_VAULT_DATABASE_URL: vaultUrl };
    await assert.rejects(start(logins), /`svc migrate`/);
    assertSaid(await svc({ ...settings, DATABASE_URL: connectionString }, 'doctor'), /older than this version/);
    const migrated = await svc({ ...settings, DATABASE_URL: connectionString }, 'migrate');
    assert.match(migrated.stdout, /^The database is migrated to \d{6}_/);
    const { baseUrl } = await start({ ...logins, SVC_DEMO: 'empty' });
    const decline = ['sandbox', 'decline', '--number', '4111111111111111', '--code', 'fraud_suspected'];
    assertSaid(await svc({ ...settings, DATABASE_URL: apiUrl }, ...decline), /use the login svc_vault here/);
    assert.equal((await svc(logins, ...decline)).code, 0);
    assert.equal(await statusOf(`${baseUrl}/readyz`), 200);
    assert.equal(await buy(baseUrl, await demoKey(settings.SVC_DATA_DIR)), 'succeeded');
  });
});

describe('a worker of its own', () => {
  it('reports its health on a separate port, and serves nothing else there', async () => {
    const { connectionString } = await database();
    const port = String(await freePort());
    const remote = { SVC_VAULT_URL: 'http://127.0.0.1:9', SVC_VAULT_TOKEN: token };
    const roles = { SVC_ROLES: 'worker', SVC_HEALTH_PORT: port, SVC_DATA_DIR: newFolder() };
    await start({ ...own, ...remote, ...roles, DATABASE_URL: connectionString });
    const url = `http://127.0.0.1:${port}`;
    assert.equal(await statusOf(`${url}/healthz`), 200);
    assert.equal(await statusOf(`${url}/readyz`), 200);
    assert.match(
      await (await fetch(`${url}/metrics`)).text(),
      /svc_database_connections\{pool="requests",state="idle"\} \d/,
    );
    assert.equal(await statusOf(`${url}/v1/customers`), 404);
  });
});

describe('commands', () => {
  it('say in words why a database cannot be used', async () => {
    const { connectionString } = await database();
    const overTls = `${connectionString}?sslmode=verify-full`;
    assertSaid(await svc({ ...own, DATABASE_URL: overTls }, 'doctor'), /DATABASE_URL cannot be used: .*SSL/);
    const url = new URL(connectionString);
    url.pathname = '/there_is_none';
    assertSaid(
      await svc({ ...own, DATABASE_URL: url.href }, 'doctor'),
      /DATABASE_URL cannot be used: .*does not exist/,
    );
    url.port = String(await freePort());
    assertSaid(await svc({ ...own, DATABASE_URL: url.href }, 'doctor'), /DATABASE_URL cannot be used: .*ECONNREFUSED/);
  });

  it('show the emails that were not sent', async () => {
    const { connectionString } = await database();
    const settings = { ...own, DATABASE_URL: connectionString, SVC_DATA_DIR: newFolder(), SVC_DEMO: 'empty' };
    assert.match((await svc(settings, 'mails')).stdout, /No emails/);
    const { baseUrl } = await start(settings);
    const headers = { 'content-type': 'application/json', origin: baseUrl };
    const body = JSON.stringify({ email: 'demo@example.com' });
    await fetch(`${baseUrl}/dashboard/password_resets`, { method: 'POST', headers, body });
    const { stdout } = await svc(settings, 'mails');
    assert.match(stdout, /to demo@example\.com/);
    assert.match(stdout, new RegExp(`${baseUrl}/\\S+`));
  });
});

describe('the program', () => {
  it('starts from a folder whose name has a space and a percent sign', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url));
    const place = join(folder, 'my 100%20 shop');
    await mkdir(place, { recursive: true });
    const isSource = (path: string): boolean => !/\/node_modules(\/|$)/.test(path.slice(root.length - 1));
    for (const name of ['server', 'docs', 'package.json']) {
      await cp(join(root, name), join(place, name), { recursive: true, filter: isSource });
    }
    for (const name of ['node_modules', 'server/node_modules', 'sdk', 'dashboard']) {
      if (existsSync(join(root, name))) await symlink(join(root, name), join(place, name));
    }
    const { connectionString } = await database(emptyDatabase);
    const url = new URL('server/platform/migrations.ts', new URL(`${pathUrl(place)}/`));
    const script = `const { migrate } = await import(${JSON.stringify(url.href)}); await migrate(process.argv[1]);`;
    await run(process.execPath, ['--input-type=module', '--eval', script, connectionString], { cwd: place });
    const settings = { ...own, DATABASE_URL: connectionString, SVC_DATA_DIR: newFolder() };
    assert.equal((await svc(settings, 'doctor')).code, 0);
  });
});

function pathUrl(path: string): string {
  return `file://${path.split('/').map(encodeURIComponent).join('/')}`;
}
