import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { freePort } from '../../tests/support/listen.ts';
import { someCustomer } from '../../tests/support/service.ts';
import { loadConfig } from '../config.ts';
import { fileKeyStore } from './key-store.ts';
import { open, seal } from './keys.ts';
import { cardWith, newRing, someNumber } from './testing.ts';
import { readyUrl } from '../../tests/support/ready.ts';
import { programPath } from '../../tests/support/programs.ts';

const root = await mkdtemp(join(tmpdir(), 'svc-vault-'));
after(() => rm(root, { recursive: true, force: true }));
const newFolder = (): Promise<string> => mkdtemp(join(root, 'data-'));

describe('processes of their own', () => {
  const program = programPath('main');
  const token = `process-${randomBytes(24).toString('hex')}`;
  const masterSecret = 'a master secret of this test, long enough';

  interface Process {
    readonly child: ChildProcess;
    readonly output: { text: string };
    readonly exited: Promise<number | null>;
  }
  const launched: Process[] = [];

  function launch(folder: string, settings: Record<string, string>): Process {
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, [program], {
      cwd: root,
      env: {
        PATH,
        HOME,
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        PORT: '0',
        SVC_DATA_DIR: folder,
        SVC_LOG_LEVEL: 'trace',
        SVC_MAX_EVENT_LOOP_DELAY_MS: '0',
        SVC_MASTER_SECRET: masterSecret,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output.text += chunk;
      });
    }
    const exited = once(child, 'close').then(([code]) => code as number | null);
    const one = { child, output, exited };
    launched.push(one);
    return one;
  }

  async function untilReady({ child, output }: Process, isReady: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + 20_000;
    while (!(await isReady())) {
      assert.equal(child.exitCode, null, `it ended:\n${output.text}`);
      assert.ok(performance.now() < deadlineMs, `not ready:\n${output.text}`);
      await sleep(20);
    }
  }

  const answers = (url: string): Promise<boolean> =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );

  after(async () => {
    for (const { child } of launched) child.kill('SIGKILL');
    await Promise.all(launched.map(({ exited }) => exited));
  });

  it('capture a card end to end: the API without rights to the cards, the vault without rights to the rest', async () => {
    const database = await cloneDatabase(1);
    const [vaultFolder, apiFolder] = [await newFolder(), await newFolder()];
    const keys = await fileKeyStore(join(vaultFolder, 'vault.keys'), { create: true });
    const port = await freePort();
    const vaultUrl = `http://127.0.0.1:${port}`;
    const vaultSettings = {
      SVC_ROLES: 'vault',
      DATABASE_URL: database.connectionString,
      SVC_VAULT_DATABASE_URL: database.vaultUrl,
      SVC_VAULT_TOKEN: token,
      SVC_VAULT_PORT: String(port),
    };
    const client = new pg.Client({ connectionString: database.connectionString });
    await client.connect();
    try {
      let vault = launch(vaultFolder, vaultSettings);
      await untilReady(vault, () => answers(`${vaultUrl}/healthz`));
      const api = launch(apiFolder, {
        SVC_ROLES: 'api,worker',
        DATABASE_URL: database.apiUrl,
        SVC_VAULT_URL: vaultUrl,
        SVC_VAULT_TOKEN: token,
        SVC_DEMO: 'empty',
      });
      await untilReady(api, async () => readyUrl(api.output.text) !== undefined);
      const demo = JSON.parse(await readFile(join(apiFolder, 'demo.json'), 'utf8')) as Record<string, string>;
      const send = async (key: string | undefined, path: string, body: object, idempotencyKey: string) => {
        const reply = await fetch(demo.base_url + path, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            'x-svc-idempotency-key': idempotencyKey,
          },
          body: JSON.stringify(body),
        });
        return { status: reply.status, text: await reply.text() };
      };
      const customer = await send(demo.secret_key, '/v1/customers', someCustomer(), randomUUID());
      const { id: customerId } = JSON.parse(customer.text) as { id: string };
      const number = someNumber();
      const made = await send(demo.publishable_key, '/v1/card_tokens', { card: cardWith(number) }, randomUUID());
      assert.equal(made.status, 201, made.text);
      const { id: card_token } = JSON.parse(made.text) as { id: string };
      const path = `/v1/customers/${customerId}/payment_methods`;
      const attached = await send(demo.secret_key, path, { card_token }, randomUUID());
      assert.equal(attached.status, 201, attached.text);

      const { rows } = await client.query<{
        company_id: string;
        id: string;
        key_version: number;
        wrapped_key: Buffer;
        sealed: Buffer;
      }>('SELECT c.* FROM vault.cards c JOIN payment_methods m ON m.card_id = c.id AND m.company_id = c.company_id');
      const [row] = rows;
      assert.ok(row && rows.length === 1);
      const { key_version: keyVersion, wrapped_key: wrappedKey, sealed } = row;
      assert.equal(
        open(await keys.ring('sandbox'), row.company_id, row.id, { keyVersion, wrappedKey, sealed }),
        number,
      );

      vault.child.kill('SIGKILL');
      await vault.exited;
      const retried = randomUUID();
      const second = { customer_id: customerId, card: cardWith(someNumber()) };
      const down = await send(demo.secret_key, '/capture', second, retried);
      assert.equal(down.status, 503, down.text);
      vault = launch(vaultFolder, vaultSettings);
      await untilReady(vault, () => answers(`${vaultUrl}/healthz`));
      const back = await send(demo.secret_key, '/capture', second, retried);
      assert.equal(back.status, 201, back.text);

      for (const one of [api, vault]) {
        one.child.kill('SIGTERM');
        assert.equal(await one.exited, 0, one.output.text);
      }
      for (const { output } of launched) {
        for (const secret of [token, number, second.card.number]) assert.ok(!output.text.includes(secret));
      }
    } finally {
      for (const { child } of launched) child.kill('SIGKILL');
      await Promise.all(launched.map(({ exited }) => exited));
      await client.end();
      await database.drop();
    }
  });

  const damages: Record<string, (database: TestDatabase, folder: string) => Promise<void>> = {
    'is lost beside cards that only it opens': async ({ connectionString }) => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      const [companyId, cardId] = [randomUUID(), randomUUID()];
      const { keyVersion, wrappedKey, sealed } = seal(newRing(), companyId, cardId, someNumber());
      const values = [companyId, cardId, keyVersion, wrappedKey, sealed];
      await client.query(`INSERT INTO vault.cards VALUES ($1, $2, 'sandbox', $3, $4, $5)`, values);
      await client.end();
    },
    'is damaged': (_, folder) => writeFile(join(folder, 'vault.keys'), '{"sandbox":{"current":1', { mode: 0o600 }),
  };
  for (const [damage, cause] of Object.entries(damages)) {
    it(`end at once, naming the file and without a stack, when the key file ${damage}`, async () => {
      const [database, folder] = [await cloneDatabase(1), await newFolder()];
      try {
        await cause(database, folder);
        const one = launch(folder, { DATABASE_URL: database.connectionString });
        const timer = setTimeout(() => one.child.kill('SIGTERM'), 6_000);
        const code = await one.exited;
        clearTimeout(timer);
        assert.equal(code, 78, `it started, with keys that open none of the cards:\n${one.output.text.slice(0, 200)}`);
        assert.match(one.output.text, /vault\.keys/);
        assert.doesNotMatch(one.output.text, /^\s+at .*[:(]/m);
      } finally {
        await database.drop();
      }
    });
  }

  it('are rejected by name where a vault has no credential, because no process could call it', () => {
    assert.throws(() => loadConfig({ SVC_ROLES: 'vault' }), /SVC_VAULT_TOKEN/);
  });
});
