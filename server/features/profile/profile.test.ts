import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused, createProduct } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { contrast, textColorOn } from './color.ts';
import { profileOf } from './service.ts';

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

const path = '/dashboard/profile';
const change = (body: object, person = owner): Promise<Reply> => person.in('PATCH', path, body);

async function uploadLogo(picture: Buffer, person = owner): Promise<Reply> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(picture)]), 'logo.png');
  const sent = new Response(form);
  return service.call('POST', `${path}/logo`, {
    key: null,
    raw: Buffer.from(await sent.arrayBuffer()),
    headers: {
      'content-type': sent.headers.get('content-type') ?? '',
      origin: service.baseUrl,
      'sec-fetch-site': 'same-origin',
      cookie: person.cookie,
      'svc-company': companyOf(person, 'sandbox'),
    },
  });
}

const picture = (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: '#c04020' } })
    .png()
    .toBuffer();

describe('the profile of a company', () => {
  it('has defaults before the first change, and writes emails in both modes', async () => {
    const { body } = await owner.in('GET', path);
    assert.deepEqual(
      [body.display_name, body.logo_url, body.color, body.emails.enabled, body.emails.order_receipt],
      ['Engines (demo)', null, null, true, true],
    );
    assert.deepEqual(body.customer_page, {
      allow_cancel: true,
      allow_end_renewal: true,
      allow_update_card: true,
      accept_declarations: false,
      allow_pause: false,
      allow_subscribe_again: false,
      headline: null,
      return_url: null,
    });
    const live = await owner.in('GET', path, undefined, { company: companyOf(owner, 'live') });
    assert.equal(live.body.emails.enabled, true);
    assert.equal(live.body.emails.upcoming_renewal, false);
  });

  it('keeps what a change does not name, also inside its settings', async () => {
    await change({ display_name: 'Ada’s Engines', address: { line1: '1 Main St', country: 'GB' }, tax_id: 'GB 123' });
    await change({ color: '#0A7D5C', emails: { enabled: true } });
    const { body } = await change({ emails: { from_name: 'Ada' }, customer_page: { allow_cancel: false } });
    assert.deepEqual(
      [body.display_name, body.color, body.text_color, body.tax_id, body.address.line1, body.address.city],
      ['Ada’s Engines', '#0a7d5c', '#ffffff', 'GB 123', '1 Main St', null],
    );
    assert.deepEqual([body.emails.enabled, body.emails.from_name], [true, 'Ada']);
    assert.equal(body.customer_page.allow_cancel, false);
    const cleared = await change({ display_name: null, address: null, emails: { from_name: null } });
    assert.deepEqual([cleared.body.display_name, cleared.body.address], ['Engines (demo)', null]);
  });

  it('names the terms with a version: the one that is given, or the day on which the address changed', async () => {
    const today = new Date(service.clock.nowMs()).toISOString().slice(0, 10);
    const termsAfter = async (body: object): Promise<unknown[]> => {
      const { body: read } = await change(body);
      return [read.terms_url, read.terms_version];
    };
    const [first, second] = ['https://tea.example/terms', 'https://tea.example/terms-2'];
    assert.deepEqual(await termsAfter({ terms_url: first }), [first, today]);
    assert.deepEqual(await termsAfter({ terms_version: ' 7 ' }), [first, '7']);
    assert.deepEqual(await termsAfter({ color: '#0a7d5c', terms_url: first }), [first, '7']);
    assert.deepEqual(await termsAfter({ terms_url: second }), [second, today]);
    assert.deepEqual(await termsAfter({ terms_url: first, terms_version: '8' }), [first, '8']);
    assert.deepEqual(await termsAfter({ terms_version: null }), [first, today]);
    assert.deepEqual(await termsAfter({ terms_url: null }), [null, null]);
    assertRefused(await change({ terms_version: '9' }), 400, 'validation_error', 'terms_version');
  });

  it('has a language, which addresses for customers carry until a session, a customer or the visitor has one', async () => {
    assert.equal((await owner.in('GET', path)).body.locale, null);
    const company = { ...service.company, id: companyOf(owner, 'sandbox') };
    const key = await service.createKey(company);
    const items = [{ product_id: await createProduct(service, 100, { key }), quantity: 1 }];
    const sell = async (at: string, more: object = {}) =>
      (await service.call('POST', at, { key, body: { mode: 'payment', items, ...more } })).body;
    const queryOf = async (more?: object): Promise<string> =>
      new URL((await sell('/v1/checkout_sessions', more)).url).search;
    assert.equal(await queryOf(), '');

    const { body } = await change({ locale: 'de' });
    assert.deepEqual(
      [body.locale, body.cancel_url, body.withdraw_url, body.customer_page_url].map((text) => text.split('?').at(-1)),
      ['de', 'fallback=de', 'fallback=de', 'fallback=de'],
    );
    assert.deepEqual([await queryOf(), await queryOf({ locale: 'fr' })], ['?fallback=de', '?locale=fr']);
    const link = await sell('/v1/payment_links', { name: 'Tea' });
    const visited = async (query: string, headers: Record<string, string> = {}) => {
      const { pathname } = new URL(link.url);
      const reply = await fetch(service.baseUrl + pathname + query, { headers, redirect: 'manual' });
      return new URL(reply.headers.get('location') ?? '', service.baseUrl).search;
    };
    assert.deepEqual([await visited(''), await visited('?locale=nl')], ['?fallback=de', '?locale=nl']);

    const languageAt = async (address: string, language: string): Promise<string | undefined> => {
      const reply = await fetch(service.baseUrl + address, {
        headers: { accept: 'text/html', 'accept-language': language },
      });
      return /<html lang="([^"]+)"/.exec(await reply.text())?.[1];
    };
    assert.deepEqual(
      [await languageAt(body.cancel_url, 'fi,zh;q=0.5'), await languageAt(body.cancel_url, 'fi,it;q=0.5')],
      ['de', 'it'],
    );
    await service.call('PATCH', `/v1/payment_links/${link.id}`, { key, body: { active: false } });
    const closed = new URL(link.url).pathname;
    assert.deepEqual([await languageAt(closed, 'fi'), await languageAt(closed, 'ja')], ['de', 'ja']);

    assert.equal((await change({ color: null })).body.locale, 'de');
    assert.equal((await change({ locale: null })).body.cancel_url, body.cancel_url.split('?')[0]);
    assert.equal(await queryOf(), '');
    await assert.rejects(
      service.db.query(`UPDATE companies SET locale = 'German' WHERE id = $1`, [company.id]),
      /companies_locale_check/,
    );
  });

  it('has own texts by language, each changed alone, with a version for the terms of a language', async () => {
    const today = new Date(service.clock.nowMs()).toISOString().slice(0, 10);
    const textsAfter = async (texts: object) => (await change({ texts })).body.texts;
    const empty = (await owner.in('GET', path)).body.texts;
    assert.deepEqual([Object.keys(empty).length, new Set(Object.values(empty))], [13, new Set([null])]);
    await textsAfter({ de: { thank_you: ' Vielen Dank!\nBis bald. ' }, 'pt-BR': { support: 'Ligue: 11 5555' } });
    const terms = { terms_text: 'Ich akzeptiere die AGB.', terms_url: 'https://tea.example/agb' };
    const texts = await textsAfter({ de: terms });
    assert.deepEqual(texts.de, { thank_you: 'Vielen Dank!\nBis bald.', support: null, ...terms, terms_version: today });
    assert.equal(texts['pt-BR'].support, 'Ligue: 11 5555');
    assert.equal((await textsAfter({ de: { terms_version: '4' } })).de.terms_version, '4');
    assert.equal((await textsAfter({ de: { thank_you: null } })).de.terms_version, '4');
    assert.equal((await textsAfter({ de: { terms_url: null } })).de.terms_version, null);
    assert.equal((await textsAfter({ de: { terms_text: null } })).de, null);
    assert.equal((await textsAfter({ 'pt-BR': null }))['pt-BR'], null);
    await assert.rejects(
      service.db.query(
        `UPDATE company_profiles SET texts = '{"de": {"terms_url": "https://tea.example/"}}' WHERE company_id = $1`,
        [companyOf(owner, 'sandbox')],
      ),
      /company_profiles_texts_terms/,
    );
  });

  it('loses no setting when two changes arrive together', async () => {
    await Promise.all(
      ['order_receipt', 'refund_receipt', 'payment_failed', 'card_expiring'].map((kind) =>
        change({ emails: { [kind]: false } }),
      ),
    );
    const { emails } = (await owner.in('GET', path)).body;
    assert.deepEqual(
      [emails.order_receipt, emails.refund_receipt, emails.payment_failed, emails.card_expiring],
      [false, false, false, false],
    );
  });

  it('names the field of a value that it refuses', async () => {
    const wrong: readonly (readonly [object, string])[] = [
      [{ color: 'red' }, 'color'],
      [{ color: '#fff' }, 'color'],
      [{ display_name: 'Two\nlines' }, 'display_name'],
      [{ display_name: ' ' }, 'display_name'],
      [{ support_email: 'not an address' }, 'support_email'],
      [{ website: 'javascript:alert(1)' }, 'website'],
      [{ website: 'http://shop.example.com' }, 'website'],
      [{ terms_url: 'javascript:alert(1)' }, 'terms_url'],
      [{ terms_url: 'https://tea.example/terms', terms_version: 'Two\nlines' }, 'terms_version'],
      [{ locale: 'German' }, 'locale'],
      [{ texts: { fi: { support: 'Soita' } } }, 'texts.fi'],
      [{ texts: { de: { thanks: 'Danke' } } }, 'texts.de.thanks'],
      [{ texts: { de: { thank_you: 'x'.repeat(501) } } }, 'texts.de.thank_you'],
      [{ texts: { de: { thank_you: ' \n ' } } }, 'texts.de.thank_you'],
      [{ texts: { de: { support: 'x'.repeat(201) } } }, 'texts.de.support'],
      [{ texts: { de: { support: 'Two\nlines' } } }, 'texts.de.support'],
      [{ texts: { ja: { terms_text: 'x'.repeat(501) } } }, 'texts.ja.terms_text'],
      [{ texts: { ja: { terms_url: 'javascript:alert(1)' } } }, 'texts.ja.terms_url'],
      [{ texts: { ja: { terms_version: '2' } } }, 'texts.ja.terms_version'],
      [{ address: { country: 'Germany' } }, 'address.country'],
      [{ emails: { from_name: 'Ada\r\nBcc: eve@example.com' } }, 'emails.from_name'],
      [{ emails: { upcoming_renewal_days: 0 } }, 'emails.upcoming_renewal_days'],
      [{ emails: { enabled: null } }, 'emails.enabled'],
      [{ customer_page: { return_url: 'https://user:pass@shop.example.com' } }, 'customer_page.return_url'],
    ];
    for (const [body, field] of wrong) {
      const reply = await change(body);
      assertRefused(reply, 400, 'validation_error');
      assert.equal(reply.body.error.field_errors[0].field, field);
    }
    const local = await change({ customer_page: { return_url: 'http://localhost:3000/account' } });
    assert.equal(local.body.customer_page.return_url, 'http://localhost:3000/account');
  });

  it('is read with company:read, changed with company:write, and audited', async () => {
    const viewer = await colleague(service, owner, 'Viewer');
    const readable = await viewer.in('GET', path);
    assertRefused(await viewer.in('PATCH', path, { color: '#000000' }), 403, 'insufficient_permissions');
    assertRefused(await uploadLogo(await picture(10, 10), viewer), 403, 'insufficient_permissions');
    assertRefused(await viewer.in('DELETE', `${path}/logo`), 403, 'insufficient_permissions');
    assert.ok([200, 403].includes(readable.status));
    const { body } = await owner.in('GET', '/dashboard/audit_log');
    assert.ok(body.data.some(({ action }: { action: string }) => action === 'updateProfile'));
  });
});

