import { countries } from '../../server/platform/countries.ts';
import { currencies } from '../../server/platform/currencies.ts';
import { isInOrder } from './cii-order.ts';
import { everyNode, nodesAt, textAt, type XmlNode } from './xml-reader.ts';

/**
 * The rules of EN 16931 for what our e-invoices can contain, by the names of the standard, and the order of the elements in its
 * syntax CII. They are written down from the standard and not from our code. Each row has a change that breaks it.
 */

interface Rule {
  readonly id: string;
  /** Where it applies; each must pass. */
  readonly at: (invoice: XmlNode) => readonly XmlNode[];
  readonly holds: (node: XmlNode, invoice: XmlNode) => boolean;
  /** Makes an invoice with a card, a discount and two rates break the rule. */
  readonly broken: readonly [from: RegExp, to: string];
}

const transaction = 'rsm:SupplyChainTradeTransaction';
const agreement = `${transaction}/ram:ApplicableHeaderTradeAgreement`;
const settlement = `${transaction}/ram:ApplicableHeaderTradeSettlement`;
const totals = `${settlement}/ram:SpecifiedTradeSettlementHeaderMonetarySummation`;
const line = `${transaction}/ram:IncludedSupplyChainTradeLineItem`;
const lineTax = 'ram:SpecifiedLineTradeSettlement/ram:ApplicableTradeTax';
const seller = `${agreement}/ram:SellerTradeParty`;
const buyer = `${agreement}/ram:BuyerTradeParty`;

const whole = (invoice: XmlNode): XmlNode[] => [invoice];
const each =
  (path: string) =>
  (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, path);
const every =
  (name: RegExp) =>
  (invoice: XmlNode): XmlNode[] =>
    everyNode(invoice).filter((node) => name.test(node.name));

const has =
  (path: string) =>
  (node: XmlNode): boolean =>
    nodesAt(node, path).length > 0 &&
    nodesAt(node, path).every(({ text, children }) => text !== '' || children.length > 0);

/** In hundredths, which all amounts have at most. */
const cents = (text: string | undefined): number => Math.round(Number(text ?? 'NaN') * 100);
const sumAt = (node: XmlNode, path: string): number =>
  nodesAt(node, path).reduce((sum, { text }) => sum + cents(text), 0);
const amountAt = (node: XmlNode, path: string): number => cents(textAt(node, path));
const totalAt = (invoice: XmlNode, name: string): number => amountAt(invoice, `${totals}/ram:${name}`);

const decimals = (text: string): number => text.split('.')[1]?.length ?? 0;
const currency = (invoice: XmlNode): string => textAt(invoice, `${settlement}/ram:InvoiceCurrencyCode`) ?? '';

const sameRate = (one: XmlNode, other: XmlNode): boolean =>
  ['ram:CategoryCode', 'ram:RateApplicablePercent'].every((name) => textAt(one, name) === textAt(other, name));

/** Zero rated and standard rated tax has the same rules, except for the rate. */
function rulesOfCategory(code: 'S' | 'Z', mark: 'S' | 'Z'): Rule[] {
  const breakdowns = (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, `${settlement}/ram:ApplicableTradeTax`).filter((tax) => textAt(tax, 'ram:CategoryCode') === code);
  const lines = (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, line).filter((one) => textAt(one, `${lineTax}/ram:CategoryCode`) === code);
  const isRate = (text: string | undefined): boolean => (code === 'S' ? Number(text) > 0 : Number(text) === 0);
  const rate = code === 'S' ? '0' : '19';
  const ofCode = `<ram:CategoryCode>${code}</ram:CategoryCode><ram:RateApplicablePercent>`;
  return [
    {
      id: `BR-${mark}-01`,
      at: (invoice) => (lines(invoice).length > 0 ? [invoice] : []),
      holds: (_, invoice) => breakdowns(invoice).length > 0,
      broken: [new RegExp(`(<ram:BasisAmount>[^<]*</ram:BasisAmount><ram:CategoryCode>)${code}`, 'g'), '$1E'],
    },
    {
      id: `BR-${mark}-02`,
      at: (invoice) => (lines(invoice).length > 0 ? nodesAt(invoice, seller) : []),
      holds: has('ram:SpecifiedTaxRegistration/ram:ID'),
      broken: [/<ram:SpecifiedTaxRegistration>.*?<\/ram:SpecifiedTaxRegistration>/, ''],
    },
    {
      id: `BR-${mark}-05`,
      at: lines,
      holds: (one) => isRate(textAt(one, `${lineTax}/ram:RateApplicablePercent`)),
      broken: [new RegExp(`${ofCode}[^<]*`), `${ofCode}${rate}`],
    },
    {
      id: `BR-${mark}-08`,
      at: breakdowns,
      holds: (tax, invoice) => {
        const ofRate = lines(invoice).filter((one) => nodesAt(one, lineTax).some((other) => sameRate(tax, other)));
        const net =
          'ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount';
        return amountAt(tax, 'ram:BasisAmount') === ofRate.reduce((sum, one) => sum + amountAt(one, net), 0);
      },
      broken: [
        new RegExp(`<ram:BasisAmount>[^<]*(</ram:BasisAmount><ram:CategoryCode>${code})`),
        '<ram:BasisAmount>1.23$1',
      ],
    },
    {
      id: `BR-${mark}-09`,
      at: breakdowns,
      holds: (tax) => (code === 'S' ? isTaxOfRate(tax) : amountAt(tax, 'ram:CalculatedAmount') === 0),
      broken: [
        new RegExp(
          `<ram:CalculatedAmount>[^<]*(</ram:CalculatedAmount><ram:TypeCode>VAT</ram:TypeCode><ram:BasisAmount>[^<]*</ram:BasisAmount><ram:CategoryCode>${code})`,
        ),
        '<ram:CalculatedAmount>777.00$1',
      ],
    },
    {
      id: `BR-${mark}-10`,
      at: breakdowns,
      holds: (tax) => textAt(tax, 'ram:ExemptionReason') === undefined,
      broken: [
        new RegExp(`(<ram:BasisAmount>[^<]*</ram:BasisAmount>)(<ram:CategoryCode>${code})`),
        '<ram:ExemptionReason>None</ram:ExemptionReason>$1$2',
      ],
    },
  ];
}

