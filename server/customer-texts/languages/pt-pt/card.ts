import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Dados do cartão',
  number: 'Número do cartão',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Introduza o número do cartão.',
  numberIncomplete: 'O número do cartão está incompleto.',
  numberInvalid: 'Este número de cartão não é válido.',
  expiry: 'Validade',
  expiryPlaceholder: 'MM / AA',
  expiryRequired: 'Introduza a data de validade.',
  expiryIncomplete: 'A data de validade está incompleta.',
  expiryInvalid: 'O mês deve estar entre 01 e 12.',
  expiryPast: 'Este cartão está fora de validade.',
  cvc: 'CVC',
  cvcRequired: 'Introduza o CVC.',
  cvcIncomplete: 'O CVC está incompleto.',
  cvcInvalid: 'O CVC é demasiado longo para este cartão.',
  tooManyRequests: 'Demasiadas tentativas. Tente novamente dentro de {seconds} s.',
  notAvailable: 'De momento, não é possível aceitar cartões aqui.',
  refused: 'Não foi possível aceitar este cartão. Verifique os dados ou utilize outro cartão.',
  connection: 'A ligação falhou. Tente novamente.',
};
