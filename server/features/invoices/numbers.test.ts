import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { numbersOf, numberNow, withInvoices } from '../../../tests/support/invoices.ts';
import { openShop, succeeded } from '../../../tests/support/orders.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { type Merchant, startTestService, type TestService } from '../../../tests/support/service.ts';
import { type Failpoint, invoiceFailpoints } from '../../platform/failpoints.ts';
import { newId } from '../../platform/ids.ts';
import { insertRestore } from '../restores/queries.ts';
import { numberInvoices } from './jobs.ts';

/** The numbers of invoices: without gaps, never twice, and in the order of payment. */

let service: TestService;
let merchant: Merchant;
let companyId: string;
before(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  merchant = await service.createMerchant();
  companyId = merchant.sandbox.id;
  await withInvoices(service, merchant.sandbox);
});
after(() => service.stop());

const content = {
  ...{
    mode: 'sandbox',
    time_zone: 'Europe/Berlin',
    order_number: 'ORD-1',
    description: null,
    items: [],
    subtotal: 100,
  },
  ...{ discount_amount: 0, total: 100, credit_applied: 0, coupon_code: null, shipping: null, card: null, plan: null },
  seller: { name: 'Tea House', address: null, tax_id: null, email: null, website: null, color: null },
  buyer: { name: 'Ada', company: null, tax_id: null, email: 'ada@example.com', address: null },
};

/** Documents that wait for their numbers, as their triggers write them, one for each of these times. */
async function addWaiting(times: readonly number[], kind = 'invoice'): Promise<void> {
  const rows = times.map((ms) => ({ id: newId(ms), order_id: newId(ms), refund_id: newId(ms) }));
  const cause = kind === 'invoice' ? 'payment_recorded' : 'refund_settled';
  await service.db.query(
    `INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, due_at, corrects_id, content)
     SELECT $1, r.id, $3, $4, r.order_id, r.order_id, CASE $3 WHEN 'invoice' THEN r.order_id ELSE r.refund_id END, 100, 'eur',
       now() - interval '1 minute', CASE $3 WHEN 'credit_note' THEN paid.id END, CASE $3 WHEN 'invoice' THEN $5::json END
     FROM json_to_recordset($2::json) AS r (id uuid, order_id uuid, refund_id uuid)
     LEFT JOIN (SELECT id FROM invoices WHERE company_id = $1 AND kind = 'invoice' ORDER BY id LIMIT 1) paid ON true`,
    [companyId, JSON.stringify(rows), kind, cause, JSON.stringify(content)],
  );
}

const year = new Date().getUTCFullYear();
const now = Date.now();
const range = (count: number, first = 1, label = `INV-${year}-`): string[] =>
  Array.from({ length: count }, (_, index) => label + String(first + index).padStart(6, '0'));
const numbers = (): Promise<(string | null)[]> => numbersOf(service, companyId);

async function untilNumbered(work: () => Promise<unknown>): Promise<void> {
  await work();
  for (let round = 0; round < 200 && (await numbers()).includes(null); round++) {
    await setTimeout(20);
    await work();
  }
}

