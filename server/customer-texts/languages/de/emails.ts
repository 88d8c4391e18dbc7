import type { TextsOf } from '../../languages.ts';

export const emails: TextsOf<'emails'> = {
  greeting: 'Guten Tag {name},',
  greetingUnknown: 'Guten Tag,',
  receipt: {
    subject: 'Ihr Beleg von {merchant}, {number}',
    headline: 'Sie haben {amount} bezahlt',
    order: 'Vielen Dank für Ihre Bestellung. Hier ist Ihr Beleg.',
    renewal: 'Ihr Abonnement wurde verlängert. Hier ist Ihr Beleg.',
  },
  refund: {
    subject: '{merchant} hat {amount} erstattet',
    headline: 'Sie haben eine Erstattung von {amount} erhalten',
    text: 'Die Erstattung geht auf Ihre Karte {card}. Bis Ihre Bank sie anzeigt, können 10 Tage vergehen.',
  },
  paymentFailed: {
    subject: 'Ihre Zahlung an {merchant} ist fehlgeschlagen',
    headline: 'Wir konnten {amount} nicht abbuchen',
    text: 'Die Zahlung für {name} mit Ihrer Karte {card} ist fehlgeschlagen.',
    retry:
      'Wir versuchen es am {date} erneut. Aktualisieren Sie vorher Ihre Karte, damit die Zahlung nicht noch einmal fehlschlägt.',
    noRetry:
      'Wir belasten diese Karte nicht noch einmal. Bitte aktualisieren Sie Ihre Karte, um Ihr Abonnement zu behalten.',
  },
  confirmPayment: {
    subject: 'Bestätigen Sie Ihre Zahlung an {merchant}',
    headline: 'Ihre Bank bittet Sie, diese Zahlung zu bestätigen',
    reason: 'Ihre Bank bittet Sie, diese Zahlung zu bestätigen.',
    text: 'Ihre Bank hat die Zahlung für {name} mit Ihrer Karte {card} nicht zugelassen, weil sie zuerst bei Ihnen nachfragen möchte.',
    until: 'Bitte bestätigen Sie die Zahlung bis {date} bei Ihrer Bank. Sie zahlen nur einmal.',
    ask: 'Bitte bestätigen Sie die Zahlung bei Ihrer Bank. Sie zahlen nur einmal.',
    button: 'Bei der Bank bestätigen',
  },
  finalNotice: {
    subject: 'Ihr Abonnement bei {merchant} ist beendet',
    headline: 'Ihr Abonnement ist beendet',
    text: 'Wir haben mehrmals versucht, {name} über Ihre Karte {card} abzurechnen, und jede Zahlung ist fehlgeschlagen. Ihr Abonnement ist beendet, und Ihre Karte wird nicht mehr belastet.',
    pay: 'Wenn Sie weitermachen möchten, aktualisieren Sie Ihre Karte und bezahlen Sie den offenen Betrag.',
  },
  cardExpiring: {
    subject: 'Ihre Karte bei {merchant} läuft nächsten Monat ab',
    headline: 'Ihre Karte läuft nächsten Monat ab',
    text: 'Ihre Karte {card} läuft im {month} ab. Aktualisieren Sie sie, damit Ihr Abonnement ohne Unterbrechung weiterläuft.',
  },
  subscriptionCanceled: {
    subject: 'Ihr Abonnement bei {merchant} ist gekündigt',
    headline: 'Ihr Abonnement ist gekündigt',
    text: 'Ihr Abonnement {name} ist gekündigt. Ihre Karte wird dafür nicht mehr belastet.',
  },
  upcomingRenewal: {
    subject: 'Ihr Abonnement bei {merchant} verlängert sich am {date}',
    headline: 'Ihr Abonnement verlängert sich am {date}',
    text: 'Wir buchen {amount} für {name} von Ihrer Karte {card} ab.',
  },
  paymentRequest: {
    subject: 'Bezahlen Sie Ihre Bestellung {number} bei {merchant}',
    headline: 'Ihre Zahlung von {amount} wurde nicht ausgeführt',
    text: 'Ihre Karte {card} wurde nicht belastet. Sie können diese Bestellung weiterhin mit einer anderen Karte bezahlen.',
    pay: '{amount} bezahlen',
  },
  cardRequest: {
    subject: 'Bitte hinterlegen Sie eine andere Karte bei {merchant}',
    headline: 'Bitte hinterlegen Sie eine andere Karte',
    text: 'Wir konnten {amount} nicht von Ihrer Karte {card} abbuchen.',
    ask: 'Auf Ihrer Seite können Sie eine andere Karte hinterlegen.',
  },
  pageLink: {
    subject: 'Ihr Konto bei {merchant}',
    text: 'Öffnen Sie diesen Link innerhalb von {minutes} Minuten, um Ihre Abonnements und Zahlungen bei {merchant} zu sehen oder Ihre Karte zu ändern:',
    care: 'Jeder, der den Link hat, kann ihn verwenden. Leiten Sie diese E-Mail daher nicht weiter. Wenn Sie den Link nicht angefordert haben, können Sie sie ignorieren.',
  },
  viewReceipt: 'Beleg ansehen (PDF)',
  updateCard: 'Karte aktualisieren',
  manage: 'Abonnement verwalten',
  reason: 'Grund',
  card: 'Karte',
  amount: 'Betrag',
  nextAttempt: 'Nächster Versuch',
  questions: 'Fragen? Antworten Sie auf diese E-Mail oder schreiben Sie an {contact}.',
  unsubscribe: 'Abbestellen',
  notes: {
    sandbox: 'Dies ist eine Test-E-Mail aus einer Sandbox. Es ist kein Geld geflossen.',
    rehearsal: 'Dies ist eine Test-E-Mail aus einem Probelauf. Es ist kein Geld geflossen.',
    live: '',
  },
  stop: {
    title: 'Optionale E-Mails',
    ask: 'Möchten Sie optionale E-Mails von {merchant} abbestellen, zum Beispiel Erinnerungen? Belege und Hinweise auf fehlgeschlagene Zahlungen erhalten Sie weiterhin.',
    confirm: 'Abbestellen',
    done: 'Sie haben die optionalen E-Mails von {merchant} abbestellt.',
    invalid: 'Dieser Link ist ungültig oder abgelaufen.',
  },
};
