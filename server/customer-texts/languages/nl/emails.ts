import type { TextsOf } from '../../languages.ts';

export const emails: TextsOf<'emails'> = {
  greeting: 'Hallo {name},',
  greetingUnknown: 'Hallo,',
  receipt: {
    subject: 'Je betaalbewijs van {merchant}, {number}',
    headline: 'Je hebt {amount} betaald',
    order: 'Bedankt voor je bestelling. Hier is je betaalbewijs.',
    renewal: 'Je abonnement is verlengd. Hier is je betaalbewijs.',
  },
  refund: {
    subject: '{merchant} heeft {amount} terugbetaald',
    headline: 'Je hebt {amount} teruggekregen',
    text: 'De terugbetaling gaat naar je kaart {card}. Het kan tot 10 dagen duren voordat je bank die laat zien.',
  },
  paymentFailed: {
    subject: 'Je betaling aan {merchant} is mislukt',
    headline: 'We konden {amount} niet afschrijven',
    text: 'De betaling voor {name} met je kaart {card} is mislukt.',
    retry:
      'We proberen het opnieuw op {date}. Werk je kaart voor die tijd bij, zodat de betaling niet nog eens mislukt.',
    noRetry: 'We schrijven niet meer van deze kaart af. Werk je kaart bij om je abonnement te houden.',
  },
  confirmPayment: {
    subject: 'Bevestig je betaling aan {merchant}',
    headline: 'Je bank vraagt je om deze betaling te bevestigen',
    reason: 'Je bank vraagt je om deze betaling te bevestigen.',
    text: 'Je bank heeft de betaling voor {name} met je kaart {card} niet toegestaan, omdat de bank het eerst aan jou wil vragen.',
    until: 'Bevestig de betaling uiterlijk {date} bij je bank. Je betaalt één keer.',
    ask: 'Bevestig de betaling bij je bank. Je betaalt één keer.',
    button: 'Bevestigen bij je bank',
  },
  finalNotice: {
    subject: 'Je abonnement bij {merchant} is beëindigd',
    headline: 'Je abonnement is beëindigd',
    text: 'We hebben meerdere keren geprobeerd {name} af te schrijven van je kaart {card}, en elke betaling is mislukt. Je abonnement is beëindigd en er wordt niets meer van je kaart afgeschreven.',
    pay: 'Wil je doorgaan, werk dan je kaart bij en betaal het openstaande bedrag.',
  },
  cardExpiring: {
    subject: 'Je kaart bij {merchant} verloopt volgende maand',
    headline: 'Je kaart verloopt volgende maand',
    text: 'Je kaart {card} verloopt in {month}. Werk de kaart bij, zodat je abonnement zonder onderbreking doorloopt.',
  },
  subscriptionCanceled: {
    subject: 'Je abonnement bij {merchant} is opgezegd',
    headline: 'Je abonnement is opgezegd',
    text: 'Je abonnement op {name} is opgezegd. Er wordt hiervoor niets meer van je kaart afgeschreven.',
  },
  upcomingRenewal: {
    subject: 'Je abonnement bij {merchant} wordt verlengd op {date}',
    headline: 'Je abonnement wordt verlengd op {date}',
    text: 'We schrijven {amount} voor {name} af van je kaart {card}.',
  },
  paymentRequest: {
    subject: 'Betaal je bestelling {number} bij {merchant}',
    headline: 'Je betaling van {amount} is niet gelukt',
    text: 'Er is niets afgeschreven van je kaart {card}. Je kunt deze bestelling nog met een andere kaart betalen.',
    pay: '{amount} betalen',
  },
  cardRequest: {
    subject: 'Voeg een andere kaart toe bij {merchant}',
    headline: 'Voeg een andere kaart toe',
    text: 'We konden {amount} niet afschrijven van je kaart {card}.',
    ask: 'Op je pagina kun je een andere kaart toevoegen.',
  },
  pageLink: {
    subject: 'Je account bij {merchant}',
    text: 'Open deze link binnen {minutes} minuten om je abonnementen en betalingen bij {merchant} te zien of je kaart te wijzigen:',
    care: 'Iedereen die de link heeft, kan hem gebruiken. Stuur deze e-mail dus niet door. Heb je er niet om gevraagd, dan kun je de e-mail negeren.',
  },
  viewReceipt: 'Betaalbewijs bekijken (PDF)',
  updateCard: 'Kaart bijwerken',
  manage: 'Abonnement beheren',
  reason: 'Reden',
  card: 'Kaart',
  amount: 'Bedrag',
  nextAttempt: 'Volgende poging',
  questions: 'Vragen? Beantwoord deze e-mail of schrijf naar {contact}.',
  unsubscribe: 'Afmelden',
  notes: {
    sandbox: 'Dit is een testmail uit een sandbox. Er is geen geld verplaatst.',
    rehearsal: 'Dit is een testmail uit een proefrun. Er is geen geld verplaatst.',
    live: '',
  },
  stop: {
    title: 'Optionele e-mails',
    ask: 'Wil je je afmelden voor optionele e-mails van {merchant}, zoals herinneringen? Je blijft betaalbewijzen en berichten over mislukte betalingen ontvangen.',
    confirm: 'Afmelden',
    done: 'Je bent afgemeld voor optionele e-mails van {merchant}.',
    invalid: 'Deze link is ongeldig of verlopen.',
  },
};
