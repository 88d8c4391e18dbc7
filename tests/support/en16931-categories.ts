import { amountAt, buyer, has, line, lineTax, type Rule, sameRate, seller, settlement } from './en16931-elements.ts';
import { everyNode, nodesAt, textAt, type XmlNode } from './xml-reader.ts';

/** The rules of EN 16931 for each category of tax. */

/** Zero rated and standard rated tax has the same rules, except for the rate. */
export function rulesOfCategory(code: 'S' | 'Z', mark: 'S' | 'Z'): Rule[] {
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
export function isTaxOfRate(tax: XmlNode): boolean {
  const rate = Number(textAt(tax, 'ram:RateApplicablePercent') ?? '0');
  const amount = amountAt(tax, 'ram:CalculatedAmount');
  if (Math.round(rate) === 0) return Math.round(amount / 100) === 0;
  const expected = Math.round((amountAt(tax, 'ram:BasisAmount') * rate) / 100);
  return amount - 100 < expected && expected < amount + 100;
}
