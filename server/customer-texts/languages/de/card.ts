import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Kartendaten',
  number: 'Kartennummer',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Geben Sie die Kartennummer ein.',
  numberIncomplete: 'Die Kartennummer ist unvollständig.',
  numberInvalid: 'Diese Kartennummer ist ungültig.',
  expiry: 'Gültig bis',
  expiryPlaceholder: 'MM / JJ',
  expiryRequired: 'Geben Sie das Ablaufdatum ein.',
  expiryIncomplete: 'Das Ablaufdatum ist unvollständig.',
  expiryInvalid: 'Der Monat muss zwischen 01 und 12 liegen.',
  expiryPast: 'Diese Karte ist abgelaufen.',
  cvc: 'CVC',
  cvcRequired: 'Geben Sie den CVC ein.',
  cvcIncomplete: 'Der CVC ist unvollständig.',
  cvcInvalid: 'Der CVC ist zu lang für diese Karte.',
  tooManyRequests: 'Zu viele Versuche. Versuchen Sie es in {seconds} s erneut.',
  notAvailable: 'Karten können hier derzeit nicht angenommen werden.',
  refused: 'Diese Karte konnte nicht angenommen werden. Prüfen Sie die Angaben oder verwenden Sie eine andere Karte.',
  connection: 'Die Verbindung ist fehlgeschlagen. Bitte versuchen Sie es erneut.',
};
