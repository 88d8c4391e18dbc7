import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Factura', credit_note: 'Factura rectificativa' },
  number: 'Número',
  corrects: 'Rectifica',
  uncaptured: 'No cobrado',
  totals: { invoice: 'Total', credit_note: 'Total rectificado' },
  net: 'Base sin {name} {percentage}',
  tax: '{name} {percentage} incluido',
  corrections: {
    refund_settled: 'Reembolso de la factura {number}',
    refunded_to_credit: 'Reembolso de la factura {number} a su saldo',
    payment_voided: 'Anulación de la factura {number}',
    refund_returned: 'Anulación de la factura rectificativa {number}: el reembolso ha fallado',
    invoice_canceled: 'Corrección de la factura {number}',
  },
  paymentVoided: 'El pago con {card} se ha anulado.',
  refundReturned: 'El reembolso a {card} ha fallado. El pago original sigue siendo válido.',
  toCredit: 'Añadido a su saldo.',
  reason: 'Motivo: {reason}',
  canceled: 'No se ha movido dinero. Le sigue una factura corregida.',
};
