import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileFunction, createContext } from 'node:vm';
import { newSigningSecret, signatureHeaders, signingKey } from '../../server/features/webhooks/signing.ts';
import { startTestService, type TestService } from '../../tests/support/service.ts';

/** The built package in a separate folder, used as from a registry. */

const here = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')));
const nodeTypes = fileURLToPath(new URL('.', import.meta.resolve('@types/node/package.json')));

let service: TestService;
let folder: string;
let installed: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-sdk-'));
  installed = join(folder, 'node_modules', '@svc-payments', 'node');
  await mkdir(installed, { recursive: true });
  await cp(join(here, 'package.json'), join(installed, 'package.json'));
  const [, built] = await Promise.all([
    startTestService().then((started) => {
      service = started;
    }),
    run([join(here, 'build.ts'), join(installed, 'dist')]),
  ]);
  assert.equal(built.status, 0, built.output);
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs Node in the folder with the installed SDK. */
async function run(parameters: string[]): Promise<{ status: number; output: string }> {
  const environment = {
    ...process.env,
    SVC_KEY: service?.key,
    SVC_URL: service?.baseUrl,
    SVC_WEBHOOK_SECRET: newSigningSecret(randomBytes(32)),
  };
  return new Promise((resolve) => {
    execFile(process.execPath, parameters, { cwd: folder, env: environment }, (error, stdout, stderr) => {
      resolve({ status: error ? Number(error.code) : 0, output: stdout + stderr });
    });
  });
}

const usage = `
  const svc = new Svc(process.env.SVC_KEY, { baseUrl: process.env.SVC_URL });
  svc.customers.list().then((page) => process.stdout.write(typeof webhooks.verify + page.data.length));
`;

/** A minimal edge runtime: a context with web globals, and modules that are resolved by URL. */
const edge = `
  import { readFileSync } from 'node:fs';
  import { createContext, SourceTextModule } from 'node:vm';
  const given = JSON.parse(readFileSync('given.json', 'utf8'));
  const context = createContext({
    fetch, Headers, Request, Response, FormData, Blob, URL, URLSearchParams, AbortController, AbortSignal,
    crypto, TextEncoder, TextDecoder, atob, btoa, setTimeout, clearTimeout,
    given: { ...given, key: process.env.SVC_KEY, baseUrl: process.env.SVC_URL },
  });
  const modules = new Map();
  const load = (url, text = readFileSync(new URL(url), 'utf8')) => {
    if (!modules.has(url)) modules.set(url, new SourceTextModule(text, { context, identifier: url }));
    return modules.get(url);
  };
  const program = load('edge:program', \`
    import { Svc, SvcError, webhooks } from '@svc-payments/node';
    const names = ['process', 'Buffer', 'require', 'global', 'setImmediate'];
    export const nodeOnly = names.filter((name) => name in globalThis);
    const svc = new Svc(given.key, { baseUrl: given.baseUrl });
    const person = { email: 'edge@example.com', first_name: 'E', last_name: 'R', phone: '+15550142' };
    export const customer = (await svc.customers.create(person)).email;
    export const refused = await svc.orders.get(crypto.randomUUID()).catch((error) => error instanceof SvcError && error.code);
    const { body, headers } = given.delivery;
    const request = new Request('https://shop.example/hook', { method: 'POST', body, headers });
    export const verified = (await webhooks.verify(await request.arrayBuffer(), request.headers, given.secret)).id;
    export const forged = await webhooks.verify(body + ' ', headers, given.secret).catch(({ name }) => name);
  \`);
  const sdk = import.meta.resolve('@svc-payments/node');
  await program.link((name, { identifier }) => load(name === '@svc-payments/node' ? sdk : new URL(name, identifier).href));
  await program.evaluate();
  process.stdout.write(JSON.stringify(program.namespace));
`;

