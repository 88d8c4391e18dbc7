import type { XmlNode } from './xml-reader.ts';

/** The children of an element in their order; `*` can be there several times. */
const order: Readonly<Record<string, string>> = {
  'rsm:CrossIndustryInvoice': 'rsm:ExchangedDocumentContext rsm:ExchangedDocument rsm:SupplyChainTradeTransaction',
  'rsm:ExchangedDocumentContext': 'ram:GuidelineSpecifiedDocumentContextParameter',
  'ram:GuidelineSpecifiedDocumentContextParameter': 'ram:ID',
  'rsm:ExchangedDocument': 'ram:ID ram:TypeCode ram:IssueDateTime ram:IncludedNote*',
  'ram:IssueDateTime': 'udt:DateTimeString',
  'ram:IncludedNote': 'ram:Content',
  'rsm:SupplyChainTradeTransaction':
    'ram:IncludedSupplyChainTradeLineItem* ram:ApplicableHeaderTradeAgreement ram:ApplicableHeaderTradeDelivery ram:ApplicableHeaderTradeSettlement',
  'ram:IncludedSupplyChainTradeLineItem':
    'ram:AssociatedDocumentLineDocument ram:SpecifiedTradeProduct ram:SpecifiedLineTradeAgreement ram:SpecifiedLineTradeDelivery ram:SpecifiedLineTradeSettlement',
  'ram:AssociatedDocumentLineDocument': 'ram:LineID',
  'ram:SpecifiedTradeProduct': 'ram:Name',
  'ram:SpecifiedLineTradeAgreement': 'ram:NetPriceProductTradePrice',
  'ram:NetPriceProductTradePrice': 'ram:ChargeAmount',
  'ram:SpecifiedLineTradeDelivery': 'ram:BilledQuantity',
  'ram:SpecifiedLineTradeSettlement':
    'ram:ApplicableTradeTax ram:SpecifiedTradeAllowanceCharge* ram:SpecifiedTradeSettlementLineMonetarySummation',
  'ram:ApplicableTradeTax':
    'ram:CalculatedAmount ram:TypeCode ram:ExemptionReason ram:BasisAmount ram:CategoryCode ram:ExemptionReasonCode ram:RateApplicablePercent',
  'ram:SpecifiedTradeAllowanceCharge': 'ram:ChargeIndicator ram:ActualAmount ram:ReasonCode ram:Reason',
  'ram:ChargeIndicator': 'udt:Indicator',
  'ram:SpecifiedTradeSettlementLineMonetarySummation': 'ram:LineTotalAmount',
  'ram:ApplicableHeaderTradeAgreement': 'ram:SellerTradeParty ram:BuyerTradeParty ram:SellerOrderReferencedDocument',
  'ram:SellerTradeParty':
    'ram:ID ram:Name ram:PostalTradeAddress ram:URIUniversalCommunication ram:SpecifiedTaxRegistration*',
  'ram:BuyerTradeParty':
    'ram:Name ram:DefinedTradeContact ram:PostalTradeAddress ram:URIUniversalCommunication ram:SpecifiedTaxRegistration',
  'ram:DefinedTradeContact': 'ram:PersonName',
  'ram:PostalTradeAddress':
    'ram:PostcodeCode ram:LineOne ram:LineTwo ram:CityName ram:CountryID ram:CountrySubDivisionName',
  'ram:URIUniversalCommunication': 'ram:URIID',
  'ram:SpecifiedTaxRegistration': 'ram:ID',
  'ram:SellerOrderReferencedDocument': 'ram:IssuerAssignedID',
  'ram:ApplicableHeaderTradeDelivery': 'ram:ShipToTradeParty',
  'ram:ShipToTradeParty': 'ram:Name ram:PostalTradeAddress',
  'ram:ApplicableHeaderTradeSettlement':
    'ram:InvoiceCurrencyCode ram:SpecifiedTradeSettlementPaymentMeans ram:ApplicableTradeTax* ram:SpecifiedTradeSettlementHeaderMonetarySummation ram:InvoiceReferencedDocument*',
  'ram:SpecifiedTradeSettlementPaymentMeans': 'ram:TypeCode ram:ApplicableTradeSettlementFinancialCard',
  'ram:ApplicableTradeSettlementFinancialCard': 'ram:ID',
  'ram:SpecifiedTradeSettlementHeaderMonetarySummation':
    'ram:LineTotalAmount ram:TaxBasisTotalAmount ram:TaxTotalAmount ram:GrandTotalAmount ram:TotalPrepaidAmount ram:DuePayableAmount',
  'ram:InvoiceReferencedDocument': 'ram:IssuerAssignedID',
};

/** Whether the children of an element are known and in their order. */
export function isInOrder({ name, children }: XmlNode): boolean {
  const known = (order[name] ?? '').split(' ').map((child) => {
    const times = child.endsWith('*') ? '*' : '?';
    return `(<${child.replace('*', '')}>)${times}`;
  });
  return new RegExp(`^${known.join('')}$`).test(children.map((child) => `<${child.name}>`).join(''));
}
