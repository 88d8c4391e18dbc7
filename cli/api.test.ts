import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { svc as command } from '../tests/support/command.ts';
import { openShop, succeeded } from '../tests/support/orders.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { somePlan, someSubscriber, subscribe } from '../tests/support/subscriptions.ts';
import { programPath } from '../tests/support/programs.ts';

const run = promisify(execFile);
let service: TestService;
let folder: string;
before(async () => {
  service = await startTestService();
  folder = await mkdtemp(join(tmpdir(), 'svc-cli-'));
  const demo = { base_url: service.baseUrl, secret_key: service.key };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
});
after(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function svc(...parameters: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { SVC_KEY: _, SVC_URL: __, SVC_BASE_URL: ___, ...rest } = process.env;
  const env = { ...rest, SVC_DATA_DIR: folder, XDG_CONFIG_HOME: folder };
  try {
    return { code: 0, ...(await run(process.execPath, [programPath('svc'), ...parameters], { env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

test('creates, updates, reads and deletes a customer of the demo company', async () => {
  const person = ['email=shell@example.com', 'first_name=Ada', 'last_name=Lovelace', 'phone=+15550001111'];
  const made = await svc('post', '/v1/customers', ...person.flatMap((pair) => ['-d', pair]), '--json');
  const { id } = JSON.parse(made.stdout);
  const changed = await svc('patch', `/v1/customers/${id}`, '-d', '{"metadata": {"n": 1}}');
  assert.deepEqual(JSON.parse(changed.stdout).metadata, { n: 1 });
  const listed = JSON.parse((await svc('get', '/v1/customers?email=shell@example.com')).stdout);
  assert.equal(listed.data[0].id, id);
  assert.equal(JSON.parse((await svc('delete', `/v1/customers/${id}`)).stdout).deleted, true);
});

test('accepts the host and port of the service without a scheme', async () => {
  const { host } = new URL(service.baseUrl);
  assert.match((await svc('get', '/v1/customers', '--base-url', `${host}/`)).stdout, /"url": "\/v1\/customers"/);
});

test('takes a path without its slash', async () => {
  assert.match((await svc('get', 'v1/customers')).stdout, /"url": "\/v1\/customers"/);
});

test('shows by its exit code whether an object is missing, the key is refused or the service is away', async () => {
  assert.equal((await svc('get', `/v1/orders/${randomUUID()}`)).code, 3);
  assert.equal((await svc('get', `/v1/orders/${randomUUID()}`, '--json')).code, 3);
  assert.equal((await svc('get', '/v1/orders', '--key', 'svc_test_sk_unknown')).code, 5);
  assert.equal((await svc('get', '/v1/orders', '--base-url', '127.0.0.1:1')).code, 4);
});

test('lists objects as a table, or as JSON', async () => {
  const empty = await svc('coupons', 'list');
  assert.deepEqual([empty.code, empty.stdout], [0, 'No coupons.\n']);
  await service.call('POST', '/v1/customers', { body: someCustomer({ email: 'list@example.com' }) });
  const { stdout } = await svc('customers', 'list', '--limit', '1');
  assert.match(stdout, /^id +email +first_name +last_name +created_at\n\S{36} +list@example\.com /);
  const [row] = JSON.parse((await svc('customers', 'list', '--json')).stdout);
  assert.equal(row.email, 'list@example.com');
});

test('shows amounts with their currency', async () => {
  const order = await succeeded(service, await openShop(service));
  const row = new RegExp(`${order.id} .* ${order.status} .*\\d\\.\\d\\d USD`);
  assert.match((await svc('orders', 'list')).stdout, row);
  assert.match((await svc('orders', 'get', order.id)).stdout, /^total +\d+\.\d\d USD$/m);
});

test('sends an event again, to the only endpoint or to the one that is named', async () => {
  const { body: endpoint } = await service.call('POST', '/v1/webhook_endpoints', {
    body: { url: 'https://receiver.invalid/', enabled_events: ['*'] },
  });
  await service.call('POST', '/v1/customers', { body: someCustomer() });
  const { body: events } = await service.call('GET', '/v1/events?limit=1');
  const [{ id }] = events.data;
  const sent = await svc('events', 'resend', id);
  assert.deepEqual(
    [sent.code, sent.stdout],
    [0, `The event ${id} will be sent again to ${endpoint.id}.\n`],
    sent.stderr,
  );
  await service.call('POST', '/v1/webhook_endpoints', {
    body: { url: 'https://other.invalid/', enabled_events: ['*'] },
  });
  const several = await svc('events', 'resend', id);
  assert.equal(several.code, 2);
  assert.match(several.stderr, /Choose an endpoint with --endpoint:\n {2}\S+ {2}https:/);
  assert.equal((await svc('events', 'resend', id, '--endpoint', endpoint.id)).code, 0);
  assert.equal((await svc('events', 'resend', 'evt_unknown', '--endpoint', endpoint.id)).code, 3);
});

test('has colors only if they are wanted', async () => {
  const heading = '\u001b[1mDevelopment';
  assert.ok(!(await command({}, '--help')).stdout.includes('\u001b'));
  assert.ok((await command({ FORCE_COLOR: '1' }, '--help')).stdout.includes(heading));
  assert.ok(!(await command({ FORCE_COLOR: '1', NO_COLOR: '1' }, '--help')).stdout.includes('\u001b'));
});

test('names the invalid field and exits with 1', async () => {
  const { code, stdout, stderr } = await svc('post', '/v1/customers', '-d', '{"email": "invalid"}');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /400 validation_error/);
  assert.match(stderr, /email must be an email address/);
  assert.match(stderr, /\(req_[a-z2-7]{24}\)/);
});

test('triggers an event and advances the clock', async () => {
  assert.match((await svc('trigger', 'order.failed')).stdout, /^Triggered order\.failed: evt_/);
  const plan = await somePlan(service);
  await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
  const { stdout } = await svc('clock', 'advance', '1', 'month', '2', 'days');
  assert.match(stdout, /subscription\.charged/);
  assert.match(stdout, /The clock is at \d{4}-/);
  const before = JSON.parse((await svc('clock', '--json')).stdout);
  assert.ok(before.offset_seconds > 28 * 86_400);
  assert.equal((await svc('clock', 'advance', 'soon')).code, 2);
  assert.match((await svc('clock', 'advance', '1', 'second')).stdout, /^Nothing was due\.\nThe clock is at /);
  assert.match((await svc('clock', 'advance', '2020-01-01T00:00:00Z')).stderr, /never goes back/);
});

test('explains mistakes in a sentence, without a stack', async () => {
  const mistakes: readonly (readonly [string[], RegExp, number?])[] = [
    [['get', 'customers'], /A path begins with \/v1\/\. Did you mean \/v1\/customers\?/],
    [['post', '/v1/customers', '-d', '{oops'], /not valid JSON/],
    [['post', '/v1/customers', '-d', 'oops'], /name=value/],
    [['trigger'], /event type is required/],
    [['get', '/v1/customers', '--base-url', 'http://127.0.0.1:1'], /No response from/, 4],
    [['get', '/v1/customers', '--key', 'nonsense'], /401 invalid_api_key_format/, 5],
    [['get', '/v1/customers', '--key', 'two\nlines'], /The key is malformed/],
    [['get', '/v1/customers', '--base-url', 'http://'], /http:\/\/ is not a URL\. Use, for example, localhost:8080/],
  ];
  for (const [parameters, hint, exitCode = 2] of mistakes) {
    const { code, stderr } = await svc(...parameters);
    assert.equal(code, exitCode, parameters.join(' '));
    assert.match(stderr, hint);
    assert.ok(!stderr.includes('    at '), stderr);
  }
});