type Exempt = 'AE' | 'G' | 'O';

const registered =
  (party: string, scheme: string) =>
  (invoice: XmlNode): boolean =>
    nodesAt(invoice, `${party}/ram:SpecifiedTaxRegistration/ram:ID`).some(
      ({ attributes }) => attributes.schemeID === scheme,
    );

/** The numbers that the parties must and must not have: BR-AE-02, BR-G-02 and BR-O-02. */
const numbersOf: Readonly<Record<Exempt, Pick<Rule, 'holds' | 'broken'>>> = {
  AE: {
    holds: (_, invoice) =>
      (registered(seller, 'VA')(invoice) || registered(seller, 'FC')(invoice)) && registered(buyer, 'VA')(invoice),
    broken: [/(<ram:BuyerTradeParty>.*?)<ram:SpecifiedTaxRegistration>.*?<\/ram:SpecifiedTaxRegistration>/, '$1'],
  },
  G: { holds: (_, invoice) => registered(seller, 'VA')(invoice), broken: [/ schemeID="VA"/, ' schemeID="FC"'] },
  O: {
    holds: (_, invoice) => !registered(seller, 'VA')(invoice) && !registered(buyer, 'VA')(invoice),
    broken: [/ schemeID="FC"/, ' schemeID="VA"'],
  },
};

/** Sales without tax, by a category of their own. Each row breaks an invoice of this category. */
export function rulesOfExemption(code: Exempt): Rule[] {
  const breakdowns = (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, `${settlement}/ram:ApplicableTradeTax`).filter((tax) => textAt(tax, 'ram:CategoryCode') === code);
  const lines = (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, line).filter((one) => textAt(one, `${lineTax}/ram:CategoryCode`) === code);
  const ofLines = (invoice: XmlNode): XmlNode[] => (lines(invoice).length > 0 ? [invoice] : []);
  const net = 'ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount';
  const rate = `${lineTax}/ram:RateApplicablePercent`;
  const category = `<ram:CategoryCode>${code}</ram:CategoryCode>`;
  return [
    {
      id: `BR-${code}-01`,
      at: ofLines,
      holds: (_, invoice) => breakdowns(invoice).length === 1,
      broken: [new RegExp(`(</ram:BasisAmount><ram:CategoryCode>)${code}`), '$1E'],
    },
    { id: `BR-${code}-02`, at: ofLines, ...numbersOf[code] },
    {
      id: `BR-${code}-05`,
      at: lines,
      holds: (one) => textAt(one, rate) === (code === 'O' ? undefined : '0'),
      broken: [
        new RegExp(`${category}(<ram:RateApplicablePercent>0</ram:RateApplicablePercent>)?`),
        `${category}<ram:RateApplicablePercent>7</ram:RateApplicablePercent>`,
      ],
    },
    {
      id: `BR-${code}-08`,
      at: breakdowns,
      holds: (tax, invoice) =>
        amountAt(tax, 'ram:BasisAmount') === lines(invoice).reduce((sum, one) => sum + amountAt(one, net), 0),
      broken: [/<ram:BasisAmount>[^<]*/, '<ram:BasisAmount>1.23'],
    },
    {
      id: `BR-${code}-09`,
      at: breakdowns,
      holds: (tax) => amountAt(tax, 'ram:CalculatedAmount') === 0,
      broken: [/<ram:CalculatedAmount>[^<]*/, '<ram:CalculatedAmount>7.00'],
    },
    {
      id: `BR-${code}-10`,
      at: breakdowns,
      holds: (tax) => has('ram:ExemptionReason')(tax) && textAt(tax, 'ram:ExemptionReasonCode') === `VATEX-EU-${code}`,
      broken: [/<ram:ExemptionReason>.*?<\/ram:ExemptionReason>/, ''],
    },
    ...(code === 'O'
      ? [
          {
            id: 'BR-O-11 and BR-O-12',
            at: ofLines,
            holds: (_: XmlNode, invoice: XmlNode) =>
              everyNode(invoice).every(({ name, text }) => name !== 'ram:CategoryCode' || text === 'O'),
            broken: [/<ram:CategoryCode>O/, '<ram:CategoryCode>S'] as const,
          },
        ]
      : []),
  ];
}

/** One unit of the currency is allowed, because tax may be rounded line by line. */
function isTaxOfRate(tax: XmlNode): boolean {
  const rate = Number(textAt(tax, 'ram:RateApplicablePercent') ?? '0');
  const amount = amountAt(tax, 'ram:CalculatedAmount');
  if (Math.round(rate) === 0) return Math.round(amount / 100) === 0;
  const expected = Math.round((amountAt(tax, 'ram:BasisAmount') * rate) / 100);
  return amount - 100 < expected && expected < amount + 100;
}

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
