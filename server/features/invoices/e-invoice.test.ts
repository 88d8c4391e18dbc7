import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brokenRules, rules } from '../../../tests/support/en16931.ts';
import { rulesOfExemption } from '../../../tests/support/en16931-categories.ts';
import { generatedInvoices } from '../../../tests/support/generated-invoices.ts';
import { everyNode, nodesAt, readXml, textAt } from '../../../tests/support/xml-reader.ts';
import { wordsFor } from '../../customer-texts/words.ts';
import { type ExemptCategory, exemptCategories } from './business-rules.ts';
import * as documents from './document.ts';
import * as eInvoices from './e-invoice.ts';
import type { InvoiceContent, InvoiceRow } from './queries.ts';

const settlement = 'rsm:SupplyChainTradeTransaction/ram:ApplicableHeaderTradeSettlement';
const generated = generatedInvoices(300);
const words = await wordsFor('en');
const amountsOf = (row: InvoiceRow) => documents.amountsOf(row, words);
const missingIn = (row: InvoiceRow): string[] => eInvoices.missingIn(row, words);
const xmlOfInvoice = (row: InvoiceRow): string | undefined => eInvoices.xmlOfInvoice(row, words);

function changed(row: InvoiceRow, content: Partial<InvoiceContent>, change: Partial<InvoiceRow> = {}): InvoiceRow {
  return { ...row, ...change, content: { ...row.content, ...content } };
}

/** With a card, a discount and two rates, one of them zero. */
const [first] = generated;
assert.ok(first?.content.tax?.rates);
const [book, tea] = [7, 1900].map((unit_price, index) => ({
  product_id: `p${index}`,
  name: `Item ${index}`,
  sku: '',
  quantity: 2,
  unit_price: unit_price * 10,
  total: unit_price * 20,
}));
assert.ok(book && tea);
const [anyRate] = first.content.tax.rates;
assert.ok(anyRate);
const sample = changed(
  first,
  {
    items: [book, tea],
    plan: null,
    subtotal: 38_140,
    discount_amount: 3814,
    total: 34_326,
    credit_applied: 0,
    coupon_code: 'TEA',
    card: { brand: 'visa', last_four: '4242' },
    seller: {
      ...first.content.seller,
      address: { line1: 'Weg 2', line2: null, city: 'Berlin', state: null, postal_code: '10115', country: 'DE' },
      tax_id: 'DE123456789',
      email: 'billing@example.com',
    },
    buyer: {
      name: 'Grace Hopper',
      company: 'Hopper GmbH',
      email: 'grace@example.com',
      address: { line1: 'Weg 1', line2: null, city: 'Köln', state: null, postal_code: '50667', country: 'DE' },
    },
    tax: {
      country: 'DE',
      region: null,
      rates: [
        { ...anyRate, country: 'DE', percentage: 19 },
        { ...anyRate, country: 'DE', percentage: 0, category: 'Books' },
      ],
      categories: { p0: 'Books' },
    },
  },
  { currency: 'eur', amount: 34_326, payment: { ...first.payment, amount: 34_326 } },
);
const sampleXml = xmlOfInvoice(sample) ?? '';

/** The same for a business in France, by a rule of the merchant. */
function exempt(category: ExemptCategory, buyer: Partial<InvoiceContent['buyer']> = {}): InvoiceRow {
  const text = 'Reverse charge: the customer owes the tax.';
  return changed(sample, {
    buyer: { ...sample.content.buyer, tax_id: 'FR12345678901', ...buyer },
    tax: {
      ...{ country: 'FR', region: null, rates: null, categories: null },
      business_rules: [{ countries: ['AT', 'FR'], category, name: 'VAT', text }],
    },
  });
}

