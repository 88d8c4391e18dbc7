import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { checkout as source } from '../../server/customer-texts/languages/en/checkout.ts';
import { languages } from '../../server/customer-texts/languages.ts';
import { fill, isRightToLeft } from '../../server/customer-texts/messages.ts';
import { textsFor } from '../../server/customer-texts/texts.ts';
import { changeProfile } from '../../server/features/profile/service.ts';
import { someCoupon } from '../support/coupons.ts';
import { checkLooks, type Look, openPagesWorld, typeCard, type Visited } from '../support/hosted-pages.ts';
import { shiftsOf, watchShifts } from '../support/layout-shift.ts';
import { contextOf } from '../support/orders.ts';
import { someProduct } from '../support/service.ts';
import { somePlan } from '../support/subscriptions.ts';

/** The checkout page in each language in which customers read it. */

const { service, visit, stop } = await openPagesWorld();
after(stop);

await changeProfile(contextOf(service), { display_name: 'Café Zürich', support_email: 'help@cafe.example' });
const { body: beans } = await service.call('POST', '/v1/products', {
  body: someProduct({ name: 'Espresso', pricing: { amount: 123_456, currency: 'eur' } }),
  idempotencyKey: randomUUID(),
});
const plan = await somePlan(service, {
  billing_cycle: { interval: 'month', interval_count: 3, anchor_day: 'signup_date' },
});

async function sell(body: object = {}): Promise<string> {
  const items = [{ product_id: beans.id, quantity: 1 }];
  const session = { mode: 'payment', items, collect: ['shipping'], allow_coupons: true, ...body };
  const reply = await service.call('POST', '/v1/checkout_sessions', { body: session });
  assert.equal(reply.status, 201, reply.text);
  return reply.body.url;
}

const url = await sell();
const english = new Set(Object.values(source).filter((text) => typeof text === 'string'));

async function during(path: string, locale: string, body: (visited: Visited) => Promise<void>): Promise<void> {
  const visited = await visit(path, { locale });
  try {
    await body(visited);
  } finally {
    await visited.close();
  }
}

/** Prices are written with spaces that do not break. */
const plain = (text: string | null): string =>
  (text ?? '').replaceAll(/[\u00a0\u202f]/g, ' ').replaceAll(/[\u2066-\u2069\u200e\u200f]/g, '');

/** Long words, another script and another direction are also looked at on a wide screen. */
const looksOf = (language: string): Look[] =>
  ['de', 'ja', 'ar'].includes(language) ? [{}, { isPhone: true }] : [{ isPhone: true }];

/** What a customer can read on the page, text by text. */
const readTexts = async (page: Page): Promise<string[]> =>
  (await page.evaluate<string>('document.getElementById("layout").innerText')).split('\n').map((text) => text.trim());

