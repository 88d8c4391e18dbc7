import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Kortoplysninger',
  number: 'Kortnummer',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Indtast kortnummeret.',
  numberIncomplete: 'Kortnummeret er ufuldstændigt.',
  numberInvalid: 'Kortnummeret er ikke gyldigt.',
  expiry: 'Udløb',
  expiryPlaceholder: 'MM / ÅÅ',
  expiryRequired: 'Indtast udløbsdatoen.',
  expiryIncomplete: 'Udløbsdatoen er ufuldstændig.',
  expiryInvalid: 'Måneden skal være fra 01 til 12.',
  expiryPast: 'Kortet er udløbet.',
  cvc: 'CVC',
  cvcRequired: 'Indtast CVC.',
  cvcIncomplete: 'CVC er ufuldstændig.',
  cvcInvalid: 'CVC er for lang til dette kort.',
  tooManyRequests: 'For mange forsøg. Prøv igen om {seconds} s.',
  notAvailable: 'Kort kan ikke modtages her lige nu.',
  refused: 'Kortet kunne ikke modtages. Kontrollér oplysningerne, eller brug et andet kort.',
  connection: 'Forbindelsen mislykkedes. Prøv igen.',
};
