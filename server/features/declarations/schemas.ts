import Type, { type Static } from 'typebox';
import { freeText, line, name, nullable, timestamp, typedEmail, uuid, withoutLink } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { choice } from '../../platform/choice.ts';

export const declarationKinds = ['cancel', 'withdraw'] as const;
export type DeclarationKind = (typeof declarationKinds)[number];

/** What the page sends. Its confirmation goes to any address, so no text may lead to a site. */
export const declarationInput = Type.Object(
  {
    request: uuid(),
    name: withoutLink(name({ maxLength: limits.pageNameLength })),
    email: typedEmail(),
    contract: withoutLink(line({ minLength: 1, maxLength: limits.declaredLength, format: 'not-blank' })),
    message: Type.Optional(withoutLink(freeText(limits.declaredLength))),
  },
  { additionalProperties: false },
);
export type DeclarationInput = Static<typeof declarationInput>;

export const declaration = Type.Object({
  id: uuid(),
  kind: choice(declarationKinds),
  name: Type.String(),
  email: Type.String(),
  contract: Type.String({ description: 'The order number or the subscription, as the customer typed it.' }),
  message: nullable(Type.String()),
  customer_id: nullable(
    uuid({ description: 'Null if the order number is not that of a customer with this email address.' }),
  ),
  order_id: nullable(uuid()),
  subscription_id: nullable(uuid()),
  ends_at: nullable(timestamp({ description: 'When the subscription ends that the declaration has canceled.' })),
  handled_at: nullable(timestamp()),
  created_at: timestamp(),
});
export type Declaration = Static<typeof declaration>;

export const declarations = Type.Object({ data: Type.Array(declaration) });
export type Declarations = Static<typeof declarations>;
