import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { Svc } from '../sdk/node/src/index.ts';
import { loadConfig } from '../server/config.ts';
import { createLog } from '../server/platform/log.ts';
import { startService } from '../server/service.ts';
import { launchBrowser } from '../tests/support/browser.ts';

/**
 * `SVC_DATA_DIR=… node scripts/page-pictures.ts`: takes the pictures of the checkout page and the customer page in docs/pictures, from the
 * demo company of a data folder whose sample data is complete.
 */

const folder = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
if (!process.env.SVC_DATA_DIR) throw new Error('Set SVC_DATA_DIR to a data folder with sample data');
const config = loadConfig({ SVC_DATA_DIR: process.env.SVC_DATA_DIR, PORT: '0' });
const service = await startService(config, createLog('silent'), () => process.exit(1));
const browser = await launchBrowser();
try {
  const { demo } = service;
  if (!demo) throw new Error('there is no demo company');
  const page = await browser.newPage({
    viewport: { width: 1180, height: 1000 },
    deviceScaleFactor: 2,
    locale: 'en-US',
    reducedMotion: 'reduce',
  });
  const take = async (name: string): Promise<void> => {
    const picture = sharp(await page.screenshot()).png({ palette: true, compressionLevel: 9 });
    await picture.toFile(join(folder, `${name}.png`));
  };
  await page.goto(demo.checkout_url);
  await page.getByRole('button', { name: 'Add promotion code' }).click();
  await page.getByRole('textbox', { name: 'Promotion code' }).fill('TEA10');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('button', { name: 'Pay $65.70' }).waitFor();
  await page.getByLabel('Email').fill('ada@example.com');
  await page.getByLabel('First name').fill('Ada');
  await page.getByLabel('Last name').fill('Lovelace');
  const fields = page.frameLocator('#card iframe');
  await fields.locator('#number').fill('4242424242424242');
  await fields.locator('#expiry').fill('1231');
  await page.locator('h1').click();
  await page.waitForLoadState('networkidle');
  await take('checkout');

  const svc = new Svc(demo.secret_key, { baseUrl: service.baseUrl });
  const customer = await svc.customers.create({
    email: 'ada.lovelace@example.com',
    first_name: 'Ada',
    last_name: 'Lovelace',
    phone: '+15551239876',
  });
  const card = { number: '4242424242424242', exp_month: '12', exp_year: '2031', cvc: '999' };
  await svc.paymentMethods.capture({ customer_id: customer.id, card });
  const [plan] = (await svc.plans.list({ sort: 'created_at' })).data;
  await svc.subscriptions.create({ customer_id: customer.id, plan_id: plan?.id ?? '' });
  const products = (await svc.products.list({ sort: 'created_at' })).data;
  const items = products.slice(0, 2).map(({ id }, index) => ({ product_id: id, quantity: index + 1 }));
  await svc.orders.create({ customer_id: customer.id, items });
  const { url } = await svc.customerSessions.create({ customer_id: customer.id });
  await page.setViewportSize({ width: 860, height: 840 });
  await page.goto(url ?? '');
  await page.getByRole('heading', { name: 'Payments' }).waitFor();
  await take('customer-page');
} finally {
  await browser.close();
  await service.stop();
}
