import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../server/config.ts';
import { createApiKey, reserveApiKey } from '../server/features/api-keys/service.ts';
import { createCompanies } from '../server/features/companies/service.ts';
import { passesLuhn } from '../server/platform/card-brands.ts';
import { controlPlaneOn, type DatabasePool, openDatabase } from '../server/platform/database.ts';
import { originalKeys } from '../server/platform/service-keys.ts';
import { loadMasterSecrets } from '../server/platform/master-secret.ts';
import { nextKeys } from '../server/vault/key-store.ts';
import { openKeyStore } from '../server/vault/open-key-store.ts';
import { insertShards } from '../server/shards/queries.ts';
import { firstShard } from '../server/shards/shards.ts';
import { connectTo } from './support/connect.ts';
import { cloneDatabase, type TestDatabase } from './support/database.ts';
import { freePort } from './support/listen.ts';
import { liveSecrets } from './support/live-processors.ts';
import { programPath } from './support/programs.ts';
import { readyUrl } from './support/ready.ts';
import { someCustomer, someProduct } from './support/service.ts';
import { type Simulator, startSimulator } from './support/simulator.ts';

/**
 * What is left of cards in the memory of processes: heap snapshots of the API with the worker, and of the vault, after captures and
 * charges. A snapshot is taken after a garbage collection, so it has what the process can still reach.
 */

const token = `process-${randomBytes(24).toString('hex')}`;
const secrets = { SVC_MASTER_SECRET: randomBytes(32).toString('base64'), SVC_VAULT_KEYS: nextKeys(undefined) };

interface Process {
  readonly child: ChildProcess;
  readonly folder: string;
  output: string;
}

const launched: Process[] = [];
let root: string;
let database: TestDatabase;
let nmi: Simulator;
let vault: Process;
let api: Process;
let baseUrl: string;
let key: string;

async function launch(name: string, settings: Record<string, string>): Promise<Process> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const folder = await mkdtemp(join(root, name));
  const child = spawn(process.execPath, ['--heapsnapshot-signal=SIGUSR2', programPath('main')], {
    cwd: folder,
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      PORT: '0',
      SVC_DATA_DIR: join(folder, 'data'),
      SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
      SVC_PROCESSOR_ORIGINS: nmi.url,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const one: Process = { child, folder, output: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (one.output += chunk));
  }
  launched.push(one);
  return one;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadlineMs, `${what}:\n${launched.map(({ output }) => output).join('\n')}`);
    await sleep(50);
  }
}

/** Creates a live company that is connected to the simulated NMI. Returns its API key. */
async function openCompany(): Promise<string> {
  const { connectionString } = database;
  const config = loadConfig({ DATABASE_URL: connectionString, SVC_DATA_DIR: join(root, 'data'), ...secrets });
  const options = { connectionString, poolSize: 1, applicationName: 'test', onError: () => undefined };
  const db: DatabasePool = openDatabase(options);
  const control = controlPlaneOn(db);
  try {
    const { live, sandbox } = await createCompanies({ name: firstShard, db }, Date.now(), 'Memory');
    await insertShards(control, firstShard, [live.id, sandbox.id]);
    const installation = { db, vaultDb: db, keys: await openKeyStore(config, db) };
    await connectTo(installation, live.id, {
      kind: 'nmi',
      configuration: { security_key: liveSecrets.nmi, api_url: nmi.url },
      timeoutMs: 10_000,
      requestLifeMs: 60_000,
      extraOrigins: [nmi.url],
    });
    const { current } = await loadMasterSecrets(config);
    const pepper = originalKeys(current)['api-keys'];
    const reserved = await reserveApiKey(control, pepper, live, Date.now(), 'secret');
    return (await createApiKey(db, reserved, Date.now(), { name: 'memory' })).text.reveal();
  } finally {
    await db.close();
  }
}

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'svc-memory-'));
  database = await cloneDatabase(1);
  nmi = await startSimulator('nmi', liveSecrets.nmi);
  key = await openCompany();
  const port = await freePort();
  const vaultUrl = `http://127.0.0.1:${port}`;
  vault = await launch('vault-', {
    SVC_ROLES: 'vault',
    SVC_VAULT_DATABASE_URL: database.vaultUrl,
    SVC_VAULT_KEYS: secrets.SVC_VAULT_KEYS,
    SVC_VAULT_TOKEN: token,
    SVC_VAULT_PORT: String(port),
  });
  await until('the vault is not ready', () =>
    fetch(`${vaultUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  api = await launch('api-', {
    SVC_ROLES: 'api,worker',
    DATABASE_URL: database.apiUrl,
    SVC_MASTER_SECRET: secrets.SVC_MASTER_SECRET,
    SVC_VAULT_URL: vaultUrl,
    SVC_VAULT_TOKEN: token,
    SVC_DEMO: 'empty',
  });
  await until('the API is not ready', async () => readyUrl(api.output) !== undefined);
  baseUrl = readyUrl(api.output) ?? '';
});
after(async () => {
  for (const { child } of launched) child.kill('SIGKILL');
  await Promise.all(launched.map(async ({ child }) => child.exitCode ?? once(child, 'exit')));
  await nmi.stop();
  await database.drop();
  await rm(root, { recursive: true, force: true });
});

async function call(path: string, body: object): Promise<Record<string, any>> {
  const response = await fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-svc-idempotency-key': randomBytes(12).toString('hex'),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${path}: ${text}`);
  return JSON.parse(text);
}

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly edge_fields: string[] } };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

