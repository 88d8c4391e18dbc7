import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../tests/support/service.ts';
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
  const env = { ...rest, SVC_DATA_DIR: folder };
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
  assert.equal((await svc('clock', 'advance', 'soon')).code, 1);
  assert.match((await svc('clock', 'advance', '2020-01-01T00:00:00Z')).stderr, /never goes back/);
});

test('explains mistakes in a sentence, without a stack', async () => {
  const mistakes: readonly (readonly [string[], RegExp])[] = [
    [['get', 'customers'], /path is required/],
    [['post', '/v1/customers', '-d', '{oops'], /not valid JSON/],
    [['post', '/v1/customers', '-d', 'oops'], /name=value/],
    [['trigger'], /event type is required/],
    [['get', '/v1/customers', '--base-url', 'http://127.0.0.1:1'], /No response from/],
    [['get', '/v1/customers', '--key', 'nonsense'], /401 invalid_api_key_format/],
    [['get', '/v1/customers', '--key', 'two\nlines'], /The key is malformed/],
    [['get', '/v1/customers', '--base-url', 'http://'], /http:\/\/ is not a URL\. Use, for example, localhost:8080/],
  ];
  for (const [parameters, hint] of mistakes) {
    const { code, stderr } = await svc(...parameters);
    assert.equal(code, 1, parameters.join(' '));
    assert.match(stderr, hint);
    assert.ok(!stderr.includes('    at '), stderr);
  }
});
