import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Proefrun',
    live: '',
  },
  openTitle: '{merchant} betalen',
  open: 'Ga verder om te zien wat je betaalt en je kaart in te vullen.',
  continue: 'Verder',
  soldOutTitle: 'Uitverkocht',
  soldOut: 'Deze betaallink heeft het maximale aantal betalingen bereikt. Er is niets afgeschreven.',
  endedTitle: 'Deze aanbieding is afgelopen',
  ended: 'Deze betaallink is verlopen op {date}. Er is niets afgeschreven.',
  inactiveTitle: 'Deze betaallink is niet actief',
  inactive: '{merchant} heeft deze link uitgeschakeld. Er is niets afgeschreven.',
  unavailableTitle: '{merchant} kan op dit moment geen betalingen aannemen',
  unavailable: 'Er is niets afgeschreven. Probeer het later opnieuw.',
  receiptTitle: 'De link naar dit betaalbewijs is verlopen',
  receipt: 'Vraag {merchant} om een nieuwe.',
  unknownTitle: 'Deze link is niet geldig',
  unknown: 'Controleer of je de hele link hebt gekopieerd, of vraag de verkoper om een nieuwe.',
  support: 'Vragen? Schrijf naar {email}.',
  website: 'Naar {merchant}',
};
