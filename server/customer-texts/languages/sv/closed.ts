import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Provkörning',
    live: '',
  },
  openTitle: 'Betala {merchant}',
  open: 'Fortsätt för att se vad du betalar och ange ditt kort.',
  continue: 'Fortsätt',
  soldOutTitle: 'Slutsåld',
  soldOut: 'Betallänken har nått sitt antal betalningar. Inget har dragits.',
  endedTitle: 'Erbjudandet är slut',
  ended: 'Betallänken gick ut den {date}. Inget har dragits.',
  inactiveTitle: 'Betallänken är inte aktiv',
  inactive: '{merchant} har stängt av länken. Inget har dragits.',
  unavailableTitle: '{merchant} kan inte ta emot betalningar just nu',
  unavailable: 'Inget har dragits. Försök igen senare.',
  receiptTitle: 'Länken till kvittot har gått ut',
  receipt: 'Be {merchant} om en ny.',
  unknownTitle: 'Länken är inte giltig',
  unknown: 'Kontrollera att du har kopierat hela länken, eller be säljaren om en ny.',
  support: 'Frågor? Skriv till {email}.',
  website: 'Till {merchant}',
};
