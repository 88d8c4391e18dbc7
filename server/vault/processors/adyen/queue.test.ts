import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../../tests/support/embedded-postgres.ts';
import {
  type ConnectedMerchant,
  type LiveService,
  startLiveService,
} from '../../../../tests/support/live-merchants.ts';
import { readOrder, succeeded } from '../../../../tests/support/orders.ts';
import type { Reply } from '../../../../tests/support/service.ts';
import { silentLog } from '../../../../tests/support/silent-log.ts';
import type { Simulator } from '../../../../tests/support/simulator.ts';
import { applyDueNotices } from '../../../features/processors/notices.ts';

/** A long queue of notices of Adyen, through the whole service. */

let live: LiveService;
let adyen: Simulator;
let merchant: ConnectedMerchant;

before(async () => {
  live = await startLiveService();
  adyen = live.fakes.adyen;
  merchant = await live.openMerchant('adyen');
  const notice_url = `${live.service.baseUrl}/processors/${merchant.connections[0]}/notices`;
  await adyen.control({ notice_url });
});
after(() => live.stop());

const pay = (): Promise<Reply['body']> => succeeded(live.service, merchant.shop, { key: merchant.key });
const chargeOf = async (orderId: string): Promise<string> => {
  const [row] = await live.service.db.query<{ reference: string }>(
    "SELECT reference FROM transactions WHERE order_id = $1 AND type = 'sale'",
    [orderId],
  );
  return row?.reference ?? '';
};

/** Waits until Adyen has delivered everything, and applies it. */
async function deliver(): Promise<void> {
  const { service, vault } = live;
  await waitUntil(async () => {
    await sleep(20);
    return (await adyen.call('GET', '/healthz')).undelivered === 0;
  }, 120_000);
  while ((await applyDueNotices({ db: service.db, vault, orders: service.orders, log: silentLog }, 200)) > 0);
}

describe('the queue of Adyen', () => {
  it('is not stopped by a notice of another merchant account: the 1,000 of ours behind it are applied', async () => {
    const { id } = await pay();
    await deliver();
    const reference = await chargeOf(id);
    const foreign = {
      eventCode: 'REPORT_AVAILABLE',
      pspReference: 'REPORT',
      merchantReference: 'x'.repeat(200),
      merchantAccountCode: 'TheCompany',
      amount: { currency: 'USD', value: 0 },
      isSuccess: true,
    };
    await adyen.call('POST', '/control/notices', foreign);
    const ours = { ...foreign, eventCode: 'CAPTURE', merchantReference: reference, merchantAccountCode: undefined };
    const events = Array.from({ length: 1_000 }, (_, number) => ({
      ...ours,
      pspReference: `P${number}`,
      originalReference: 'X',
    }));
    await adyen.call('POST', '/control/notices', { events });
    await deliver();
    const [row] = await live.service.db.query<{ applied: number }>(
      `SELECT count(*)::int AS applied FROM processor_notices
       WHERE company_id = $1 AND id LIKE 'CAPTURE:P%' AND applied_at IS NOT NULL`,
      [merchant.companyId],
    );
    assert.equal(row?.applied, 1_000);
    const [report] = await live.service.db.query<{ about: object }>(
      "SELECT about FROM processor_notices WHERE company_id = $1 AND type = 'REPORT_AVAILABLE'",
      [merchant.companyId],
    );
    assert.deepEqual(report?.about, { kind: 'other' }, 'it is kept');
    assert.equal((await readOrder(live.service, id, { key: merchant.key })).status, 'succeeded');
  });
});
