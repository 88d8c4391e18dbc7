import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { programPath } from '../tests/support/programs.ts';
import { eventually } from '../tests/support/webhooks.ts';

const run = promisify(execFile);
const masterSecret = Buffer.alloc(32, 7).toString('latin1');

let service: TestService;
before(async () => {
  // Time stands still, so the service believes a key that it has verified until a change is announced.
  const nowMs = Date.now();
  service = await startTestService({ clock: { nowMs: () => nowMs } });
});
after(() => service.stop());

async function svc(...parameters: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, ...service.database.settings, SVC_MASTER_SECRET: masterSecret };
  try {
    return { code: 0, ...(await run(process.execPath, [programPath('svc'), ...parameters], { env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

test('creates a key with the given permissions and no others', async () => {
  const { stdout } = await svc('keys', 'create', '--company', 'demo', '--permissions', 'customers:read', '--json');
  const { key, permissions } = JSON.parse(stdout);
  assert.deepEqual(permissions, ['customers:read']);
  assert.match(key, /^svc_test_sk_/);
  assert.equal((await service.call('GET', '/v1/customers', { key })).status, 200);
  assert.equal((await service.call('GET', '/v1/products', { key })).status, 403);
});

test('creates a publishable live key with an expiry and an address range', async () => {
  const flags = ['--kind', 'publishable', '--expires-in', '60', '--allow-ip', '10.0.0.0/8', '--name', 'till'];
  const made = JSON.parse((await svc('keys', 'create', '--company', 'live', ...flags, '--json')).stdout);
  assert.match(made.key, /^svc_live_pk_/);
  assert.deepEqual(made.allowed_addresses, ['10.0.0.0/8']);
  assert.ok(Math.abs(Date.parse(made.expires_at) - Date.now() - 60_000) < 20_000);
  assert.equal((await service.call('GET', '/v1/customers', { key: made.key })).body.error.code, 'ip_not_allowed');
});

test('revokes a key that a running service has verified, and lists it as revoked', async () => {
  const made = JSON.parse((await svc('keys', 'create', '--company', service.company.id, '--json')).stdout);
  assert.equal((await service.call('GET', '/v1/customers', { key: made.key })).status, 200);
  const revoked = await svc('keys', 'revoke', made.id, '--company', 'demo');
  assert.match(revoked.stdout, /Revoked/);
  // PostgreSQL announces the change a moment after its commit, and the command does not wait for that.
  await eventually('the key is revoked', async () => {
    const { body } = await service.call('GET', '/v1/customers', { key: made.key });
    return body.error?.code === 'revoked_api_key';
  });
  const { stdout } = await svc('keys', 'list', '--company', 'demo');
  assert.match(stdout, new RegExp(`${made.id}.*revoked`));
  assert.ok(!stdout.includes(made.key));
});

for (const [mistake, parameters, hint] of [
  ['an unknown permission', ['keys', 'create', '--company', 'demo', '--permissions', 'cards:read'], /customers:read/],
  ['a company that does not exist', ['keys', 'list', '--company', 'nowhere'], /--company demo/],
  ['an expiry that is no number', ['keys', 'create', '--company', 'demo', '--expires-in', 'soon'], /seconds/],
  ['an expiry beyond all dates', ['keys', 'create', '--company', 'demo', '--expires-in', '99999999999999'], /seconds/],
  ['a name that is none', ['keys', 'create', '--company', 'demo', '--name', ''], /--name/],
  ['a name without end', ['keys', 'create', '--company', 'demo', '--name', 'x'.repeat(256)], /--name.*255/],
  [
    'permissions of a publishable key',
    ['keys', 'create', '--company', 'demo', '--kind', 'publishable', '--permissions', 'customers:read'],
    /secret keys/,
  ],
  ['an address range that is none', ['keys', 'create', '--company', 'demo', '--allow-ip', '10.0.0.0/99'], /CIDR/],
  ['an unknown option', ['keys', 'create', '--compny', 'demo'], /compny/],
  ['an unknown command', ['key'], /Unknown command "key"/],
  ['a key that does not exist', ['keys', 'revoke', crypto.randomUUID(), '--company', 'demo'], /no key/],
] as const) {
  test(`${mistake} is explained in a sentence, without a stack`, async () => {
    const { code, stderr } = await svc(...parameters);
    assert.equal(code, mistake === 'a key that does not exist' ? 3 : 2);
    assert.match(stderr, hint);
    assert.ok(!stderr.includes('    at '), stderr);
  });
}
