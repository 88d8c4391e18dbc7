import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { FrameLocator, Page } from 'playwright-core';
import { branding } from '../../dashboard/src/texts/branding.ts';
import { common } from '../../dashboard/src/texts/common.ts';
import { customers } from '../../dashboard/src/texts/customers.ts';
import { preview } from '../../dashboard/src/texts/preview.ts';
import { paymentLinks } from '../../dashboard/src/texts/payment-links.ts';
import { companyOf, type Person, signUp } from '../support/dashboard.ts';
import { type DashboardPage, openDashboardPage } from '../support/dashboard-page.ts';
import { checkLooks, openPagesWorld, typeCard } from '../support/hosted-pages.ts';
import { inspect } from '../support/inspect.ts';

/** The languages of company, customers and payment links in the dashboard, and the pages that follow them. */

const { service, browser, visit, stop } = await openPagesWorld();
after(stop);

let owner: Person;
let key: string;
let opened: DashboardPage;

before(async () => {
  owner = await signUp(service);
  key = await service.createKey({ ...service.company, id: companyOf(owner, 'sandbox') });
  opened = await openDashboardPage(browser, service.baseUrl, owner);
});
after(() => assert.deepEqual(opened.problems, []));

const first = async (path: string) => (await service.call('GET', `${path}?limit=1`, { key })).body.data[0];

describe('the language of a customer in the dashboard', () => {
  it('is chosen by its name when the customer is added, shown, changed and cleared', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/customers');
    await button(customers.add).first().click();
    for (const [label, text] of [
      [customers.firstName, 'Ada'],
      [customers.lastName, 'Lovelace'],
      [customers.email, 'ada@example.com'],
      [customers.phone, '+15550102030'],
    ] as const) {
      await field(label, dialog()).fill(text);
    }
    await field(customers.language, dialog()).selectOption({ label: 'Portuguese (Brazil)' });
    await button(customers.add, dialog()).click();
    await page.getByText('Portuguese (Brazil)').waitFor();
    const { id, locale } = await first('/v1/customers');
    assert.equal(locale, 'pt-BR');

    // What only the API sets stays a choice.
    await service.call('PATCH', `/v1/customers/${id}`, { key, body: { locale: 'de-AT' } });
    await page.goto(`/customers/${id}`);
    await page.getByText('German (Austria)').waitFor();
    await button(common.edit).click();
    const select = field(customers.language, dialog());
    assert.equal(await select.locator('option:checked').textContent(), 'German (Austria)');
    await inspect(page, '/customers/:id, edited');
    await select.selectOption({ label: customers.noLanguage });
    await button(common.save, dialog()).click();
    await dialog().waitFor({ state: 'hidden' });
    assert.equal((await first('/v1/customers')).locale, null);
  });
});

describe('the language of a payment link in the dashboard', () => {
  it('is chosen with the link and changed later, and its page has it', async () => {
    const { page, button, field, dialog } = opened;
    await page.goto('/payment-links/new');
    await field(paymentLinks.what).fill('Tea pot');
    await field(paymentLinks.price).fill('49.00');
    await page.getByText(paymentLinks.options).click();
    await field(paymentLinks.language).selectOption({ label: 'French' });
    await button(paymentLinks.add).click();
    await page.getByText('French', { exact: true }).waitFor();
    const { url } = await first('/v1/payment_links');
    const french = await visit(url, { locale: 'de' });
    await french.page.getByRole('button', { name: /^Payer/ }).waitFor();
    await french.close();

    await button(common.edit).click();
    await field(paymentLinks.language, dialog()).selectOption({ label: paymentLinks.noLanguage });
    await button(common.save, dialog()).click();
    await page.getByText(paymentLinks.changed).waitFor();
    const german = await visit(url, { locale: 'de' });
    await german.page.getByRole('button', { name: /bezahlen$/ }).waitFor();
    await german.close();
  });
});