describe('the checkout page in the language of the customer', () => {
  for (const language of languages) {
    test(`is whole in ${language}: texts, card fields, errors, direction, and less than 100 kB`, async () => {
      const { checkout, card } = await textsFor(language);
      await during('/checkout/unknown', language, async ({ page, fields, complaints }) => {
        complaints.length = 0;
        const devtools = await page.context().newCDPSession(page);
        // Page and card fields share a font. Without a cache the browser sometimes loads it for both.
        const addresses = new Map<string, string>();
        const loaded = new Map<string, number>();
        devtools.on('Network.requestWillBeSent', ({ requestId, request }) => addresses.set(requestId, request.url));
        devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
          const address = addresses.get(requestId);
          // The page before was still loading it.
          if (address === undefined) return;
          loaded.set(address, Math.max(encodedDataLength, loaded.get(address) ?? 0));
        });
        await devtools.send('Network.enable');
        await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
        await page.goto(service.baseUrl + new URL(url).pathname);
        await page.locator('#pay:enabled').waitFor();
        await fields.locator('#form:not([hidden]) #cvc').waitFor();
        const bytes = [...loaded.values()].reduce((sum, size) => sum + size, 0);
        assert.ok(bytes > 30_000 && bytes < 100_000, `${bytes} bytes: ${JSON.stringify([...loaded])}`);

        const root = page.locator('html');
        const direction = isRightToLeft(language) ? 'rtl' : 'ltr';
        assert.deepEqual([await root.getAttribute('lang'), await root.getAttribute('dir')], [language, direction]);
        assert.equal(plain(await page.title()), plain(fill(checkout.pageTitle, { merchant: 'Café Zürich' }, language)));
        assert.equal(await fields.locator('#number-label').textContent(), card.number);
        assert.equal(await fields.locator('html').getAttribute('dir'), direction);

        await page.locator('#pay').click();
        await page.getByText(checkout.emailMissing).waitFor();
        await fields.getByText(card.numberRequired).waitFor();
        const shared = new Set(Object.values(checkout));
        const left = (await readTexts(page)).filter((text) => english.has(text as never) && !shared.has(text as never));
        assert.deepEqual(left, [], 'English texts');
        await checkLooks(page, `checkout-${language}`, looksOf(language));
        assert.deepEqual(complaints, []);
      });
    });
  }

  for (const language of languages) {
    test(`does not move while it loads in ${language}`, async () => {
      await during('/checkout/unknown', language, async ({ page }) => {
        await watchShifts(page, ['**/session', '**/fonts/*', '**/card-fields*']);
        await page.goto(service.baseUrl + new URL(url).pathname);
        await page.locator('#pay:enabled').waitFor();
        const { sum, shifts } = await shiftsOf(page);
        assert.ok(sum < 0.05, JSON.stringify(shifts));
      });
    });
  }

  test('is a mirror image in Arabic: summary and its colored half on the right, with the same space around them', async () => {
    const placesIn = async (locale: string, towards: string): Promise<number[]> => {
      let places: number[] = [];
      await during(url, locale, async ({ page }) => {
        await page.locator('#pay:enabled').waitFor();
        places = await page.evaluate<number[]>(
          `[document.documentElement.clientWidth, ...['.summary .details', '.payment .form'].flatMap((part) => {
            const { left, right } = document.querySelector(part).getBoundingClientRect();
            return [left, right].map(Math.round);
          })]`,
        );
        const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundImage');
        assert.ok(background.includes(towards), background);
      });
      return places;
    };
    const [width = 0, ...english] = await placesIn('en', 'to right');
    const [left = 0, right = 0, formLeft = 0, formRight = 0] = english.map((place) => width - place);
    assert.deepEqual(await placesIn('ar', 'to left'), [width, right, left, formRight, formLeft]);
  });

  test('asks for the family name first in Japanese', async () => {
    for (const [locale, first] of [
      ['ja', 'last-name'],
      ['de', 'first-name'],
    ] as const) {
      await during(url, locale, async ({ page }) => {
        await page.locator('#pay:enabled').waitFor();
        assert.equal(await page.locator('#contact-fields .half input').first().getAttribute('id'), first);
      });
    }
  });

  test('writes prices, periods and names of countries as the language does', async () => {
    await during(url, 'de-AT', async ({ page }) => {
      await page.locator('#pay:enabled').waitFor();
      assert.equal(plain(await page.locator('#pay-text').textContent()), '€ 1.234,56 bezahlen');
      assert.equal(await page.locator('#country').inputValue(), 'AT');
      assert.equal(await page.locator('#country option:checked').textContent(), 'Österreich');
    });
    const subscription = await sell({ mode: 'subscription', items: undefined, plan_id: plan.id, collect: [] });
    await during(subscription, 'pl', async ({ page }) => {
      await page.locator('#pay:enabled').waitFor();
      assert.equal(await page.locator('#period').textContent(), 'co 3 miesiące');
    });
  });

  test('says in the language of the customer why a code and a card are refused, also after loading again', async () => {
    const { code } = await someCoupon(service, { percentage: 10 });
    await during(await sell({ collect: [] }), 'de', async ({ page, fields }) => {
      await page.getByRole('button', { name: 'Gutscheincode hinzufügen' }).click();
      await page.getByRole('textbox', { name: 'Gutscheincode' }).fill('NOSUCHCODE');
      await page.getByRole('button', { name: 'Einlösen' }).click();
      await page.getByText('Dieser Code ist ungültig. Bitte prüfen Sie die Schreibweise.').waitFor();
      await page.getByRole('textbox', { name: 'Gutscheincode' }).fill(code);
      await page.getByRole('button', { name: 'Einlösen' }).click();
      await page.getByText(`Rabatt (${code})`).waitFor();
      await page.getByLabel('E-Mail').fill(`ada-${process.pid}@example.com`);
      await page.getByLabel('Vorname').fill('4242 4242 4242 4242');
      await page.getByLabel('Nachname').fill('Lovelace');
      await page.getByLabel('Telefon').fill('+491701234567');
      await typeCard(fields, '4000000000009995');
      await page.locator('#pay').click();
      await page.getByText('Diese Eingabe kann nicht verwendet werden.').waitFor();
      await page.getByLabel('Vorname').fill('Ada');
      await page.locator('#pay').click();
      await page.getByText('Die Karte ist nicht ausreichend gedeckt.').waitFor();
      await page.reload();
      await page.getByText('Die Karte ist nicht ausreichend gedeckt.').waitFor();
    });
  });

  test('has the language that its address asks for before that of the browser, until the end', async () => {
    await during(`${url}?locale=fr-CA`, 'de', async ({ page, fields }) => {
      await page.getByRole('button', { name: /^Payer/ }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), 'fr-CA');
      assert.equal(await fields.locator('#number-label').textContent(), 'Numéro de carte');
      const answer = page.waitForResponse((response) => response.url().includes('/quote'));
      await page.getByRole('button', { name: 'Ajouter un code promo' }).click();
      await page.getByRole('textbox', { name: 'Code promo' }).fill('NOSUCHCODE');
      await page.getByRole('button', { name: 'Appliquer' }).click();
      assert.equal(new URL((await answer).url()).searchParams.get('locale'), 'fr-CA');
      await page.getByText('Ce code n’est pas valide.').waitFor();
    });
    for (const wrong of ['tlh', '%22%3E%3Cscript%3E', '../x']) {
      await during(`${url}?locale=${wrong}`, 'it', async ({ page }) => {
        await page.getByRole('button', { name: /^Paga/ }).waitFor();
        assert.equal(await page.locator('html').getAttribute('lang'), 'it');
      });
    }
  });
});

