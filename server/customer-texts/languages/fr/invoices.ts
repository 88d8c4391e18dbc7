import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Facture', credit_note: 'Avoir' },
  number: 'Numéro',
  corrects: 'Rectifie',
  uncaptured: 'Non débité',
  totals: { invoice: 'Total', credit_note: 'Total de l’avoir' },
  net: 'Hors {name} {percentage}',
  tax: 'Dont {name} {percentage}',
  corrections: {
    refund_settled: 'Remboursement de la facture {number}',
    refunded_to_credit: 'Remboursement de la facture {number} sur votre avoir',
    payment_voided: 'Annulation de la facture {number}',
    refund_returned: 'Annulation de l’avoir {number} : le remboursement a échoué',
    invoice_canceled: 'Rectification de la facture {number}',
  },
  paymentVoided: 'Le paiement avec {card} a été annulé.',
  refundReturned: 'Le remboursement sur {card} a échoué. Le paiement initial reste valable.',
  toCredit: 'Ajouté à votre avoir.',
  reason: 'Motif : {reason}',
  canceled: 'Aucun argent n’a circulé. Une facture rectifiée suit.',
};
