import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { programPath } from '../tests/support/programs.ts';
import { startTestService, type TestService } from '../tests/support/service.ts';
import { somePlan } from '../tests/support/subscriptions.ts';
import { tableLines } from './table.ts';

const run = promisify(execFile);
const masterSecret = Buffer.alloc(32, 7).toString('latin1');

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

async function list(...parameters: string[]): Promise<string> {
  const env = { ...process.env, ...service.database.settings, SVC_MASTER_SECRET: masterSecret };
  const command = [programPath('svc'), 'plans', 'list', '--company', service.company.id, ...parameters];
  return (await run(process.execPath, command, { env })).stdout;
}

test('lists all plans, newest first, as a table or as JSON', async () => {
  assert.match(await list(), / has no plans\.$/m);
  for (let n = 0; n < 101; n += 1) await somePlan(service, { name: `Plan ${n}` });
  const billing_cycle = { interval: 'day', interval_count: 10, anchor_day: 'signup_date' } as const;
  const { id } = await somePlan(service, { name: 'Tea & cake', amount: 1950, one_time_amount: 500, billing_cycle });
  const [headings, first, ...others] = (await list()).trimEnd().split('\n');
  assert.match(headings ?? '', /^ID +STATUS +PRICE +SETUP FEE +EVERY +NAME$/);
  assert.equal(first, `${id}  active  19.50 USD  5.00 USD   10 days  Tea & cake`);
  assert.equal(others.length, 101);
  assert.match(others.at(-1) ?? '', /  active  19\.00 USD  -          month    Plan 0$/);
  const plans = JSON.parse(await list('--json'));
  assert.deepEqual([plans.length, plans[0].id, plans[0].one_time_amount], [102, id, 500]);
});

test('prints columns as wide as their longest cell', () => {
  assert.deepEqual(
    tableLines(
      ['ID', 'NAME'],
      [
        ['long', 'a'],
        ['b', ''],
      ],
    ),
    ['ID    NAME', 'long  a', 'b'],
  );
});
