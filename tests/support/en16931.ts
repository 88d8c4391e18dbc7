import { countries } from '../../server/platform/countries.ts';
import { currencies } from '../../server/platform/currencies.ts';
import { isInOrder } from './cii-order.ts';
import { isTaxOfRate, rulesOfCategory, rulesOfExemption } from './en16931-categories.ts';
import {
  amountAt,
  buyer,
  currency,
  decimals,
  each,
  every,
  has,
  line,
  lineTax,
  type Rule,
  sameRate,
  seller,
  settlement,
  sumAt,
  totalAt,
  totals,
  whole,
} from './en16931-elements.ts';
import { everyNode, nodesAt, textAt, type XmlNode } from './xml-reader.ts';

/**
 * The rules of EN 16931 for what our e-invoices can contain, by the names of the standard, and the order of the elements in its
 * syntax CII. They are written down from the standard and not from our code. Each row has a change that breaks it.
 */

const required = (id: string, at: Rule['at'], path: string): Rule => {
  const name = path.split('/').at(-1) ?? '';
  return { id, at, holds: has(path), broken: [new RegExp(`<${name}( [^>]*)?>.*?</${name}>`, 'g'), ''] };
};

const inParty = (party: string, path: string): RegExp => new RegExp(`(<ram:${party}>.*?)<${path}>[^<]*</${path}>`);

const presence: readonly Rule[] = [
  required('BR-01', whole, 'rsm:ExchangedDocumentContext/ram:GuidelineSpecifiedDocumentContextParameter/ram:ID'),
  required('BR-02', whole, 'rsm:ExchangedDocument/ram:ID'),
  required('BR-03', whole, 'rsm:ExchangedDocument/ram:IssueDateTime/udt:DateTimeString'),
  required('BR-04', whole, 'rsm:ExchangedDocument/ram:TypeCode'),
  required('BR-05', whole, `${settlement}/ram:InvoiceCurrencyCode`),
  { ...required('BR-06', whole, `${seller}/ram:Name`), broken: [inParty('SellerTradeParty', 'ram:Name'), '$1'] },
  { ...required('BR-07', whole, `${buyer}/ram:Name`), broken: [inParty('BuyerTradeParty', 'ram:Name'), '$1'] },
  required('BR-08', whole, `${seller}/ram:PostalTradeAddress`),
  {
    ...required('BR-09', whole, `${seller}/ram:PostalTradeAddress/ram:CountryID`),
    broken: [inParty('SellerTradeParty', 'ram:CountryID'), '$1'],
  },
  required('BR-10', whole, `${buyer}/ram:PostalTradeAddress`),
  {
    ...required('BR-11', whole, `${buyer}/ram:PostalTradeAddress/ram:CountryID`),
    broken: [inParty('BuyerTradeParty', 'ram:CountryID'), '$1'],
  },
  required('BR-12', whole, `${totals}/ram:LineTotalAmount`),
  required('BR-13', whole, `${totals}/ram:TaxBasisTotalAmount`),
  required('BR-14', whole, `${totals}/ram:GrandTotalAmount`),
  required('BR-15', whole, `${totals}/ram:DuePayableAmount`),
  required('BR-16', whole, line),
  required('BR-21', each(line), 'ram:AssociatedDocumentLineDocument/ram:LineID'),
  required('BR-22', each(line), 'ram:SpecifiedLineTradeDelivery/ram:BilledQuantity'),
  {
    id: 'BR-23',
    at: every(/^ram:BilledQuantity$/),
    holds: ({ attributes }) => Boolean(attributes.unitCode),
    broken: [/ unitCode="C62"/g, ''],
  },
  required(
    'BR-24',
    each(line),
    'ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount',
  ),
  required('BR-25', each(line), 'ram:SpecifiedTradeProduct/ram:Name'),
  required('BR-26', each(line), 'ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice/ram:ChargeAmount'),
  {
    id: 'BR-27',
    at: every(/^ram:ChargeAmount$/),
    holds: ({ text }) => Number(text) >= 0,
    broken: [/<ram:ChargeAmount>/, '<ram:ChargeAmount>-'],
  },
  required('BR-41', every(/^ram:SpecifiedTradeAllowanceCharge$/), 'ram:ActualAmount'),
  {
    ...required('BR-42', every(/^ram:SpecifiedTradeAllowanceCharge$/), 'ram:Reason'),
    broken: [/<ram:Reason>[^<]*<\/ram:Reason>/, ''],
  },
  required('BR-45', each(`${settlement}/ram:ApplicableTradeTax`), 'ram:BasisAmount'),
  required('BR-46', each(`${settlement}/ram:ApplicableTradeTax`), 'ram:CalculatedAmount'),
  required('BR-47', each(`${settlement}/ram:ApplicableTradeTax`), 'ram:CategoryCode'),
  required(
    'BR-48',
    (invoice) =>
      nodesAt(invoice, `${settlement}/ram:ApplicableTradeTax`).filter((tax) => textAt(tax, 'ram:CategoryCode') !== 'O'),
    'ram:RateApplicablePercent',
  ),
  {
    ...required('BR-49', each(`${settlement}/ram:SpecifiedTradeSettlementPaymentMeans`), 'ram:TypeCode'),
    broken: [/<ram:TypeCode>48<\/ram:TypeCode>/, ''],
  },
  {
    id: 'BR-51',
    at: each(`${settlement}/ram:SpecifiedTradeSettlementPaymentMeans/ram:ApplicableTradeSettlementFinancialCard`),
    holds: (card) => /^\d{4,6}$/.test(textAt(card, 'ram:ID') ?? ''),
    broken: [/(FinancialCard><ram:ID>)/, '$1424242424242'],
  },
  {
    id: 'BR-62 and BR-63',
    at: every(/^ram:URIID$/),
    holds: ({ text, attributes }) => text !== '' && attributes.schemeID === 'EM',
    broken: [/ schemeID="EM"/, ''],
  },
];

