import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Rechnung', credit_note: 'Rechnungskorrektur' },
  number: 'Nummer',
  corrects: 'Korrigiert',
  uncaptured: 'Nicht abgebucht',
  totals: { invoice: 'Gesamtbetrag', credit_note: 'Korrekturbetrag' },
  net: 'Netto zu {name} {percentage}',
  tax: 'Enthaltene {name} {percentage}',
  corrections: {
    refund_settled: 'Erstattung zur Rechnung {number}',
    refunded_to_credit: 'Erstattung zur Rechnung {number} auf Ihr Guthaben',
    payment_voided: 'Stornierung der Rechnung {number}',
    refund_returned: 'Aufhebung der Rechnungskorrektur {number}: Die Erstattung ist fehlgeschlagen',
    invoice_canceled: 'Korrektur der Rechnung {number}',
  },
  paymentVoided: 'Die Zahlung mit {card} wurde storniert.',
  refundReturned: 'Die Erstattung auf {card} ist fehlgeschlagen. Die ursprüngliche Zahlung gilt weiter.',
  toCredit: 'Ihrem Guthaben gutgeschrieben.',
  reason: 'Grund: {reason}',
  canceled: 'Es ist kein Geld geflossen. Eine korrigierte Rechnung folgt.',
};
