import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Dados do cartão',
  number: 'Número do cartão',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Informe o número do cartão.',
  numberIncomplete: 'O número do cartão está incompleto.',
  numberInvalid: 'Este número de cartão não é válido.',
  expiry: 'Validade',
  expiryPlaceholder: 'MM / AA',
  expiryRequired: 'Informe a data de validade.',
  expiryIncomplete: 'A data de validade está incompleta.',
  expiryInvalid: 'O mês deve estar entre 01 e 12.',
  expiryPast: 'Este cartão está vencido.',
  cvc: 'CVC',
  cvcRequired: 'Informe o CVC.',
  cvcIncomplete: 'O CVC está incompleto.',
  cvcInvalid: 'O CVC é longo demais para este cartão.',
  tooManyRequests: 'Muitas tentativas. Tente novamente em {seconds} s.',
  notAvailable: 'No momento, não é possível aceitar cartões aqui.',
  refused: 'Não foi possível aceitar este cartão. Confira os dados ou use outro cartão.',
  connection: 'A conexão falhou. Tente novamente.',
};
