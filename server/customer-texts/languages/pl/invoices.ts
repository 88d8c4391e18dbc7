import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Faktura', credit_note: 'Faktura korygująca' },
  number: 'Numer',
  corrects: 'Koryguje',
  uncaptured: 'Niepobrane',
  totals: { invoice: 'Razem', credit_note: 'Razem korekta' },
  net: 'Netto, {name} {percentage}',
  tax: 'Zawiera {name} {percentage}',
  corrections: {
    refund_settled: 'Zwrot do faktury {number}',
    refunded_to_credit: 'Zwrot do faktury {number} na Twoje środki',
    payment_voided: 'Anulowanie faktury {number}',
    refund_returned: 'Wycofanie faktury korygującej {number}: zwrot się nie powiódł',
    invoice_canceled: 'Korekta faktury {number}',
  },
  paymentVoided: 'Płatność kartą {card} została anulowana.',
  refundReturned: 'Zwrot na kartę {card} się nie powiódł. Pierwotna płatność pozostaje ważna.',
  toCredit: 'Dodano do Twoich środków.',
  reason: 'Powód: {reason}',
  canceled: 'Pieniądze nie zostały przekazane. Po tym dokumencie następuje poprawiona faktura.',
};
