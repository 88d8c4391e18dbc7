import type { TextsOf } from '../../languages.ts';

export const card: TextsOf<'card'> = {
  title: 'Kaartgegevens',
  number: 'Kaartnummer',
  numberPlaceholder: '1234 1234 1234 1234',
  numberRequired: 'Vul het kaartnummer in.',
  numberIncomplete: 'Het kaartnummer is onvolledig.',
  numberInvalid: 'Dit kaartnummer is niet geldig.',
  expiry: 'Vervaldatum',
  expiryPlaceholder: 'MM / JJ',
  expiryRequired: 'Vul de vervaldatum in.',
  expiryIncomplete: 'De vervaldatum is onvolledig.',
  expiryInvalid: 'De maand moet tussen 01 en 12 liggen.',
  expiryPast: 'Deze kaart is verlopen.',
  cvc: 'CVC',
  cvcRequired: 'Vul de CVC in.',
  cvcIncomplete: 'De CVC is onvolledig.',
  cvcInvalid: 'De CVC is te lang voor deze kaart.',
  tooManyRequests: 'Te veel pogingen. Probeer het over {seconds} s opnieuw.',
  notAvailable: 'Kaarten kunnen hier op dit moment niet worden geaccepteerd.',
  refused: 'Deze kaart kon niet worden geaccepteerd. Controleer de gegevens of gebruik een andere kaart.',
  connection: 'De verbinding is mislukt. Probeer het opnieuw.',
};