describe('the numbers of invoices', () => {
  it('have no gap and no duplicate when 100 workers race, and follow the order of payment', async () => {
    // More than one batch, and inserted in another order than paid.
    const times = Array.from({ length: 1_200 }, (_, index) => now - 10_000 + ((index * 7) % 1_200));
    await addWaiting(times);
    const race = () =>
      Promise.all(Array.from({ length: 100 }, () => numberInvoices(service.db, service.clock, silentLog)));
    await untilNumbered(race);
    assert.deepEqual(await numbers(), range(1_200));
  });

  for (const failpoint of invoiceFailpoints) {
    it(`have no gap when a worker dies at ${failpoint}`, async () => {
      await addWaiting([now - 3, now - 2, now - 1]);
      assert.equal(await dieAt(failpoint), 'SIGKILL');
      assert.deepEqual(await numbers(), [null, null, null]);
      // The database notices a little later that the worker is dead, and then releases its lock.
      await untilNumbered(() => numberInvoices(service.db, service.clock, silentLog));
      assert.deepEqual(await numbers(), range(3));
    });
  }

  it('wait until payments of the same moment are recorded', async () => {
    const shop = await openShop(service, undefined, { key: merchant.key });
    await succeeded(service, shop, { key: merchant.key });
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), [null]);
    await numberNow(service, companyId);
    assert.deepEqual(await numbers(), range(1));
  });

  it('leave no document behind an earlier one that still waits', async () => {
    await addWaiting([now - 5]);
    await service.db.query(`UPDATE invoices SET due_at = now() + interval '2 s' WHERE company_id = $1`, [companyId]);
    await addWaiting([now]);
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), [null, null]);
  });

  it('begin with 1 in each series, which the prefix, the kind and the year make', async () => {
    await addWaiting([Date.UTC(2024, 11, 31, 22), Date.UTC(2025, 0, 1, 2)]);
    await addWaiting([Date.UTC(2025, 0, 2)], 'credit_note');
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), ['INV-2024-000001', 'INV-2025-000001', 'CN-2025-000001']);
    await withInvoices(service, merchant.sandbox, { invoice_prefix: 'A/', credit_note_prefix: 'A/', with_year: false });
    await addWaiting([now - 2]);
    await addWaiting([now - 1], 'credit_note');
    await withInvoices(service, merchant.sandbox, { padding: 2 });
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual((await numbers()).slice(3), ['A/01', 'A/02']);
  });

  it('take the year from the time zone of the company', async () => {
    await service.db.query(`UPDATE companies SET time_zone = 'Asia/Tokyo' WHERE id = $1`, [companyId]);
    await addWaiting([Date.UTC(2025, 11, 31, 14), Date.UTC(2025, 11, 31, 16)]);
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), ['INV-2025-000001', 'INV-2026-000001']);
  });

  it('wait while a gate is closed after a restore, and while a sandbox clock moves', async () => {
    await addWaiting([now]);
    for (const [held, free] of [
      [`gate = 'closed'`, 'gate = NULL'],
      [`clock_moved_until = now() + interval '1 hour'`, 'clock_moved_until = NULL'],
    ]) {
      await service.db.query(`UPDATE companies SET ${held} WHERE id = $1`, [companyId]);
      await numberInvoices(service.db, service.clock, silentLog);
      assert.deepEqual(await numbers(), [null]);
      await service.db.query(`UPDATE companies SET ${free} WHERE id = $1`, [companyId]);
    }
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), range(1));
  });

  it('of a company that fails keep no other company waiting', async () => {
    await addWaiting([now]);
    await service.db.query(`UPDATE companies SET time_zone = 'Mars/Olympus' WHERE id = $1`, [companyId]);
    const failing = companyId;
    companyId = (await service.createMerchant()).sandbox.id;
    await withInvoices(service, { ...merchant.sandbox, id: companyId });
    await addWaiting([now]);
    await numberInvoices(service.db, service.clock, silentLog);
    assert.deepEqual(await numbers(), range(1));
    assert.deepEqual(await numbersOf(service, failing), [null]);
    await service.db.query(`UPDATE companies SET time_zone = 'UTC' WHERE id = $1`, [failing]);
  });

  it('begin a new series after a restore, and continue with it', async () => {
    await addWaiting([now - 3]);
    await numberInvoices(service.db, service.clock, silentLog);
    const restore = { id: newId(now), noticedBy: 'operator', detail: 'a restore', beforeId: newId(now) } as const;
    await insertRestore(service.db, restore);
    await service.db.query('UPDATE companies SET gate = NULL');
    await addWaiting([now - 2]);
    await numberInvoices(service.db, service.clock, silentLog);
    await addWaiting([now - 1]);
    await numberInvoices(service.db, service.clock, silentLog);
    const [first, second, third] = await numbers();
    assert.equal(first, `INV-${year}-000001`);
    assert.match(second ?? '', new RegExp(String.raw`^INV-${year}-R\d{10}-000001$`));
    assert.equal(third, second?.replace(/1$/, '2'));
    await service.db.query('DELETE FROM restores');
  });
});

/** How a worker ends that dies there. */
async function dieAt(failpoint: Failpoint): Promise<string | null> {
  const program = fileURLToPath(new URL('../../../tests/support/number-invoices.ts', import.meta.url));
  const child = spawn(process.execPath, [program, service.companyUrls.connectionString], {
    env: { PATH: process.env.PATH, SVC_FAILPOINT: failpoint },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return signal;
}
