import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Próba',
    live: '',
  },
  openTitle: 'Zapłać: {merchant}',
  open: 'Przejdź dalej, aby zobaczyć kwotę i wpisać dane karty.',
  continue: 'Dalej',
  soldOutTitle: 'Wyprzedane',
  soldOut: 'Wykorzystano już wszystkie płatności przez ten link. Nic nie zostało pobrane.',
  endedTitle: 'Ta oferta się skończyła',
  ended: 'Ten link do płatności wygasł {date}. Nic nie zostało pobrane.',
  inactiveTitle: 'Ten link do płatności jest nieaktywny',
  inactive: 'Sprzedawca {merchant} wyłączył ten link. Nic nie zostało pobrane.',
  unavailableTitle: 'Sprzedawca {merchant} nie może teraz przyjmować płatności',
  unavailable: 'Nic nie zostało pobrane. Spróbuj ponownie później.',
  receiptTitle: 'Link do tego potwierdzenia wygasł',
  receipt: 'Poproś o nowy: {merchant}.',
  unknownTitle: 'Ten link jest nieprawidłowy',
  unknown: 'Sprawdź, czy skopiowano cały link, lub poproś sprzedawcę o nowy.',
  support: 'Masz pytania? Napisz na adres {email}.',
  website: 'Przejdź do {merchant}',
};
