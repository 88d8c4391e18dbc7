import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'بيئة اختبار',
    rehearsal: 'تجربة',
    live: '',
  },
  openTitle: 'الدفع إلى {merchant}',
  open: 'تابع لعرض المبلغ وإدخال بطاقتك.',
  continue: 'متابعة',
  soldOutTitle: 'نفدت الكمية',
  soldOut: 'بلغ رابط الدفع هذا عدد المدفوعات المحدد له. لم يُخصم منك أي مبلغ.',
  endedTitle: 'انتهى هذا العرض',
  ended: 'انتهى رابط الدفع هذا في {date}. لم يُخصم منك أي مبلغ.',
  inactiveTitle: 'رابط الدفع هذا غير مفعّل',
  inactive: 'أوقف {merchant} هذا الرابط. لم يُخصم منك أي مبلغ.',
  unavailableTitle: 'لا يستطيع {merchant} استلام المدفوعات حاليًا',
  unavailable: 'لم يُخصم منك أي مبلغ. حاول مرة أخرى لاحقًا.',
  receiptTitle: 'انتهت صلاحية رابط هذا الإيصال',
  receipt: 'اطلب رابطًا جديدًا من {merchant}.',
  unknownTitle: 'هذا الرابط غير صالح',
  unknown: 'تأكد من نسخ الرابط كاملًا، أو اطلب رابطًا جديدًا من البائع.',
  support: 'لديك أسئلة؟ اكتب إلى {email}.',
  website: 'الانتقال إلى {merchant}',
};
