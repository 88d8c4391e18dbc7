import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Prova',
    live: '',
  },
  openTitle: 'Paga {merchant}',
  open: 'Continua per vedere l’importo e inserire la tua carta.',
  continue: 'Continua',
  soldOutTitle: 'Esaurito',
  soldOut: 'Questo link di pagamento ha raggiunto il numero di pagamenti previsto. Non ti è stato addebitato nulla.',
  endedTitle: 'Questa offerta è terminata',
  ended: 'Questo link di pagamento è scaduto il {date}. Non ti è stato addebitato nulla.',
  inactiveTitle: 'Questo link di pagamento non è attivo',
  inactive: '{merchant} ha disattivato questo link. Non ti è stato addebitato nulla.',
  unavailableTitle: '{merchant} al momento non può accettare pagamenti',
  unavailable: 'Non ti è stato addebitato nulla. Riprova più tardi.',
  receiptTitle: 'Il link di questa ricevuta è scaduto',
  receipt: 'Chiedine uno nuovo a {merchant}.',
  unknownTitle: 'Questo link non è valido',
  unknown: 'Controlla di aver copiato il link per intero o chiedine uno nuovo al venditore.',
  support: 'Domande? Scrivi a {email}.',
  website: 'Vai a {merchant}',
};
