import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'カード情報',
  number: 'カード番号',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'カード番号を入力してください。',
  numberIncomplete: 'カード番号の桁数が足りません。',
  numberInvalid: 'このカード番号は正しくありません。',
  expiry: '有効期限',
  expiryPlaceholder: '月 / 年',
  expiryRequired: '有効期限を入力してください。',
  expiryIncomplete: '有効期限が途中までしか入力されていません。',
  expiryInvalid: '月は01から12までで入力してください。',
  expiryPast: 'このカードは有効期限が切れています。',
  cvc: 'CVC',
  cvcRequired: 'CVCを入力してください。',
  cvcIncomplete: 'CVCの桁数が足りません。',
  cvcInvalid: 'このカードのCVCとしては桁数が多すぎます。',
  tooManyRequests: '試行回数が多すぎます。{seconds}秒後にもう一度お試しください。',
  notAvailable: '現在、ここではカードをご利用いただけません。',
  refused: 'このカードはご利用いただけませんでした。入力内容を確認するか、別のカードをお使いください。',
  connection: '接続できませんでした。もう一度お試しください。',
};