describe('the rules of EN 16931', () => {
  it('hold for generated invoices and credit notes of every kind', () => {
    const whole = generated.filter((row) => missingIn(row).length === 0);
    assert.ok(whole.length >= 200, `${whole.length} are whole`);
    assert.equal(new Set(whole.map(({ cause }) => cause)).size, 7);
    for (const row of whole) {
      const xml = xmlOfInvoice(row) ?? '';
      assert.deepEqual(brokenRules(readXml(xml)), [], `${row.full_number} ${row.cause}\n${xml}`);
    }
  });

  it('find each fault that they are about', () => {
    assert.deepEqual(brokenRules(readXml(sampleXml)), []);
    for (const { id, broken } of rules) {
      const [from, to] = broken;
      const faulty = sampleXml.replace(from, to);
      assert.notEqual(faulty, sampleXml, `${id} changes nothing in ${sampleXml}`);
      assert.ok(brokenRules(readXml(faulty)).includes(id), `${id} does not notice its fault`);
    }
  });
});

describe('a sale to a business abroad', () => {
  it('has the category, the reason and the numbers that the rules ask for', () => {
    for (const [category, code] of Object.entries(exemptCategories)) {
      const row = exempt(category as ExemptCategory);
      assert.deepEqual(missingIn(row), []);
      const xml = xmlOfInvoice(row) ?? '';
      assert.deepEqual(brokenRules(readXml(xml)), [], xml);
      for (const { id, broken } of rulesOfExemption(code)) {
        const faulty = xml.replace(...broken);
        assert.notEqual(faulty, xml, `${id} changes nothing in ${xml}`);
        assert.ok(brokenRules(readXml(faulty)).includes(id), `${id} does not notice its fault`);
      }
      const tax = `${settlement}/ram:ApplicableTradeTax`;
      assert.equal(textAt(readXml(xml), `${tax}/ram:ExemptionReason`), 'Reverse charge: the customer owes the tax.');
      const { taxes, amount } = amountsOf(row);
      assert.deepEqual(taxes, [
        { name: 'VAT', percentage: 0, gross_amount: amount, net_amount: amount, tax_amount: 0 },
      ]);
    }
  });

  it('names the numbers that it lacks', () => {
    const withoutVatId = exempt('reverse_charge', { tax_id: '123 456' });
    assert.match(missingIn(withoutVatId).join('; '), /^the VAT identification number of the customer/);
    const seller = { ...sample.content.seller, tax_id: '12/345' };
    assert.match(
      missingIn(changed(exempt('export'), { seller })).join('; '),
      /^the VAT identification number of your company/,
    );
  });

  it('is one only with a company, a valid tax ID and another country that a rule names', () => {
    const rates = (row: InvoiceRow): unknown => amountsOf(row).taxes;
    const { tax } = exempt('export').content;
    assert.ok(tax);
    for (const row of [
      exempt('export', { company: null }),
      exempt('export', { tax_id: null }),
      exempt('export', { tax_id: 'FR1' }),
      changed(exempt('export'), { tax: { ...tax, country: 'BE' } }),
      changed(exempt('export'), {
        tax: {
          ...tax,
          country: 'DE',
          business_rules: tax.business_rules?.map((rule) => ({ ...rule, countries: ['DE'] })) ?? null,
        },
      }),
    ]) {
      assert.equal(rates(row), null);
    }
  });
});

