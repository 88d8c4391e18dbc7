import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhooks } from '../sdk/node/src/index.ts';
import { startPlainReceiver, svc } from '../tests/support/command.ts';

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

interface Report {
  readonly passed: boolean;
  readonly checks: readonly { readonly check: string; readonly passed: boolean }[];
}

test('passes for a receiver that verifies with the SDK', async () => {
  const receiver = await startPlainReceiver((headers, body) =>
    webhooks.verify(body, headers, secret).then(
      () => 200,
      () => 400,
    ),
  );
  const { code, stdout } = await svc({ SVC_WEBHOOK_SECRET: secret }, 'webhooks', 'check', receiver.url);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /All checks passed\./);
  const repeated = /records: (evt_\w+) must have been handled once/.exec(stdout)?.[1];
  assert.equal(receiver.received.filter(({ headers }) => headers['svc-event-id'] === repeated).length, 3);
  assert.equal(receiver.received.length, 12);
  await receiver.stop();
});

test('fails for a receiver that accepts everything, rejects everything or crashes', async () => {
  for (const [status, wrong] of [
    [200, 4],
    [400, 4],
    [500, 8],
  ] as const) {
    const receiver = await startPlainReceiver(() => status);
    const { code, stdout } = await svc({}, 'webhooks', 'check', receiver.url, '--secret', secret, '--json');
    const report = JSON.parse(stdout) as Report;
    assert.deepEqual([code, report.passed], [1, false]);
    assert.equal(report.checks.filter(({ passed }) => !passed).length, wrong, String(status));
    await receiver.stop();
  }
});

test('explains mistakes', async () => {
  assert.match((await svc({}, 'webhooks', 'check')).stderr, /URL of your receiver is required/);
  assert.match((await svc({}, 'webhooks', 'check', 'localhost:1')).stderr, /--secret whsec_/);
  assert.match((await svc({}, 'webhooks', 'check', '127.0.0.1:1', '--secret', secret)).stderr, /No response from/);
});
