import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Ensaio',
    live: '',
  },
  openTitle: 'Pagar a {merchant}',
  open: 'Continue para ver o valor e informar seu cartão.',
  continue: 'Continuar',
  soldOutTitle: 'Esgotado',
  soldOut: 'Este link de pagamento atingiu o número de pagamentos. Nada foi cobrado.',
  endedTitle: 'Esta oferta terminou',
  ended: 'Este link de pagamento terminou em {date}. Nada foi cobrado.',
  inactiveTitle: 'Este link de pagamento não está ativo',
  inactive: '{merchant} desativou este link. Nada foi cobrado.',
  unavailableTitle: '{merchant} não pode receber pagamentos no momento',
  unavailable: 'Nada foi cobrado. Tente novamente mais tarde.',
  receiptTitle: 'O link deste recibo expirou',
  receipt: 'Peça um novo a {merchant}.',
  unknownTitle: 'Este link não é válido',
  unknown: 'Confira se você copiou o link inteiro ou peça um novo ao vendedor.',
  support: 'Dúvidas? Escreva para {email}.',
  website: 'Ir para {merchant}',
};
