import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { advance, readSubscription, somePlan, someSubscriber, subscribe } from '../tests/support/subscriptions.ts';
import { programPath } from '../tests/support/programs.ts';

const run = promisify(execFile);
const masterSecret = Buffer.alloc(32, 7).toString('latin1');

let service: TestService;
before(async () => {
  service = await startTestService();
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

test('pauses and resumes a subscription and shows its next charge', async () => {
  const plan = await somePlan(service);
  const { body } = await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
  const paused = await svc('subscriptions', 'pause', body.id, '--company', 'demo');
  assert.match(paused.stdout, /is paused\./, paused.stderr);
  await advance(service, { by: { months: 2 } });
  assert.equal((await readSubscription(service, body.id)).completed_cycles, 1);
  const resumed = JSON.parse((await svc('subscriptions', 'resume', body.id, '--company', 'demo', '--json')).stdout);
  assert.equal(resumed.status, 'active');
  const again = await svc('subscriptions', 'resume', body.id, '--company', 'demo');
  assert.deepEqual([again.code, /must be paused/.test(again.stderr)], [1, true], again.stderr);
});

test('ends the links to the page of a customer', async () => {
  const customer_id = await someSubscriber(service);
  const links = await Promise.all(
    [1, 2].map(() => service.call('POST', '/v1/customer_sessions', { body: { customer_id } })),
  );
  const ended = await svc('customers', 'end-links', customer_id, '--company', 'demo');
  assert.match(ended.stdout, /have ended: 2\./, ended.stderr);
  for (const { body } of links) {
    const { pathname } = new URL(body.url);
    assert.equal((await service.call('GET', `${pathname}/account`, { key: null })).status, 404);
  }
  const none = await svc('customers', 'end-links', customer_id, '--company', 'demo', '--json');
  assert.deepEqual(JSON.parse(none.stdout), { customer_id, deleted_count: 0 });
  const unknown = await svc('customers', 'end-links', links[0]?.body.id, '--company', 'demo');
  assert.deepEqual([unknown.code, /customer/.test(unknown.stderr)], [3, true], unknown.stderr);
});

test('sets the retry schedule for declined renewals', async () => {
  const set = await svc('companies', 'dunning', '--company', 'demo', '--days', '2,4', '--then', 'canceled');
  assert.match(set.stdout, /after 2, 4 days; then the subscription is canceled/, set.stderr);
  const plan = await somePlan(service);
  const customer_id = await someSubscriber(service, '4000009999000341');
  const { body } = await subscribe(service, { customer_id, plan_id: plan.id });
  await advance(service, { by: { months: 1, days: 5 } });
  const { status, attempt_count } = await readSubscription(service, body.id);
  assert.deepEqual([status, attempt_count], ['canceled', 3]);
  for (const days of ['0,1', '3,2', '1,1', 'soon', '90']) {
    const refused = await svc('companies', 'dunning', '--company', 'demo', '--days', days);
    assert.deepEqual([refused.code, /ascending order/.test(refused.stderr)], [2, true], refused.stderr);
  }
  assert.equal((await svc('companies', 'dunning', '--company', 'demo')).code, 2);
});
