import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { openCheckout } from '../../../tests/support/checkout.ts';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, createProduct } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { advance, somePlan } from '../../../tests/support/subscriptions.ts';
import type { Company } from '../../company.ts';
import { languages } from '../../customer-texts/languages.ts';
import { textsFor } from '../../customer-texts/texts.ts';
import { agreementVersion } from '../checkout-sessions/agreement.ts';

/** What customers agree to on a checkout page, and where the merchant finds it. */

let service: TestService;
let owner: Person;
let company: Company;
let key: string;
let productId: string;
before(async () => {
  service = await startTestService({ settings: { SVC_RATE_LIMIT_CAPTURE: 'off' } });
  owner = await signUp(service);
  company = { ...service.company, id: companyOf(owner, 'sandbox') };
  key = await service.createKey(company);
  productId = await createProduct(service, 4900, { key });
  await profile({ display_name: 'Tea House', terms_url: 'https://tea.example/terms', terms_version: '3' });
});
after(() => service.stop());

const profile = (body: object): Promise<Reply> => owner.in('PATCH', '/dashboard/profile', body);
const goods = () => ({ mode: 'payment', items: [{ product_id: productId, quantity: 1 }] });
const monthly = async () => ({ mode: 'subscription', plan_id: (await somePlan(service, {}, company)).id });
const open = (sold: object, locale?: string, number?: string) =>
  openCheckout(service, sold, { key, ...(locale && { locale }), ...(number && { number }) });

type Checkout = Awaited<ReturnType<typeof open>>;

/** What the page sends back: the texts that it shows. */
async function shownBy({ ask }: Checkout): Promise<{ terms: string; renewal?: string; save_card: string }> {
  const { body } = await ask('session');
  const { terms, save_card } = body.agreement;
  return { terms: terms.text, ...(body.renewal !== null && { renewal: body.renewal }), save_card };
}

async function paid(checkout: Checkout, choice: object): Promise<Reply['body']> {
  const reply = await checkout.pay(choice);
  assert.equal(reply.body.status, 'completed', reply.text);
  return checkout.order('?expand=consents');
}

const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, ' ');
const consentsOf = async (path: string): Promise<Reply['body'][]> =>
  (await service.call('GET', `${path}?expand=consents`, { key })).body.consents;

