import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Fattura', credit_note: 'Nota di credito' },
  number: 'Numero',
  corrects: 'Rettifica',
  uncaptured: 'Non addebitato',
  totals: { invoice: 'Totale', credit_note: 'Totale a credito' },
  net: 'Imponibile {name} {percentage}',
  tax: '{name} {percentage} inclusa',
  corrections: {
    refund_settled: 'Rimborso della fattura {number}',
    refunded_to_credit: 'Rimborso della fattura {number} sul tuo credito',
    payment_voided: 'Annullamento della fattura {number}',
    refund_returned: 'Storno della nota di credito {number}: il rimborso non è riuscito',
    invoice_canceled: 'Rettifica della fattura {number}',
  },
  paymentVoided: 'Il pagamento con {card} è stato annullato.',
  refundReturned: 'Il rimborso su {card} non è riuscito. Il pagamento originale resta valido.',
  toCredit: 'Aggiunto al tuo credito.',
  reason: 'Motivo: {reason}',
  canceled: 'Non è stato spostato denaro. Segue una fattura corretta.',
};
