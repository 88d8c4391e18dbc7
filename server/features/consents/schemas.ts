import Type, { type Static } from 'typebox';
import { nullable, timestamp } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

const consentKinds = ['terms', 'renewal', 'save_card'] as const;
export type ConsentKind = (typeof consentKinds)[number];

export const consent = Type.Object(
  {
    kind: choice(consentKinds, {
      title: 'ConsentKind',
      description:
        '`terms`: your terms. `renewal`: price, period and renewal of a subscription, and that its card is saved. `save_card`: the box ' +
        'below a new card.',
    }),
    text: Type.String({ description: 'As the page showed it.' }),
    version: Type.String({
      description:
        'Of your terms: the version that you gave them. Of the other texts: the day since which they are so.',
      examples: ['2026-11-19'],
    }),
    locale: Type.String({ description: 'The language of the text.', examples: ['de-AT'] }),
    url: nullable(Type.String({ description: 'Where your terms were. Null for the other kinds.' })),
    given_at: timestamp(),
  },
  { title: 'Consent', description: 'What the customer agreed to on the checkout page.' },
);
export type Consent = Static<typeof consent>;
