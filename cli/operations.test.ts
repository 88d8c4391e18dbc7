import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { operations as documented } from '../sdk/generator/document.ts';
import { svc as command } from '../tests/support/command.ts';
import { listen } from '../tests/support/listen.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { programPath } from '../tests/support/programs.ts';
import type { CommandError } from './command-error.ts';
import { operations, type Operation } from './operations.ts';
import { options } from './options.ts';
import { runCommand } from './run.ts';

let service: TestService;
let folder: string;
let publishable: string;
before(async () => {
  service = await startTestService();
  publishable = await service.createKey(service.company, { kind: 'publishable' });
  folder = await mkdtemp(join(tmpdir(), 'svc-operations-'));
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** In this process, because these are many commands. */
async function svc(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const target = words.includes('--key') ? [] : ['--key', service.key];
  try {
    return { code: 0, stdout: await runCommand([...words, '--base-url', service.baseUrl, ...target]), stderr: '' };
  } catch (error) {
    const { exitCode, message } = error as CommandError;
    return { code: exitCode, stdout: '', stderr: message };
  }
}

async function json(...words: string[]): Promise<Record<string, unknown> & { id: string }> {
  const { code, stdout, stderr } = await svc(...words, '--json');
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Runs the command with this text as its standard input. */
async function withInput(input: string, ...words: string[]): Promise<string> {
  const env = { ...process.env, SVC_URL: service.baseUrl, SVC_KEY: service.key };
  const child = spawn(process.execPath, [programPath('svc'), ...words], { env });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stdin.end(input);
  await once(child, 'close');
  return output;
}

describe('the commands of the API', () => {
  test('are all operations of the document that can succeed', () => {
    const requests = (all: readonly { method: string; path: string }[]): string[] =>
      all.map(({ method, path }) => `${method} ${path}`).toSorted();
    const never = documented.filter(({ answer }) => answer === undefined);
    assert.deepEqual(requests(never), ['POST /v1/subscriptions/{id}/pause', 'POST /v1/subscriptions/{id}/resume']);
    assert.deepEqual(requests([...operations, ...never]), requests(documented));
    assert.equal(new Set(operations.map(({ name }) => name)).size, operations.length);
  });

  test('have no field with the name of an option of the command', () => {
    const global = ['json', 'help', 'base-url', 'key', 'profile', 'data', 'idempotency-key', 'yes', 'all'];
    for (const { name, fields } of operations) {
      const taken = fields.filter((field) => global.includes(field.name.replaceAll('_', '-')));
      assert.deepEqual(taken, [], name);
    }
    assert.deepEqual(
      global.filter((name) => !Object.hasOwn(options, name)),
      [],
    );
  });

  // Each reaches its route: the service knows the request, and refuses only what is in it.
  const ids = (operation: Operation): string[] =>
    operation.ids.map((name) => (name === 'EVENT_ID' ? 'evt_unknown' : '019c4c21-4a00-7e11-9b2c-6d5e4f3a2b1c'));
  for (const operation of operations) {
    test(`reaches the service: ${operation.name}`, async () => {
      const picture = join(folder, 'picture.png');
      if (operation.sends === 'file') await writeFile(picture, 'no picture');
      const file = operation.sends === 'file' ? ['--file', picture] : [];
      const key = operation.path.endsWith('/card_tokens') ? ['--key', publishable] : [];
      const words = [...operation.name.split(' '), ...ids(operation), ...file, ...key];
      const { code, stdout, stderr } = await svc(...words, '--json');
      if (code === 0) {
        assert.ok(JSON.parse(stdout));
        return;
      }
      const { error } = JSON.parse(stderr) as { error: { code: string; request_id: string } };
      assert.ok([1, 3].includes(code), stderr);
      assert.match(error.request_id, /^req_/, stderr);
      assert.ok(!['method_not_allowed', 'unknown_path', 'route_not_found'].includes(error.code), stderr);
      const { body } = await service.call('GET', `/v1/requests/${error.request_id}`);
      const path = operation.path.replaceAll(/\{\w+\}/g, '[^/]+');
      if (body.path) assert.match(`${body.method} ${body.path}`, new RegExp(`^${operation.method} ${path}$`));
    });
  }
});

const newProduct = (sku: string): string[] => [
  'products',
  'create',
  '--name',
  'Tea',
  '--description',
  'Green',
  '--requires-shipping',
  'false',
  '--sku',
  sku,
];

describe('fields', () => {
  test('are texts, numbers, booleans, lists, nested objects and free objects', async () => {
    const product = await json(...newProduct('tea'), '--pricing.amount', '4900', '--pricing.currency', 'usd');
    const changed = await json('products', 'update', product.id, '--active', 'false');
    assert.deepEqual([changed.active, changed.pricing], [false, { amount: 4900, currency: 'usd' }]);
    const person = [
      '--email',
      'ada@example.com',
      '--first-name',
      'Ada',
      '--last_name',
      'Lovelace',
      '--phone',
      '+15550001111',
    ];
    const customer = await json(
      'customers',
      'create',
      ...person,
      '--tags',
      'new',
      '--tags',
      'vip',
      '--metadata.crm-id',
      '7',
    );
    assert.deepEqual(customer.tags, ['new', 'vip']);
    assert.deepEqual(customer.metadata, { 'crm-id': '7' });
    // Sent as it is, and refused by the service.
    const refused = await svc('customers', 'update', customer.id, '--metadata.__proto__', 'x');
    assert.match(refused.stderr, /metadata\.__proto__/);
    const cleared = await json(
      'customers',
      'update',
      customer.id,
      '-d',
      '{"phone": "+15550002222"}',
      '--metadata',
      'null',
    );
    assert.deepEqual([cleared.phone, cleared.metadata], ['+15550002222', {}]);
  });

  test('are JSON from the command line, a file and standard input', async () => {
    const file = join(folder, 'pricing.json');
    await writeFile(file, '{"amount": 100, "currency": "eur"}');
    const fromFile = await json(...newProduct('from-file'), '--pricing', `@${file}`);
    assert.deepEqual(fromFile.pricing, { amount: 100, currency: 'eur' });
    const printed = await withInput(
      '{"name": "B", "sku": "b", "description": null, "requires_shipping": false, "pricing": {"amount": 1, "currency": "usd"}}',
      'products',
      'create',
      '-d',
      '@-',
      '--pricing.amount',
      '250',
      '--json',
    );
    assert.deepEqual((JSON.parse(printed) as typeof fromFile).pricing, { amount: 250, currency: 'usd' });
    const verdict = await svc(
      'coupons',
      'validate',
      '--code',
      'NONE',
      '--items.0.product-id',
      fromFile.id,
      '--items.0.quantity',
      '2',
      '--json',
    );
    assert.ok(!verdict.stderr.includes('items'), verdict.stderr);
  });

  test('upload a file', async () => {
    const picture = join(folder, 'dot.png');
    await writeFile(
      picture,
      Buffer.from(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        'base64',
      ),
    );
    const product = await json(...newProduct('seen'), '--pricing.amount', '1', '--pricing.currency', 'usd');
    const image = await json('products', 'images', 'upload', product.id, '--file', picture);
    assert.ok(image.id);
    assert.equal((await svc('products', 'images', 'delete', product.id, image.id)).code, 0);
  });
});

describe('lists', () => {
  test('read as many pages as are wanted, and say if there are more', async () => {
    for (let count = 0; count < 23; count += 1) {
      await service.call('POST', '/v1/customers', { body: someCustomer({ email: `page${count}@example.com` }) });
    }
    const { stdout, stderr } = await command(
      { SVC_URL: service.baseUrl, SVC_KEY: service.key },
      'customers',
      'list',
      '--fields',
      'email',
    );
    assert.equal(stdout.trimEnd().split('\n').length, 21);
    assert.match(stdout, /^id +email\n/);
    const after = /--starting-after (\S+) continues/.exec(stderr)?.[1] ?? '';
    const rest = JSON.parse((await svc('customers', 'list', '--starting-after', after, '--json')).stdout) as unknown[];
    const all = JSON.parse((await svc('customers', 'list', '--all', '--json')).stdout) as { id: string }[];
    assert.equal(all.length, 20 + rest.length);
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  });

  test('continue when the service asks to wait', async () => {
    let calls = 0;
    const server = createServer((request, response) => {
      calls += 1;
      if (calls === 2) {
        response.writeHead(429, { 'retry-after': '1' }).end('{}');
        return;
      }
      const last = new URL(request.url ?? '', 'http://x').searchParams.has('starting_after');
      response.end(
        JSON.stringify({ data: [{ id: `c${calls}` }], has_more: !last, cursors: { next: last ? null : 'c1' } }),
      );
    });
    const { stdout } = await command(
      { SVC_URL: await listen(server), SVC_KEY: 'k' },
      'customers',
      'list',
      '--all',
      '--json',
    );
    server.close();
    assert.deepEqual(JSON.parse(stdout), [{ id: 'c1' }, { id: 'c3' }]);
  });

  test('show text of others without signs that control the terminal', async () => {
    const hostile = someCustomer({ email: 'esc@example.com', metadata: { note: '\u001b]0;title\u0007\u009b31m' } });
    const { body } = await service.call('POST', '/v1/customers', { body: hostile });
    const { stdout } = await svc('customers', 'get', body.id);
    assert.match(stdout, /^metadata\.note +\]0;title 31m$/m);
  });
});

describe('a request that changes something', () => {
  test('is executed once under an idempotency key that is repeated', async () => {
    const person = ['--email', 'once@example.com', '--first-name', 'A', '--last-name', 'B', '--phone', '+15550001111'];
    const create = ['customers', 'create', ...person, '--idempotency-key', 'from-the-shell'];
    assert.equal((await json(...create)).id, (await json(...create)).id);
    assert.equal(
      (
        await json(
          'post',
          '/v1/customers',
          '-d',
          'email=once@example.com',
          '-d',
          'first_name=A',
          '-d',
          'last_name=B',
          '-d',
          'phone=+15550001111',
          '--idempotency-key',
          'from-the-shell',
        )
      ).email,
      'once@example.com',
    );
  });

  test('names its key if there is no answer, so that it can be repeated', async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request) => {
      seen.push(request.headers['x-svc-idempotency-key']?.toString());
      request.socket.destroy();
    });
    const address = { SVC_URL: await listen(server), SVC_KEY: 'k' };
    const [lost, read] = await Promise.all([
      command(address, 'orders', 'refund', 'x'),
      command(address, 'orders', 'get', 'x'),
    ]);
    server.close();
    assert.deepEqual([lost.code, read.code], [4, 4]);
    assert.match(lost.stderr, new RegExp(`Repeat it with --idempotency-key ${seen.find((key) => key)}\\.`));
    assert.doesNotMatch(read.stderr, /idempotency/);
  });
});

test('sets fields of the object of a triggered event', async () => {
  const event = await json(
    'trigger',
    'customer.created',
    '--override',
    'email=grace@example.com',
    '--override',
    'metadata.visits=3',
  );
  const { object } = event.data as { object: { email: string; metadata: unknown } };
  assert.deepEqual([object.email, object.metadata], ['grace@example.com', { visits: 3 }]);
});
