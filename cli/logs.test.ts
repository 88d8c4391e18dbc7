import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startSvc, svc } from '../tests/support/command.ts';
import { someCustomer, startTestService, type TestService } from '../tests/support/service.ts';
import { eventually } from '../tests/support/webhooks.ts';

let service: TestService;
let settings: Record<string, string>;
before(async () => {
  service = await startTestService();
  settings = { SVC_BASE_URL: service.baseUrl, SVC_KEY: service.key };
});
after(() => service.stop());

test('shows new requests that match the filters', async () => {
  const body = someCustomer();
  await service.call('POST', '/v1/customers', { body });
  await eventually('it is logged', async () => (await service.call('GET', '/v1/requests')).body.data.length > 0);
  const following = startSvc(settings, 'logs', '--follow', '--path', '/v1/customers');
  await eventually('the latest are there', async () => following.output().includes('POST'));
  await service.call('GET', '/v1/products');
  const missing = await service.call('GET', `/v1/customers/${randomUUID()}`);
  const requestId = missing.headers.get('svc-request-id') ?? '';
  await eventually('it is shown', async () => following.output().includes(requestId));
  await following.end();
  assert.match(following.output(), /\d\d:\d\d:\d\d {2}404 {2}GET {5}\/v1\/customers\/\S+ {2}\d+ ms {2}req_/);
  assert.ok(!following.output().includes('/v1/products'));
  const lines = following.output().trim().split('\n');
  assert.equal(new Set(lines).size, lines.length);

  const one = await svc(settings, 'logs', requestId, '--json');
  assert.equal(JSON.parse(one.stdout).response_body.error.code, 'resource_not_found');
  const filtered = await svc(settings, 'logs', '--status', '2xx', '--method', 'post', '--json');
  assert.equal(JSON.parse(filtered.stdout.trim()).path, '/v1/customers');
});

test('never shows requests older than the first one shown', async () => {
  for (const limit of [1, 2, 3]) await service.call('GET', `/v1/coupons?limit=${limit}`);
  const logged = async (): Promise<number> =>
    (await service.call('GET', '/v1/requests?path=/v1/coupons')).body.data.length;
  await eventually('they are logged', async () => (await logged()) === 3);
  const following = startSvc(settings, 'logs', '--follow', '--limit', '1', '--path', '/v1/coupons');
  await eventually('the latest is there', async () => following.output().includes('/v1/coupons'));
  await service.call('GET', '/v1/coupons');
  await eventually('the next is there', async () => following.output().split('\n').length > 2);
  await following.end();
  assert.equal(following.output().trim().split('\n').length, 2, following.output());
});

test('explains mistakes', async () => {
  assert.match((await svc(settings, 'logs', 'soon')).stderr, /begins with req_/);
  assert.match((await svc(settings, 'logs', '--status', 'often')).stderr, /must be a status/);
  assert.match((await svc({ ...settings, SVC_BASE_URL: 'http://127.0.0.1:1' }, 'logs')).stderr, /No response from/);
});
