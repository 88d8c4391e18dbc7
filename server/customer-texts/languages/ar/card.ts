import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'بيانات البطاقة',
  number: 'رقم البطاقة',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'أدخل رقم البطاقة.',
  numberIncomplete: 'رقم البطاقة غير مكتمل.',
  numberInvalid: 'رقم البطاقة هذا غير صالح.',
  expiry: 'تاريخ الانتهاء',
  expiryPlaceholder: 'MM / YY',
  expiryRequired: 'أدخل تاريخ الانتهاء.',
  expiryIncomplete: 'تاريخ الانتهاء غير مكتمل.',
  expiryInvalid: 'يجب أن يكون الشهر من 01 إلى 12.',
  expiryPast: 'انتهت صلاحية هذه البطاقة.',
  cvc: 'CVC',
  cvcRequired: 'أدخل رمز CVC.',
  cvcIncomplete: 'رمز CVC غير مكتمل.',
  cvcInvalid: 'رمز CVC أطول من اللازم لهذه البطاقة.',
  tooManyRequests: 'محاولات كثيرة جدًا. حاول مرة أخرى بعد {seconds} ث.',
  notAvailable: 'لا يمكن قبول البطاقات هنا في الوقت الحالي.',
  refused: 'تعذّر قبول هذه البطاقة. تحقق من البيانات أو استخدم بطاقة أخرى.',
  connection: 'فشل الاتصال. يرجى المحاولة مرة أخرى.',
};