describe('the logo', () => {
  it('becomes a small picture that anyone can load, and its URL never shows another', async () => {
    const first = await uploadLogo(await picture(2_000, 500));
    assert.equal(first.status, 200, first.text);
    const shown = await fetch(service.baseUrl + first.body.logo_url);
    assert.deepEqual([shown.status, shown.headers.get('content-type')], [200, 'image/png']);
    assert.match(shown.headers.get('cache-control') ?? '', /immutable/);
    const { width, height, format } = await sharp(Buffer.from(await shown.arrayBuffer())).metadata();
    assert.deepEqual([format, width, height], ['png', 480, 120]);
    const second = await uploadLogo(await picture(20, 20));
    assert.notEqual(second.body.logo_url, first.body.logo_url);
    assert.equal((await fetch(service.baseUrl + first.body.logo_url)).status, 404);
    assert.equal((await owner.in('DELETE', `${path}/logo`)).body.logo_url, null);
    assert.equal((await fetch(service.baseUrl + second.body.logo_url)).status, 404);
  });

  it('of another company is not found under the id of this one', async () => {
    const { body } = await uploadLogo(await picture(20, 20));
    const foreign = body.logo_url.replace(companyOf(owner, 'sandbox'), companyOf(owner, 'live'));
    assert.equal((await fetch(service.baseUrl + foreign)).status, 404);
  });

  it('is refused if it is no picture', async () => {
    assertRefused(await uploadLogo(Buffer.from('<svg onload=alert(1)>')), 400, 'validation_error');
  });
});

describe('the text on a color', () => {
  it('is readable on every color', () => {
    const steps = ['00', '33', '77', '88', 'bb', 'ff'];
    for (const red of steps) {
      for (const green of steps) {
        for (const blue of steps) {
          const color = `#${red}${green}${blue}`;
          assert.ok(contrast(color, textColorOn(color)) >= 4.5, color);
        }
      }
    }
    assert.deepEqual(['#ffffff', '#000000', '#ffd400'].map(textColorOn), ['#000000', '#ffffff', '#000000']);
  });
});

it('a company without a profile has one for other features', async () => {
  const profile = await profileOf(service.db, service.company);
  assert.equal(profile.display_name, service.company.name);
  assert.equal(profile.text_color, '#ffffff');
});
