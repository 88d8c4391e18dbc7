import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Faktura', credit_note: 'Kreditfaktura' },
  number: 'Nummer',
  corrects: 'Korrigerar',
  uncaptured: 'Ej debiterat',
  totals: { invoice: 'Totalt', credit_note: 'Totalt krediterat' },
  net: 'Exklusive {name} {percentage}',
  tax: 'Varav {name} {percentage}',
  corrections: {
    refund_settled: 'Återbetalning av faktura {number}',
    refunded_to_credit: 'Återbetalning av faktura {number} till ditt tillgodohavande',
    payment_voided: 'Makulering av faktura {number}',
    refund_returned: 'Återföring av kreditfaktura {number}: återbetalningen misslyckades',
    invoice_canceled: 'Rättelse av faktura {number}',
  },
  paymentVoided: 'Betalningen med {card} annullerades.',
  refundReturned: 'Återbetalningen till {card} misslyckades. Den ursprungliga betalningen gäller.',
  toCredit: 'Tillagt på ditt tillgodohavande.',
  reason: 'Orsak: {reason}',
  canceled: 'Inga pengar har flyttats. En rättad faktura följer.',
};