interface Heap {
  readonly strings: readonly string[];
  /** The properties whose name speaks of a code, each as `name=value`. */
  readonly codes: ReadonlySet<string>;
}

const codeName = /cvc|cvv|code/i;

/** Four digits alone say nothing, because a process has many numbers as strings. So what refers to them counts. */
function codesIn({ snapshot: { meta }, nodes, edges, strings }: Snapshot): Set<string> {
  const nameOfNode = meta.node_fields.indexOf('name');
  const [nameOfEdge, toNode] = [meta.edge_fields.indexOf('name_or_index'), meta.edge_fields.indexOf('to_node')];
  const names = new Set(strings.flatMap((text, index) => (text.length < 40 && codeName.test(text) ? [index] : [])));
  const found = new Set<string>();
  for (let edge = 0; edge < edges.length; edge += meta.edge_fields.length) {
    const name = edges[edge + nameOfEdge] ?? -1;
    if (!names.has(name)) continue;
    const value = strings[nodes[(edges[edge + toNode] ?? 0) + nameOfNode] ?? 0] ?? '';
    found.add(`${strings[name]}=${value}`);
  }
  return found;
}

/** A heap snapshot of the process. */
async function heapOf({ child, folder }: Process): Promise<Heap> {
  child.kill('SIGUSR2');
  let text = '';
  await until('there is no snapshot', async () => {
    const [file] = (await readdir(folder)).filter((name) => name.endsWith('.heapsnapshot'));
    if (!file) return false;
    text = await readFile(join(folder, file), 'utf8');
    return text.trimEnd().endsWith(']}');
  });
  for (const file of await readdir(folder)) {
    if (file.endsWith('.heapsnapshot')) await rm(join(folder, file));
  }
  const read = JSON.parse(text) as Snapshot;
  assert.ok(read.strings.length > 10_000, 'a snapshot has many strings');
  return { strings: read.strings, codes: codesIn(read) };
}

/** A number anywhere in a string; a code behind its name in a text, or as the value of a property. */
function findIn({ strings, codes }: Heap, markers: readonly Marker[]): string[] {
  const numbers = markers.map(({ number }) => number);
  const named = new RegExp(`(?:cvc|cvv|code)\\W{0,8}(?:${markers.map(({ cvc }) => cvc).join('|')})(?!\\d)`, 'i');
  const texts = strings.filter((text) => numbers.some((number) => text.includes(number)) || named.test(text));
  return [...texts, ...[...codes].filter((code) => markers.some(({ cvc }) => code.endsWith(`=${cvc}`)))];
}

interface Marker {
  readonly number: string;
  readonly cvc: string;
}

/** American Express has codes of four digits, which are rarer than three. */
function newMarkers(count: number): Marker[] {
  const markers: Marker[] = [];
  while (markers.length < count) {
    const number = `37${randomInt(1e12, 1e13)}`;
    if (passesLuhn(number)) markers.push({ number, cvc: String(randomInt(1_000, 10_000)) });
  }
  return markers;
}

const rest = { exp_month: '12', exp_year: '2031' };

describe('the memory of the processes', () => {
  it('holds no card number and no security code after captures and charges, nor a string with a code that waits', async () => {
    const markers = newMarkers(3);
    const [waiting, ...cards] = markers;
    assert.ok(waiting);
    const product_id = (await call('/v1/products', someProduct())).id;
    const capture = async (card: object): Promise<string> => {
      const customer_id = (await call('/v1/customers', someCustomer())).id;
      await call('/capture', { customer_id, card: { ...card, ...rest }, payment_follows: true });
      return customer_id;
    };
    const pay = (customer_id: string) => call('/v1/orders', { customer_id, items: [{ product_id, quantity: 1 }] });
    for (const card of cards) assert.equal((await pay(await capture(card))).status, 'succeeded');
    const customer = await capture(waiting);
    // A part that keeps the last request keeps this one now.
    await call('/v1/customers', someCustomer());
    for (const one of [api, vault]) assert.deepEqual(findIn(await heapOf(one), markers), []);
    const paid = await pay(customer);
    assert.equal(paid.status, 'succeeded');
    const response = await fetch(`${baseUrl}/v1/transactions/${paid.transactions[0].id}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { processor_response } = (await response.json()) as { processor_response: { cvv_result: string } };
    assert.equal(processor_response.cvv_result, 'M', 'the code was there all the time, as bytes');
    assert.deepEqual(findIn(await heapOf(vault), markers), []);
  });

  it('of the vault is left out of core dumps', { skip: process.platform !== 'linux' }, async () => {
    const filterOf = ({ child }: Process): Promise<string> => readFile(`/proc/${child.pid}/coredump_filter`, 'utf8');
    assert.match(await filterOf(vault), /^0+\n$/);
  });
});
