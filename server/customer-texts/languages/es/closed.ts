import type { TextsOf } from '../../languages.ts';

export const closed: TextsOf<'closed'> = {
  pageTitle: '{title} · {merchant}',
  modes: {
    sandbox: 'Sandbox',
    rehearsal: 'Ensayo',
    live: '',
  },
  openTitle: 'Pagar a {merchant}',
  open: 'Continúe para ver el importe e introducir su tarjeta.',
  continue: 'Continuar',
  soldOutTitle: 'Agotado',
  soldOut: 'Este enlace de pago ha alcanzado su número de pagos. No se le ha cobrado nada.',
  endedTitle: 'Esta oferta ha terminado',
  ended: 'Este enlace de pago terminó el {date}. No se le ha cobrado nada.',
  inactiveTitle: 'Este enlace de pago no está activo',
  inactive: '{merchant} ha desactivado este enlace. No se le ha cobrado nada.',
  unavailableTitle: '{merchant} no puede aceptar pagos en este momento',
  unavailable: 'No se le ha cobrado nada. Vuelva a intentarlo más tarde.',
  receiptTitle: 'El enlace de este recibo ha caducado',
  receipt: 'Pida uno nuevo a {merchant}.',
  unknownTitle: 'Este enlace no es válido',
  unknown: 'Compruebe que ha copiado el enlace completo o pida uno nuevo al vendedor.',
  support: '¿Preguntas? Escriba a {email}.',
  website: 'Ir a {merchant}',
};
