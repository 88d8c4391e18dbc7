import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Ensaio',
    live: '',
  },
  openTitle: 'Pagar a {merchant}',
  open: 'Continue para ver o valor e introduzir o seu cartão.',
  continue: 'Continuar',
  soldOutTitle: 'Esgotado',
  soldOut: 'Esta ligação de pagamento atingiu o número de pagamentos. Não lhe foi cobrado nada.',
  endedTitle: 'Esta oferta terminou',
  ended: 'Esta ligação de pagamento terminou em {date}. Não lhe foi cobrado nada.',
  inactiveTitle: 'Esta ligação de pagamento não está ativa',
  inactive: '{merchant} desativou esta ligação. Não lhe foi cobrado nada.',
  unavailableTitle: '{merchant} não pode receber pagamentos de momento',
  unavailable: 'Não lhe foi cobrado nada. Tente novamente mais tarde.',
  receiptTitle: 'A ligação deste recibo expirou',
  receipt: 'Peça uma nova a {merchant}.',
  unknownTitle: 'Esta ligação não é válida',
  unknown: 'Verifique se copiou a ligação completa ou peça uma nova ao vendedor.',
  support: 'Dúvidas? Escreva para {email}.',
  website: 'Ir para {merchant}',
};
