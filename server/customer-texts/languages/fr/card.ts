import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Informations de carte',
  number: 'Numéro de carte',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Saisissez le numéro de carte.',
  numberIncomplete: 'Le numéro de carte est incomplet.',
  numberInvalid: 'Ce numéro de carte n’est pas valide.',
  expiry: 'Expiration',
  expiryPlaceholder: 'MM / AA',
  expiryRequired: 'Saisissez la date d’expiration.',
  expiryIncomplete: 'La date d’expiration est incomplète.',
  expiryInvalid: 'Le mois doit être compris entre 01 et 12.',
  expiryPast: 'Cette carte a expiré.',
  cvc: 'CVC',
  cvcRequired: 'Saisissez le CVC.',
  cvcIncomplete: 'Le CVC est incomplet.',
  cvcInvalid: 'Le CVC est trop long pour cette carte.',
  tooManyRequests: 'Trop de tentatives. Réessayez dans {seconds} s.',
  notAvailable: 'Les cartes ne peuvent pas être acceptées ici pour le moment.',
  refused: 'Cette carte n’a pas pu être acceptée. Vérifiez les informations ou utilisez une autre carte.',
  connection: 'La connexion a échoué. Veuillez réessayer.',
};