describe('an e-invoice', () => {
  it('has the amounts of the document', () => {
    for (const row of generated) {
      const xml = xmlOfInvoice(row);
      if (xml === undefined) continue;
      const total = textAt(
        readXml(xml),
        `${settlement}/ram:SpecifiedTradeSettlementHeaderMonetarySummation/ram:GrandTotalAmount`,
      );
      assert.equal(Number((total ?? '').replace('.', '')), row.amount);
      const { taxes } = amountsOf(row);
      const sums = (part: 'net_amount' | 'tax_amount'): number =>
        (taxes ?? []).reduce((sum, tax) => sum + tax[part], 0);
      const inXml = (name: string): number =>
        nodesAt(readXml(xml), `${settlement}/ram:ApplicableTradeTax/ram:${name}`).reduce(
          (sum, { text }) => sum + Number(text.replace('.', '')),
          0,
        );
      assert.deepEqual([inXml('BasisAmount'), inXml('CalculatedAmount')], [sums('net_amount'), sums('tax_amount')]);
    }
  });

  it('names the seller by a VAT ID, or else by the number of the tax office', () => {
    const registration = (tax_id: string): string[] => {
      const xml = xmlOfInvoice(changed(sample, { seller: { ...sample.content.seller, tax_id } })) ?? '';
      return everyNode(readXml(xml))
        .filter(({ name }) => name === 'ram:SpecifiedTaxRegistration')
        .flatMap(({ children }) => children.map(({ text, attributes }) => `${attributes.schemeID} ${text}`));
    };
    assert.deepEqual(registration('de 123.456-789'), ['VA DE123456789']);
    assert.deepEqual(registration('EL123456789'), ['VA EL123456789']);
    // USt-IdNr. and Steuernummer begin with the letters of countries, and so does a Mexican number.
    const others = ['USt-IdNr. 123456789', 'VAT GB123456789', 'Steuernummer 12345', 'none', 'DE12345', 'DEL010101AB1'];
    for (const id of ['12/345/67890', 'ZZ123', 'DE', ...others]) assert.deepEqual(registration(id), [`FC ${id}`]);
  });

  it('names the buyer by a VAT ID, and by no other number', () => {
    const registered = (tax_id: string | null): string[] => {
      const xml = readXml(xmlOfInvoice(changed(sample, { buyer: { ...sample.content.buyer, tax_id } })) ?? '');
      assert.deepEqual(brokenRules(xml), [], tax_id ?? 'none');
      return everyNode(xml)
        .filter(({ name }) => name === 'ram:BuyerTradeParty')
        .flatMap(({ children }) => children.filter(({ name }) => name === 'ram:SpecifiedTaxRegistration'))
        .flatMap(({ children }) => children.map(({ text, attributes }) => `${attributes.schemeID} ${text}`));
    };
    assert.deepEqual(registered('ATU12345678'), ['VA ATU12345678']);
    for (const id of ['12-3456789', null]) assert.deepEqual(registered(id), []);
  });

  it('is missing what it needs, by name', () => {
    const { seller } = sample.content;
    const address = seller.address ?? undefined;
    assert.ok(address);
    const cases: readonly (readonly [InvoiceRow, RegExp])[] = [
      [changed(sample, { seller: { ...seller, tax_id: null } }), /tax ID of your company/],
      [changed(sample, { seller: { ...seller, tax_id: ' ' } }), /tax ID of your company/],
      [changed(sample, { seller: { ...seller, address: null } }), /country of your company/],
      [changed(sample, { tax: null }), /tax rate for each line/],
      [changed(sample, {}, { currency: 'kwd' }), /at most two decimals, unlike KWD/],
    ];
    for (const [row, missing] of cases) {
      assert.match(missingIn(row).join('; '), missing);
      assert.equal(missingIn(row).length, 1);
      assert.equal(xmlOfInvoice(row), undefined);
    }
  });

  it('has the texts of the language of the document', async () => {
    const german = eInvoices.xmlOfInvoice(sample, await wordsFor('de-AT')) ?? '';
    assert.deepEqual(brokenRules(readXml(german)), []);
    assert.ok(sampleXml.includes('<ram:Reason>Discount (TEA)'), sampleXml);
    assert.ok(german.includes('<ram:Reason>Rabatt (TEA)'), german);
  });

  it('has a buyer also where the customer gave no name and no address', () => {
    const buyer = { name: '', company: null, email: 'grace@example.com', address: null };
    const invoice = readXml(xmlOfInvoice(changed(sample, { buyer, shipping: null })) ?? '');
    const party = 'rsm:SupplyChainTradeTransaction/ram:ApplicableHeaderTradeAgreement/ram:BuyerTradeParty';
    assert.equal(textAt(invoice, `${party}/ram:Name`), 'grace@example.com');
    assert.equal(textAt(invoice, `${party}/ram:PostalTradeAddress/ram:CountryID`), 'DE');
  });
});