describe('the checkout page of a shop in Europe', () => {
  const moveTo = (country: string | null) =>
    changeProfile(contextOf(service), { address: country ? { line1: '1 Main Street', city: 'Town', country } : null });
  after(() => moveTo(null));

  /** Whether the text stands right above the button. */
  const standsAbove = async (page: Page): Promise<boolean> =>
    page.evaluate<boolean>(
      `(() => {
        const [text, button] = ['terms', 'pay'].map((id) => document.getElementById(id).getBoundingClientRect());
        return text.height > 0 && text.bottom <= button.top && button.top - text.bottom < 40;
      })()`,
    );

  test('has a button with the words of the law and nothing else, and total and renewal right above it', async () => {
    await moveTo('AT');
    await during(url, 'de', async ({ page, fields }) => {
      await page.locator('#pay:enabled').waitFor();
      assert.equal(await page.locator('#pay').innerText(), 'Zahlungspflichtig bestellen');
      assert.equal(plain(await page.locator('#terms').textContent()), 'Gesamtbetrag: 1.234,56 €');
      assert.ok(await standsAbove(page));
      await fields.locator('#form:not([hidden]) #cvc').waitFor();
      await checkLooks(page, 'checkout-europe', [{}, { isPhone: true }]);
    });
    const subscription = await sell({ mode: 'subscription', items: undefined, plan_id: plan.id, collect: [] });
    await during(subscription, 'fr', async ({ page }) => {
      await page.locator('#pay:enabled').waitFor();
      assert.equal(await page.locator('#pay').innerText(), 'Commande avec obligation de paiement');
      const terms = plain(await page.locator('#terms').textContent());
      assert.match(terms, /^Vous payez 19,00 \$US aujourd’hui, puis 19,00 \$US tous les 3 mois\./);
      assert.ok(await standsAbove(page));
    });
  });

  test('names the sum in the button outside of Europe, and where nothing is charged', async () => {
    await moveTo('US');
    await during(url, 'en-US', async ({ page }) => page.getByRole('button', { name: 'Pay €1,234.56' }).waitFor());
    await moveTo('DE');
    const { code } = await someCoupon(service, { percentage: 100 });
    await during(await sell({ coupon_code: code }), 'en-US', async ({ page }) => {
      await page.getByRole('button', { name: 'Pay €0.00' }).waitFor();
      assert.equal(await page.locator('#terms').isVisible(), false);
    });
  });
});

describe('a payment link', () => {
  test('leads to the checkout in the language of its address, and says in it why it is closed', async () => {
    const created = await service.call('POST', '/v1/payment_links', {
      body: { name: 'Beans', mode: 'payment', items: [{ product_id: beans.id, quantity: 1 }] },
    });
    const path = new URL(created.body.url).pathname;
    const get = (address: string, headers: Record<string, string> = {}) =>
      fetch(service.baseUrl + address, { redirect: 'manual', headers: { accept: 'text/html', ...headers } });
    const led = await get(`${path}?locale=nl`);
    assert.match(led.headers.get('location') ?? '', /^\/checkout\/\w+\?locale=nl$/);
    assert.doesNotMatch((await get(path)).headers.get('location') ?? '', /locale/);
    await service.call('PATCH', `/v1/payment_links/${created.body.id}`, { body: { active: false } });
    const closed = await (await get(path, { 'accept-language': 'ja,en;q=0.5' })).text();
    assert.match(closed, /<html lang="ja" dir="ltr">/);
    assert.match(closed, /この支払いリンクは無効です/);
    const arabic = await (await get(`${path}?locale=ar`)).text();
    assert.match(arabic, /<html lang="ar" dir="rtl">/);
    assert.match(await (await get(path)).text(), /This payment link is not active/);
  });
});
