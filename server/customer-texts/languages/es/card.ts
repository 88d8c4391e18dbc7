import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Datos de la tarjeta',
  number: 'Número de tarjeta',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Introduzca el número de tarjeta.',
  numberIncomplete: 'El número de tarjeta está incompleto.',
  numberInvalid: 'Este número de tarjeta no es válido.',
  expiry: 'Caducidad',
  expiryPlaceholder: 'MM / AA',
  expiryRequired: 'Introduzca la fecha de caducidad.',
  expiryIncomplete: 'La fecha de caducidad está incompleta.',
  expiryInvalid: 'El mes debe estar entre 01 y 12.',
  expiryPast: 'Esta tarjeta ha caducado.',
  cvc: 'CVC',
  cvcRequired: 'Introduzca el CVC.',
  cvcIncomplete: 'El CVC está incompleto.',
  cvcInvalid: 'El CVC es demasiado largo para esta tarjeta.',
  tooManyRequests: 'Demasiados intentos. Vuelva a intentarlo en {seconds} s.',
  notAvailable: 'En este momento no se pueden aceptar tarjetas aquí.',
  refused: 'No se ha podido aceptar esta tarjeta. Compruebe los datos o use otra tarjeta.',
  connection: 'La conexión ha fallado. Vuelva a intentarlo.',
};
