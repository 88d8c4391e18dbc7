import type { TextsOf } from '../../languages.ts';

export const formats: TextsOf<'formats'> = {
  card: '{brand} •••• {last4}',
  unknownCard: 'Carta',
};