const calculations: readonly Rule[] = [
  required('BR-CO-04', each(line), `${lineTax}/ram:CategoryCode`),
  {
    id: 'BR-CO-09',
    at: (invoice) =>
      everyNode(invoice).filter(({ name, attributes }) => name === 'ram:ID' && attributes.schemeID === 'VA'),
    holds: ({ text }) => countries.has(text.slice(0, 2)) || ['EL', 'XI'].includes(text.slice(0, 2)),
    broken: [/(schemeID="VA">)../, '$1XX'],
  },
  {
    id: 'BR-CO-10',
    at: whole,
    holds: (invoice) =>
      totalAt(invoice, 'LineTotalAmount') ===
      sumAt(
        invoice,
        `${line}/ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount`,
      ),
    broken: [/<ram:LineTotalAmount>/, '<ram:LineTotalAmount>1'],
  },
  {
    id: 'BR-CO-13',
    at: whole,
    holds: (invoice) => totalAt(invoice, 'TaxBasisTotalAmount') === totalAt(invoice, 'LineTotalAmount'),
    broken: [/<ram:TaxBasisTotalAmount>/, '<ram:TaxBasisTotalAmount>1'],
  },
  {
    id: 'BR-CO-14',
    at: whole,
    holds: (invoice) =>
      totalAt(invoice, 'TaxTotalAmount') ===
      sumAt(invoice, `${settlement}/ram:ApplicableTradeTax/ram:CalculatedAmount`),
    broken: [/<ram:CalculatedAmount>/, '<ram:CalculatedAmount>1'],
  },
  {
    id: 'BR-CO-15',
    at: whole,
    holds: (invoice) =>
      totalAt(invoice, 'GrandTotalAmount') ===
      totalAt(invoice, 'TaxBasisTotalAmount') + totalAt(invoice, 'TaxTotalAmount'),
    broken: [/<ram:GrandTotalAmount>/, '<ram:GrandTotalAmount>1'],
  },
  {
    id: 'BR-CO-16',
    at: whole,
    holds: (invoice) =>
      totalAt(invoice, 'DuePayableAmount') ===
      totalAt(invoice, 'GrandTotalAmount') - totalAt(invoice, 'TotalPrepaidAmount'),
    broken: [/<ram:DuePayableAmount>/, '<ram:DuePayableAmount>1'],
  },
  {
    id: 'BR-CO-17',
    at: each(`${settlement}/ram:ApplicableTradeTax`),
    holds: isTaxOfRate,
    broken: [/<ram:CalculatedAmount>[^<]*/, '<ram:CalculatedAmount>777.00'],
  },
  {
    id: 'BR-CO-18',
    at: whole,
    holds: has(`${settlement}/ram:ApplicableTradeTax`),
    broken: [/<ram:ApplicableTradeTax><ram:CalculatedAmount>.*?<\/ram:ApplicableTradeTax>/g, ''],
  },
  {
    id: 'BR-CO-25',
    at: whole,
    holds: (invoice) => totalAt(invoice, 'DuePayableAmount') <= 0,
    broken: [/<ram:DuePayableAmount>0/, '<ram:DuePayableAmount>5'],
  },
  {
    id: 'BR-CO-26',
    at: each(seller),
    holds: (party) => has('ram:ID')(party) || has('ram:SpecifiedTaxRegistration/ram:ID')(party),
    broken: [/<ram:SpecifiedTaxRegistration>.*?<\/ram:SpecifiedTaxRegistration>/, ''],
  },
  {
    id: 'the price of one times the quantity less the discount is the amount of the line',
    at: each(line),
    holds: (one) => {
      const price = Number(
        textAt(one, 'ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice/ram:ChargeAmount'),
      );
      const quantity = Number(textAt(one, 'ram:SpecifiedLineTradeDelivery/ram:BilledQuantity'));
      const off = sumAt(one, 'ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeAllowanceCharge/ram:ActualAmount');
      const net =
        'ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount';
      return Math.round(price * quantity * 100) - off === amountAt(one, net);
    },
    broken: [/<ram:ChargeAmount>/, '<ram:ChargeAmount>1'],
  },
  {
    id: 'BR-DEC',
    at: every(/Amount$/),
    holds: ({ name, text }) => /^-?\d+(\.\d+)?$/.test(text) && (name === 'ram:ChargeAmount' || decimals(text) <= 2),
    broken: [/(<ram:ActualAmount>[^<]*)/, '$1001'],
  },
];

