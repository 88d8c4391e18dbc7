import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Faktura', credit_note: 'Kreditnota' },
  number: 'Nummer',
  corrects: 'Korrigerer',
  uncaptured: 'Ikke trukket',
  totals: { invoice: 'I alt', credit_note: 'Krediteret i alt' },
  net: 'Uden {name} {percentage}',
  tax: 'Heraf {name} {percentage}',
  corrections: {
    refund_settled: 'Refusion af faktura {number}',
    refunded_to_credit: 'Refusion af faktura {number} til dit tilgodehavende',
    payment_voided: 'Annullering af faktura {number}',
    refund_returned: 'Tilbageførsel af kreditnota {number}: refusionen mislykkedes',
    invoice_canceled: 'Rettelse af faktura {number}',
  },
  paymentVoided: 'Betalingen med {card} blev annulleret.',
  refundReturned: 'Refusionen til {card} mislykkedes. Den oprindelige betaling gælder fortsat.',
  toCredit: 'Lagt til dit tilgodehavende.',
  reason: 'Årsag: {reason}',
  canceled: 'Der er ikke flyttet penge. En rettet faktura følger.',
};
