import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort, listen, unusedUrl } from '../../tests/support/listen.ts';
import { eventually } from '../../tests/support/webhooks.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';
import { Secret } from '../platform/secret.ts';
import { CardNumber } from './card-number.ts';
import { remoteVault } from './client.ts';
import { nextKeys } from './key-store.ts';
import { buildVaultServer } from './server.ts';
import type { Vault } from './vault.ts';
import { programPath } from '../../tests/support/programs.ts';

/** Two vaults in processes of their own, on one database with the same keys. */

const program = programPath('main');
const token = 'a credential of this test for its vaults, long enough';
const keys = nextKeys(undefined);

interface VaultProcess {
  readonly child: ChildProcess;
  readonly url: string;
}

let service: TestService;
let folder: string;
let first: VaultProcess;
let second: VaultProcess;

async function startVault(): Promise<VaultProcess> {
  const port = await freePort();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [program], {
    env: {
      PATH,
      HOME,
      ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
      SVC_ROLES: 'vault',
      SVC_VAULT_PORT: String(port),
      SVC_VAULT_TOKEN: token,
      SVC_VAULT_KEYS: keys,
      SVC_VAULT_DATABASE_URL: service.database.vaultUrl,
      SVC_DATA_DIR: join(folder, String(port)),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually('the vault is ready', answers, 20_000);
  return { child, url };
}

before(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'svc-vaults-'));
  [first, second] = await Promise.all([startVault(), startVault()]);
});
after(async () => {
  for (const { child } of [first, second]) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const open = (...urls: string[]): Vault => remoteVault(urls, new Secret(token));
const fingerprint = (vault: Vault): Promise<string> =>
  vault.fingerprint(service.company.id, 'sandbox', new CardNumber('4242424242424242'));

async function storedCard(vault: Vault): Promise<string> {
  const cardId = randomUUID();
  const number = new CardNumber('4242424242424242');
  await vault.store({ companyId: service.company.id, cardId, mode: 'sandbox', number });
  return cardId;
}

function charge(vault: Vault, cardId: string, reference: string = randomUUID()): ReturnType<Vault['charge']> {
  return vault.charge({
    companyId: service.company.id,
    mode: 'sandbox',
    reference,
    validUntilMs: Date.now() + 60_000,
    amount: 900,
    currency: 'usd',
    card: { cardId, expMonth: 12, expYear: 2040 },
  });
}

/** How many charges the vault has sent to the processor. */
async function chargesOf({ url }: VaultProcess): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const counted = /^svc_processor_call_duration_seconds_count\{.*operation="charge".*\} (\d+)$/m.exec(metrics);
  return Number(counted?.[1] ?? 0);
}

/** A vault that receives requests and closes the connection without an answer. */
async function startBlackHole(): Promise<{ url: string; received: () => string; stop: () => void }> {
  let received = '';
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received += String(chunk);
      if (received.includes('}')) socket.destroy();
    });
  });
  return {
    url: await listen(server),
    received: () => received,
    stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe('two vaults', { concurrency: false }, () => {
  it('take turns', async () => {
    const vault = open(first.url, second.url);
    const cardId = await storedCard(vault);
    for (let count = 0; count < 4; count += 1) assert.equal((await charge(vault, cardId)).outcome, 'approved');
    assert.deepEqual([await chargesOf(first), await chargesOf(second)], [2, 2]);
    await vault.close?.();
  });

  it('show their state without a credential, and nothing secret', async () => {
    // On a busy machine, the database may once take longer than a health check waits.
    const read = async (path: string): Promise<string> => (await fetch(first.url + path)).text();
    await eventually('it is ready', async () => (await read('/readyz')).includes('"ready"'));
    assert.deepEqual(JSON.parse(await read('/readyz')), {
      status: 'ready',
      components: { database: 'up', processor: 'up' },
    });
    const metrics = await eventually('the vault is up', async () => {
      const text = await read('/metrics');
      return /^svc_component_up\{component="vault"\} 1$/m.test(text) && text;
    });
    assert.match(metrics, /^svc_build_info\{version="[^"]+",node="[^"]+",roles="vault"\} 1$/m);
    for (const secret of [token, service.company.id, '4242424242424242']) assert.ok(!metrics.includes(secret));
    assert.equal((await fetch(`${first.url}/metrics?x`)).status, 401);
  });

  it('replace each other at once when one is not there, since nothing was sent', async () => {
    const vault = open(await unusedUrl(), second.url);
    const cardId = await storedCard(vault);
    for (let count = 0; count < 4; count += 1) assert.equal((await charge(vault, cardId)).outcome, 'approved');
    assert.equal((await vault.health()).problem, undefined);
    await vault.close?.();
  });

  it('replace one that refuses our token, which is not repeated to it', async (t) => {
    const refuses = buildVaultServer({} as Vault, [new Secret('another token')]);
    t.after(() => refuses.close());
    const refused: string[] = [];
    const url = await refuses.listen({ host: '127.0.0.1', port: 0 });
    const vault = remoteVault([url, second.url], new Secret(token), (baseUrl) => refused.push(baseUrl));
    for (let count = 0; count < 4; count += 1)
      assert.equal((await charge(vault, await storedCard(vault))).outcome, 'approved');
    assert.deepEqual(await vault.health(), { problem: undefined, processorProblem: undefined });
    assert.deepEqual([...new Set(refused)], [url]);
    assert.ok(refused.length <= 3, 'while it refuses, calls go to the other first');
    await vault.close?.();
    const alone = remoteVault([url], new Secret(token));
    assert.equal((await alone.health()).problem, 'the vault refuses our token');
    await alone.close?.();
  });

  it('accept the token although a vault of the release before has no path for its state', async (t) => {
    const before = createHttpServer((_request, response) => response.writeHead(404).end());
    t.after(() => before.close());
    const vault = remoteVault([await listen(before)], new Secret(token));
    assert.equal((await vault.health()).problem, undefined);
    await vault.close?.();
  });

  it('never repeat a charge that may have arrived: it is in doubt', async (t) => {
    const hole = await startBlackHole();
    t.after(hole.stop);
    const vault = open(hole.url, second.url);
    const cardId = await storedCard(open(second.url));
    const before = await chargesOf(second);
    const outcomes: string[] = [];
    const references = [randomUUID(), randomUUID()];
    for (const reference of references) outcomes.push((await charge(vault, cardId, reference)).outcome);
    // One of the two went to the vault that does not answer.
    assert.deepEqual(outcomes.toSorted(), ['approved', 'unknown']);
    const doubtful = references[outcomes.indexOf('unknown')] ?? '';
    assert.ok(hole.received().includes(doubtful));
    assert.equal(await chargesOf(second), before + 1);
    // What changes nothing may be repeated.
    for (let count = 0; count < 4; count += 1) assert.ok(await fingerprint(vault));
  });

  it('leave out one that hangs, as soon as its health was asked', async () => {
    const vault = open(first.url, second.url);
    const cardId = await storedCard(vault);
    first.child.kill('SIGSTOP');
    assert.equal((await vault.health()).problem, undefined);
    const startedMs = performance.now();
    for (let count = 0; count < 6; count += 1) assert.equal((await charge(vault, cardId)).outcome, 'approved');
    assert.ok(performance.now() - startedMs < 3_000);
    first.child.kill('SIGCONT');
    await vault.close?.();
  });

  it('serve on when one is killed between two charges', async () => {
    const vault = open(first.url, second.url);
    const cardId = await storedCard(vault);
    assert.equal((await charge(vault, cardId)).outcome, 'approved');
    const ended = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await ended;
    for (let count = 0; count < 6; count += 1) assert.equal((await charge(vault, cardId)).outcome, 'approved');
    assert.ok(await fingerprint(vault));
    await vault.close?.();
  });
});
