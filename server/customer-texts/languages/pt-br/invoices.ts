import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'Fatura', credit_note: 'Nota de crédito' },
  number: 'Número',
  corrects: 'Corrige',
  uncaptured: 'Não cobrado',
  totals: { invoice: 'Total', credit_note: 'Total do crédito' },
  net: 'Base sem {name} {percentage}',
  tax: '{name} {percentage} incluído',
  corrections: {
    refund_settled: 'Reembolso da fatura {number}',
    refunded_to_credit: 'Reembolso da fatura {number} no seu crédito',
    payment_voided: 'Cancelamento da fatura {number}',
    refund_returned: 'Estorno da nota de crédito {number}: o reembolso falhou',
    invoice_canceled: 'Correção da fatura {number}',
  },
  paymentVoided: 'O pagamento com {card} foi cancelado.',
  refundReturned: 'O reembolso em {card} falhou. O pagamento original continua válido.',
  toCredit: 'Adicionado ao seu crédito.',
  reason: 'Motivo: {reason}',
  canceled: 'Nenhum valor foi movimentado. Uma fatura corrigida vem a seguir.',
};
