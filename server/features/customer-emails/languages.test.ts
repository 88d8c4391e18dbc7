import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { contextOf, openShop, type Shop, succeeded } from '../../../tests/support/orders.ts';
import { readPages } from '../../../tests/support/pdf-pages.ts';
import { silentLog } from '../../../tests/support/silent-log.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { languages } from '../../customer-texts/languages.ts';
import { wordsFor } from '../../customer-texts/words.ts';
import { contentOf as storedContent } from '../mails/service.ts';
import { changeProfile, profileOf } from '../profile/service.ts';
import { addActive } from '../team/service.ts';
import { contentOf, type Occasion } from './content.ts';
import { makeCustomerEmails } from './jobs.ts';
import { htmlOf, textOf } from './layout.ts';
import { writeEmail } from './write-email.ts';

/** Emails and receipts in the language of the customer. */

let service: TestService;
let shop: Shop;
before(async () => {
  service = await startTestService();
  shop = await openShop(service);
});
after(() => service.stop());

const customerPath = (): string => `/v1/customers/${shop.customerId}`;
const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, ' ');

async function occasions(): Promise<Occasion[]> {
  const order = (await succeeded(service, shop)) as never as Extract<Occasion, { kind: 'order_receipt' }>['order'];
  const card = { card_brand: 'visa', card_last_four: '4242' };
  const paid = { name: 'Tea', amount: 4900, currency: 'usd', card };
  const receipt = { number: 'R-000001', url: 'https://pay.example.com/receipts/1' };
  const at = '2026-12-24T00:00:00.000Z';
  return [
    { kind: 'order_receipt', order, plan: null, receipt },
    { kind: 'renewal_receipt', order, plan: { name: 'Tea', price: 4900, setupFee: 100 }, receipt },
    { kind: 'refund_receipt', order, refund: { amount: 4900, created_at: at }, receipt },
    { kind: 'payment_failed', ...paid, failureCode: 'expired_card', nextAttemptAt: at },
    { kind: 'payment_failed', ...paid, failureCode: null, nextAttemptAt: null },
    { kind: 'payment_failed', ...paid, failureCode: null, nextAttemptAt: null, confirmation: { url: 'u', until: at } },
    { kind: 'final_notice', name: 'Tea', card: { card_brand: 'unknown', card_last_four: '1' } },
    { kind: 'card_expiring', card, year: 2026, month: 12 },
    { kind: 'subscription_canceled', name: 'Tea' },
    { kind: 'upcoming_renewal', ...paid, at },
    { kind: 'payment_request', order: { ...order, failure_code: 'do_not_honor' }, url: 'https://pay.example.com/p' },
    { kind: 'card_request', order },
  ];
}

const links = () => ({
  baseUrl: 'https://pay.example.com',
  linkKey: service.linkKey,
  mailKey: service.mailKey,
  clock: service.clock,
  customerPageLink: async () => undefined,
});

/** A worker that was just started: it remembers nothing. */
const make = (): Promise<unknown> =>
  makeCustomerEmails(
    { name: service.company.shard, db: { ...service.db }, clock: service.clock, log: silentLog },
    links(),
  );

/** Pays an order. Returns the subject and the text of its email, and the text of its receipt. */
async function receiptAndEmail(): Promise<{ readonly subject: string; readonly text: string; readonly page: string }> {
  const { id } = await succeeded(service, shop);
  await make();
  const rows = await service.db.query<{ subject: string; occasion: string }>(
    'SELECT * FROM mails WHERE company_id = $1 AND kind IS NOT NULL',
    [service.company.id],
  );
  const mail = rows.find(({ occasion }) => occasion === `receipt ${id}`);
  const { text } = storedContent(service.mailKey, mail as never);
  const link = (await service.call('GET', `/v1/orders/${id}/receipt`)).body;
  const { pathname, search } = new URL(link.url);
  const pdf = Buffer.from(await (await fetch(service.baseUrl + pathname + search)).arrayBuffer());
  const page = (await readPages(pdf)).map((one) => one.text).join('\n');
  return { subject: mail?.subject ?? '', text: plain(text), page };
}

/** An email to the customer in a language. */
async function previewIn(locale: string): Promise<{ readonly text: string; readonly html: string }> {
  const words = await wordsFor(locale);
  const profile = await profileOf(service.db, service.company);
  const reader = { words, firstName: 'Ada', unsubscribeUrl: '#' };
  return writeEmail(
    links(),
    service.company,
    profile,
    reader,
    { kind: 'subscription_canceled', name: 'Tea' },
    undefined,
  );
}

