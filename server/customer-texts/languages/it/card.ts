import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Dati della carta',
  number: 'Numero della carta',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Inserisci il numero della carta.',
  numberIncomplete: 'Il numero della carta è incompleto.',
  numberInvalid: 'Questo numero di carta non è valido.',
  expiry: 'Scadenza',
  expiryPlaceholder: 'MM / AA',
  expiryRequired: 'Inserisci la data di scadenza.',
  expiryIncomplete: 'La data di scadenza è incompleta.',
  expiryInvalid: 'Il mese deve essere compreso tra 01 e 12.',
  expiryPast: 'Questa carta è scaduta.',
  cvc: 'CVC',
  cvcRequired: 'Inserisci il CVC.',
  cvcIncomplete: 'Il CVC è incompleto.',
  cvcInvalid: 'Il CVC è troppo lungo per questa carta.',
  tooManyRequests: 'Troppi tentativi. Riprova tra {seconds} s.',
  notAvailable: 'Al momento qui non è possibile accettare carte.',
  refused: 'Non è stato possibile accettare questa carta. Controlla i dati o usa un’altra carta.',
  connection: 'Connessione non riuscita. Riprova.',
};