describe('the own texts of the merchant', () => {
  it('are typed by language beside the page in this language, and shown to customers as text', async () => {
    const { page, button, field } = opened;
    await page.goto('/settings/branding?tab=texts');
    await field(branding.textsLanguage).selectOption({ label: 'German' });
    const shown = page.frameLocator(`iframe[title="${preview.frame}"]`);
    await shown
      .locator('#pay')
      .getByText(/bezahlen$/)
      .waitFor();
    await field(branding.ownTermsUrl).fill('https://tea.example/agb');
    await field(branding.ownTerms).fill('Ich akzeptiere die AGB & den Widerruf.');
    await shown.getByText('Ich akzeptiere die AGB & den Widerruf.').waitFor();
    await field(branding.thankYou).fill('Vielen Dank!\nIhr "Tee" < 3 Tage.');
    await field(branding.support).fill('Telefon: 030 123 & 456');
    await field(branding.textsLanguage).selectOption({ label: 'Arabic' });
    await field(branding.thankYou).fill('شكرا لك!');
    await inspect(page, '/settings/branding?tab=texts');
    await field(branding.ownTermsUrl).fill('javascript:alert(1)');
    await field(branding.textsLanguage).selectOption({ label: 'German' });
    await button(common.save).click();
    // The mistake is in another language: its fields are shown.
    await page.locator('[aria-invalid="true"]').waitFor();
    assert.equal(await field(branding.textsLanguage).inputValue(), 'ar');
    await field(branding.ownTermsUrl).fill('');
    await button(common.save).click();
    await page.getByText(common.saved, { exact: true }).waitFor();
    const { texts } = (await owner.in('GET', '/dashboard/profile')).body;
    assert.deepEqual([texts.ar.thank_you, texts.de.support, texts.fr], ['شكرا لك!', 'Telefon: 030 123 & 456', null]);

    const { url } = await first('/v1/payment_links');
    const visited = await visit(url, { locale: 'de' });
    const { page: shop, fields, complaints } = visited;
    await shop.getByRole('button', { name: /bezahlen$/ }).waitFor();
    const terms = shop.locator('#agreement-link');
    assert.deepEqual(
      [await terms.textContent(), await terms.getAttribute('href'), await terms.getAttribute('lang')],
      ['Ich akzeptiere die AGB & den Widerruf.', 'https://tea.example/agb', 'de'],
    );
    await payIn(shop, fields);
    const own = shop.locator('#outcome-own');
    await own.getByText('Vielen Dank!').waitFor();
    assert.equal(await own.innerText(), 'Vielen Dank!\nIhr "Tee" < 3 Tage.');
    await shop.locator('#outcome-support').getByText('Telefon: 030 123 & 456').waitFor();
    await checkLooks(shop, 'own-texts', [{ isPhone: true }]);
    assert.deepEqual(complaints, []);
    await visited.close();
    // In a language without own texts: those in the language of the company, English, of which there are none.
    const french = await visit(url, { locale: 'fr' });
    await french.page.getByRole('button', { name: /^Payer/ }).waitFor();
    assert.equal(await french.page.locator('#agreement').isVisible(), false);
    await french.close();
  });
});

/** Fills in the page, whichever language it has. */
async function payIn(shop: Page, fields: FrameLocator): Promise<void> {
  for (const [id, text] of [
    ['email', 'grace@example.com'],
    ['first-name', 'Grace'],
    ['last-name', 'Hopper'],
    ['phone', '+15550109988'],
  ] as const) {
    await shop.locator(`#${id}`).fill(text);
  }
  await typeCard(fields);
  await shop.locator('#pay').click();
}

describe('the language of the company in the dashboard', () => {
  it('decides for a visitor whose browser has none of our languages, in document, data and card fields', async () => {
    const { page, button, field } = opened;
    await page.goto('/settings/branding');
    await field(branding.language).selectOption({ label: 'Italian' });
    await button(common.save).click();
    await page.getByText(common.saved, { exact: true }).waitFor();
    const { url } = await first('/v1/payment_links');
    const visited = await visit(url, { locale: 'fi' });
    const { page: shop, fields, complaints } = visited;
    await shop.getByRole('button', { name: /^Paga/ }).waitFor();
    assert.match(shop.url(), /\?fallback=it$/);
    assert.equal(await shop.locator('html').getAttribute('lang'), 'it');
    await fields.locator('#form:not([hidden]) #cvc').waitFor();
    assert.equal(await fields.locator('html').getAttribute('lang'), 'it');
    const asked = await shop.evaluate<string[]>(
      `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/session'))`,
    );
    // The document asks for the session early, at the address that the page uses.
    assert.equal(new Set(asked).size, 1, asked.join());
    assert.match(asked[0] ?? '', /\/session\?fallback=it$/);
    assert.deepEqual(complaints, []);
    await visited.close();
    const german = await visit(url, { locale: 'de' });
    await german.page.getByRole('button', { name: /bezahlen$/ }).waitFor();
    await german.close();
  });
});
