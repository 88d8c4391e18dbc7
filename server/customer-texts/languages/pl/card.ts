import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Dane karty',
  number: 'Numer karty',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Wpisz numer karty.',
  numberIncomplete: 'Numer karty jest niepełny.',
  numberInvalid: 'Ten numer karty jest nieprawidłowy.',
  expiry: 'Data ważności',
  expiryPlaceholder: 'MM / RR',
  expiryRequired: 'Wpisz datę ważności.',
  expiryIncomplete: 'Data ważności jest niepełna.',
  expiryInvalid: 'Miesiąc musi być liczbą od 01 do 12.',
  expiryPast: 'Ta karta straciła ważność.',
  cvc: 'CVC',
  cvcRequired: 'Wpisz kod CVC.',
  cvcIncomplete: 'Kod CVC jest niepełny.',
  cvcInvalid: 'Kod CVC jest za długi dla tej karty.',
  tooManyRequests: 'Zbyt wiele prób. Spróbuj ponownie za {seconds} s.',
  notAvailable: 'W tej chwili nie można tu przyjmować kart.',
  refused: 'Nie udało się przyjąć tej karty. Sprawdź dane lub użyj innej karty.',
  connection: 'Połączenie nie powiodło się. Spróbuj ponownie.',
};
