import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Prøvekørsel',
    live: '',
  },
  openTitle: 'Betal {merchant}',
  open: 'Fortsæt for at se beløbet og indtaste dit kort.',
  continue: 'Fortsæt',
  soldOutTitle: 'Udsolgt',
  soldOut: 'Dette betalingslink har nået sit antal betalinger. Der er ikke trukket noget.',
  endedTitle: 'Tilbuddet er slut',
  ended: 'Dette betalingslink udløb den {date}. Der er ikke trukket noget.',
  inactiveTitle: 'Dette betalingslink er ikke aktivt',
  inactive: '{merchant} har slået linket fra. Der er ikke trukket noget.',
  unavailableTitle: '{merchant} kan ikke modtage betalinger lige nu',
  unavailable: 'Der er ikke trukket noget. Prøv igen senere.',
  receiptTitle: 'Linket til denne kvittering er udløbet',
  receipt: 'Bed {merchant} om et nyt.',
  unknownTitle: 'Linket er ikke gyldigt',
  unknown: 'Kontrollér, at du har kopieret hele linket, eller bed sælgeren om et nyt.',
  support: 'Spørgsmål? Skriv til {email}.',
  website: 'Gå til {merchant}',
};
