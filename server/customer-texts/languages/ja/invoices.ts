import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: '請求書', credit_note: '返還請求書' },
  number: '番号',
  corrects: '訂正元',
  uncaptured: '未請求額',
  totals: { invoice: '合計', credit_note: '返還額合計' },
  net: '{name} {percentage} 対象（税抜）',
  tax: 'うち{name} {percentage}',
  corrections: {
    refund_settled: '請求書{number}の返金',
    refunded_to_credit: '請求書{number}のクレジット残高への返金',
    payment_voided: '請求書{number}の取り消し',
    refund_returned: '返還請求書{number}の取り消し：返金に失敗しました',
    invoice_canceled: '請求書{number}の訂正',
  },
  paymentVoided: '{card}でのお支払いは取り消されました。',
  refundReturned: '{card}への返金に失敗しました。元のお支払いは有効です。',
  toCredit: 'クレジット残高に追加しました。',
  reason: '理由：{reason}',
  canceled: 'お金の移動はありません。訂正後の請求書を別途発行します。',
};