const lists: readonly Rule[] = [
  {
    id: 'BR-CL-01',
    at: each('rsm:ExchangedDocument/ram:TypeCode'),
    holds: ({ text }) => ['380', '381'].includes(text),
    broken: [/<ram:TypeCode>38\d/, '<ram:TypeCode>999'],
  },
  {
    id: 'BR-CL-03',
    at: every(/^ram:TaxTotalAmount$/),
    holds: ({ attributes }, invoice) => attributes.currencyID === currency(invoice),
    broken: [/ currencyID="[A-Z]*"/, ' currencyID="CHF"'],
  },
  {
    id: 'BR-CL-04',
    at: every(/^ram:InvoiceCurrencyCode$/),
    holds: ({ text }) => currencies.has(text.toLowerCase()) && text === text.toUpperCase(),
    broken: [/<ram:InvoiceCurrencyCode>[A-Z]*/, '<ram:InvoiceCurrencyCode>eur'],
  },
  {
    id: 'BR-CL-14',
    at: every(/^ram:CountryID$/),
    holds: ({ text }) => countries.has(text),
    broken: [/<ram:CountryID>../, '<ram:CountryID>UK'],
  },
  {
    id: 'BR-CL-16',
    at: each(`${settlement}/ram:SpecifiedTradeSettlementPaymentMeans/ram:TypeCode`),
    holds: ({ text }) => text === '48',
    broken: [/<ram:TypeCode>48/, '<ram:TypeCode>0'],
  },
  {
    id: 'BR-CL-17 and BR-CL-18',
    at: every(/^ram:CategoryCode$/),
    holds: ({ text }) => ['S', 'Z', 'AE', 'G', 'O'].includes(text),
    broken: [/<ram:CategoryCode>S/, '<ram:CategoryCode>X'],
  },
  {
    id: 'BR-CL-19',
    at: every(/^ram:ReasonCode$/),
    holds: ({ text }) => text === '95',
    broken: [/<ram:ReasonCode>/, '<ram:ReasonCode>1'],
  },
  {
    id: 'BR-CL-23',
    at: every(/^ram:BilledQuantity$/),
    holds: ({ attributes }) => attributes.unitCode === 'C62',
    broken: [/ unitCode="C62"/, ' unitCode="pieces"'],
  },
  {
    id: 'dates are days',
    at: every(/^udt:DateTimeString$/),
    holds: ({ text, attributes }) => attributes.format === '102' && /^20\d\d(0[1-9]|1[0-2])([012]\d|3[01])$/.test(text),
    broken: [/ format="102">20/, ' format="102">20-'],
  },
  {
    id: 'no element is empty, except for the delivery',
    at: (invoice) => everyNode(invoice).filter(({ name }) => name !== 'ram:ApplicableHeaderTradeDelivery'),
    holds: ({ text, children }) => (text === '') !== (children.length === 0) && text === text.trim(),
    broken: [/<ram:LineID>1/, '<ram:LineID> '],
  },
  {
    id: 'each rate has one breakdown',
    at: each(`${settlement}/ram:ApplicableTradeTax`),
    holds: (tax, invoice) =>
      nodesAt(invoice, `${settlement}/ram:ApplicableTradeTax`).filter((other) => sameRate(tax, other)).length === 1,
    broken: [/(<ram:ApplicableTradeTax><ram:CalculatedAmount>.*?<\/ram:ApplicableTradeTax>)/, '$1$1'],
  },
];

export const rules: readonly Rule[] = [
  ...presence,
  ...calculations,
  ...rulesOfCategory('S', 'S'),
  ...rulesOfCategory('Z', 'Z'),
  ...lists,
  {
    id: 'the elements are in the order of the syntax',
    at: (invoice) => everyNode(invoice).filter(({ children }) => children.length > 0),
    holds: isInOrder,
    broken: [/(<ram:CityName>.*?<\/ram:CityName>)(<ram:CountryID>.*?<\/ram:CountryID>)/, '$2$1'],
  },
];

const exemptRules = (['AE', 'G', 'O'] as const).flatMap(rulesOfExemption);

/** The rules that an invoice breaks. */
export const brokenRules = (invoice: XmlNode): string[] =>
  [...rules, ...exemptRules]
    .filter(({ at, holds }) => !at(invoice).every((node) => holds(node, invoice)))
    .map(({ id }) => id);
