import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { everyDays } from '../../../tests/support/billing.ts';
import {
  connectMerchant,
  type LiveMerchant,
  openAcquirer,
  type OwnAcquirer,
} from '../../../tests/support/own-acquirer.ts';
import { restoresWith } from '../../../tests/support/restores.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { readSubscription, somePlan, someSubscriber, subscribe } from '../../../tests/support/subscriptions.ts';
import { reconcile } from '../reconciliation/service.ts';
import { deriveReference, subjects } from './reference.ts';

/** A renewal was interrupted and charged with a later reference, and then the database was restored from before that. */

let acquirer: OwnAcquirer;
let service: TestService;
let merchant: LiveMerchant;

before(async () => {
  const restores = restoresWith({ looksFirst: () => true, mayRepeatKey: () => true });
  [acquirer, service] = await Promise.all([openAcquirer(), startTestService({ restores })]);
  merchant = await connectMerchant(service, acquirer);
});
after(async () => {
  await Promise.all([acquirer.stop(), service.stop()]);
});

interface Due {
  readonly id: string;
  readonly subject: readonly string[];
}

async function due(): Promise<Due> {
  const { id: plan_id } = await somePlan(service, { amount: 4900, billing_cycle: everyDays(1) }, merchant.company);
  const customer_id = await someSubscriber(service, undefined, merchant);
  const { id } = (await subscribe(service, { customer_id, plan_id }, merchant)).body;
  await service.db.query(
    `UPDATE subscriptions SET start_at = start_at - interval '25 hours', base_at = base_at - interval '25 hours',
       due_at = now() WHERE id = $1`,
    [id],
  );
  return { id, subject: subjects.cycle(id, 2) };
}

const derived = (subject: readonly string[], number: number): string =>
  deriveReference(merchant.company.id, { subject, number });

/** The acquirer has this charge, which the database has forgotten. */
async function lose({ subject }: Due, number: number, card = '4242424242424242', fault?: string): Promise<void> {
  acquirer.offsetMs = -60_000;
  if (fault) await acquirer.control({ next: [fault] });
  const paid = { number: card, exp_month: 12, exp_year: 2031 };
  await acquirer.charge({ reference: derived(subject, number), amount: 4900, currency: 'usd', card: paid });
  acquirer.offsetMs = 0;
}

async function takenUnder({ subject }: Due): Promise<string[]> {
  const numbers = new Map(Array.from({ length: 10 }, (_, number) => [derived(subject, number), number]));
  const journal = await acquirer.journal();
  return journal.flatMap(({ reference, status }) =>
    numbers.has(reference) ? `${numbers.get(reference)} ${status}` : [],
  );
}

async function bill(): Promise<void> {
  while ((await service.subscriptions.billDue(64)) > 0);
}

describe('a restored service', { concurrency: false }, () => {
  it('records a cycle that was paid with a later reference, and charges nothing', async () => {
    const one = await due();
    await lose(one, 1);
    await bill();
    const { status, completed_cycles, attempt_count } = await readSubscription(service, one.id, merchant);
    assert.deepEqual([status, completed_cycles, attempt_count], ['active', 2, 0]);
    assert.deepEqual(await takenUnder(one), ['1 approved']);
  });

  it('finds it also after a decline', async () => {
    const one = await due();
    await lose(one, 2, undefined, 'decline:51');
    await lose(one, 4);
    await bill();
    assert.equal((await readSubscription(service, one.id, merchant)).completed_cycles, 2);
    assert.deepEqual(await takenUnder(one), ['2 declined', '4 approved']);
  });

  it('charges nothing if another card paid with a later reference, and leaves it in doubt under that reference', async () => {
    const one = await due();
    await lose(one, 1, '5555555555554444');
    await bill();
    assert.deepEqual(await takenUnder(one), ['1 approved']);
    const open = await service.db.query<{ reference: string }>(
      'SELECT reference FROM open_transactions WHERE company_id = $1 AND in_doubt',
      [merchant.company.id],
    );
    assert.deepEqual(
      open.map(({ reference }) => reference),
      [derived(one.subject, 1)],
    );
  });

  it('charges a cycle that was not paid', async () => {
    const one = await due();
    await bill();
    assert.equal((await readSubscription(service, one.id, merchant)).completed_cycles, 2);
    assert.deepEqual(await takenUnder(one), ['0 approved']);
  });

  it('names the subscription of such a charge while the renewal is open', async () => {
    const one = await due();
    await acquirer.control({ next: ['reset_before'] });
    await bill();
    await lose(one, 1);
    const { db, vault, clock } = service;
    const { comparisons } = await reconcile({ name: service.company.shard, db, vault, clock }, { adopt: false });
    const found = comparisons
      .flatMap(({ missing }) => missing)
      .find(({ operation }) => operation.reference === derived(one.subject, 1));
    assert.deepEqual([found?.subscription_id, found?.state], [one.id, 'adoptable']);
  });
});
