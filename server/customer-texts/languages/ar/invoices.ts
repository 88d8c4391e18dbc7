import type { TextsOf } from '../../languages.ts';

export const invoices: TextsOf<'invoices'> = {
  titles: { invoice: 'فاتورة', credit_note: 'إشعار دائن' },
  number: 'الرقم',
  corrects: 'يصحّح',
  uncaptured: 'غير مخصوم',
  totals: { invoice: 'الإجمالي', credit_note: 'إجمالي الإشعار الدائن' },
  net: 'الصافي من {name} بنسبة {percentage}',
  tax: '{name} المشمولة بنسبة {percentage}',
  corrections: {
    refund_settled: 'استرداد الفاتورة {number}',
    refunded_to_credit: 'استرداد الفاتورة {number} إلى رصيدك',
    payment_voided: 'إلغاء الفاتورة {number}',
    refund_returned: 'عكس الإشعار الدائن {number}: فشل الاسترداد',
    invoice_canceled: 'تصحيح الفاتورة {number}',
  },
  paymentVoided: 'أُلغي الدفع بواسطة {card}.',
  refundReturned: 'فشل الاسترداد إلى {card}، ويبقى الدفع الأصلي ساريًا.',
  toCredit: 'أُضيف إلى رصيدك.',
  reason: 'السبب: {reason}',
  canceled: 'لم تُنقل أي أموال. تليه فاتورة مصحّحة.',
};
