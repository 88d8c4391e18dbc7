import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { continuePriceChanges } from '../server/features/price-changes/jobs.ts';
import { programPath } from '../tests/support/programs.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { silentLog } from '../tests/support/silent-log.ts';
import { readSubscription, somePlan, someSubscriber, subscribe } from '../tests/support/subscriptions.ts';

const run = promisify(execFile);
const masterSecret = Buffer.alloc(32, 7).toString('latin1');

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function svc(...parameters: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, ...service.database.settings, SVC_MASTER_SECRET: masterSecret };
  const all = ['price-changes', ...parameters, '--company', 'demo'];
  try {
    return { code: 0, ...(await run(process.execPath, [programPath('svc'), ...all], { env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

test('previews, starts, shows and undoes a price change', async () => {
  const [plan, to] = [await somePlan(service, { amount: 1900 }), await somePlan(service, { amount: 2500 })];
  const { body } = await subscribe(service, { customer_id: await someSubscriber(service), plan_id: plan.id });
  const preview = await svc('preview', plan.id, to.id);
  assert.match(preview.stdout, /^1 subscriptions with 1 seats.*\n.*19\.00 USD now, 25\.00 USD after/, preview.stderr);
  const { id } = JSON.parse((await svc('start', plan.id, to.id, '--json')).stdout);
  const { db, clock, company } = service;
  const shard = { name: company.shard, db, clock, log: silentLog };
  while ((await continuePriceChanges(shard)) === 'more');
  assert.match((await svc('show', id)).stdout, /completed, from .*\nwaiting 0, scheduled 1,/);
  assert.equal((await readSubscription(service, body.id)).scheduled_change.plan_id, to.id);
  assert.match((await svc('list')).stdout, new RegExp(id));
  assert.match((await svc('undo', id)).stdout, /undone/);
  while ((await continuePriceChanges(shard)) === 'more');
  assert.equal((await readSubscription(service, body.id)).scheduled_change, null);
  const again = await svc('resume', id);
  assert.deepEqual([again.code, /was undone/.test(again.stderr)], [1, true], again.stderr);
  const same = await svc('start', plan.id, plan.id);
  assert.match(same.stderr, /to_plan_id must be another plan/);
  const [entries] = await db.query<{ count: number }>(
    `SELECT count(*)::integer AS count FROM audit_entries WHERE action IN ('createPriceChange', 'undoPriceChange')`,
  );
  assert.equal(entries?.count, 2);
});
