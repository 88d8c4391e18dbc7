import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'サンドボックス',
    rehearsal: 'リハーサル',
    live: '',
  },
  openTitle: '{merchant}へのお支払い',
  open: '続けると、金額の確認とカードの入力に進みます。',
  continue: '続ける',
  soldOutTitle: '売り切れ',
  soldOut: 'この支払いリンクは決められた件数に達しました。お支払いは発生していません。',
  endedTitle: 'この販売は終了しました',
  ended: 'この支払いリンクは{date}に終了しました。お支払いは発生していません。',
  inactiveTitle: 'この支払いリンクは無効です',
  inactive: '{merchant}がこのリンクを停止しました。お支払いは発生していません。',
  unavailableTitle: '{merchant}は現在お支払いを受け付けられません',
  unavailable: 'お支払いは発生していません。しばらくしてからもう一度お試しください。',
  receiptTitle: 'この領収書のリンクは期限が切れています',
  receipt: '{merchant}に新しいリンクを依頼してください。',
  unknownTitle: 'このリンクは無効です',
  unknown: 'リンク全体がコピーされているか確認してください。解決しない場合は、販売者に新しいリンクを依頼してください。',
  support: 'お問い合わせは{email}までお願いします。',
  website: '{merchant}へ移動',
};
