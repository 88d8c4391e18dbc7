import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stepNames } from '../server/features/rehearsals/schemas.ts';
import { testEnvironmentOf } from '../server/vault/processors/test-cards.ts';
import { type Ended, svc } from '../tests/support/command.ts';
import { openRehearsing, type Rehearsing, workOnRehearsals } from '../tests/support/rehearsals.ts';

/** `svc companies rehearsal` and `svc processors rehearse` beside a running service and a simulated Stripe in test mode. */

let rehearsing: Rehearsing;
before(async () => {
  rehearsing = await openRehearsing();
});
after(() => rehearsing?.stop());

const command = (...words: string[]): Promise<Ended> => {
  const { service } = rehearsing;
  const settings = {
    ...service.database.settings,
    SVC_DATA_DIR: service.config.dataDir,
    SVC_MASTER_SECRET: Buffer.alloc(32, 7).toString('latin1'),
  };
  return svc(settings, ...words);
};

/** Does the work of the worker until the command has ended. */
async function besideWorker(running: Promise<Ended>): Promise<Ended> {
  let isOver = false;
  const ended = running.finally(() => (isOver = true));
  while (!isOver) {
    await workOnRehearsals(rehearsing.service, 300);
    await sleep(20);
  }
  return ended;
}

test('creates the rehearsal company once, and prints its ID', async () => {
  const { service } = rehearsing;
  const { live } = await service.createMerchant();
  const [created, again] = [
    await command('companies', 'rehearsal', '--company', live.id, '--json'),
    await command('companies', 'rehearsal', '--company', live.id),
  ];
  const { id, name } = JSON.parse(created.stdout);
  assert.equal(again.stdout, `The rehearsal company of this account is ${id}, ${name}.\n`, again.stderr);
  assert.match(name, / \(rehearsal\)$/);
  const key = await command('keys', 'create', '--company', id, '--name', 'shop');
  assert.match(key.stdout, /svc_rehearsal_sk_/, key.stderr);
});

test('prints a table of what was sent, answered and expected, and no card number', async () => {
  const { company, connect } = rehearsing;
  const id = await connect('stripe');
  const { stdout, stderr, code } = await besideWorker(command('processors', 'rehearse', id, '--company', company));
  assert.equal(code, 0, stderr + stdout);
  const [headings, ...lines] = stdout.split('\n');
  assert.match(headings ?? '', /^RESULT +STEP +SENT +ANSWERED +EXPECTED$/);
  assert.deepEqual(
    lines.slice(0, stepNames.length).map((line) => line.split(/ +/)[1]),
    stepNames,
  );
  assert.match(stdout, /right +equal_amount +\$12\.34 again/);
  assert.match(stdout, /The rehearsal passed\.\n$/);
  for (const number of testEnvironmentOf('stripe').numbers) assert.ok(!stdout.includes(number));
});

test('exits with 1 and says what to do if something is wrong', async () => {
  const { company, connect, accounts } = rehearsing;
  const id = await connect('stripe');
  await accounts.stripe.control({ faults: { 'decline:do_not_honor': 1 } });
  const ended = await besideWorker(command('processors', 'rehearse', id, '--company', company, '--json'));
  await accounts.stripe.control({ faults: {} });
  assert.equal(ended.code, 1, ended.stderr);
  const { state, steps } = JSON.parse(ended.stdout);
  assert.equal(state, 'failed');
  const first = steps.find(({ step }: { step: string }) => step === 'first_charge');
  assert.deepEqual([first.result, first.answered.slice(0, 20)], ['wrong', 'failed: do_not_honor']);
  assert.match(first.advice, /Stripe/);
});

test('refuses connections of other companies, and what is no connection', async () => {
  const { service, connect, company } = rehearsing;
  const id = await connect('stripe');
  const { live } = await service.createMerchant();
  const [elsewhere, unknown] = await Promise.all([
    command('processors', 'rehearse', id, '--company', live.id),
    command('processors', 'rehearse', 'stripe', '--company', company),
  ]);
  assert.match(elsewhere.stderr, /--connection must be the ID/);
  assert.match(unknown.stderr, /ID of a connection/);
});