/** Compiler errors as file and line. */
async function typeErrors(files: string[], ...more: string[]): Promise<string[]> {
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--exactOptionalPropertyTypes',
  ];
  const { output } = await run([compiler, '--ignoreConfig', ...options, ...more, ...files]);
  return output.split('\n').filter((line) => line.includes('error TS'));
}
const onNode = ['--typeRoots', join(nodeTypes, '..'), '--types', 'node', '--skipLibCheck'];

describe('the built SDK', () => {
  it('loads as an ES module', async () => {
    await writeFile(join(folder, 'module.mjs'), `import { Svc, webhooks } from '@svc-payments/node';${usage}`);
    assert.deepEqual(await run(['module.mjs']), { status: 0, output: 'function0' });
  });

  it('loads as CommonJS', async () => {
    await writeFile(join(folder, 'script.cjs'), `const { Svc, webhooks } = require('@svc-payments/node');${usage}`);
    assert.deepEqual(await run(['--no-experimental-require-module', 'script.cjs']), { status: 0, output: 'function0' });
  });

  it('uses no API that only Node has', () => {
    const scripts = globSync('dist/**/*.js', { cwd: installed });
    assert.ok(scripts.length > 20);
    for (const name of scripts) {
      const text = readFileSync(join(installed, name), 'utf8');
      assert.doesNotMatch(text, /\b(process|Buffer|__dirname|setImmediate)\b|node:|require\("[^.]/, name);
    }
  });

  it('runs in a runtime with web APIs only', async () => {
    const web = {
      ...{ fetch, Headers, FormData, Blob, URL, URLSearchParams, AbortController, AbortSignal },
      ...{ crypto, TextEncoder, TextDecoder, atob, btoa, setTimeout, clearTimeout },
    };
    const context = createContext(web);
    const loaded = new Map<string, object>();
    const load = (file: string): object => {
      const known = loaded.get(file);
      if (known) return known;
      const exports = {};
      loaded.set(file, exports);
      const body = compileFunction(readFileSync(file, 'utf8'), ['exports', 'require'], { parsingContext: context });
      body(exports, (name: string) => load(join(dirname(file), name)));
      return exports;
    };
    const sdk = load(join(installed, 'dist', 'cjs', 'index.js')) as typeof import('./src/index.ts');
    const svc = new sdk.Svc(service.key, { baseUrl: service.baseUrl });
    const event = await svc.sandbox.events.trigger({ type: 'customer.created' });
    const secret = newSigningSecret(randomBytes(32));
    const { body, headers } = await sdk.webhooks.signTestEvent(event, secret);
    for (const raw of [body, Buffer.from(body), new TextEncoder().encode(body).buffer]) {
      assert.equal((await sdk.webhooks.verify(raw, new Headers(headers), secret)).id, event.id);
    }
  });

  it('verifies a real delivery as an ES module in a runtime with web APIs only', async () => {
    const secret = newSigningSecret(randomBytes(32));
    const triggered = await service.call('POST', '/v1/sandbox/events/trigger', { body: { type: 'order.succeeded' } });
    const signed = {
      eventId: triggered.body.id,
      body: triggered.text,
      timestampSeconds: Math.floor(Date.now() / 1000),
    };
    const delivery = { body: signed.body, headers: signatureHeaders([signingKey(secret)], signed) };
    await writeFile(join(folder, 'given.json'), JSON.stringify({ secret, delivery }));
    await writeFile(join(folder, 'edge.mjs'), edge);
    const { status, output } = await run(['--experimental-vm-modules', '--no-warnings', 'edge.mjs']);
    assert.equal(status, 0, output);
    assert.deepEqual(JSON.parse(output), {
      nodeOnly: [],
      customer: 'edge@example.com',
      refused: 'resource_not_found',
      verified: signed.eventId,
      forged: 'WebhookSignatureError',
    });
  });

  it('has no loose types', () => {
    const types = globSync('dist/**/*.d.ts', { cwd: installed });
    assert.ok(types.length > 20);
    for (const name of types) {
      const withoutComments = readFileSync(join(installed, name), 'utf8').replace(/\/\*[^]*?\*\//g, '');
      assert.doesNotMatch(withoutComments, /\bany\b/, name);
    }
  });

  it('has types for both module systems, on Node and elsewhere', async () => {
    const text = `
      import { Svc, type Customer, type Order, type Page, type Plan, webhooks } from '@svc-payments/node';
      export async function use(svc: Svc): Promise<void> {
        const one = await svc.customers.get('1');
        const whole: Customer = one;
        const some = await svc.customers.get('1', { fields: ['email'] });
        const both: { id: string; email: string } = some;
        const expanded = await svc.subscriptions.get('1', { expand: ['plan'] });
        const plan: Plan = expanded.plan;
        const page: Page<Order> = await svc.orders.list();
        for await (const { customer, id } of svc.orders.list({ expand: ['customer'], fields: ['id'] })) {
          const email: string = customer.email + id;
          void email;
        }
        const event = await webhooks.verify('', {}, 'whsec_x');
        if (event.type === 'subscription.past_due') event.data.object.next_retry_at satisfies string | null;
        if (event.type === 'customer.updated') event.data.previous?.email satisfies string | undefined;
        const verdict = await svc.coupons.validate({ code: 'TEA', amount: 1, customer_id: undefined });
        const discount: number = verdict.valid ? verdict.discount_amount : verdict.reason.length;
        void [whole, both, plan, page, discount];
      }
    `;
    const names = ['consumer.mts', 'consumer.cts'];
    for (const name of names) await writeFile(join(folder, name), text);
    assert.deepEqual(await typeErrors(names, ...onNode), [], 'on Node');
    // Checks the declarations themselves too.
    assert.deepEqual(await typeErrors(names, '--types', '', '--lib', 'es2022,dom', '--skipDefaultLibCheck'), []);
  });

  it('has types that reject mistakes', async () => {
    const mistakes = [
      `svc.orders.create({ customer_id: '1', items: [{ product_id: '1', quantity: 1, price: 5 }] });`,
      `svc.orders.create({ items: [] });`,
      `svc.customers.list({ expand: ['orders'] });`,
      `svc.customers.list({ colour: 'red' });`,
      `svc.orders.list({ status: 'paid' });`,
      `svc.customers.get('1', { fields: ['email'] }).then((customer) => customer.phone);`,
      `svc.subscriptions.get('1').then((subscription) => subscription.plan.plan_code);`,
      `svc.sandbox.clock.advance();`,
      `svc.webhookEndpoints.create({ url: 'https://a.example', enabled_events: ['order.paid'] });`,
      `webhooks.verify('', {}, 'whsec_x').then((event) => event.type === 'order.paid');`,
      `webhooks.verify({}, {}, 'whsec_x');`,
      `svc.customers.create({ email: 1, first_name: '', last_name: '', phone: '' });`,
    ];
    const start = `import { type Svc, webhooks } from '@svc-payments/node'; declare const svc: Svc;`;
    await writeFile(join(folder, 'mistakes.mts'), [start, ...mistakes].join('\n'));
    const lines = (await typeErrors(['mistakes.mts'], ...onNode)).map((line) => Number(/\((\d+),/.exec(line)?.[1]));
    const accepted = mistakes.filter((_, index) => !lines.includes(index + 2));
    assert.deepEqual(accepted, []);
  });

  it('runs the samples of its README', async () => {
    const text = readFileSync(join(here, 'README.md'), 'utf8');
    const blocks = [...text.matchAll(/```ts\n([^]*?)```/g)].map((match) => match[1] ?? '');
    assert.ok(blocks.length >= 8);
    await writeFile(join(folder, 'readme.mts'), blocks.join('\n'));
    assert.deepEqual(await typeErrors(['readme.mts'], ...onNode), []);
    const { status, output } = await run(['readme.mts']);
    assert.equal(status, 0, output);
    assert.match(output, /^email: invalid_format\ncreated by req_\w+\npaid: \w{8}\nGET \S+ 200 in \d+ ms\n$/);
  });
});
