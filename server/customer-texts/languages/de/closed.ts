import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Probelauf',
    live: '',
  },
  openTitle: '{merchant} bezahlen',
  open: 'Gehen Sie weiter, um den Betrag zu sehen und Ihre Karte einzugeben.',
  continue: 'Weiter',
  soldOutTitle: 'Ausverkauft',
  soldOut: 'Über diesen Zahlungslink wurden bereits alle Zahlungen getätigt. Ihre Karte wurde nicht belastet.',
  endedTitle: 'Dieses Angebot ist beendet',
  ended: 'Dieser Zahlungslink ist am {date} abgelaufen. Ihre Karte wurde nicht belastet.',
  inactiveTitle: 'Dieser Zahlungslink ist nicht aktiv',
  inactive: '{merchant} hat diesen Link abgeschaltet. Ihre Karte wurde nicht belastet.',
  unavailableTitle: '{merchant} kann derzeit keine Zahlungen annehmen',
  unavailable: 'Ihre Karte wurde nicht belastet. Versuchen Sie es später erneut.',
  receiptTitle: 'Der Link zu diesem Beleg ist abgelaufen',
  receipt: 'Bitten Sie {merchant} um einen neuen.',
  unknownTitle: 'Dieser Link ist ungültig',
  unknown: 'Prüfen Sie, ob Sie den ganzen Link kopiert haben, oder bitten Sie den Verkäufer um einen neuen.',
  support: 'Fragen? Schreiben Sie an {email}.',
  website: 'Zu {merchant}',
};
