import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import {
  atBank,
  bankCards,
  browser,
  endCustomerTime,
  openTill,
  returnedWith,
  runBankJobs,
  switchAuthentication,
  type Till,
} from '../../../tests/support/bank.ts';
import { openShop, type Shop } from '../../../tests/support/orders.ts';
import { type Random, seededRandom } from '../../../tests/support/seeded-random.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';

/**
 * Customers, their tabs, their bank and the worker do things in any order, also at once. At most one order of a session is
 * paid, and none whose bank wanted to confirm it and did not. `SVC_BANK_SESSIONS=500`: the long version.
 */

const sessions = Number(process.env.SVC_BANK_SESSIONS ?? 25);
const seed = Number(process.env.SVC_BANK_SEED ?? Date.now() % 1_000_000);
const steps = 12;

let service: TestService;
let shop: Shop;
before(async () => {
  const limits = ['CAPTURE', 'WRITE', 'READ', 'GLOBAL', 'REFUSED_CARDS'].map((name) => [
    `SVC_RATE_LIMIT_${name}`,
    'off',
  ]);
  service = await startTestService({ settings: Object.fromEntries(limits) });
  await switchAuthentication(service);
  shop = await openShop(service);
});
after(() => service.stop());

const cards = [...Object.values(bankCards), '4242424242424242', '4000000000000002'];

/** Another tab may have done something else meanwhile, but nothing ever fails. */
async function onPage(till: Till, path: string, body: object): Promise<Reply> {
  const reply = await till.onPage(path, body);
  assert.ok(reply.status < 500, reply.text);
  return reply;
}

async function pay(random: Random, till: Till, banks: string[]): Promise<void> {
  const card = { number: random.pick(cards), exp_month: '12', exp_year: '2032', cvc: '999' };
  const made = await onPage(till, 'card_tokens', { card });
  if (made.status !== 201) return;
  const { attempt, total } = await till.session();
  const body = { attempt, total, card_token: made.body.id, customer: till.customer, browser };
  const paid = await onPage(till, 'pay', body);
  if (paid.body.next_action) banks.push(paid.body.next_action.url);
}

async function visitBank(random: Random, till: Till, banks: string[]): Promise<void> {
  if (banks.length === 0) return;
  const answer = random.pick(['confirm', 'confirm', 'refuse'] as const);
  const back = await atBank(service, random.pick(banks), answer).catch(() => undefined);
  if (back && random.chance(0.7)) await onPage(till, 'resume', { returned: returnedWith(back) });
}

/** What can happen to a session at any time. */
const acts: readonly ((random: Random, till: Till, banks: string[]) => Promise<unknown>)[] = [
  pay,
  pay,
  pay,
  visitBank,
  visitBank,
  (_random, till) => onPage(till, 'resume', { returned: { returned: '0', redirect_status: 'succeeded' } }),
  (random, till) => onPage(till, 'abandon', { attempt: random.between(0, 2) }),
  () => runBankJobs(service),
  (_random, till) => till.session(),
  async (random) => random.chance(0.3) && endCustomerTime(service),
];

interface Paid {
  readonly reference: string;
  readonly session_id: string;
}

it(`at most one order of a session is paid, and none without its bank (seed ${seed})`, async () => {
  const random = seededRandom(seed);
  const tills = await Promise.all(Array.from({ length: sessions }, () => openTill(service, shop.productId)));
  const banks = new Map<Till, string[]>(tills.map((till) => [till, []]));
  for (let step = 0; step < steps; step += 1) {
    await Promise.all(
      tills.map(async (till) => {
        const count = random.chance(0.3) ? 2 : 1;
        const own = banks.get(till) ?? [];
        await Promise.all(Array.from({ length: count }, () => random.pick(acts)(random, till, own)));
      }),
    );
  }
  // A lock of a process that was interrupted runs out, and every customer has gone.
  await endCustomerTime(service);
  for (let round = 0; round < 3; round += 1) {
    await service.db.query(`UPDATE open_transactions SET locked_until = now(), next_check_at = now()`);
    await service.orders.reconcileDue(1_000);
    await runBankJobs(service);
  }
  const left = await service.db.query('SELECT state FROM open_transactions');
  assert.deepEqual(left, [], 'nothing stays open');
  const paid = await service.db.query<Paid>(
    `SELECT DISTINCT t.reference, p.session_id FROM checkout_payments p
     JOIN transactions t ON t.company_id = p.company_id AND t.customer_id::text = p.input->'input'->>'customer_id'
     WHERE t.type = 'sale' AND t.status = 'succeeded'`,
  );
  const bySession = Map.groupBy(paid, ({ session_id }) => session_id);
  for (const [id, sales] of bySession) assert.equal(sales.length, 1, `session ${id} was paid ${sales.length} times`);
  const challenges = await service.vaultDb.query<{ reference: string; state: string }>(
    'SELECT reference, state FROM vault.sandbox_challenges',
  );
  const stateOf = new Map(challenges.map(({ reference, state }) => [reference, state]));
  const unconfirmed = paid.filter(({ reference }) => (stateOf.get(reference) ?? 'passed') !== 'passed');
  assert.deepEqual(unconfirmed, [], 'no order is paid that its bank has not confirmed');
  const references = new Set(paid.map(({ reference }) => reference));
  const forgotten = challenges.filter(({ reference, state }) => state === 'passed' && !references.has(reference));
  assert.deepEqual(forgotten, [], 'every payment that a bank confirmed is known');
  const completed = await service.db.query<{ id: string }>(
    `SELECT id FROM checkout_sessions WHERE status = 'completed'`,
  );
  assert.deepEqual(completed.map(({ id }) => id).toSorted(), [...bySession.keys()].toSorted());
});
