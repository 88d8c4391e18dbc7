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
  soldOut: 'Este link de pagamento atingiu o número de pagamentos. Não lhe foi cobrado nada.',
  endedTitle: 'Esta oferta terminou',
  ended: 'Este link de pagamento terminou em {date}. Não lhe foi cobrado nada.',
  inactiveTitle: 'Este link de pagamento não está ativo',
  inactive: '{merchant} desativou este link. Não lhe foi cobrado nada.',
  unavailableTitle: '{merchant} não pode receber pagamentos de momento',
  unavailable: 'Não lhe foi cobrado nada. Tente novamente mais tarde.',
  receiptTitle: 'O link deste recibo expirou',
  receipt: 'Peça um novo a {merchant}.',
  unknownTitle: 'Este link não é válido',
  unknown: 'Verifique se copiou o link completo ou peça um novo ao vendedor.',
  support: 'Dúvidas? Escreva para {email}.',
  website: 'Ir para {merchant}',
};
