import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { customer as source } from '../../server/customer-texts/languages/en/customer.ts';
import { languages } from '../../server/customer-texts/languages.ts';
import { fill, isRightToLeft } from '../../server/customer-texts/messages.ts';
import { textsFor } from '../../server/customer-texts/texts.ts';
import { changeProfile } from '../../server/features/profile/service.ts';
import { checkLooks, openPagesWorld } from '../support/hosted-pages.ts';
import { contextOf, openShop, succeeded } from '../support/orders.ts';
import { somePlan } from '../support/subscriptions.ts';

/** The customer page in each language, and the customer that the checkout page remembers. */

const { service, visit, stop } = await openPagesWorld();
after(stop);

const shop = await openShop(service);
await changeProfile(contextOf(service), { display_name: 'Café Zürich', support_email: 'help@cafe.example' });
await succeeded(service, shop);
const plan = await somePlan(service, {
  billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 'signup_date' },
});
const subscribed = await service.call('POST', '/v1/subscriptions', {
  body: { customer_id: shop.customerId, plan_id: plan.id, payment_method_id: shop.paymentMethodId },
});
assert.equal(subscribed.status, 201, subscribed.text);
const { body: session } = await service.call('POST', '/v1/customer_sessions', {
  body: { customer_id: shop.customerId },
});
const { body: setup } = await service.call('POST', '/v1/checkout_sessions', {
  body: { mode: 'setup', customer_id: shop.customerId, cancel_url: 'https://cafe.example/' },
});

const english = new Set<unknown>(Object.values(source));
const withoutIsolates = (text: string | null): string => (text ?? '').replaceAll(/[\u2066-\u2069]/g, '');

describe('the customer page in the language of the customer', () => {
  for (const language of languages) {
    test(`is whole in ${language}`, async () => {
      const { customer, card } = await textsFor(language);
      const { page, fields, complaints, close } = await visit(session.url, { locale: language });
      await page.locator('[data-subscription]').waitFor();
      const root = page.locator('html');
      const direction = isRightToLeft(language) ? 'rtl' : 'ltr';
      assert.deepEqual([await root.getAttribute('lang'), await root.getAttribute('dir')], [language, direction]);
      const headline = fill(customer.headline, { merchant: 'Café Zürich' }, language);
      assert.equal(withoutIsolates(await page.locator('#headline').textContent()), withoutIsolates(headline));
      await page.getByText(fill(customer.period, { interval: 'month', count: 3 }, language)).waitFor();
      await page.locator('#change-card').click();
      await page.locator('#saved-cards').getByText(customer.newCard).click();
      await fields.locator('#form:not([hidden]) #cvc').waitFor();
      assert.equal(await fields.locator('#number-label').textContent(), card.number);
      const shared = new Set<unknown>(Object.values(customer));
      const read = (await page.evaluate<string>('document.getElementById("layout").innerText')).split('\n');
      const left = read.map((text) => text.trim()).filter((text) => english.has(text) && !shared.has(text));
      assert.deepEqual(left, [], 'English texts');
      const wide = ['de', 'ja', 'ar'].includes(language) ? [{}] : [];
      await checkLooks(page, `customer-${language}`, [...wide, { isPhone: true }]);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
});

describe('the page that saves a card', () => {
  for (const language of ['en', 'de', 'ja', 'ar'] as const) {
    test(`is whole in ${language}`, async () => {
      const { setup: texts, card } = await textsFor(language);
      const { page, fields, complaints, close } = await visit(setup.url, { locale: language });
      await fields.locator('#form:not([hidden]) #cvc').waitFor();
      assert.equal(await fields.locator('#number-label').textContent(), card.number);
      assert.equal(await page.locator('h1').first().textContent(), texts.openTitle);
      const read = withoutIsolates(await page.evaluate<string>('document.getElementById("layout").innerText'));
      for (const text of [texts.save, texts.sandboxHint, fill(texts.open, { merchant: 'Café Zürich' }, language)]) {
        assert.ok(read.includes(withoutIsolates(text)), text);
      }
      await checkLooks(page, `setup-${language}`, [{}, { isPhone: true }]);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
});
