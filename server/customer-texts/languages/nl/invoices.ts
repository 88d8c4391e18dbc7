import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Factuur', credit_note: 'Creditnota' },
  number: 'Nummer',
  corrects: 'Corrigeert',
  uncaptured: 'Niet afgeschreven',
  totals: { invoice: 'Totaal', credit_note: 'Totaal credit' },
  net: 'Exclusief {name} {percentage}',
  tax: 'Inclusief {name} {percentage}',
  corrections: {
    refund_settled: 'Terugbetaling van factuur {number}',
    refunded_to_credit: 'Terugbetaling van factuur {number} op uw tegoed',
    payment_voided: 'Annulering van factuur {number}',
    refund_returned: 'Intrekking van creditnota {number}: de terugbetaling is mislukt',
    invoice_canceled: 'Correctie van factuur {number}',
  },
  paymentVoided: 'De betaling met {card} is geannuleerd.',
  refundReturned: 'De terugbetaling op {card} is mislukt. De oorspronkelijke betaling blijft geldig.',
  toCredit: 'Toegevoegd aan uw tegoed.',
  reason: 'Reden: {reason}',
  canceled: 'Er is geen geld overgemaakt. Er volgt een gecorrigeerde factuur.',
};
