import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type LiveService, startLiveService } from '../support/live-merchants.ts';
import { launchBrowser } from '../support/browser.ts';
import { typeCard } from '../support/hosted-pages.ts';
import { openShop } from '../support/orders.ts';
import { connectMerchant, openAcquirer } from '../support/own-acquirer.ts';
import { someCustomer } from '../support/service.ts';

/** A customer saves a card, and is led to the page of the bank that each simulated processor has, and back. */

// The links of the service name this host, which the browser finds at the port of the service.
const baseUrl = 'http://pay.localhost';
const limits = ['CAPTURE', 'WRITE', 'READ', 'REFUSED_CARDS'].map((name) => [`SVC_RATE_LIMIT_${name}`, 'off']);
const acquirer = await openAcquirer();
const live: LiveService = await startLiveService({ settings: Object.fromEntries(limits), baseUrl });
const { service } = live;
const browser = await launchBrowser(`--host-resolver-rules=MAP pay.localhost:80 ${new URL(service.baseUrl).host}`);
after(async () => {
  await browser.close();
  await live.stop();
  await acquirer.stop();
});

const merchants = {
  stripe: () => live.openMerchant('stripe'),
  adyen: () => live.openMerchant('adyen'),
  async acquirer() {
    const { key } = await connectMerchant(service, acquirer);
    return { key, shop: await openShop(service, undefined, { key }) };
  },
};
await live.fakes.stripe.control({ wants_authentication: true });
await live.fakes.adyen.control({ wants_authentication: true });
await acquirer.control({ wants_authentication: true } as object);

describe('a card that is saved in a browser', () => {
  for (const [kind, openMerchant] of Object.entries(merchants)) {
    test(`at ${kind}: refused by the bank, then confirmed, and nothing changes after a second return`, async () => {
      const { key } = await openMerchant();
      const { id: customer_id } = (await service.call('POST', '/v1/customers', { key, body: someCustomer() })).body;
      const made = await service.call('POST', '/v1/checkout_sessions', { key, body: { mode: 'setup', customer_id } });
      const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce' });
      const page = await context.newPage();
      await page.goto(made.body.url);
      const press = async (choice: string): Promise<void> => {
        await typeCard(page.frameLocator('#card iframe'), '4242424242424242');
        await page.getByRole('button', { name: 'Save card' }).click();
        await page.getByRole('button', { name: choice, exact: true }).click();
      };
      await press('Refuse');
      await page.getByRole('alert').filter({ hasText: /card/i }).first().waitFor();
      await press('Confirm');
      await page.getByRole('heading', { name: 'Card saved' }).waitFor();
      assert.equal(new URL(page.url()).search, '', 'the address keeps nothing of the bank');
      await page.goBack();
      await page.goto(`${made.body.url}?returned=card&redirectResult=X&redirect_status=failed`);
      await page.getByRole('heading', { name: 'Card saved' }).waitFor();
      const { body } = await service.call('GET', `/v1/customers/${customer_id}/payment_methods`, { key });
      assert.equal(body.data.length, 1);
      assert.ok(body.data[0].mandate);
      await context.close();
    });
  }
});