describe('what a customer agrees to', () => {
  it('is stored with the order: the text as it was shown, its version, language and time', async () => {
    const checkout = await open(goods(), 'de-AT');
    const agreed = await shownBy(checkout);
    const order = await paid(checkout, { save_card: true, agreed });
    const [saving, terms, ...others] = order.consents.toSorted((one: Reply['body'], other: Reply['body']) =>
      one.kind.localeCompare(other.kind),
    );
    assert.deepEqual(others, []);
    assert.deepEqual(terms, {
      kind: 'terms',
      text: 'Mit Ihrer Bestellung akzeptieren Sie die Geschäftsbedingungen von Tea House.',
      version: '3',
      locale: 'de-AT',
      url: 'https://tea.example/terms',
      given_at: terms.given_at,
    });
    assert.ok(Math.abs(Date.parse(terms.given_at) - service.clock.nowMs()) < 60_000, terms.given_at);
    assert.deepEqual(
      [saving.kind, saving.text, saving.version, saving.url],
      ['save_card', 'Diese Karte für spätere Zahlungen an Tea House speichern', agreementVersion, null],
    );
    const { body: list } = await service.call('GET', '/v1/orders?limit=1&expand=consents', { key });
    assert.deepEqual(list.data[0].consents, order.consents);
    assert.equal('consents' in (await checkout.order()), false);
  });

  it('is stored with the subscription, which its renewals rest on', async () => {
    const checkout = await open(await monthly());
    const agreed = await shownBy(checkout);
    const order = await paid(checkout, { agreed: { terms: agreed.terms, renewal: agreed.renewal } });
    const consents = await consentsOf(`/v1/subscriptions/${order.subscription_id}`);
    assert.deepEqual(consents, order.consents);
    const renewal = consents.find(({ kind }) => kind === 'renewal');
    assert.equal(
      plain(renewal?.text),
      'You pay $19.00 today, then $19.00 per month. Renews until you cancel. Your card is saved for these payments.',
    );
    await advance(service, { to: new Date(service.clock.nowMs() + 40 * 86_400_000).toISOString() }, { key });
    const { body } = await service.call('GET', `/v1/orders?subscription_id=${order.subscription_id}&expand=consents`, {
      key,
    });
    assert.equal(body.data.length, 2);
    const renewed = body.data.find(({ id }: { id: string }) => id !== order.id);
    assert.deepEqual(renewed.consents, []);
    const lines = await evidenceOf(renewed.id);
    assert.ok(
      lines.some((line) => line.includes(`the customer agreed to: “${renewal?.text}”`)),
      lines.join('\n'),
    );
    assert.ok(
      lines.some((line) => line.endsWith('(https://tea.example/terms, version 3)')),
      lines.join('\n'),
    );
  });

  it('stays as it was when the merchant changes name and terms', async () => {
    const checkout = await open(goods());
    const { terms } = await shownBy(checkout);
    const order = await paid(checkout, { agreed: { terms } });
    await profile({ display_name: 'Tea Palace', terms_url: 'https://tea.example/terms-4' });
    assert.deepEqual(await consentsOf(`/v1/orders/${order.id}`), order.consents);
    const { body } = await profile({
      display_name: 'Tea House',
      terms_url: 'https://tea.example/terms',
      terms_version: '3',
    });
    assert.equal(body.terms_version, '3');
  });

  it('is the sentence of the merchant in the language of the page, or in that of the company', async () => {
    const own = {
      terms_text: 'Ich akzeptiere AGB & Widerruf.',
      terms_url: 'https://tea.example/agb',
      terms_version: '5',
    };
    await profile({ texts: { de: own, en: { terms_text: 'I accept the "terms".' } } });
    const agreedIn = async (locale: string) => {
      const checkout = await open(goods(), locale);
      const { body } = await checkout.ask('session');
      const { terms } = body.agreement;
      const [consent] = (await paid(checkout, { agreed: { terms: terms.text } })).consents;
      assert.deepEqual([consent.text, consent.locale, consent.url], [terms.text, terms.locale, terms.url]);
      return [consent.text, consent.locale, consent.url, consent.version];
    };
    assert.deepEqual(await agreedIn('de-AT'), [own.terms_text, 'de-AT', own.terms_url, '5']);
    assert.deepEqual(await agreedIn('ja'), ['I accept the "terms".', 'en', 'https://tea.example/terms', '3']);
    await profile({ locale: 'de' });
    assert.deepEqual(await agreedIn('ja'), [own.terms_text, 'de', 'https://tea.example/terms', '3']);
    await profile({ locale: null, texts: { de: null, en: null } });
    assert.equal((await agreedIn('ja'))[1], 'ja');
  });

  it('is refused if the page does not show it now, and nothing is charged', async () => {
    const checkout = await open(await monthly());
    const agreed = await shownBy(checkout);
    const wrong: readonly (readonly [object, string])[] = [
      [{ terms: 'I agree to anything.' }, 'agreed.terms'],
      [{ renewal: agreed.renewal?.replace('19', '9') }, 'agreed.renewal'],
      // There is no box.
      [{ save_card: agreed.save_card }, 'agreed.save_card'],
      [{ terms: (await shownBy(await open(goods(), 'fr'))).terms }, 'agreed.terms'],
    ];
    for (const [given, field] of wrong) {
      assertRefused(await checkout.pay({ agreed: given }), 400, 'validation_error', field);
    }
    await profile({ terms_url: null });
    assertRefused(await checkout.pay({ agreed: { terms: agreed.terms } }), 400, 'validation_error', 'agreed.terms');
    assert.equal((await checkout.ask('session')).body.agreement.terms, null);
    await profile({ terms_url: 'https://tea.example/terms', terms_version: '3' });
    const { body: session } = await checkout.ask('session');
    assert.deepEqual([session.status, session.attempt], ['open', 0]);
  });

  it('is not stored for a payment that was declined, and once for the one that was not', async () => {
    const checkout = await open(goods(), undefined, '4000000000000002');
    const { terms } = await shownBy(checkout);
    const declined = await checkout.pay({ agreed: { terms } });
    assert.deepEqual([declined.body.status, declined.body.attempt], ['open', 1]);
    const { body: token } = await checkout.ask('card_tokens', {
      card: { number: '4242424242424242', exp_month: '12', exp_year: '2032', cvc: '999' },
    });
    const order = await paid(checkout, { card_token: token.id, agreed: { terms } });
    assert.equal(order.consents.length, 1);
    const { body: orders } = await service.call('GET', `/v1/orders?customer_id=${order.customer_id}&expand=consents`, {
      key,
    });
    const counts = orders.data.map(({ status, consents }: Reply['body']) => [status, consents.length]);
    assert.deepEqual(counts.toSorted(), [
      ['failed', 0],
      ['succeeded', 1],
    ]);
  });

  it('is not stored if the page says nothing, as one that was loaded before an update', async () => {
    assert.deepEqual((await paid(await open(goods()), {})).consents, []);
  });

  it('of another company is not shown, even with the same ID', async () => {
    const order = await paid(await open(goods()), {});
    await service.db.query(
      `INSERT INTO consents (company_id, order_id, kind, text, version, locale, url, given_at)
       VALUES ($1, $2, 'terms', 'Theirs', '1', 'en', 'https://other.example', now())`,
      [service.company.id, order.id],
    );
    assert.deepEqual(await consentsOf(`/v1/orders/${order.id}`), []);
  });

  it('can be added and deleted by the service, but not changed', async () => {
    const [row] = await service.db.query<{ can: boolean[] }>(
      `SELECT ARRAY[has_table_privilege('svc_api', 'consents', 'INSERT'), has_table_privilege('svc_api', 'consents', 'UPDATE')] AS can`,
    );
    assert.deepEqual(row?.can, [true, false]);
  });
});

async function evidenceOf(orderId: string): Promise<string[]> {
  await service.call('POST', `/v1/sandbox/orders/${orderId}/chargeback`, { key, body: {} });
  const { body: disputes } = await owner.in('GET', `/dashboard/disputes?order_id=${orderId}`);
  const { body } = await owner.in('GET', `/dashboard/disputes/${disputes.data[0].id}/suggestions`);
  const explanation = body.data.find(({ field }: { field: string }) => field === 'explanation');
  return explanation.lines.map(({ text }: { text: string }) => text);
}

describe('the version of the texts', () => {
  it('is the day of their last change: a change needs another day', async () => {
    const digest = createHash('sha256');
    for (const language of languages) {
      const { checkout } = await textsFor(language);
      const { terms, termsLimited, agreeTerms, saveCard, period, price } = checkout;
      digest.update(JSON.stringify({ terms, termsLimited, agreeTerms, saveCard, period, price }));
    }
    assert.deepEqual([agreementVersion, digest.digest('hex').slice(0, 16)], ['2026-11-19', '63ac33ea15c1135a']);
  });
});
