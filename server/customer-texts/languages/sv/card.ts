import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Kortuppgifter',
  number: 'Kortnummer',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Ange kortnumret.',
  numberIncomplete: 'Kortnumret är ofullständigt.',
  numberInvalid: 'Kortnumret är inte giltigt.',
  expiry: 'Giltigt till',
  expiryPlaceholder: 'MM / ÅÅ',
  expiryRequired: 'Ange sista giltighetsdatum.',
  expiryIncomplete: 'Datumet är ofullständigt.',
  expiryInvalid: 'Månaden måste vara från 01 till 12.',
  expiryPast: 'Kortet har gått ut.',
  cvc: 'CVC',
  cvcRequired: 'Ange CVC.',
  cvcIncomplete: 'CVC är ofullständig.',
  cvcInvalid: 'CVC är för lång för det här kortet.',
  tooManyRequests: 'För många försök. Försök igen om {seconds} s.',
  notAvailable: 'Kort kan inte tas emot här just nu.',
  refused: 'Kortet kunde inte tas emot. Kontrollera uppgifterna eller använd ett annat kort.',
  connection: 'Anslutningen misslyckades. Försök igen.',
};
