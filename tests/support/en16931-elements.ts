import { everyNode, nodesAt, textAt, type XmlNode } from './xml-reader.ts';

/** What the rules of EN 16931 are written with: where its elements are in the syntax CII, and how amounts are read. */

export interface Rule {
  readonly id: string;
  /** Where it applies; each must pass. */
  readonly at: (invoice: XmlNode) => readonly XmlNode[];
  readonly holds: (node: XmlNode, invoice: XmlNode) => boolean;
  /** Makes an invoice with a card, a discount and two rates break the rule. */
  readonly broken: readonly [from: RegExp, to: string];
}

const transaction = 'rsm:SupplyChainTradeTransaction';
const agreement = `${transaction}/ram:ApplicableHeaderTradeAgreement`;
export const settlement = `${transaction}/ram:ApplicableHeaderTradeSettlement`;
export const totals = `${settlement}/ram:SpecifiedTradeSettlementHeaderMonetarySummation`;
export const line = `${transaction}/ram:IncludedSupplyChainTradeLineItem`;
export const lineTax = 'ram:SpecifiedLineTradeSettlement/ram:ApplicableTradeTax';
export const seller = `${agreement}/ram:SellerTradeParty`;
export const buyer = `${agreement}/ram:BuyerTradeParty`;

export const whole = (invoice: XmlNode): XmlNode[] => [invoice];
export const each =
  (path: string) =>
  (invoice: XmlNode): XmlNode[] =>
    nodesAt(invoice, path);
export const every =
  (name: RegExp) =>
  (invoice: XmlNode): XmlNode[] =>
    everyNode(invoice).filter((node) => name.test(node.name));

export const has =
  (path: string) =>
  (node: XmlNode): boolean =>
    nodesAt(node, path).length > 0 &&
    nodesAt(node, path).every(({ text, children }) => text !== '' || children.length > 0);

/** In hundredths, which all amounts have at most. */
const cents = (text: string | undefined): number => Math.round(Number(text ?? 'NaN') * 100);
export const sumAt = (node: XmlNode, path: string): number =>
  nodesAt(node, path).reduce((sum, { text }) => sum + cents(text), 0);
export const amountAt = (node: XmlNode, path: string): number => cents(textAt(node, path));
export const totalAt = (invoice: XmlNode, name: string): number => amountAt(invoice, `${totals}/ram:${name}`);

export const decimals = (text: string): number => text.split('.')[1]?.length ?? 0;
export const currency = (invoice: XmlNode): string => textAt(invoice, `${settlement}/ram:InvoiceCurrencyCode`) ?? '';

export const sameRate = (one: XmlNode, other: XmlNode): boolean =>
  ['ram:CategoryCode', 'ram:RateApplicablePercent'].every((name) => textAt(one, name) === textAt(other, name));