describe('an email to a customer', () => {
  it('is whole in each language, without an open place, and reads from right to left in Arabic', async () => {
    const all = await occasions();
    const written = async (locale: string) => {
      const words = await wordsFor(locale);
      const brand = {
        name: 'Café',
        logoUrl: null,
        color: '#0a7d5c',
        textColor: '#ffffff',
        address: [],
        contact: 'help@cafe.example',
        support: null,
        note: words.texts.emails.notes.sandbox,
        words,
        firstName: 'Ada',
        unsubscribeUrl: 'https://pay.example.com/unsubscribe',
      };
      return all.map((occasion) => {
        const content = contentOf(occasion, { merchant: 'Café', words, customerPageUrl: 'https://pay.example.com/c' });
        return { content, text: textOf(content, brand), html: htmlOf(content, brand) };
      });
    };
    const english = await written('en');
    for (const language of languages) {
      const emails = await written(language);
      emails.forEach(({ content, text, html }, index) => {
        const what = `${language}: ${all[index]?.kind}`;
        assert.doesNotMatch(text + content.subject, /[{}]|undefined|\[object/, what);
        assert.match(html, new RegExp(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`), what);
        if (language === 'en') return;
        const same = [content.subject, content.headline, ...content.paragraphs];
        const { subject, headline, paragraphs } = english[index]?.content ?? content;
        for (const sentence of [subject, headline, ...paragraphs]) assert.ok(!same.includes(sentence), what);
      });
    }
  });

  it('has the language that the customer has, and receipts have it too', async () => {
    const changed = await service.call('PATCH', customerPath(), { body: { locale: 'de-AT' } });
    assert.equal(changed.body.locale, 'de-AT');
    const { email, first_name, last_name } = changed.body;
    await addActive(service.db, service.company.id, Date.now(), { email, first_name, last_name }, 'Viewer');
    // Emails begin with the first look at a company.
    await make();
    const { subject, text, page } = await receiptAndEmail();
    assert.match(subject, /^Ihr Beleg von /);
    assert.ok(text.includes('$ 49,00') && text.includes('Visa •••• 4242'), text);
    for (const word of ['Beleg', 'Rechnung an', 'BEZAHLT', 'Seite 1 von 1', 'Gesamtbetrag']) {
      assert.ok(page.includes(word), `${word} in ${page}`);
    }
  });

  it('has the support line of the merchant in its language, as text', async () => {
    const hostile = 'Rufen Sie an: <b onclick="x()">030</b> & "fragen"';
    await changeProfile(contextOf(service), { texts: { en: { support: 'Call us.' }, de: { support: hostile } } });
    assert.ok((await receiptAndEmail()).text.includes('Rufen Sie an:'));
    const german = await previewIn('de');
    assert.ok(german.text.includes('\nRufen Sie an: <b onclick="x()">030</b> & "fragen"\n'), german.text);
    assert.ok(
      german.html.includes(
        '<span dir="auto">Rufen Sie an: &lt;b onclick=&quot;x()&quot;&gt;030&lt;/b&gt; &amp; &quot;fragen&quot;</span>',
      ),
    );
    // Without one in its language, it has that of the language of the company.
    assert.ok((await previewIn('sv')).text.includes('Call us.'));
    await changeProfile(contextOf(service), { texts: { en: null, de: null } });
    assert.ok(!(await previewIn('de')).html.includes('<span dir="auto">'));
  });

  it('has the language of the company if that of the customer is not known, and so has the receipt', async () => {
    await changeProfile(contextOf(service), { locale: 'it' });
    const german = await receiptAndEmail();
    assert.match(german.subject, /^Ihr Beleg von /);
    await service.call('PATCH', customerPath(), { body: { locale: null } });
    const { subject, page } = await receiptAndEmail();
    assert.match(subject, /^La tua ricevuta da /);
    assert.ok(page.includes('Totale') && page.includes('Ricevuta'), page);
    await changeProfile(contextOf(service), { locale: null });
    assert.match((await receiptAndEmail()).subject, /^Your receipt from /);
  });
});

describe('the language of a customer', () => {
  it('is null until it is known, can be cleared, and must be one that the pages have', async () => {
    const cleared = await service.call('PATCH', customerPath(), { body: { locale: null } });
    assert.equal(cleared.body.locale, null);
    for (const locale of ['tlh', 'DE', 'de_AT', '', 7]) {
      const refused = await service.call('PATCH', customerPath(), { body: { locale } });
      assert.deepEqual([refused.status, refused.body.error.param], [400, 'locale'], String(locale));
    }
    await assert.rejects(
      service.db.query(`UPDATE customers SET locale = 'de"' WHERE company_id = $1 AND id = $2`, [
        service.company.id,
        shop.customerId,
      ]),
      /customers_locale_check/,
    );
  });

  it('decides the language of a checkout session, unless the session has one', async () => {
    await service.call('PATCH', customerPath(), { body: { locale: 'fr' } });
    const sell = async (more: object) => {
      const items = [{ product_id: shop.productId, quantity: 1 }];
      return (await service.call('POST', '/v1/checkout_sessions', { body: { mode: 'payment', items, ...more } })).body;
    };
    const ofCustomer = await sell({ customer_id: shop.customerId });
    assert.deepEqual([ofCustomer.locale, new URL(ofCustomer.url).search], ['fr', '?locale=fr']);
    const page = await service.call('POST', '/v1/customer_sessions', { body: { customer_id: shop.customerId } });
    assert.equal(new URL(page.body.url).search, '?locale=fr');
    const own = await sell({ customer_id: shop.customerId, locale: 'pl' });
    assert.deepEqual([own.locale, new URL(own.url).search], ['pl', '?locale=pl']);
    const open = await sell({});
    assert.deepEqual([open.locale, new URL(open.url).search], [null, '']);
    const wrong = await service.call('POST', '/v1/checkout_sessions', {
      body: { mode: 'payment', items: [{ product_id: shop.productId, quantity: 1 }], locale: 'xx' },
    });
    assert.deepEqual([wrong.status, wrong.body.error.param], [400, 'locale']);
  });
});
